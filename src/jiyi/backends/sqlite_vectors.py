"""SqliteVectors: f16 vectors in a file of their own, scanned exactly inside the scope.

Graph indexes lose most of the right answers for a user who owns a small part of all vectors; an exact scan does not.
The file is derived: it may be deleted at any moment, so its commits need not wait for the disk.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
import zlib
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from jiyi.backends.generations import Generations
from jiyi.backends.locks import ProcessLock
from jiyi.backends.vector_matrix import Floats, ScopeMatrix
from jiyi.errors import IndexDamagedError, IndexingError
from jiyi.model.entry import MemoryEntry
from jiyi.model.identity import text_hash
from jiyi.ports import Embedder, IndexBatch, Mark, Progress, Proposal, RecordStore
from jiyi.text import split_chunks

_log = logging.getLogger("jiyi.index")

SCHEMA_VERSION = 1
CHUNK_COLUMNS = 300
_FILE = "vectors.db"

_CREATE = """
CREATE TABLE IF NOT EXISTS memory_vectors (
    scope TEXT NOT NULL,
    entry_id TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    hash TEXT,
    checksum INTEGER,
    data BLOB,               -- NULL: the entry is gone (kept so that caches of other processes hear of it)
    PRIMARY KEY (scope, entry_id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS ix_memory_vectors_sequence ON memory_vectors (scope, sequence);
CREATE TABLE IF NOT EXISTS vector_meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""
_UPSERT = (
    "INSERT INTO memory_vectors (scope, entry_id, sequence, hash, checksum, data) VALUES (?, ?, ?, ?, ?, ?) "
    "ON CONFLICT (scope, entry_id) DO UPDATE SET sequence = excluded.sequence, hash = excluded.hash, "
    "checksum = excluded.checksum, data = excluded.data"
)


class SqliteVectors:
    """The vectors of one data directory, shared by several processes, with a bounded cache of scopes."""

    name = "vectors"
    batch_size = 256

    def __init__(
        self, root: Path, embedder: Embedder, store_id: str, *, cache_bytes: int, lock_timeout: float
    ) -> None:
        self._generations = Generations(root, "vectors")
        self._embedder = embedder
        self._store_id = store_id
        self._lock = ProcessLock(root.parent / "vector-index.lock", timeout=lock_timeout, purpose="the lock")
        self._cache_bytes = cache_bytes
        self._cache: OrderedDict[str, ScopeMatrix] = OrderedDict()
        self._guard = threading.RLock()
        self._folder: Path | None = None
        self._connection: sqlite3.Connection | None = None

    @property
    def identity(self) -> str:
        """What the vectors depend on: another store, model or way of cutting means another index."""
        return f"{self._store_id}/{SCHEMA_VERSION}/{CHUNK_COLUMNS}/{self._embedder.identity}"

    # --- the mark -------------------------------------------------------------------------------------------------

    def mark(self) -> Mark | None:
        """How far the index has come; `None` when it has to be rebuilt."""
        with self._guard:
            connection = self._open()
            if connection is None:
                return None
            try:
                meta = dict(connection.execute("SELECT name, value FROM vector_meta"))
            except sqlite3.DatabaseError as error:
                self._condemn(error)
                return None
        if meta.get("identity") != self.identity or "sequence" not in meta:
            return None
        return Mark(int(meta["sequence"]), meta["fingerprint"])

    # --- writing --------------------------------------------------------------------------------------------------

    def exclusive(self, timeout: float | None = None) -> AbstractContextManager[None]:
        """Only one process drains or rebuilds at a time."""
        return self._lock.hold(timeout)

    def fingerprint(self, entry: MemoryEntry) -> str:
        """What the index keeps to recognise the text it has a vector of."""
        return text_hash(entry.content)

    def apply(self, batch: IndexBatch) -> None:
        """Embed what is new and write it with the mark in one transaction."""
        with self.exclusive():
            with self._guard:
                connection = self._open()
                if connection is None:
                    raise IndexDamagedError("the vector index is missing")
                known = self._hashes(connection, [entry.id for entry in batch.upserts])
            fresh = [entry for entry in batch.upserts if known.get(entry.id) != self.fingerprint(entry)]
            vectors = self._embed(fresh)
            sequence = batch.mark.sequence
            rows = [self._row(entry, sequence, block) for entry, block in zip(fresh, vectors, strict=True)]
            rows += [(scope, entry_id, sequence, None, None, None) for scope, entry_id in batch.removals]
            with self._guard, self._translated():
                self._write(connection, rows, batch.mark)

    def rebuild(self, store: RecordStore, *, progress: Progress | None = None) -> None:
        """Build anew beside the old index, then swap. What was embedded before, even by a run that broke off, is used."""
        with self.exclusive():
            head = store.head()
            current = self._generations.current()
            folder = self._generations.resumable(text_hash(self.identity))
            sources = [path for path in (current, folder) if path is not None and (path / _FILE).exists()]
            connection = _connect(folder / _FILE)
            try:
                done, after = 0, ""
                while entries := store.scan(after_id=after, limit=self.batch_size):
                    reused = self._reusable(sources, entries)
                    fresh = [entry for entry in entries if entry.id not in reused]
                    blocks = (
                        dict(zip([entry.id for entry in fresh], self._embed(fresh), strict=True)) | reused
                    )
                    rows = [self._row(entry, head.sequence, blocks[entry.id]) for entry in entries]
                    self._write(connection, rows, None)
                    done, after = done + len(entries), entries[-1].id
                    if progress is not None:
                        progress(done, None)
                _drop_others(connection, store, self.batch_size)
                self._write(connection, (), head)
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            except sqlite3.DatabaseError as error:
                raise IndexingError(f"the vector index cannot be written: {error}") from error
            finally:
                connection.close()
            with self._guard:
                self._close_connection()
                self._generations.publish(folder)

    def _row(self, entry: MemoryEntry, sequence: int, block: Floats) -> tuple[Any, ...]:
        data = block.astype(np.float16).tobytes()
        return (entry.scope, entry.id, sequence, self.fingerprint(entry), zlib.crc32(data), data)

    def _write(
        self, connection: sqlite3.Connection, rows: Iterable[tuple[Any, ...]], mark: Mark | None
    ) -> None:
        connection.execute("BEGIN IMMEDIATE")
        try:
            connection.executemany(_UPSERT, rows)
            meta = {"identity": self.identity}
            if mark is not None:
                meta |= {"sequence": str(mark.sequence), "fingerprint": mark.fingerprint}
            connection.executemany("INSERT OR REPLACE INTO vector_meta VALUES (?, ?)", meta.items())
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise

    def _embed(self, entries: Sequence[MemoryEntry]) -> list[Floats]:
        chunks = [split_chunks(entry.content, CHUNK_COLUMNS) or [entry.content] for entry in entries]
        flat = [chunk for parts in chunks for chunk in parts]
        if not flat:
            return []
        vectors = self._embedder.embed(flat)
        blocks, start = [], 0
        for parts in chunks:
            blocks.append(vectors[start : start + len(parts)])
            start += len(parts)
        return blocks

    def _reusable(self, sources: Sequence[Path], entries: Sequence[MemoryEntry]) -> dict[str, Floats]:
        """Vectors of the same texts by the same model whose checksum is right."""
        found: dict[str, Floats] = {}
        wanted = {entry.id: self.fingerprint(entry) for entry in entries}
        for folder in sources:
            try:
                connection = _connect(folder / _FILE)
                try:
                    identity = connection.execute(
                        "SELECT value FROM vector_meta WHERE name = 'identity'"
                    ).fetchone()
                    if identity is None or identity[0] != self.identity:
                        continue
                    pairs = [(entry.scope, entry.id) for entry in entries]
                    for entry_id, digest, checksum, data in _rows_of(connection, pairs):
                        if data is not None and wanted[entry_id] == digest and zlib.crc32(data) == checksum:
                            found[entry_id] = self._decode(data)
                finally:
                    connection.close()
            except sqlite3.DatabaseError as error:
                _log.warning("vectors of a damaged index are made anew: %s", error)
        return found

    # --- reading --------------------------------------------------------------------------------------------------

    def search(
        self, vector: Floats, scopes: Sequence[str], *, limit: int, allowed: Sequence[str] | None = None
    ) -> list[Proposal]:
        """The nearest entries of these scopes by cosine similarity, exactly."""
        found: list[Proposal] = []
        permitted = set(allowed) if allowed is not None else None
        for scope in scopes:
            with self._guard:
                matrix = self._matrix(scope)
                if matrix is None or not len(matrix):
                    continue
                similarities = matrix.similarities(vector)
                ids = matrix.ids
                if permitted is not None:
                    mask = np.zeros(len(ids), dtype=np.bool_)
                    mask[[matrix.ordinals[i] for i in permitted if i in matrix.ordinals]] = True
                    similarities = np.where(mask, similarities, np.float32(-np.inf))
                most = min(limit, len(similarities))
                best = np.argpartition(-similarities, most - 1)[:most]
                found.extend(
                    Proposal(ids[i], float(similarities[i])) for i in best if np.isfinite(similarities[i])
                )
        found.sort(key=lambda proposal: (-proposal.score, proposal.entry_id))
        return found[:limit]

    def contents(self) -> Iterator[tuple[str, str]]:
        """(id, hash) of every vector whose checksum is right."""
        with self._guard:
            connection = self._open()
            if connection is None:
                return
            with self._translated():
                cursor = connection.execute(
                    "SELECT entry_id, hash, checksum, data FROM memory_vectors WHERE data IS NOT NULL"
                )
                for entry_id, digest, checksum, data in cursor:
                    yield entry_id, digest if zlib.crc32(data) == checksum else "damaged"

    def check(self) -> list[str]:
        """SQLite's own opinion of the file."""
        with self._guard:
            connection = self._open()
            if connection is None:
                return ["there is no vector index; run: jiyi rebuild"]
            try:
                found = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(20)")]
            except sqlite3.DatabaseError as error:
                return [str(error)]
        return [problem for problem in found if problem != "ok"]

    def describe(self) -> dict[str, Any]:
        """Facts for `doctor`."""
        folder = self._generations.current()
        size = sum(file.stat().st_size for file in folder.iterdir()) if folder is not None else 0
        return {
            "engine": "sqlite, exact scan",
            "model": str(self._embedder.identity),
            "bytes": size,
            "cached_scopes": len(self._cache),
            "cached_bytes": sum(matrix.nbytes for matrix in self._cache.values()),
        }

    def close(self) -> None:
        """Let go of the file."""
        with self._guard:
            self._close_connection()
        self._lock.close()

    def _matrix(self, scope: str) -> ScopeMatrix | None:
        """The scope's vectors, up to date with the file."""
        connection = self._open()
        if connection is None:
            return None
        with self._translated():
            identity = connection.execute("SELECT value FROM vector_meta WHERE name = 'identity'").fetchone()
            if identity is None or identity[0] != self.identity:
                return None
            matrix = self._cache.pop(scope, None) or ScopeMatrix(self._embedder.identity.dimension)
            rows = connection.execute(
                "SELECT entry_id, sequence, data FROM memory_vectors WHERE scope = ? AND sequence > ?",
                (scope, matrix.sequence),
            ).fetchall()
        if rows:
            matrix.update(self._decoded(rows))
        self._cache[scope] = matrix
        while len(self._cache) > 1 and sum(m.nbytes for m in self._cache.values()) > self._cache_bytes:
            self._cache.popitem(last=False)
        return matrix

    def _decoded(
        self, rows: Sequence[tuple[str, int, bytes | None]]
    ) -> Iterator[tuple[str, int, Floats | None]]:
        joined = self._decode(b"".join(data for _, _, data in rows if data is not None))
        width, start = 2 * self._embedder.identity.dimension, 0
        for entry_id, sequence, data in rows:
            if data is None:
                yield entry_id, sequence, None
            else:
                count = len(data) // width
                yield entry_id, sequence, joined[start : start + count]
                start += count

    def _decode(self, data: bytes) -> Floats:
        values = np.frombuffer(data, dtype=np.float16).astype(np.float32)
        return values.reshape(-1, self._embedder.identity.dimension)

    @staticmethod
    def _hashes(connection: sqlite3.Connection, ids: Sequence[str]) -> dict[str, str]:
        found: dict[str, str] = {}
        for start in range(0, len(ids), 500):
            chunk = ids[start : start + 500]
            marks = ",".join("?" * len(chunk))
            found.update(
                connection.execute(
                    f"SELECT entry_id, hash FROM memory_vectors WHERE data IS NOT NULL AND entry_id IN ({marks})",
                    chunk,
                ).fetchall()
            )
        return found

    # --- opening --------------------------------------------------------------------------------------------------

    def _open(self) -> sqlite3.Connection | None:
        folder = self._generations.current()
        if folder is None or not (folder / _FILE).exists():
            self._close_connection()
            return None
        if folder != self._folder:
            self._close_connection()
            try:
                self._connection = _connect(folder / _FILE)
            except sqlite3.DatabaseError as error:
                self._condemn(error)
                return None
            self._folder = folder
        return self._connection

    def _close_connection(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection, self._folder = None, None
        self._cache.clear()

    def _condemn(self, error: sqlite3.DatabaseError) -> None:
        _log.warning("the vector index is damaged and will be rebuilt from the records: %s", error)
        self._close_connection()
        self._generations.discard()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            raise IndexingError(f"the vector index failed: {error}") from error
        except sqlite3.DatabaseError as error:
            self._condemn(error)
            raise IndexDamagedError(f"the vector index is damaged: {error}") from error


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=OFF")
        connection.executescript(_CREATE)
    except sqlite3.DatabaseError:
        connection.close()
        raise
    return connection


def _rows_of(
    connection: sqlite3.Connection, pairs: Sequence[tuple[str, str]]
) -> Iterator[tuple[str, str, int, bytes | None]]:
    for scope, entry_id in pairs:
        row = connection.execute(
            "SELECT entry_id, hash, checksum, data FROM memory_vectors WHERE scope = ? AND entry_id = ?",
            (scope, entry_id),
        ).fetchone()
        if row is not None:
            yield row


def _drop_others(connection: sqlite3.Connection, store: RecordStore, size: int) -> None:
    """Take out what a broken-off run left behind and no record has any more."""
    after = ""
    while True:
        ids = [
            row[0]
            for row in connection.execute(
                "SELECT DISTINCT entry_id FROM memory_vectors WHERE entry_id > ? ORDER BY entry_id LIMIT ?",
                (after, size),
            )
        ]
        if not ids:
            return
        present = store.fetch(ids, None)
        gone = [(entry_id,) for entry_id in ids if entry_id not in present or not present[entry_id].is_active]
        connection.executemany("DELETE FROM memory_vectors WHERE entry_id = ?", gone)
        after = ids[-1]

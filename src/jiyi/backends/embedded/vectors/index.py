"""SqliteVectors: f16 vectors in a file of their own, scanned exactly inside the scope.

Graph indexes lose most of the right answers for a user who owns a small part of all vectors; an exact scan does not.
The file is derived: it may be deleted at any moment, so its commits need not wait for the disk.
"""

from __future__ import annotations

import logging
import shutil
import sqlite3
import threading
import zlib
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from jiyi.backends.shared.derived_file import FILE_ERRORS, FileIdentity, file_identity, means_damage, tree_bytes
from jiyi.backends.shared.embedding import CHUNK_COLUMNS, embed_entries, vector_fingerprint, without_record
from jiyi.backends.shared.generations import Generations
from jiyi.backends.shared.locks import ProcessLock
from jiyi.backends.shared.vector_matrix import Floats, MatrixScan, ScopeMatrix
from jiyi.errors import IndexDamagedError, IndexingError
from jiyi.model import clock
from jiyi.model.entry import MemoryEntry
from jiyi.model.identity import text_hash
from jiyi.ports import Embedder, IndexBatch, LogPosition, Progress, RecordStore

_log = logging.getLogger("jiyi.index")

SCHEMA_VERSION = 1
_FILE = "vectors.db"

_CREATE = """
CREATE TABLE IF NOT EXISTS memory_vectors (
    scope TEXT NOT NULL,
    entry_id TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    event_time INTEGER NOT NULL,
    hash TEXT,
    checksum INTEGER,
    data BLOB,               -- NULL: the entry is gone (kept so that caches of other processes hear of it)
    PRIMARY KEY (scope, entry_id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS ix_memory_vectors_sequence ON memory_vectors (scope, sequence);
CREATE TABLE IF NOT EXISTS vector_meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""
_UPSERT = (
    "INSERT INTO memory_vectors (scope, entry_id, sequence, event_time, hash, checksum, data) "
    "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (scope, entry_id) DO UPDATE SET sequence = excluded.sequence, "
    "event_time = excluded.event_time, hash = excluded.hash, "
    "checksum = excluded.checksum, data = excluded.data"
)


_Stored: TypeAlias = tuple[Any, Any, Any, Any, bytes | None]
"""Id, sequence, event time, checksum, data."""

_ALL = "SELECT entry_id, sequence, event_time, checksum, data FROM memory_vectors WHERE scope = ? AND +sequence > ?"
_SINCE = _ALL.replace("+sequence", "sequence")
"""A scope is read for the first time in the order of the table, later by the index on the sequence."""


class SqliteVectors:
    """The vectors of one data directory, shared by several processes, with a bounded cache of scopes."""

    name = "vectors"
    batch_size = 256

    def __init__(self, root: Path, embedder: Embedder, store_id: str, *, cache_bytes: int, lock_timeout: float) -> None:
        self._generations = Generations(root, "vectors")
        self._embedder = embedder
        self._store_id = store_id
        self._lock = ProcessLock(root.parent / "vector-index.lock", timeout=lock_timeout, purpose="the lock")
        self._dimension = embedder.identity.dimension
        self._width = 2 * self._dimension
        """Bytes of one vector."""
        self._cache_bytes = cache_bytes
        self._cache: OrderedDict[str, ScopeMatrix] = OrderedDict()
        self._cached_bytes = 0
        self._guard = threading.RLock()
        self._opened: tuple[Path, FileIdentity] | None = None
        self._connection: sqlite3.Connection | None = None
        self._damaged: Path | None = None
        self._damage = ""

    @property
    def identity(self) -> str:
        """What the vectors depend on: another store, model or way of cutting means another index."""
        return f"{self._store_id}/{SCHEMA_VERSION}/{CHUNK_COLUMNS}/{self._embedder.identity}"

    # --- the mark -------------------------------------------------------------------------------------------------

    def log_position(self) -> LogPosition | None:
        """How far the index has come; `None` when it has to be rebuilt."""
        try:
            with self._using() as connection:
                meta = {} if connection is None else _meta(connection)
        except IndexDamagedError:
            return None
        sequence, fingerprint = str(meta.get("sequence")), meta.get("fingerprint")
        if meta.get("identity") != self.identity or not sequence.isdecimal() or fingerprint is None:
            return None
        return LogPosition(int(sequence), str(fingerprint))

    # --- writing --------------------------------------------------------------------------------------------------

    def exclusive(self, timeout: float | None = None) -> AbstractContextManager[None]:
        """Only one process drains or rebuilds at a time."""
        return self._lock.hold(timeout)

    def fingerprint(self, entry: MemoryEntry) -> str:
        """What the index keeps to recognise the text it has a vector of; nothing where a reflection speaks for it."""
        return vector_fingerprint(entry)

    def apply(self, batch: IndexBatch) -> None:
        """Embed what is new and write it with the mark in one transaction."""
        with self.exclusive():
            if self.log_position() is None:
                raise IndexDamagedError("the vector index is missing or made by other rules")
            with self._using() as connection:
                known = _hashes(connection, batch.upserts) if connection is not None else {}
            fresh = [entry for entry in batch.upserts if known.get(entry.id) != self.fingerprint(entry)]
            vectors = embed_entries(self._embedder, fresh)
            sequence = batch.log_position.sequence
            rows = [self._row(entry, sequence, block) for entry, block in zip(fresh, vectors, strict=True)]
            rows += [(scope, entry_id, sequence, 0, None, None, None) for scope, entry_id in batch.removals]
            with self._using() as connection:
                if connection is None:
                    raise IndexDamagedError("the vector index was removed while it was written")
                self._write(connection, rows, batch.log_position)

    def rebuild(self, store: RecordStore, *, progress: Progress | None = None) -> None:
        """Build anew beside the old index, then swap. Vectors made before, even by a run that broke off, are used."""
        with self.exclusive():
            head = store.head()
            folder = self._generations.resumable(text_hash(self.identity))
            try:
                with closing(_connect(folder / _FILE, create=True)) as connection:
                    self._fill(connection, store, head, progress)
                with self._guard:
                    self._close_connection()
                    self._generations.publish(folder)
            except FileNotFoundError as error:
                raise IndexDamagedError("the vector index was removed while it was built") from error
            except FILE_ERRORS as error:
                if folder.is_dir() and not means_damage(error):
                    raise IndexingError(f"the vector index cannot be written: {error}") from error
                # What a run that broke off has left is no use: begin with nothing the next time.
                shutil.rmtree(folder, ignore_errors=True)
                raise IndexDamagedError(f"the vector index could not be continued: {error}") from error

    def _fill(
        self, connection: sqlite3.Connection, store: RecordStore, head: LogPosition, progress: Progress | None
    ) -> None:
        sources = [folder / _FILE for folder in self._generations.folders() if (folder / _FILE).exists()]
        done, after = 0, ""
        while page := store.scan(after_id=after, limit=self.batch_size):
            reused = self._reusable(sources, page)
            fresh = [entry for entry in page if entry.id not in reused]
            made = embed_entries(self._embedder, fresh)
            blocks = dict(zip([entry.id for entry in fresh], made, strict=True)) | reused
            self._write(connection, [self._row(entry, head.sequence, blocks[entry.id]) for entry in page], None)
            done, after = done + len(page), page[-1].id
            if progress is not None:
                progress(done, None)
        _drop_others(connection, store, self.batch_size)
        self._write(connection, (), head)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _row(self, entry: MemoryEntry, sequence: int, block: Floats) -> tuple[Any, ...]:
        data = block.astype(np.float16).tobytes()
        return (
            entry.scope,
            entry.id,
            sequence,
            clock.microseconds(entry.event_time),
            self.fingerprint(entry),
            zlib.crc32(data),
            data,
        )

    def _write(
        self, connection: sqlite3.Connection, rows: Iterable[tuple[Any, ...]], log_position: LogPosition | None
    ) -> None:
        connection.execute("BEGIN IMMEDIATE")
        try:
            connection.executemany(_UPSERT, rows)
            meta = {"identity": self.identity}
            if log_position is not None:
                meta |= {"sequence": str(log_position.sequence), "fingerprint": log_position.fingerprint}
            connection.executemany("INSERT OR REPLACE INTO vector_meta VALUES (?, ?)", meta.items())
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    def _reusable(self, sources: Sequence[Path], entries: Sequence[MemoryEntry]) -> dict[str, Floats]:
        """Vectors of the same texts by the same model whose checksum is right."""
        found: dict[str, Floats] = {}
        wanted = {entry.id: self.fingerprint(entry) for entry in entries}
        for file in sources:
            try:
                with closing(_connect(file)) as connection:
                    if _meta(connection).get("identity") != self.identity:
                        continue
                    for entry_id, digest, checksum, data in _rows_of(connection, entries):
                        if data is not None and wanted[entry_id] == digest and self._intact(data, checksum):
                            found[entry_id] = self._decode(data)
            except FILE_ERRORS as error:
                _log.warning("vectors of a damaged index are made anew: %s", error)
        return found

    # --- reading --------------------------------------------------------------------------------------------------

    def scan(self, vector: Floats, scopes: Sequence[str]) -> MatrixScan:
        """Compare a question with every text of these scopes, exactly."""
        try:
            return self._scan(vector, scopes)
        except IndexDamagedError:
            if self._generations.current() in {None, self._damaged}:
                raise
            # It was not broken, another process has put a new one in its place.
            return self._scan(vector, scopes)

    def _scan(self, vector: Floats, scopes: Sequence[str]) -> MatrixScan:
        parts = []
        with self._using() as connection:
            meta = {} if connection is None else _meta(connection)
            if connection is None or meta.get("identity") != self.identity:
                raise IndexDamagedError(self._damage or "the vector index is missing or made by another model")
            log_position = (meta.get("sequence"), meta.get("fingerprint"))
            for scope in scopes:
                matrix = self._matrix(connection, scope, log_position)
                if len(matrix):
                    parts.append((matrix, matrix.similarities(vector)))
            return MatrixScan(parts, vector)

    def contents(self) -> Iterator[tuple[str, str]]:
        """(id, hash) of every vector; the hash is another where its checksum is wrong."""
        with self._using() as connection:
            if connection is None:
                return
            cursor = connection.execute(
                "SELECT entry_id, hash, checksum, data FROM memory_vectors WHERE data IS NOT NULL"
            )
            for entry_id, digest, checksum, data in cursor:
                yield str(entry_id), str(digest) if self._intact(data, checksum) else "damaged"

    def check(self) -> list[str]:
        """SQLite's own opinion of the file."""
        try:
            with self._using() as connection:
                if connection is None:
                    return [self._damage or "there is no vector index; run: jiyi rebuild"]
                found = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(20)")]
        except IndexDamagedError as error:
            return [str(error)]
        return [problem for problem in found if problem != "ok"]

    def describe(self) -> dict[str, Any]:
        """Facts for `doctor`."""
        folder = self._generations.current()
        size = tree_bytes(folder) if folder is not None else 0
        return {
            "engine": "sqlite, exact scan",
            "model": str(self._embedder.identity),
            "bytes": size,
            "cached_scopes": len(self._cache),
            "cached_bytes": self._cached_bytes,
        }

    def close(self) -> None:
        """Let go of the file."""
        with self._guard:
            self._close_connection()
        self._lock.close()

    def _matrix(self, connection: sqlite3.Connection, scope: str, log_position: tuple[str | None, ...]) -> ScopeMatrix:
        """The scope's vectors, up to date with the file. It changes together with its mark, never without it."""
        matrix = self._cache.pop(scope, None)
        if matrix is not None and matrix.log_position == log_position:
            self._cache[scope] = matrix
            return matrix
        if matrix is None:
            matrix = ScopeMatrix(self._dimension)
        self._cached_bytes -= matrix.nbytes
        rows = connection.execute(_SINCE if matrix.sequence else _ALL, (scope, matrix.sequence)).fetchall()
        if rows:
            self._check(rows)
            if matrix.sequence:
                matrix.update(self._decoded(rows))
            else:
                self._load(matrix, rows)
        matrix.log_position = log_position
        self._cache[scope] = matrix
        self._cached_bytes += matrix.nbytes
        while len(self._cache) > 1 and self._cached_bytes > self._cache_bytes:
            self._cached_bytes -= self._cache.popitem(last=False)[1].nbytes
        return matrix

    def _check(self, rows: Sequence[_Stored]) -> None:
        """SQLite reads some flipped bytes without complaint."""
        for entry_id, sequence, event_time, checksum, data in rows:
            sane = isinstance(entry_id, str) and isinstance(sequence, int) and isinstance(event_time, int)
            if not sane or (data is not None and not self._intact(data, checksum)):
                raise IndexDamagedError(f"the vector of entry {entry_id!r} is not what was written")

    def _load(self, matrix: ScopeMatrix, rows: Sequence[_Stored]) -> None:
        """Fill an empty matrix. A scope is read for the first time more often than one would think: once a process."""
        live = [row for row in rows if row[4]]
        ids, _, times, _, blobs = zip(*live, strict=True) if live else ((), (), (), (), ())
        lengths = [len(data) // self._width for data in blobs]
        matrix.load(ids, times, lengths, self._decode(b"".join(blobs)), max(row[1] for row in rows))

    def _decoded(self, rows: Sequence[_Stored]) -> Iterator[tuple[str, int, int, Floats | None]]:
        joined = self._decode(b"".join(row[4] for row in rows if row[4] is not None))
        width, start = self._width, 0
        for entry_id, sequence, event_time, _, data in rows:
            if data is None:
                yield entry_id, sequence, event_time, None
            else:
                count = len(data) // width
                yield entry_id, sequence, event_time, joined[start : start + count]
                start += count

    def _intact(self, data: object, checksum: object) -> bool:
        return isinstance(data, bytes) and len(data) % self._width == 0 and zlib.crc32(data) == checksum

    def _decode(self, data: bytes) -> Floats:
        values = np.frombuffer(data, dtype=np.float16).astype(np.float32)
        return values.reshape(-1, self._dimension)

    # --- opening --------------------------------------------------------------------------------------------------

    @contextmanager
    def _using(self) -> Iterator[sqlite3.Connection | None]:
        """The file in use, for one thread at a time; what turns out to be broken is not asked again."""
        with self._guard:
            try:
                yield self._open()
            except IndexDamagedError as error:
                self._condemn(str(error))
                raise
            except FILE_ERRORS as error:
                in_place = self._opened is not None and self._opened[0].is_dir()
                if in_place and not means_damage(error):
                    raise IndexingError(f"the vector index failed: {error}") from error
                reason = f"the vector index is damaged: {error}"
                self._condemn(reason)
                raise IndexDamagedError(reason) from error

    def _open(self) -> sqlite3.Connection | None:
        while True:
            folder = self._generations.current()
            if folder is None or folder == self._damaged:
                self._close_connection()
                self._damage = "" if folder is None else self._damage
                return None
            file = file_identity(folder / _FILE)
            if file is not None and self._opened == (folder, file):
                return self._connection
            self._close_connection()
            try:
                if file is not None:
                    self._opened = (folder, file)
                    self._connection = _connect(folder / _FILE)
            except FILE_ERRORS:
                if self._generations.current() == folder:
                    raise
            # Whoever replaces a generation first says so and then deletes it: if it is still the current one,
            # it was whole when it was opened.
            if self._generations.current() == folder:
                return self._connection

    def _close_connection(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection, self._opened = None, None
        self._cache.clear()
        self._cached_bytes = 0

    def _condemn(self, reason: str) -> None:
        """Remember that this generation is broken. It stays until the next one takes over: most rows may be of use."""
        if self._opened is not None:
            _log.warning("the vector index will be rebuilt from the records: %s", reason)
            self._damaged, self._damage = self._opened[0], reason
        self._close_connection()


def _connect(path: Path, *, create: bool = False) -> sqlite3.Connection:
    mode = "rwc" if create else "rw"
    address = f"{path.absolute().as_uri()}?mode={mode}"
    connection = sqlite3.connect(address, uri=True, timeout=30, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA synchronous=OFF")
        if create:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.executescript(_CREATE)
        # The first touch: from here on the file and its log are open, whatever becomes of their names.
        connection.execute("SELECT name FROM vector_meta LIMIT 1").fetchone()
    except FILE_ERRORS:
        connection.close()
        raise
    return connection


def _meta(connection: sqlite3.Connection) -> dict[str, str]:
    """Which vectors these are, and how far they have come."""
    return dict(connection.execute("SELECT name, value FROM vector_meta").fetchall())


def _hashes(connection: sqlite3.Connection, entries: Sequence[MemoryEntry]) -> dict[str, str]:
    return {entry_id: digest for entry_id, digest, _, data in _rows_of(connection, entries) if data is not None}


def _rows_of(
    connection: sqlite3.Connection, entries: Sequence[MemoryEntry]
) -> Iterator[tuple[str, str, int, bytes | None]]:
    for entry in entries:
        row = connection.execute(
            "SELECT entry_id, hash, checksum, data FROM memory_vectors WHERE scope = ? AND entry_id = ?",
            (entry.scope, entry.id),
        ).fetchone()
        if row is not None:
            yield row


def _drop_others(connection: sqlite3.Connection, store: RecordStore, size: int) -> None:
    """Take out what a broken-off run left behind and no record has any more."""
    after = ("", "")
    while True:
        rows = connection.execute(
            "SELECT scope, entry_id FROM memory_vectors WHERE (scope, entry_id) > (?, ?) "
            "ORDER BY scope, entry_id LIMIT ?",
            (*after, size),
        ).fetchall()
        if not rows:
            return
        gone = without_record(store, rows)
        connection.executemany("DELETE FROM memory_vectors WHERE scope = ? AND entry_id = ?", gone)
        after = rows[-1]

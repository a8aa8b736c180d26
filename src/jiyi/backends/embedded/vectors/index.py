"""`SqliteVectors`: half-precision vectors in a SQLite file, scanned exactly inside the scope.

Approximate indexes such as HNSW lose most of the right answers for a user who owns a small part of all vectors; an
exact scan does not. The file is derived: it may be deleted at any moment, so its commits need not wait for the disk.
"""

from __future__ import annotations

import logging
import shutil
import sqlite3
import threading
import zlib
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from jiyi.backends.embedded.vectors.rows import (
    StoredVector,
    all_rows,
    connect,
    drop_others,
    entry_rows,
    integrity_problems,
    read_meta,
    scope_rows,
    text_hashes,
    write_rows,
)
from jiyi.backends.shared.derived_file import (
    FILE_ERRORS,
    FileIdentity,
    file_identity,
    index_failure,
    means_damage,
    tree_bytes,
)
from jiyi.backends.shared.embedding import CHUNK_COLUMNS, PreparedVectors, embed_entries, vector_fingerprint
from jiyi.backends.shared.generations import Generations
from jiyi.backends.shared.vector_matrix import Floats, MatrixScan, ScopeMatrix, block_similarities
from jiyi.backends.shared.wal_index import WalIndex
from jiyi.errors import IndexDamagedError
from jiyi.file_lock import FileLock
from jiyi.model import clock
from jiyi.model.entry import MemoryEntry
from jiyi.model.identity import text_hash
from jiyi.model.searched_text import CONTENT_ONLY, SearchedText
from jiyi.ports import Embedder, IndexBatch, LogPosition, Progress, RecordStore

_log = logging.getLogger("jiyi.index")

SCHEMA_VERSION = 1
_FILE = "vectors.db"


class SqliteVectors:
    """The vectors of one data directory, shared by several processes, with a bounded cache of scopes."""

    name = "vectors"
    batch_size = 256

    def __init__(
        self,
        root: Path,
        embedder: Embedder,
        store_id: str,
        *,
        cache_bytes: int,
        lock_timeout: float,
        searched: SearchedText = CONTENT_ONLY,
    ) -> None:
        self._generations = Generations(root, "vectors")
        self._embedder = embedder
        self._store_id = store_id
        self._searched = searched
        self._lock = FileLock(root.parent / "vector-index.lock", timeout=lock_timeout)
        self._lock_timeout = lock_timeout
        self._prepared = PreparedVectors(embedder)
        self._dimension = embedder.identity.dimension
        self._width = 2 * self._dimension
        """Bytes of one vector."""
        self._cache_bytes = cache_bytes
        self._cache: OrderedDict[str, ScopeMatrix] = OrderedDict()
        self._cached_bytes = 0
        self._guard = threading.RLock()
        self._opened: tuple[Path, FileIdentity] | None = None
        self._connection: sqlite3.Connection | None = None
        self._wal_index: WalIndex | None = None
        self._broken: Path | None = None
        self._damage = ""

    @property
    def identity(self) -> str:
        """What the vectors depend on: another store, model, chunk size or searched text."""
        return f"{self._store_id}/{SCHEMA_VERSION}/{CHUNK_COLUMNS}/{self._embedder.identity}{self._searched.identity}"

    # --- log position -------------------------------------------------------------------------------------------------

    def log_position(self) -> LogPosition | None:
        """How far the index has come; `None` when it has to be rebuilt."""
        try:
            with self._using() as connection:
                meta = {} if connection is None else read_meta(connection)
        except IndexDamagedError:
            return None
        sequence, fingerprint = str(meta.get("sequence")), meta.get("fingerprint")
        if not self._is_own(meta) or not sequence.isdecimal() or fingerprint is None:
            return None
        return LogPosition(int(sequence), str(fingerprint))

    def _is_own(self, meta: Mapping[str, Any]) -> bool:
        return self._searched.matches(lambda: self.identity, str(meta.get("identity")))

    # --- writing --------------------------------------------------------------------------------------------------

    def exclusive(self, timeout: float | None = None) -> AbstractContextManager[None]:
        """Only one process drains or rebuilds at a time."""
        return self._lock.hold(timeout)

    def fingerprint(self, entry: MemoryEntry) -> str:
        """The hash by which the index recognises a text."""
        return vector_fingerprint(self._searched.entry(entry))

    def prepare(self, batch: IndexBatch, timeout: float | None = None) -> None:
        """Embed the new texts of a batch, so that nobody waits for the model while the lock is held."""
        fresh = [entry for entry, _ in self._fresh(batch)]
        self._prepared.prepare(fresh, self._lock_timeout if timeout is None else timeout)

    def _fresh(self, batch: IndexBatch) -> list[tuple[MemoryEntry, str]]:
        """The entries of the batch whose vectors the index does not have, with their fingerprints."""
        with self._using() as connection:
            known = text_hashes(connection, batch.upserts) if connection is not None else {}
        entries = self._searched.entries(batch.upserts)
        hashed = [(entry, vector_fingerprint(entry)) for entry in entries]
        return [(entry, digest) for entry, digest in hashed if known.get(entry.id) != digest]

    def apply(self, batch: IndexBatch) -> None:
        """Write the vectors of the new texts with the log position in one transaction.

        What was not prepared is embedded now.
        """
        with self.exclusive():
            if self.log_position() is None:
                raise IndexDamagedError("the vector index is missing or made by other rules")
            fresh = self._fresh(batch)
            vectors = self._prepared.of([entry for entry, _ in fresh])
            sequence = batch.log_position.sequence
            rows = [_row(*each, sequence, block) for each, block in zip(fresh, vectors, strict=True)]
            rows += [(scope, entry_id, sequence, 0, None, None, None) for scope, entry_id in batch.removals]
            with self._using() as connection:
                if connection is None:
                    raise IndexDamagedError("the vector index was removed while it was written")
                self._write(connection, rows, batch.log_position)
            self._prepared.clear()

    def rebuild(self, store: RecordStore, *, progress: Progress | None = None) -> None:
        """Build a new index beside the old one, then swap. Existing vectors are reused, also of an interrupted run."""
        with self.exclusive():
            head = store.head()
            folder = self._generations.resumable(text_hash(self.identity))
            try:
                with closing(connect(folder / _FILE, create=True)) as connection:
                    self._fill(connection, store, head, progress)
                with self._guard:
                    self._close_connection()
                    self._generations.publish(folder)
            except FileNotFoundError as error:
                raise IndexDamagedError("the vector index was removed while it was built") from error
            except FILE_ERRORS as error:
                if folder.is_dir() and not means_damage(error):
                    raise index_failure("the vector index", "be written", error) from error
                # The files of the interrupted run are damaged: the next run starts without them.
                shutil.rmtree(folder, ignore_errors=True)
                raise IndexDamagedError(
                    f"an interrupted rebuild of the vector index could not be continued: {error}"
                ) from error

    def _fill(
        self, connection: sqlite3.Connection, store: RecordStore, head: LogPosition, progress: Progress | None
    ) -> None:
        sources = [folder / _FILE for folder in self._generations.folders() if (folder / _FILE).exists()]
        done, after = 0, ""
        while page := self._searched.entries(store.scan(after_id=after, limit=self.batch_size)):
            reused = self._reusable(sources, page)
            fresh = [entry for entry in page if entry.id not in reused]
            made = embed_entries(self._embedder, fresh)
            blocks = dict(zip([entry.id for entry in fresh], made, strict=True)) | reused
            rows = [_row(entry, vector_fingerprint(entry), head.sequence, blocks[entry.id]) for entry in page]
            self._write(connection, rows, None)
            done, after = done + len(page), page[-1].id
            if progress is not None:
                progress(done, None)
        drop_others(connection, store, self.batch_size)
        self._write(connection, (), head)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _write(
        self, connection: sqlite3.Connection, rows: Iterable[tuple[Any, ...]], log_position: LogPosition | None
    ) -> None:
        write_rows(connection, rows, self.identity, log_position)

    def _reusable(self, sources: Sequence[Path], entries: Sequence[MemoryEntry]) -> dict[str, Floats]:
        """Existing vectors of the same texts by the same model, with a valid checksum."""
        found: dict[str, Floats] = {}
        wanted = {entry.id: vector_fingerprint(entry) for entry in entries}
        for file in sources:
            try:
                with closing(connect(file)) as connection:
                    if read_meta(connection).get("identity") != self.identity:
                        continue
                    for entry_id, digest, checksum, data in entry_rows(connection, entries):
                        if data is not None and wanted[entry_id] == digest and self._intact(data, checksum):
                            found[entry_id] = self._decode(data)
            except FILE_ERRORS as error:
                _log.warning("vectors of a damaged index are embedded again: %s", error)
        return found

    # --- reading --------------------------------------------------------------------------------------------------

    def scan(self, vector: Floats, scopes: Sequence[str]) -> MatrixScan:
        """Compare a question with every text of these scopes, exactly."""
        try:
            return self._scan(vector, scopes)
        except IndexDamagedError:
            if self._generations.current() in {None, self._broken}:
                raise
            # It was not damaged: another process has replaced it.
            return self._scan(vector, scopes)

    def _scan(self, vector: Floats, scopes: Sequence[str]) -> MatrixScan:
        parts = []
        with self._using() as connection:
            meta = {} if connection is None else read_meta(connection)
            if connection is None or not self._is_own(meta):
                raise IndexDamagedError(self._damage or "the vector index is missing or made by another model")
            log_position = (meta.get("sequence"), meta.get("fingerprint"))
            for scope in scopes:
                matrix = self._matrix(connection, scope, log_position)
                if len(matrix):
                    parts.append((matrix, matrix.similarities(vector)))
            return MatrixScan(parts, vector)

    def similarities(self, vector: Floats, entries: Sequence[MemoryEntry]) -> Floats:
        """The similarity of each entry, as a scan will tell it when the entries are written."""
        blocks = embed_entries(self._embedder, self._searched.entries(entries))
        return block_similarities([block.astype(np.float16).astype(np.float32) for block in blocks], vector)

    def contents(self) -> Iterator[tuple[str, str]]:
        """(id, hash) of every vector; a wrong hash where the checksum does not match."""
        with self._using() as connection:
            if connection is None:
                return
            for entry_id, digest, checksum, data in all_rows(connection):
                yield str(entry_id), str(digest) if self._intact(data, checksum) else "damaged"

    def check(self) -> list[str]:
        """SQLite's integrity check."""
        try:
            with self._using() as connection:
                if connection is None:
                    return [self._damage or "there is no vector index; run: jiyi rebuild"]
                return integrity_problems(connection)
        except IndexDamagedError as error:
            return [str(error)]

    def describe(self) -> dict[str, Any]:
        """Facts for `doctor`."""
        folder = self._generations.current()
        size = tree_bytes(folder) if folder is not None else 0
        return {
            "engine": "sqlite, exact scan",
            "model": str(self._embedder.identity),
            "built": self._generations.was_published(),
            "bytes": size,
            "cached_scopes": len(self._cache),
            "cached_bytes": self._cached_bytes,
        }

    def close(self) -> None:
        """Close the file."""
        with self._guard:
            self._close_connection()
        self._lock.close()

    def _matrix(self, connection: sqlite3.Connection, scope: str, log_position: tuple[str | None, ...]) -> ScopeMatrix:
        """The vectors of the scope. They are current if the log position of the file has not changed."""
        matrix = self._cache.pop(scope, None)
        if matrix is not None and matrix.log_position == log_position:
            self._cache[scope] = matrix
            return matrix
        if matrix is None:
            matrix = ScopeMatrix(self._dimension)
        self._cached_bytes -= matrix.nbytes
        rows = scope_rows(connection, scope, matrix.sequence)
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

    def _check(self, rows: Sequence[StoredVector]) -> None:
        """Compare the checksums: SQLite does not detect every flipped byte."""
        for entry_id, sequence, event_time, checksum, data in rows:
            sane = isinstance(entry_id, str) and isinstance(sequence, int) and isinstance(event_time, int)
            if not sane or (data is not None and not self._intact(data, checksum)):
                raise IndexDamagedError(f"the vector of entry {entry_id!r} is not what was written")

    def _load(self, matrix: ScopeMatrix, rows: Sequence[StoredVector]) -> None:
        """Fill an empty matrix with all rows at once."""
        live = [row for row in rows if row[4]]
        ids, _, times, _, blobs = zip(*live, strict=True) if live else ((), (), (), (), ())
        lengths = [len(data) // self._width for data in blobs]
        matrix.load(ids, times, lengths, self._decode(b"".join(blobs)), max(row[1] for row in rows))

    def _decoded(self, rows: Sequence[StoredVector]) -> Iterator[tuple[str, int, int, Floats | None]]:
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
        """The open file, for one thread at a time. A file that turns out to be damaged is not opened again."""
        with self._guard:
            try:
                yield self._open()
            except IndexDamagedError as error:
                self._mark_broken(str(error))
                raise
            except FILE_ERRORS as error:
                in_place = self._opened is not None and self._opened[0].is_dir()
                if in_place and not means_damage(error):
                    raise index_failure("the vector index", "be used", error) from error
                reason = f"the vector index is damaged: {error}"
                self._mark_broken(reason)
                raise IndexDamagedError(reason) from error

    def _open(self) -> sqlite3.Connection | None:
        while True:
            folder = self._generations.current()
            if folder is None or folder == self._broken:
                self._close_connection()
                self._damage = "" if folder is None else self._damage
                return None
            file = file_identity(folder / _FILE)
            if file is not None and self._opened == (folder, file):
                if self._wal_index is not None and self._wal_index.restore():
                    raise IndexDamagedError("the log index of the vectors was truncated")
                return self._connection
            self._close_connection()
            try:
                if file is not None:
                    self._opened = (folder, file)
                    self._connection = connect(folder / _FILE)
                    self._wal_index = WalIndex(folder / _FILE)
            except FILE_ERRORS:
                if self._generations.current() == folder:
                    raise
            # A replaced generation is deleted after the pointer is changed: if it is still the current one, it was
            # complete when it was opened.
            if self._generations.current() == folder:
                return self._connection

    def _close_connection(self) -> None:
        if self._connection is not None:
            if self._wal_index is not None:
                self._wal_index.restore()
            self._connection.close()
        self._connection, self._opened = None, None
        self._cache.clear()
        self._cached_bytes = 0

    def _mark_broken(self, reason: str) -> None:
        """Do not open this generation again. It is kept until the rebuild, which reuses its intact rows."""
        if self._opened is not None:
            _log.warning("the vector index will be rebuilt from the records: %s", reason)
            self._broken, self._damage = self._opened[0], reason
        self._close_connection()


def _row(entry: MemoryEntry, digest: str, sequence: int, block: Floats) -> tuple[Any, ...]:
    data = block.astype(np.float16).tobytes()
    moment = clock.microseconds(entry.event_time)
    return (entry.scope, entry.id, sequence, moment, digest, zlib.crc32(data), data)

"""SQLite as the engine of the record store: one file, several processes, every commit on disk.

Writes, checkpoints and closing connections take one lock between processes. It queues writers fairly, and it keeps a
checkpoint of one process from overlapping a write of another (SQLite before 3.51.3 can damage the file then). SQLite's
automatic checkpoints are part of a commit, so they happen under that lock.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any, Final

from jiyi.backends.embedded.connection import SqliteConnection
from jiyi.backends.records import versions
from jiyi.backends.records.sql import NO_PARAMS, Dialect, Params, Row
from jiyi.backends.shared.derived_file import file_bytes
from jiyi.backends.shared.pool import Pool, PoolTimeoutError
from jiyi.backends.shared.wal_index import WalIndex
from jiyi.contexts import Block, on_error
from jiyi.errors import StorageError, StoreBusyError, StoreDamagedError
from jiyi.file_lock import FileLock
from jiyi.resource_limits import out_of_descriptors

FIXED_WAL_RESET: Final = (3, 51, 3)
# SQLite restarts the log after a checkpoint: its file grows once and is then overwritten, which is the quickest way to
# have a commit on disk.
_CHECKPOINT_PAGES = 1_000
_MAX_LOG_BYTES = 64 << 20
_PRIMARY_CODE: Final = 0xFF
_BUSY_PAUSE: Final = 0.001
_MAX_READERS, _KEPT_READERS = 32, 8
_PRAGMAS: Final = (
    "synchronous=FULL",
    "fullfsync=ON",
    "foreign_keys=ON",
    "cache_size=-16000",
    "temp_store=MEMORY",
    # What was erased must not stay readable in free space of the file.
    "secure_delete=ON",
)


class SqliteDatabase:
    """Connections to one SQLite file, with the transactions that the record store asks for."""

    dialect: Dialect = "sqlite"

    def __init__(self, path: Path, *, busy_timeout: float, derived: Path | None = None) -> None:
        """`derived` is the folder of the indexes, if there is one."""
        self.path = path
        self._derived = derived
        self._lock = FileLock(path.with_suffix(".lock"), timeout=busy_timeout, purpose="the write lock")
        self._wal = Path(f"{path}-wal")
        self._wal_index = WalIndex(path)
        self._closed = False
        self._busy_timeout = busy_timeout
        # There is one writer at a time. One connection for all of them keeps its statements and pages in its caches.
        self._writer: SqliteConnection | None = None
        self._group_thread: int | None = None
        self._group_written = False
        self._lost: BaseException | None = None
        self._readers = Pool(
            self._connect_reader, _close, kept=_KEPT_READERS, max_size=_MAX_READERS, timeout=busy_timeout
        )
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            where = path.parent if path.is_absolute() else f"{path.parent} (from here {path.parent.absolute()})"
            if path.parent.exists():
                raise StorageError(f"{where} is a file; name a directory for the data") from error
            raise StorageError(f"the data directory {where} cannot be made: {error.strerror}") from error
        with on_error(self.close):
            self._refuse_emptied()
            self._prepare()

    # --- transactions -----------------------------------------------------------------------------------------------

    @contextmanager
    def read(self, scopes: Sequence[str] | None = None) -> Iterator[SqliteConnection]:  # noqa: ARG002 - for PostgreSQL
        """One consistent snapshot; inside a group, with what the group has written."""
        if self._in_group():
            with self._translated():
                yield self._group_connection()
            return
        with self._translated(), self._reader() as connection:
            connection.driver.execute("BEGIN")
            try:
                yield connection
            finally:
                connection.driver.rollback()

    def query(
        self,
        sql: str,
        params: Params = NO_PARAMS,
        scopes: Sequence[str] | None = None,  # noqa: ARG002 - for PostgreSQL
        *,
        prepare: bool = True,  # noqa: ARG002 - for PostgreSQL
    ) -> list[Row]:
        """The rows of one statement, which is one snapshot."""
        # Without context managers: they take as long as a small query, and every recall has several.
        connection: SqliteConnection | None = None
        try:
            if self._in_group():
                return self._group_connection().rows(sql, params)
            connection = self._take_reader()
            rows = connection.rows(sql, params)
        except BaseException as error:
            if connection is not None:
                self._readers.discard(connection)
            self._raise_meaning(error)
            raise
        self._readers.give_back(connection)
        return rows

    def write(
        self,
        scopes: Sequence[str] | None = None,  # noqa: ARG002 - for PostgreSQL
        *,
        durable: bool = True,  # noqa: ARG002 - for PostgreSQL
    ) -> AbstractContextManager[SqliteConnection]:
        """One transaction; durable when the block has ended without an error. There is one at a time.

        Inside a group it is a part of the group's transaction, durable when the group has ended.
        """
        if not self._in_group():
            return Block(self._begin_transaction, self._end_transaction)
        connection = self._group_connection()
        if self._group_written:
            return Block(self._begin_savepoint, self._end_savepoint)
        # The first write of a group needs no savepoint: nothing is before it that its failure must leave.
        self._group_written = True
        return Block(lambda: connection, self._end_first_of_group)

    def group(self) -> AbstractContextManager[None]:
        """One transaction for every `write` of this thread: one turn of the lock, one commit.

        A `write` that fails takes nothing of the others with it. An error at the end of the block means that nothing
        was kept.
        """
        return Block(self._begin_group, self._end_group)

    def _begin_group(self) -> None:
        self._begin_transaction()
        self._group_thread, self._group_written, self._lost = threading.get_ident(), False, None

    def _end_group(self, error: BaseException | None) -> None:
        self._group_thread = None
        if error is not None or self._lost is None:
            self._end_transaction(error)
        else:
            self._end_transaction(self._lost)
            raise self._lost

    def _begin_transaction(self) -> SqliteConnection:
        self._lock.acquire()
        try:
            if self._writer is None:
                self._writer = self._connect_writer()
            self._wal_index.restore()
            self._begin(self._writer.driver)
        except BaseException as error:
            self._end_transaction(error)
            raise
        return self._writer

    def _end_transaction(self, error: BaseException | None) -> None:
        """Commit; after an error only clean up, and raise what it means, if that is another error."""
        try:
            if error is None and self._writer is not None:
                self._writer.driver.commit()
        except BaseException as failed:
            # Whatever state the connection is in, the next write begins with another one.
            self._close_writer()
            self._raise_meaning(failed)
            raise
        else:
            if error is not None:
                self._close_writer()
        finally:
            self._lock.release()
        if error is not None:
            self._raise_meaning(error)

    def _begin_savepoint(self) -> SqliteConnection:
        connection = self._group_connection()
        with self._translated():
            connection.driver.execute("SAVEPOINT caller")
        return connection

    def _end_savepoint(self, error: BaseException | None) -> None:
        failed = error
        if error is None:
            try:
                self._group_connection().driver.execute("RELEASE caller")
            except sqlite3.Error as unreleased:
                failed = unreleased
        if failed is None:
            return
        try:
            if self._writer is not None:
                self._writer.driver.execute("ROLLBACK TO caller")
                self._writer.driver.execute("RELEASE caller")
        except sqlite3.Error:
            # After some errors (disk full, I/O) SQLite has already rolled back the whole transaction.
            self._lost = failed
        self._raise_meaning(failed)
        if failed is not error:
            raise failed

    def _end_first_of_group(self, error: BaseException | None) -> None:
        if error is None:
            return
        try:
            if self._writer is not None:
                self._writer.driver.rollback()
                self._begin(self._writer.driver)
                self._group_written = False
        except sqlite3.Error:
            self._lost = error
        self._raise_meaning(error)

    def _in_group(self) -> bool:
        return self._group_thread == threading.get_ident()

    def _group_connection(self) -> SqliteConnection:
        if self._lost is not None or self._writer is None:
            raise StorageError(f"the transaction of {self.path} was lost by an earlier write of its group")
        return self._writer

    def _begin(self, driver: sqlite3.Connection) -> None:
        """Begin to write. A program that does not know our lock may be writing: wait for it."""
        deadline = time.monotonic() + self._busy_timeout
        while True:
            try:
                driver.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & _PRIMARY_CODE != sqlite3.SQLITE_BUSY or time.monotonic() >= deadline:
                    raise
            else:
                return
            time.sleep(_BUSY_PAUSE)

    # --- upkeep -----------------------------------------------------------------------------------------------------

    def maintain(self) -> None:
        """Truncate the write-ahead log after a very large transaction."""
        if file_bytes(self._wal) > _MAX_LOG_BYTES:
            with self._lock.hold(), self._translated():
                self._truncate_log()

    def _truncate_log(self) -> None:
        if self._writer is None:
            self._writer = self._connect_writer()
        # Not while a reader needs an old state: the writer does not wait, and there will be another occasion.
        self._writer.driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def describe(self) -> dict[str, Any]:
        """Facts for `doctor`."""
        from jiyi.backends.records.migrations import current_version

        with self.read() as connection:
            version = current_version(connection)
            settings = {
                name: connection.scalar(f"PRAGMA {name}") for name in ("journal_mode", "synchronous", "foreign_keys")
            }
        return {
            "engine": "sqlite",
            "engine_version": sqlite3.sqlite_version,
            "wal_reset_fixed": sqlite3.sqlite_version_info >= FIXED_WAL_RESET,
            "file": str(self.path),
            "bytes": file_bytes(self.path),
            "wal_bytes": file_bytes(self._wal),
            "schema_version": version,
            **settings,
        }

    def check(self) -> list[str]:
        """What SQLite itself finds wrong with the file and its references."""
        with self.read() as connection:
            problems = [str(found) for found in connection.column("PRAGMA integrity_check(20)")]
            with connection.stream("PRAGMA foreign_key_check") as rows:
                tables = [row[0] for row, _ in zip(rows, range(20), strict=False)]
        return [p for p in problems if p != "ok"] + [f"dangling reference in {table}" for table in tables]

    def listen(self) -> None:
        """SQLite sends no notifications of changes."""

    def close(self) -> None:
        """Close every connection; the last one of all processes does a checkpoint."""
        if self._closed:
            return
        self._closed = True
        with self._lock.hold():
            self._wal_index.restore()
            self._close_writer()
            self._readers.close()
        self._lock.close()

    # --- opening ----------------------------------------------------------------------------------------------------

    def _refuse_emptied(self) -> None:
        """An empty file beside a log or an index was a store: a new one in its place would hide the loss."""
        if not self.path.exists() or file_bytes(self.path):
            return
        indexes = [each for each in self._derived.glob("*.current") if each.is_file()] if self._derived else []
        if file_bytes(self._wal) or indexes:
            beside = self._wal if file_bytes(self._wal) else indexes[0].parent
            raise StoreDamagedError(
                f"{self.path} is empty, and {beside} shows that it was not: something has truncated it; restore it "
                f"from a backup or an export, or move {self.path.name} and {beside.name} away to begin anew"
            )

    def _prepare(self) -> None:
        where = str(self.path)
        with self._lock.hold(), self._translated():
            with closing(sqlite3.connect(self.path, timeout=self._busy_timeout)) as plain:
                # Checked before anything is changed: a file that is newer than this jiyi, or not its own, stays as
                # it is.
                tables = {row[0] for row in plain.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
                newest = "SELECT max(version) FROM schema_migrations"
                found = versions.version_of(
                    {name for name in tables if not name.startswith("sqlite_")},
                    lambda: plain.execute(newest).fetchone()[0],
                    where,
                )
                versions.refuse_newer(found, where)
                mode = plain.execute("PRAGMA journal_mode=WAL").fetchone()[0]
                if mode != "wal":
                    raise StorageError(f"{self.path} cannot use a write-ahead log (journal mode is {mode!r})")
            if found < versions.NEWEST:
                from jiyi.backends.records.migrations import migrate

                if found:
                    self._backup(found)
                with self.write() as connection:
                    migrate(connection, where)

    def _backup(self, version: int) -> None:
        """A whole copy beside the file before a migration changes it."""
        target = self.path.with_suffix(f".before-v{versions.NEWEST}-was-v{version}.db")
        if target.exists():
            return
        partial = target.with_suffix(".partial")
        with closing(sqlite3.connect(self.path)) as source, closing(sqlite3.connect(partial)) as copy:
            source.backup(copy)
        partial.replace(target)

    # --- connections ------------------------------------------------------------------------------------------------

    @contextmanager
    def _reader(self) -> Iterator[SqliteConnection]:
        connection = self._take_reader()
        try:
            yield connection
        except BaseException:
            self._readers.discard(connection)
            raise
        self._readers.give_back(connection)

    def _take_reader(self) -> SqliteConnection:
        if self._wal_index.is_truncated():
            # Under the write lock: no transaction is being written, so everything that counts is in the log.
            with self._lock.hold():
                self._wal_index.restore()
        try:
            connection, _ = self._readers.take()
        except PoolTimeoutError as error:
            raise StoreBusyError(
                f"{self.path}: no connection for reading became free in {self._busy_timeout:g} s; try again"
            ) from error
        return connection

    def _connect_reader(self) -> SqliteConnection:
        return self._connect("query_only=ON")

    def _connect_writer(self) -> SqliteConnection:
        # It does not wait by itself, see `_begin`.
        return self._connect("busy_timeout=0")

    def _connect(self, *more: str) -> SqliteConnection:
        driver = sqlite3.connect(self.path, timeout=self._busy_timeout, isolation_level=None, check_same_thread=False)
        with on_error(driver.close):
            for pragma in (*_PRAGMAS, f"wal_autocheckpoint={_CHECKPOINT_PAGES}", *more):
                driver.execute(f"PRAGMA {pragma}")
        return SqliteConnection(driver)

    def _close_writer(self) -> None:
        if self._writer is not None:
            self._writer.driver.close()
            self._writer = None

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Errors of the driver as those of a store."""
        try:
            yield
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            self._raise_meaning(error)
            raise

    def _raise_meaning(self, error: BaseException) -> None:
        """Raise what an error of the driver means; others are left to the caller."""
        storage_error = _meaning(self.path, error)
        if storage_error is not None:
            raise storage_error from error


def _close(connection: SqliteConnection) -> None:
    connection.driver.close()


def _meaning(path: Path, error: BaseException) -> StorageError | None:  # noqa: PLR0911 - a list of meanings
    """What an error of the engine means for the caller, and what to do; `None` when it comes from elsewhere."""
    if isinstance(error, UnicodeDecodeError):
        # The message of an error about a damaged file can itself hold damaged text.
        return StoreDamagedError(
            f"{path} cannot be read as a database ({error}); restore it from a backup or an export"
        )
    if not isinstance(error, sqlite3.DatabaseError):
        return None
    reason = str(error)
    if "locked" in reason or "busy" in reason:
        return StoreBusyError(f"{path} is locked by another program ({reason}); try again")
    if "disk is full" in reason:
        return StorageError(f"no room left on the disk of {path}; nothing of this write was kept")
    if limit := out_of_descriptors():
        return limit
    if "readonly" in reason or "unable to open" in reason:
        return StorageError(f"{path} cannot be opened or written ({reason}); check its permissions")
    if "malformed" in reason or "not a database" in reason:
        return StoreDamagedError(
            f"{path} cannot be read as a database ({reason}); restore it from a backup or an export"
        )
    return StorageError(f"the record store {path} failed: {reason}")

"""SQLite as the engine of the record store: one file, several processes, every commit on disk.

Writes, checkpoints and closing connections take one lock between processes. It queues writers fairly, and it keeps a
checkpoint of one process from overlapping a write of another (SQLite before 3.51.3 can damage the file then). SQLite's
automatic checkpoints are part of a commit, so they happen under that lock.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jiyi.backends.embedded.reads import SqliteReads
from jiyi.backends.records import versions
from jiyi.errors import StorageError, StoreBusyError, StoreDamagedError
from jiyi.execution import Lazy, WouldWaitError, may_wait, must_be_patient
from jiyi.file_lock import FileLock

if TYPE_CHECKING:
    import sqlalchemy as sa

FIXED_WAL_RESET = (3, 51, 3)
# SQLite begins the log anew after a checkpoint: its file grows once and is then written over, which is the quickest way
# to have a commit on disk.
_CHECKPOINT_PAGES = 1_000
_LARGE_LOG_BYTES = 64 << 20
_PRIMARY_CODE = 0xFF
_BUSY_PAUSE = 0.001
# Who may not wait leaves the log as it is. After so many such writes one has to be made by somebody who may.
_MAX_UNFOLDED = 64


class SqliteDatabase:
    """Connections to one SQLite file, with the transactions that the record store asks for."""

    dialect = "sqlite"

    def __init__(self, path: Path, *, busy_timeout: float) -> None:
        self.path = path
        self._lock = FileLock(path.with_suffix(".lock"), timeout=busy_timeout, purpose="the write lock")
        self._wal = Path(f"{path}-wal")
        self._closed = False
        self._busy_timeout = busy_timeout
        # Writers take turns anyway. One connection for all of them keeps its statements and pages at hand.
        self._writer: sa.Connection | None = None
        self._folds = True
        self._unfolded = 0
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(f"the data directory {path.parent} cannot be made: {error.strerror}") from error
        self._engine = Lazy(self._make_engine)
        self.reads = SqliteReads(self._reader, lambda: _translated(path))
        """What every recall asks, without SQLAlchemy."""
        try:
            self._prepare()
        except BaseException:
            self.close()
            raise

    @contextmanager
    def read(self, scopes: Sequence[str] | None = None) -> Iterator[sa.Connection]:  # noqa: ARG002
        """One consistent snapshot."""
        with _translated(self.path), self._engine().connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def write(self, scopes: Sequence[str] | None = None, *, durable: bool = True) -> Iterator[sa.Connection]:  # noqa: ARG002
        """One transaction; durable when the block has ended without an error. There is one at a time."""
        at_once = not may_wait()
        if self._unfolded >= _MAX_UNFOLDED:
            must_be_patient()
        self._lock.acquire()
        try:
            if self._writer is None:
                self._writer = self._make_writer()
            writer = self._writer
            driver: sqlite3.Connection = writer.connection.dbapi_connection  # type: ignore[assignment]
            # Straight to the driver: through SQLAlchemy it takes longer than the small statements that follow. Its part
            # begins with the first statement that goes through it, if any does.
            self._fold_when_large(driver, wanted=not at_once)
            self._begin(driver, at_once=at_once)
            yield writer
            if writer.in_transaction():
                writer.commit()
            else:
                driver.commit()
            self._unfolded = self._unfolded + 1 if at_once else 0
        except WouldWaitError:
            raise
        except BaseException as error:
            # Whatever state it is in, the next write begins with another.
            self._close_writer()
            meaning = _meaning(self.path, error)
            if meaning is None:
                raise
            raise meaning from error
        finally:
            self._lock.release()

    def _make_writer(self) -> sa.Connection:
        writer = self._engine().connect().execution_options(jiyi_write=True)
        # Not to go back to the readers: it does not wait by itself, see `_begin`.
        writer.detach()
        writer.connection.cursor().execute("PRAGMA busy_timeout=0")
        self._folds = True
        return writer

    def _fold_when_large(self, driver: sqlite3.Connection, *, wanted: bool) -> None:
        """Whether a commit that finds the log large folds it into the file, which takes longer than many commits."""
        if self._folds != wanted:
            driver.execute(f"PRAGMA wal_autocheckpoint={_CHECKPOINT_PAGES if wanted else 0}")
            self._folds = wanted

    def _begin(self, driver: sqlite3.Connection, *, at_once: bool) -> None:
        """Begin to write. A program that does not know our lock may be writing: it is waited for, if that may be."""
        deadline = time.monotonic() + self._busy_timeout
        while True:
            try:
                driver.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & _PRIMARY_CODE != sqlite3.SQLITE_BUSY:
                    raise
                if at_once:
                    raise WouldWaitError from error
                if time.monotonic() >= deadline:
                    raise
            else:
                return
            time.sleep(_BUSY_PAUSE)

    def maintain(self) -> None:
        """Give the disk back what a very large transaction has left in the write-ahead log."""
        if _size(self._wal) > _LARGE_LOG_BYTES:
            with self._lock.hold(), _translated(self.path):
                self._empty_log()

    def describe(self) -> dict[str, Any]:
        """Facts for `doctor`."""
        from jiyi.backends.records.migrations import current_version

        with self.read() as connection:
            version = current_version(connection)
            settings = {
                name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
                for name in ("journal_mode", "synchronous", "foreign_keys")
            }
        return {
            "engine": "sqlite",
            "engine_version": sqlite3.sqlite_version,
            "wal_reset_fixed": sqlite3.sqlite_version_info >= FIXED_WAL_RESET,
            "file": str(self.path),
            "bytes": _size(self.path),
            "wal_bytes": _size(self._wal),
            "schema_version": version,
            **settings,
        }

    def check(self) -> list[str]:
        """SQLite's own opinion of the file and its references."""
        with self.read() as connection:
            problems = [str(row[0]) for row in connection.exec_driver_sql("PRAGMA integrity_check(20)")]
            foreign = connection.exec_driver_sql("PRAGMA foreign_key_check").fetchmany(20)
        return [p for p in problems if p != "ok"] + [f"dangling reference in {row[0]}" for row in foreign]

    def close(self) -> None:
        """Close every connection; the last one of all processes folds the log into the file."""
        if self._closed:
            return
        self._closed = True
        with self._lock.hold():
            self._close_writer()
            self.reads.close()
            if self._engine.made:
                self._engine().dispose()
        self._lock.close()

    def _close_writer(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _prepare(self) -> None:
        where = str(self.path)
        with self._lock.hold(), _translated(self.path):
            with closing(sqlite3.connect(self.path, timeout=self._busy_timeout)) as plain:
                # Looked at before anything is changed: a file that is newer than this jiyi, or not its own, stays as
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

    def _make_engine(self) -> sa.Engine:
        import sqlalchemy as sa
        from sqlalchemy import event
        from sqlalchemy.pool import QueuePool

        engine = sa.create_engine(
            sa.URL.create("sqlite", database=str(self.path)),
            poolclass=QueuePool,
            pool_size=8,
            max_overflow=24,
            pool_timeout=self._busy_timeout,
            pool_use_lifo=True,  # the connection used last has the most pages at hand
            connect_args={"check_same_thread": False, "timeout": self._busy_timeout, "isolation_level": None},
        )
        event.listen(engine, "connect", self._configure)
        event.listen(engine, "begin", _begin)
        return engine

    def _reader(self) -> sqlite3.Connection:
        """A connection for `reads`."""
        connection = sqlite3.connect(
            self.path, timeout=self._busy_timeout, isolation_level=None, check_same_thread=False
        )
        self._configure(connection, None)
        connection.execute("PRAGMA query_only=ON")
        return connection

    def _backup(self, version: int) -> None:
        """A whole copy beside the file before a migration touches it."""
        target = self.path.with_suffix(f".before-v{versions.NEWEST}-was-v{version}.db")
        if target.exists():
            return
        partial = target.with_suffix(".partial")
        with closing(sqlite3.connect(self.path)) as source, closing(sqlite3.connect(partial)) as copy:
            source.backup(copy)
        partial.replace(target)

    def _empty_log(self) -> None:
        with closing(self._engine().raw_connection()) as raw:
            cursor = raw.cursor()
            # Not while somebody reads an old state, and writers do not wait for that: there will be another occasion.
            cursor.execute("PRAGMA busy_timeout=0")
            try:
                cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            finally:
                cursor.execute(f"PRAGMA busy_timeout={int(1_000 * self._busy_timeout)}")

    @staticmethod
    def _configure(connection: sqlite3.Connection, _record: object) -> None:
        cursor = connection.cursor()
        for pragma in (
            "synchronous=FULL",
            "fullfsync=ON",
            "foreign_keys=ON",
            f"wal_autocheckpoint={_CHECKPOINT_PAGES}",
            "cache_size=-16000",
            "temp_store=MEMORY",
            # What was erased must not stay readable in free space of the file.
            "secure_delete=ON",
        ):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()


def _begin(connection: sa.Connection) -> None:
    # The transaction of a writer has begun already: see `SqliteDatabase.write`.
    if not connection.get_execution_options().get("jiyi_write", False):
        connection.connection.cursor().execute("BEGIN")


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    """Errors of the driver, and those that wrap them, in our words."""
    try:
        yield
    except Exception as error:
        meaning = _meaning(path, error)
        if meaning is None:
            raise
        raise meaning from error


def _meaning(path: Path, error: BaseException) -> StorageError | None:  # noqa: PLR0911 - a list of meanings
    """What an error of the engine means for the caller, and what to do; `None` when it comes from elsewhere."""
    if isinstance(error, UnicodeDecodeError):
        # The message of an error about a damaged file can itself hold damaged text.
        return StoreDamagedError(
            f"{path} cannot be read as a database ({error}); restore it from a backup or an export"
        )
    # SQLAlchemy's errors carry the driver's; it need not be loaded to know that.
    cause = getattr(error, "orig", error)
    if not isinstance(cause, sqlite3.DatabaseError):
        return None
    reason = str(cause)
    if "locked" in reason or "busy" in reason:
        return StoreBusyError(f"{path} is locked by another program ({reason}); try again")
    if "disk is full" in reason:
        return StorageError(f"no room left on the disk of {path}; nothing of this write was kept")
    if "readonly" in reason or "unable to open" in reason:
        return StorageError(f"{path} cannot be opened or written ({reason}); check its permissions")
    if "malformed" in reason or "not a database" in reason:
        return StoreDamagedError(
            f"{path} cannot be read as a database ({reason}); restore it from a backup or an export"
        )
    return StorageError(f"the record store {path} failed: {reason}")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0

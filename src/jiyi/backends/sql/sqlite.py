"""SQLite as the engine of the record store: one file, several processes, every commit on disk.

Writes, checkpoints and closing connections take one lock between processes. It queues writers fairly, and it keeps a
checkpoint of one process from overlapping a write of another (SQLite before 3.51.3 can damage the file then).
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.exc import DatabaseError
from sqlalchemy.pool import QueuePool

from jiyi.backends.locks import ProcessLock
from jiyi.backends.sql import migrations
from jiyi.errors import StorageError, StoreBusyError, StoreDamagedError

FIXED_WAL_RESET = (3, 51, 3)
_CHECKPOINT_BYTES = 1 << 20
_CHECKPOINT_NOW_BYTES = 64 << 20


class SqliteDatabase:
    """Connections to one SQLite file, with the transactions that the record store asks for."""

    dialect = "sqlite"

    def __init__(self, path: Path, *, busy_timeout: float) -> None:
        self.path = path
        self._lock = ProcessLock(path.with_suffix(".lock"), timeout=busy_timeout, purpose="the write lock")
        self._wal = Path(f"{path}-wal")
        self._closed = False
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(
                f"the data directory {path.parent} cannot be made: {error.strerror}"
            ) from error
        self._engine = sa.create_engine(
            sa.URL.create("sqlite", database=str(path)),
            poolclass=QueuePool,
            pool_size=8,
            max_overflow=24,
            pool_timeout=busy_timeout,
            connect_args={"check_same_thread": False, "timeout": busy_timeout, "isolation_level": None},
        )
        event.listen(self._engine, "connect", self._configure)
        event.listen(self._engine, "begin", _begin)
        self._prepare()

    @contextmanager
    def read(self) -> Iterator[sa.Connection]:
        """One consistent snapshot."""
        with _translated(self.path), self._engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def write(self) -> Iterator[sa.Connection]:
        """One transaction; durable when the block has ended without an error."""
        with self._lock.hold(), _translated(self.path):
            with self._engine.connect() as connection:
                connection = connection.execution_options(jiyi_write=True)
                with connection.begin():
                    yield connection
            if _size(self._wal) > _CHECKPOINT_NOW_BYTES:
                self._checkpoint()

    def maintain(self) -> None:
        """Move the write-ahead log into the file when it has grown."""
        if _size(self._wal) > _CHECKPOINT_BYTES:
            with self._lock.hold(), _translated(self.path):
                self._checkpoint()

    def describe(self) -> dict[str, Any]:
        """Facts for `doctor`."""
        with self.read() as connection:
            version = migrations.current_version(connection)
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
            self._engine.dispose()
        self._lock.close()

    def _prepare(self) -> None:
        with self._lock.hold(), _translated(self.path):
            existed = _size(self.path) > 0
            with closing(sqlite3.connect(self.path)) as plain:
                mode = plain.execute("PRAGMA journal_mode=WAL").fetchone()[0]
                if mode != "wal":
                    raise StorageError(f"{self.path} cannot use a write-ahead log (journal mode is {mode!r})")
            with self.read() as connection:
                found = migrations.current_version(connection)
                migrations.refuse_newer(found, str(self.path))
            if found < migrations.MIGRATIONS[-1].version:
                if existed and found:
                    self._backup(found)
                with self.write() as connection:
                    migrations.migrate(connection, str(self.path))

    def _backup(self, version: int) -> None:
        """A whole copy beside the file before a migration touches it."""
        target = self.path.with_suffix(f".before-v{migrations.MIGRATIONS[-1].version}-was-v{version}.db")
        if target.exists():
            return
        partial = target.with_suffix(".partial")
        with closing(sqlite3.connect(self.path)) as source, closing(sqlite3.connect(partial)) as copy:
            source.backup(copy)
        os.replace(partial, target)

    def _checkpoint(self) -> None:
        with closing(self._engine.raw_connection()) as raw:
            raw.cursor().execute("PRAGMA wal_checkpoint(PASSIVE)")
            if _size(self._wal) > _CHECKPOINT_NOW_BYTES:
                raw.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")

    @staticmethod
    def _configure(connection: sqlite3.Connection, _record: object) -> None:
        cursor = connection.cursor()
        for pragma in (
            "synchronous=FULL",
            "fullfsync=ON",
            "foreign_keys=ON",
            "wal_autocheckpoint=0",
            "cache_size=-16000",
            "temp_store=MEMORY",
        ):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()


def _begin(connection: sa.Connection) -> None:
    write = connection.get_execution_options().get("jiyi_write", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except DatabaseError as error:
        raise _meaning(path, error.orig) from error
    except sqlite3.DatabaseError as error:
        raise _meaning(path, error) from error


def _meaning(path: Path, error: BaseException | None) -> StorageError:
    """What an error of the engine means for the caller, and what to do."""
    reason = str(error)
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

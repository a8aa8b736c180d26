"""Connections of psycopg out of the pool of the record store, and a lock that lasts as long as its session.

A derived index reads in one round trip what a transaction of the record store needs three for (begin, query, commit),
and it copies in binary.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TypeAlias, TypeVar

import psycopg
from psycopg.rows import TupleRow

from jiyi.backends.postgres.connection import PostgresConnection
from jiyi.backends.postgres.database import PostgresDatabase
from jiyi.backends.postgres.vectors.halfvec import Reals, RealsDumper
from jiyi.backends.postgres.wire import BoundStatement, PipelineConnection, Row
from jiyi.backends.records.sql import NO_PARAMS, Params
from jiyi.errors import StoreBusyError

SCHEMA = "jiyi_search"
"""The schema of the tables of indexes; it may be dropped at any time."""
Connection: TypeAlias = psycopg.Connection[TupleRow]
T = TypeVar("T")
Settings: TypeAlias = Sequence[tuple[str, str]]

_REALS = "jiyi.reals"
_GET_TIMEOUTS = "current_setting('lock_timeout'), current_setting('statement_timeout')"
_SET_TIMEOUTS = "set_config('lock_timeout', :lock, false), set_config('statement_timeout', :statement, false)"


class DriverConnections:
    """Connections of the driver, borrowed from the pool of a database. Each is in autocommit mode."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._pool = database.pool

    def fetch(self, query: str, parameters: Params = NO_PARAMS, settings: Settings = ()) -> list[TupleRow]:
        """The rows of a read-only statement, under settings that hold for it alone; in one round trip."""
        with self._checked_out(lambda connection, _: _fetch(connection, query, parameters, settings)) as (_, rows):
            return rows

    def fetch_pipelined(self, statements: Sequence[BoundStatement]) -> list[list[Row]]:
        """The rows of several read-only statements, in one round trip and one transaction."""
        with self._checked_out(lambda _, pipeline: pipeline.execute(statements)) as (_, answers):
            return answers

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """A connection that was tested."""
        with self._checked_out(lambda connection, _: connection.execute("SELECT").rowcount) as (connection, _):
            yield connection

    @contextmanager
    def connection_and_row(self, query: str, parameters: Params) -> Iterator[tuple[Connection, TupleRow]]:
        """A connection, and the row that it returned for this query."""
        with self._checked_out(lambda connection, _: _fetch(connection, query, parameters, ())) as (connection, rows):
            yield connection, rows[0]

    @contextmanager
    def _checked_out(self, first: Callable[[Connection, PipelineConnection], T]) -> Iterator[tuple[Connection, T]]:
        """A connection, and the result of the first statement on it."""
        pooled, result = self._pool.begin(lambda new: first(_adapted(new), new.wire))
        try:
            yield pooled.driver, result
        finally:
            self._pool.release(pooled)


class AdvisoryLock:
    """Mutual exclusion between threads, processes and machines; re-entrant within a thread.

    The server frees the lock when the session ends, however it ends. The holder writes through the session of the lock,
    so a process that has lost the lock cannot write.
    """

    def __init__(self, connections: DriverConnections, key: int, name: str, *, timeout: float) -> None:
        self._connections = connections
        self._key = key
        self._name = name
        self._timeout = timeout
        self._threads = threading.RLock()
        self._held: Connection | None = None

    @contextmanager
    def hold(self, timeout: float | None = None) -> Iterator[Connection]:
        """Hold the lock for the block; `StoreBusyError` when it cannot be had in time."""
        seconds = self._timeout if timeout is None else max(timeout, 0.0)
        deadline = time.monotonic() + seconds
        if not self._threads.acquire(timeout=seconds):
            raise self._busy(seconds)
        try:
            if self._held is not None:
                yield self._held
                return
            attempt = f"SELECT {_GET_TIMEOUTS}, pg_try_advisory_lock(:key)"
            with self._connections.connection_and_row(attempt, {"key": self._key}) as (connection, (*timeouts, locked)):
                try:
                    if not locked and not self._wait(connection, deadline):
                        raise self._busy(seconds)
                    # A rebuild may take longer than the timeouts of the role.
                    connection.execute(f"SELECT {_SET_TIMEOUTS}", {"lock": "0", "statement": "0"})
                    self._held = connection
                    yield connection
                finally:
                    self._held = None
                    # If the session is lost, so is the lock.
                    with suppress(psycopg.OperationalError):
                        connection.execute(f"SELECT {_SET_TIMEOUTS}, pg_advisory_unlock_all()", timeouts)
        finally:
            self._threads.release()

    def _wait(self, connection: Connection, deadline: float) -> bool:
        left = int(1_000 * (deadline - time.monotonic()))
        if left <= 0:
            return False
        connection.execute(f"SELECT {_SET_TIMEOUTS}", {"lock": f"{left}ms", "statement": "0"})
        try:
            connection.execute("SELECT pg_advisory_lock(:key)", {"key": self._key})
        except psycopg.errors.LockNotAvailable:
            return False
        return True

    def _busy(self, seconds: float) -> StoreBusyError:
        return StoreBusyError(
            f"the {self._name} was being written by another process for {seconds:g} s; "
            "try again, or raise the setting busy_timeout"
        )


class IndexConnections:
    """The connections and the lock of one index; the index translates the errors of the server."""

    def __init__(
        self,
        database: PostgresDatabase,
        name: str,
        translated: Callable[[], AbstractContextManager[None]],
        *,
        lock_timeout: float,
    ) -> None:
        self.driver = DriverConnections(database)
        self._translated = translated
        lock = database.key(SCHEMA, name)
        self._lock = AdvisoryLock(self.driver, lock, f"{name.removesuffix('s')} index", timeout=lock_timeout)

    def fetch(self, query: str, parameters: Params, settings: Settings = ()) -> list[TupleRow]:
        """The rows of a read-only statement, in one round trip."""
        with self._translated():
            return self.driver.fetch(query, parameters, settings)

    def fetch_pipelined(self, statements: Sequence[BoundStatement]) -> list[list[Row]]:
        """The rows of several read-only statements, in one round trip."""
        with self._translated():
            return self.driver.fetch_pipelined(statements)

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """A connection for several statements."""
        with self._translated(), self.driver.connection() as connection:
            yield connection

    @contextmanager
    def locked(self, timeout: float | None = None) -> Iterator[Connection]:
        """The connection that holds the lock of the index."""
        with self._translated(), self._lock.hold(timeout) as connection:
            yield connection


def _fetch(connection: Connection, query: str, parameters: Params, settings: Settings) -> list[TupleRow]:
    if not settings:
        with connection.cursor(binary=True) as cursor:
            return cursor.execute(query, parameters).fetchall()
    # Statements of one pipeline are one transaction, and the settings are local to it.
    with connection.pipeline(), connection.cursor() as first, connection.cursor(binary=True) as second:
        parts = ", ".join(f"set_config('{name}', :value_{place}, true)" for place, (name, _) in enumerate(settings))
        first.execute(f"SELECT {parts}", [value for _, value in settings])
        second.execute(query, parameters)
        return second.fetchall()


def _adapted(connection: PostgresConnection) -> Connection:
    """The connection of psycopg, with the dumper for vectors registered."""
    if _REALS not in connection.info:
        connection.driver.adapters.register_dumper(Reals, RealsDumper)
        connection.info[_REALS] = True
    return connection.driver


def create_schema(connection: Connection) -> None:
    """Create the schema of derived tables if it is missing, in the caller's transaction."""
    # Two sessions that create the same schema at once would fail.
    connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(:name, 0))", {"name": f"jiyi/{SCHEMA}"})
    if connection.execute("SELECT to_regnamespace(:name)", {"name": SCHEMA}).fetchone() == (None,):
        connection.execute(f"CREATE SCHEMA {SCHEMA}")

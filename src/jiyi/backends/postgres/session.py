"""Connections of psycopg itself, out of the pool of the record store, and a lock that lasts as long as its session.

A derived index asks in one round trip what a transaction of the record store needs three for (begin, ask, commit), and
it copies in binary.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeAlias, TypeVar, cast

import psycopg
import sqlalchemy as sa
from psycopg.abc import Params, QueryNoTemplate
from psycopg.rows import TupleRow
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.pool import PoolProxiedConnection, QueuePool

from jiyi.backends.postgres.database import PostgresDatabase
from jiyi.backends.postgres.errors import is_lost, meaning
from jiyi.backends.postgres.vectors.halfvec import Reals, RealsDumper
from jiyi.backends.postgres.wire import Question, Row, Wire
from jiyi.errors import StoreBusyError

SCHEMA = "jiyi_search"
"""Where the tables of indexes are; it may be dropped at any time."""
Connection: TypeAlias = psycopg.Connection[TupleRow]
T = TypeVar("T")
Settings: TypeAlias = Sequence[tuple[str, str]]

_WIRE = "jiyi.wire"
_LIMITS = "current_setting('lock_timeout'), current_setting('statement_timeout')"
_LIMITED = "set_config('lock_timeout', %s, false), set_config('statement_timeout', %s, false)"


class Sessions:
    """Borrows connections from the pool of a database. Each is in autocommit mode."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._where = database.where
        self._engine = database.engine

    def ask(self, query: QueryNoTemplate, parameters: Params, settings: Settings = ()) -> list[TupleRow]:
        """The rows of a statement that changes nothing, under settings that hold for it alone; in one round trip."""
        with self._speaking(lambda connection, _: _rows(connection, query, parameters, settings)) as (_, rows):
            return rows

    def ask_together(self, questions: Sequence[Question]) -> list[list[Row]]:
        """The rows of several statements that change nothing, in one round trip and one transaction."""
        with self._speaking(lambda _, wire: wire.ask(questions)) as (_, answers):
            return answers

    @contextmanager
    def borrow(self) -> Iterator[Connection]:
        """A connection that lives."""
        with self._speaking(lambda connection, _: connection.execute("SELECT").rowcount) as (connection, _):
            yield connection

    @contextmanager
    def speaking(self, query: QueryNoTemplate, parameters: Params) -> Iterator[tuple[Connection, TupleRow]]:
        """A connection and the one row that it has given to this."""
        with self._speaking(lambda connection, _: _rows(connection, query, parameters, ())) as (connection, rows):
            yield connection, rows[0]

    @contextmanager
    def _speaking(self, first: Callable[[Connection, Wire], T]) -> Iterator[tuple[Connection, T]]:
        """A connection, and what it answered to the first words.

        These show whether it still lives. If it does not, nothing has been done yet, and the next one is taken: a
        restart of the server is noticed by nobody who did not speak with it just then.
        """
        while True:
            proxied, waiting = self._connect()
            connection = cast("Connection", proxied.driver_connection)
            try:
                answered = first(connection, proxied.info[_WIRE])
            except psycopg.Error as error:
                lost = is_lost(connection, error)
                _give_back(proxied, connection)
                if not lost or not waiting:
                    raise
                continue
            except BaseException:
                _give_back(proxied, connection)
                raise
            break
        try:
            yield connection, answered
        finally:
            _give_back(proxied, connection)

    def _connect(self) -> tuple[PoolProxiedConnection, int]:
        """A connection, and how many others there were to choose from."""
        pool = self._engine.pool
        waiting = pool.checkedin() if isinstance(pool, QueuePool) else 0
        try:
            proxied = self._engine.raw_connection()
        except (sa.exc.DBAPIError, psycopg.Error) as error:
            cause = error.orig if isinstance(error, sa.exc.DBAPIError) else error
            raise meaning(self._where, cause, connected=False) from error
        except PoolTimeoutError as error:
            raise StoreBusyError(
                f"{self._where}: no connection of the pool became free in time; try again, or use a larger pool"
            ) from error
        wire_of(cast("Connection", proxied.driver_connection), proxied.info)
        return proxied, waiting


class SessionLock:
    """Mutual exclusion between threads, processes and machines; re-entrant within a thread.

    It is an advisory lock of a session: the server frees it when the session ends, however it ends. Whoever holds it
    writes through its session, so nobody can write who has lost it without noticing.
    """

    def __init__(self, sessions: Sessions, key: int, name: str, *, timeout: float) -> None:
        self._sessions = sessions
        self._key = key
        self._name = name
        self._timeout = timeout
        self._threads = threading.RLock()
        self._held: Connection | None = None

    @contextmanager
    def hold(self, timeout: float | None = None) -> Iterator[Connection]:
        """Hold the lock for the block; `StoreBusyError` when it cannot be had in time."""
        patience = self._timeout if timeout is None else max(timeout, 0.0)
        deadline = time.monotonic() + patience
        if not self._threads.acquire(timeout=patience):
            raise self._busy(patience)
        try:
            if self._held is not None:
                yield self._held
                return
            tried = f"SELECT {_LIMITS}, pg_try_advisory_lock(%s)"
            with self._sessions.speaking(tried, [self._key]) as (connection, (*limits, had)):
                try:
                    if not had and not self._wait(connection, deadline):
                        raise self._busy(patience)
                    # Building takes as long as it takes.
                    connection.execute(f"SELECT {_LIMITED}", ["0", "0"])
                    self._held = connection
                    yield connection
                finally:
                    self._held = None
                    # Where the session is gone, the lock is gone with it.
                    with suppress(psycopg.OperationalError):
                        connection.execute(f"SELECT {_LIMITED}, pg_advisory_unlock_all()", limits)
        finally:
            self._threads.release()

    def _wait(self, connection: Connection, deadline: float) -> bool:
        left = int(1_000 * (deadline - time.monotonic()))
        if left <= 0:
            return False
        connection.execute(f"SELECT {_LIMITED}", [f"{left}ms", "0"])
        try:
            connection.execute("SELECT pg_advisory_lock(%s)", [self._key])
        except psycopg.errors.LockNotAvailable:
            return False
        return True

    def _busy(self, patience: float) -> StoreBusyError:
        return StoreBusyError(
            f"the {self._name} was being written by another process for {patience:g} s; "
            "try again, or raise the setting busy_timeout"
        )


def _rows(connection: Connection, query: QueryNoTemplate, parameters: Params, settings: Settings) -> list[TupleRow]:
    if not settings:
        with connection.cursor(binary=True) as cursor:
            return cursor.execute(query, parameters).fetchall()
    # What is sent together is one transaction, and the settings are local to it.
    with connection.pipeline(), connection.cursor() as first, connection.cursor(binary=True) as second:
        parts = ", ".join(["set_config(%s, %s, true)"] * len(settings))
        first.execute(f"SELECT {parts}", [word for setting in settings for word in setting])
        second.execute(query, parameters)
        return second.fetchall()


def _give_back(proxied: PoolProxiedConnection, connection: Connection) -> None:
    """Give the connection back, unless it is gone or in the middle of something that nobody will finish."""
    # Where the connection is gone, this is `UNKNOWN`.
    if connection.pgconn.transaction_status != psycopg.pq.TransactionStatus.IDLE:
        proxied.invalidate()
    proxied.close()


def wire_of(connection: Connection, info: MutableMapping[Any, Any]) -> Wire:
    """The wire of a connection of the pool; `info` is what the pool remembers of it."""
    wire = info.get(_WIRE)
    if wire is None or wire.connection is not connection:
        connection.adapters.register_dumper(Reals, RealsDumper)
        wire = info[_WIRE] = Wire(connection)
    return cast("Wire", wire)


def ask(connection: Connection, settings: Settings, statement: tuple[QueryNoTemplate, Params | None]) -> list[TupleRow]:
    """The rows of one statement under settings that hold for it alone, in one round trip."""
    return _rows(connection, statement[0], statement[1] or {}, settings)


def make_schema(connection: Connection) -> None:
    """Make the schema of derived tables if it is missing, in the caller's transaction."""
    # Two that make the same schema at once would fail: one after the other.
    connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"jiyi/{SCHEMA}"])
    if connection.execute("SELECT to_regnamespace(%s)", [SCHEMA]).fetchone() == (None,):
        connection.execute(f"CREATE SCHEMA {SCHEMA}")

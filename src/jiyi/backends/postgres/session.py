"""Connections of psycopg itself, out of the pool of the record store, and a lock that lasts as long as its session.

A derived index asks in one round trip what a transaction of the record store needs three for (begin, ask, commit), and
it copies in binary.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TypeAlias, TypeVar

import psycopg
from psycopg.abc import Params, QueryNoTemplate
from psycopg.rows import TupleRow

from jiyi.backends.postgres.connection import PostgresConnection
from jiyi.backends.postgres.database import PostgresDatabase
from jiyi.backends.postgres.vectors.halfvec import Reals, RealsDumper
from jiyi.backends.postgres.wire import Question, Row, Wire
from jiyi.errors import StoreBusyError

SCHEMA = "jiyi_search"
"""Where the tables of indexes are; it may be dropped at any time."""
Connection: TypeAlias = psycopg.Connection[TupleRow]
T = TypeVar("T")
Settings: TypeAlias = Sequence[tuple[str, str]]

_REALS = "jiyi.reals"
_LIMITS = "current_setting('lock_timeout'), current_setting('statement_timeout')"
_LIMITED = "set_config('lock_timeout', %s, false), set_config('statement_timeout', %s, false)"


class Sessions:
    """Borrows connections from the pool of a database. Each is in autocommit mode."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._pool = database.pool

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
        """A connection, and what it answered to the first statement."""
        pooled, answered = self._pool.begin(lambda new: first(_adapted(new), new.wire))
        try:
            yield pooled.driver, answered
        finally:
            self._pool.release(pooled)


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


def _adapted(connection: PostgresConnection) -> Connection:
    """The connection of psycopg, which knows how vectors are sent."""
    if _REALS not in connection.info:
        connection.driver.adapters.register_dumper(Reals, RealsDumper)
        connection.info[_REALS] = True
    return connection.driver


def ask(connection: Connection, settings: Settings, statement: tuple[QueryNoTemplate, Params | None]) -> list[TupleRow]:
    """The rows of one statement under settings that hold for it alone, in one round trip."""
    return _rows(connection, statement[0], statement[1] or {}, settings)


def make_schema(connection: Connection) -> None:
    """Make the schema of derived tables if it is missing, in the caller's transaction."""
    # Two that make the same schema at once would fail: one after the other.
    connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"jiyi/{SCHEMA}"])
    if connection.execute("SELECT to_regnamespace(%s)", [SCHEMA]).fetchone() == (None,):
        connection.execute(f"CREATE SCHEMA {SCHEMA}")

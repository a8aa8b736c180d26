"""Connections of psycopg itself, out of the pool of the record store, and a lock that lasts as long as its session.

A derived index asks in one round trip what SQLAlchemy needs three for (begin, ask, end), and it copies in binary.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeAlias

import psycopg
import sqlalchemy as sa
from psycopg.abc import Params, QueryNoTemplate
from psycopg.rows import TupleRow

from jiyi.backends.postgres_halfvec import Reals, RealsDumper
from jiyi.errors import StoreBusyError

Connection: TypeAlias = psycopg.Connection[TupleRow]
Statement: TypeAlias = tuple[QueryNoTemplate, Params | None]

_LIMITS = "current_setting('lock_timeout'), current_setting('statement_timeout')"
_LIMITED = "set_config('lock_timeout', %s, false), set_config('statement_timeout', %s, false)"


class Sessions:
    """Borrows connections from a pool."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine

    @contextmanager
    def borrow(self) -> Iterator[Connection]:
        """A connection in autocommit; one that has failed in the middle of something is not given back."""
        proxied = self._engine.raw_connection()
        connection: Connection = proxied.driver_connection  # type: ignore[assignment]
        before = connection.autocommit
        try:
            connection.autocommit = True
            connection.adapters.register_dumper(Reals, RealsDumper)
            yield connection
            connection.autocommit = before
        except BaseException as error:
            if _unusable(connection):
                proxied.invalidate(error if isinstance(error, Exception) else None)
            else:
                connection.autocommit = before
            raise
        finally:
            proxied.close()


def ask(connection: Connection, settings: Sequence[tuple[str, str]], statement: Statement) -> list[TupleRow]:
    """The rows of one statement under settings that hold for it alone, in one round trip."""
    query, parameters = statement
    if not settings:
        with connection.cursor(binary=True) as cursor:
            return cursor.execute(query, parameters).fetchall()
    # What is sent together is one transaction, and the settings are local to it.
    with connection.pipeline(), connection.cursor() as first, connection.cursor(binary=True) as second:
        parts = ", ".join(["set_config(%s, %s, true)"] * len(settings))
        first.execute(f"SELECT {parts}", [word for setting in settings for word in setting])
        second.execute(query, parameters)
        return second.fetchall()


class SessionLock:
    """Mutual exclusion between threads, processes and machines; re-entrant within a thread.

    It is an advisory lock of a session: the server frees it when the session ends, however it ends. Whoever holds it
    writes through its session, so nobody can write who has lost it without noticing.
    """

    def __init__(self, sessions: Sessions, name: str, *, timeout: float) -> None:
        self._sessions = sessions
        self._name = name
        self._key = int.from_bytes(hashlib.sha256(f"jiyi/{name}".encode()).digest()[:8], "big", signed=True)
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
            with self._sessions.borrow() as connection, self._locked(connection, deadline, patience):
                self._held = connection
                try:
                    yield connection
                finally:
                    self._held = None
        finally:
            self._threads.release()

    @contextmanager
    def _locked(self, connection: Connection, deadline: float, patience: float) -> Iterator[None]:
        asked = connection.execute(f"SELECT {_LIMITS}, pg_try_advisory_lock(%s)", [self._key]).fetchone()
        assert asked is not None
        *limits, had = asked
        try:
            if not had and not self._wait(connection, deadline):
                raise self._busy(patience)
            # Building takes as long as it takes.
            connection.execute(f"SELECT {_LIMITED}", ["0", "0"])
            yield
        finally:
            # Where the session is gone, the lock is gone with it.
            with suppress(psycopg.OperationalError):
                connection.execute(f"SELECT {_LIMITED}, pg_advisory_unlock_all()", limits)

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


def _unusable(connection: psycopg.Connection[Any]) -> bool:
    """Whether the connection is gone, or in the middle of something that nobody will finish."""
    if connection.closed or connection.broken:
        return True
    return connection.info.transaction_status is not psycopg.pq.TransactionStatus.IDLE

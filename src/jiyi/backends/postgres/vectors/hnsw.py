"""Graphs of large scopes, made in the background: it takes minutes, and nobody should wait for it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager

import psycopg

from jiyi.backends.postgres.session import Connection, SessionLock, Sessions
from jiyi.backends.postgres.vectors.tables import CURRENT, VectorTables, scopes_table
from jiyi.errors import JiyiError, StoreBusyError

_log = logging.getLogger("jiyi.index")

MAX_GRAPHS = 100
"""The planner looks at every index of a table for every statement: a few are nothing, thousands would be."""
_MEMORY = "256MB"
"""A graph that is built inside of this much memory is built many times faster than one that is not."""


class HnswIndexes:
    """Makes the graphs that are missing, one process at a time."""

    def __init__(self, sessions: Sessions, key: int, exact_rows: int, lock_timeout: float) -> None:
        self._exact_rows = exact_rows
        self._lock = SessionLock(sessions, key, "graph of a scope", timeout=lock_timeout)
        self._guard = threading.Lock()
        self._thread: threading.Thread | None = None
        self._working: Connection | None = None
        self._closed = False

    def build_later(self, tables: Callable[[], VectorTables]) -> None:
        """Make what is missing, in a thread; if one is at work already, it will see it."""
        with self._guard:
            if self._closed or (self._thread is not None and self._thread.is_alive()):
                return
            self._thread = threading.Thread(target=self._run, args=(tables,), name="jiyi-graphs", daemon=True)
            self._thread.start()

    def wait(self) -> None:
        """Until the thread has ended, if there is one."""
        with self._guard:
            thread = self._thread
        if thread is not None:
            thread.join()

    def kept_away(self) -> AbstractContextManager[Connection]:
        """While this is held, nobody makes a graph of the current vectors."""
        return self._lock.hold()

    def build_all(self, connection: Connection, tables: VectorTables, generation: str) -> None:
        """Make the graphs of all large scopes, the largest first."""
        if not tables.graphs:
            return
        connection.execute("SELECT set_config('maintenance_work_mem', %s, false)", [_MEMORY])
        try:
            while (scope := self._missing(connection, generation)) is not None:
                tables.create_graph(connection, scope, generation, beside=generation == CURRENT)
        finally:
            if not connection.broken:
                connection.execute("RESET maintenance_work_mem")

    def close(self) -> None:
        """Break off what is being made. What is half made is thrown away by whoever makes it the next time."""
        with self._guard:
            self._closed = True
            if self._working is not None:
                self._working.cancel_safe(timeout=5)
        self.wait()

    def _run(self, tables: Callable[[], VectorTables]) -> None:
        try:
            known = tables()
            with self._lock.hold(0) as connection:
                with self._guard:
                    if self._closed:
                        return
                    self._working = connection
                try:
                    self.build_all(connection, known, CURRENT)
                finally:
                    with self._guard:
                        self._working = None
        except StoreBusyError:
            _log.debug("another process makes the graphs")
        except (JiyiError, psycopg.Error) as error:
            if not self._closed:
                _log.warning("a large scope has no graph yet and is compared vector by vector: %s", error)

    def _missing(self, connection: Connection, generation: str) -> str | None:
        row = connection.execute(
            f"SELECT scope FROM {scopes_table(generation)} WHERE held > %s AND NOT graph "
            f"AND (SELECT count(*) FROM {scopes_table(generation)} WHERE graph) < %s ORDER BY held DESC LIMIT 1",
            [self._exact_rows, MAX_GRAPHS],
        ).fetchone()
        return None if row is None else str(row[0])

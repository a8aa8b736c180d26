"""`HnswIndexes`: builds the HNSW indexes of large scopes in the background, which takes minutes."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager

import psycopg

from jiyi.backends.postgres.session import AdvisoryLock, Connection, DriverConnections
from jiyi.backends.postgres.vectors.tables import CURRENT, VectorTables, scopes_table
from jiyi.errors import JiyiError, StoreBusyError

_log = logging.getLogger("jiyi.index")

MAX_INDEXES = 100
"""The planner considers every index of a table for every statement: thousands would slow down each of them."""
_MAINTENANCE_MEMORY = "256MB"
"""The build of an HNSW index is many times faster while the index fits into this memory."""


class HnswIndexes:
    """Builds the missing indexes, one process at a time."""

    def __init__(self, connections: DriverConnections, key: int, exact_rows: int, lock_timeout: float) -> None:
        self._exact_rows = exact_rows
        self._lock = AdvisoryLock(connections, key, "HNSW index of a scope", timeout=lock_timeout)
        self._guard = threading.Lock()
        self._thread: threading.Thread | None = None
        self._building: Connection | None = None
        self._closed = False

    def build_later(self, tables: Callable[[], VectorTables]) -> None:
        """Build the missing indexes in a thread; a thread that is running already will find them."""
        with self._guard:
            if self._closed or (self._thread is not None and self._thread.is_alive()):
                return
            self._thread = threading.Thread(target=self._run, args=(tables,), name="jiyi-hnsw", daemon=True)
            self._thread.start()

    def wait(self) -> None:
        """Wait for the thread, if there is one."""
        with self._guard:
            thread = self._thread
        if thread is not None:
            thread.join()

    def paused(self) -> AbstractContextManager[Connection]:
        """While this is held, nobody builds an index of the current vectors."""
        return self._lock.hold()

    def build_all(self, connection: Connection, tables: VectorTables, generation: str) -> None:
        """Build the indexes of all large scopes, the largest first."""
        if not tables.can_index:
            return
        connection.execute(f"SET maintenance_work_mem = '{_MAINTENANCE_MEMORY}'")
        try:
            while (scope := self._missing(connection, generation)) is not None:
                tables.create_hnsw(connection, scope, generation, concurrently=generation == CURRENT)
        finally:
            if not connection.broken:
                connection.execute("RESET maintenance_work_mem")

    def close(self) -> None:
        """Cancel the current build. The next build drops the incomplete index."""
        with self._guard:
            self._closed = True
            if self._building is not None:
                self._building.cancel_safe(timeout=5)
        self.wait()

    def _run(self, tables: Callable[[], VectorTables]) -> None:
        try:
            known = tables()
            with self._lock.hold(0) as connection:
                with self._guard:
                    if self._closed:
                        return
                    self._building = connection
                try:
                    self.build_all(connection, known, CURRENT)
                finally:
                    with self._guard:
                        self._building = None
        except StoreBusyError:
            _log.debug("another process builds the HNSW indexes")
        except (JiyiError, psycopg.Error) as error:
            if not self._closed:
                _log.warning("a large scope has no HNSW index yet and is scanned exactly: %s", error)

    def _missing(self, connection: Connection, generation: str) -> str | None:
        row = connection.execute(
            f"SELECT scope FROM {scopes_table(generation)} WHERE held > :exact_rows AND NOT has_hnsw "
            f"AND (SELECT count(*) FROM {scopes_table(generation)} WHERE has_hnsw) < :most "
            "ORDER BY held DESC LIMIT 1",
            {"exact_rows": self._exact_rows, "most": MAX_INDEXES},
        ).fetchone()
        return None if row is None else str(row[0])

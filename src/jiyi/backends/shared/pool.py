"""Pool: connections that are used again, the one used last first."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from jiyi.contexts import on_error

C = TypeVar("C")

# Connections that a child process has inherited by fork. Closing them would end the sessions of the parent.
_inherited: list[object] = []


class PoolTimeoutError(Exception):
    """No connection became free in time."""


class Pool(Generic[C]):
    """At most `max_size` connections at once, of which `kept` stay open when they are not in use."""

    def __init__(
        self, connect: Callable[[], C], close: Callable[[C], None], *, kept: int, max_size: int, timeout: float
    ) -> None:
        """`timeout` is how many seconds `take` waits for a free connection."""
        self._connect = connect
        self._close = close
        self._kept = kept
        self._max_size = max_size
        self._timeout = timeout
        self._closed = False
        self._begin()

    def _begin(self) -> None:
        self._changed = threading.Condition(threading.Lock())
        self._idle: list[C] = []
        self._open = 0
        self._process = os.getpid()

    def take(self) -> tuple[C, bool]:
        """A connection, and whether it is a new one; `PoolTimeoutError` when none becomes free in time."""
        if self._process != os.getpid():
            _inherited.extend(self._idle)
            self._begin()
        deadline = time.monotonic() + self._timeout
        with self._changed:
            while True:
                if self._idle:
                    # The one used last has the most pages in its cache, and those opened for a peak become idle.
                    return self._idle.pop(), False
                if self._open < self._max_size:
                    self._open += 1
                    break
                if not self._changed.wait(deadline - time.monotonic()):
                    raise PoolTimeoutError
        with on_error(self._left):
            return self._connect(), True

    def give_back(self, connection: C) -> None:
        """Give back a connection that another caller can use."""
        with self._changed:
            if not self._closed and len(self._idle) < self._kept:
                self._idle.append(connection)
                self._changed.notify()
                return
        self.discard(connection)

    def discard(self, connection: C) -> None:
        """Close a connection that was taken."""
        self._left()
        self._close(connection)

    def close(self) -> None:
        """Close the connections that are not in use; the others are closed when they are given back."""
        with self._changed:
            self._closed = True
            idle, self._idle = self._idle, []
            self._open -= len(idle)
        for connection in idle:
            self._close(connection)

    def _left(self) -> None:
        with self._changed:
            self._open -= 1
            self._changed.notify()

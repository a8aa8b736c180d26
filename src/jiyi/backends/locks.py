"""A lock between processes that waits with a deadline.

The `filelock` package polls every 50 ms by default and opens the file for each acquisition; here the lock is taken for
every write, so the file stays open and the first retries come after fractions of a millisecond.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from jiyi.errors import StoreBusyError

if sys.platform == "win32":
    import msvcrt

    def _try_lock(descriptor: int) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _unlock(descriptor: int) -> None:
        os.lseek(descriptor, 0, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
else:
    import fcntl

    def _try_lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _unlock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


class ProcessLock:
    """Mutual exclusion between threads and processes; re-entrant within a thread. The system frees it on a crash."""

    def __init__(self, path: Path, *, timeout: float, purpose: str) -> None:
        self._path = path
        self._timeout = timeout
        self._purpose = purpose
        self._threads = threading.RLock()
        self._descriptor: int | None = None
        self._owner_process = 0
        self._depth = 0

    @contextmanager
    def hold(self, timeout: float | None = None) -> Iterator[None]:
        """Hold the lock for the block; `StoreBusyError` when it cannot be had in time."""
        patience = self._timeout if timeout is None else max(timeout, 0.0)
        deadline = time.monotonic() + patience
        if not self._threads.acquire(timeout=patience):
            raise self._busy()
        try:
            if self._depth == 0:
                self._acquire(deadline)
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1
                if self._depth == 0 and self._descriptor is not None:
                    _unlock(self._descriptor)
        finally:
            self._threads.release()

    def close(self) -> None:
        """Give the file descriptor back."""
        with self._threads:
            if self._descriptor is not None:
                os.close(self._descriptor)
                self._descriptor = None

    def _acquire(self, deadline: float) -> None:
        if self._descriptor is None or self._owner_process != os.getpid():
            # A descriptor inherited by fork shares its lock with the parent: open one of our own.
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(
                self._path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600
            )
            self._owner_process = os.getpid()
        pause = 0.0002
        while not _try_lock(self._descriptor):
            if time.monotonic() >= deadline:
                raise self._busy()
            time.sleep(pause)
            pause = min(pause * 1.5, 0.01)

    def _busy(self) -> StoreBusyError:
        return StoreBusyError(
            f"{self._purpose} {self._path.name} was held by another process for {self._timeout:g} s; "
            "try again, or raise the setting busy_timeout"
        )

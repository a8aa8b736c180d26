"""A lock between processes that waits with a deadline.

The `filelock` package polls every 50 ms by default and opens the file for each acquisition; here the lock is taken for
every write, so the file stays open and the first retries come after fractions of a millisecond.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from jiyi.errors import StoreBusyError
from jiyi.execution import WouldWaitError, may_wait, wait_from_now_on

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


# Short enough to notice the moment between two writes of a busy process; a thousand tries a second cost about 1 %.
_LONGEST_PAUSE = 0.001


class _LockFile:
    """A file that one descriptor at a time can lock."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None
        self._owner_process = 0

    def acquire(self, deadline: float) -> bool:
        """Lock it before the deadline; `False` when that cannot be done."""
        descriptor = self._own_descriptor()
        pause = 0.0002
        while not _try_lock(descriptor):
            if time.monotonic() >= deadline:
                return False
            time.sleep(pause)
            pause = min(pause * 1.5, _LONGEST_PAUSE)
        return True

    def release(self) -> None:
        if self._descriptor is not None:
            _unlock(self._descriptor)

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _own_descriptor(self) -> int:
        if self._descriptor is None or self._owner_process != os.getpid():
            # A descriptor inherited by fork shares its lock with the parent: open one of our own.
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
            self._owner_process = os.getpid()
        return self._descriptor


class ProcessLock:
    """Mutual exclusion between threads and processes; re-entrant within a thread. The system frees it on a crash.

    The lock is behind a turnstile, a second file: who waits holds the turnstile, so a process that gives the lock back
    and wants it again at once stands behind the one that waits. Without it a bulk load kept others waiting to its end.
    """

    def __init__(self, path: Path, *, timeout: float, purpose: str) -> None:
        self._path = path
        self._timeout = timeout
        self._purpose = purpose
        self._threads = threading.RLock()
        self._turnstile = _LockFile(path.with_suffix(".queue"))
        self._file = _LockFile(path)
        self._depth = 0

    @contextmanager
    def hold(self, timeout: float | None = None) -> Iterator[None]:
        """Hold the lock for the block; `StoreBusyError` when it cannot be had in time."""
        self.acquire(timeout)
        try:
            yield
        finally:
            self.release()

    def acquire(self, timeout: float | None = None) -> None:
        """Take the lock, to `release` it later; `StoreBusyError` when it cannot be had in time.

        A thread that may not wait gets `WouldWaitError` instead; once it has the lock, it may.
        """
        if not may_wait():
            self._take(0.0, WouldWaitError)
            wait_from_now_on()
            return
        patience = self._timeout if timeout is None else max(timeout, 0.0)
        self._take(patience, lambda: self._busy(patience))

    def _take(self, patience: float, busy: Callable[[], Exception]) -> None:
        deadline = time.monotonic() + patience
        if not self._threads.acquire(timeout=patience):
            raise busy()
        had = False
        try:
            had = self._depth > 0 or self._acquire(deadline)
        finally:
            if not had:
                self._threads.release()
        if not had:
            raise busy()
        self._depth += 1

    def release(self) -> None:
        """Give back what the same thread has taken."""
        try:
            self._depth -= 1
            if self._depth == 0:
                self._file.release()
        finally:
            self._threads.release()

    def close(self) -> None:
        """Give the file descriptors back."""
        with self._threads:
            self._file.close()
            self._turnstile.close()

    def _acquire(self, deadline: float) -> bool:
        if not self._turnstile.acquire(deadline):
            return False
        try:
            return self._file.acquire(deadline)
        finally:
            self._turnstile.release()

    def _busy(self, patience: float) -> StoreBusyError:
        return StoreBusyError(
            f"{self._purpose} {self._path.name} was held by another process for {patience:g} s; "
            "try again, or raise the setting busy_timeout"
        )

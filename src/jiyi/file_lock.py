"""`FileLock`: mutual exclusion between processes, with a deadline.

The `filelock` package polls every 50 ms by default and opens the file for each acquisition. This lock is taken for
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

from jiyi.errors import JiyiError, StorageError, StoreBusyError
from jiyi.resource_limits import resource_limit

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

    def lock_until_closed(descriptor: int) -> None:
        """Lock a file of this process: whoever finds it locked knows that the process lives."""
        msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)

    def is_open_file_locked(descriptor: int) -> bool:
        """Whether another descriptor has locked the file."""
        if not _try_lock(descriptor):
            return True
        _unlock(descriptor)
        return False
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

    def lock_until_closed(descriptor: int) -> None:
        """Lock a file of this process: whoever finds it locked knows that the process lives."""
        # Somebody who looks at the file (`is_open_file_locked`) has a shared lock for a moment.
        fcntl.flock(descriptor, fcntl.LOCK_EX)

    def is_open_file_locked(descriptor: int) -> bool:
        """Whether another descriptor has locked the file; several may ask at once."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        _unlock(descriptor)
        return False


_MIN_PAUSE = 0.0002
_MAX_PAUSE = 0.001
"""Short enough to hit the gap between two writes of a busy process; so many tries cost about 1 % of a core."""


class _LockFile:
    """A file that one descriptor at a time can lock."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None
        self._owner_process = 0

    def acquire(self, deadline: float) -> bool:
        """Lock the file; `False` if the deadline passes first."""
        descriptor = self._own_descriptor()
        pause = _MIN_PAUSE
        while not _try_lock(descriptor):
            if time.monotonic() >= deadline:
                return False
            time.sleep(pause)
            pause = min(pause * 1.5, _MAX_PAUSE)
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
            # A descriptor inherited by fork shares its lock with the parent, so a child opens its own.
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
            except OSError as error:
                raise _cannot_open(self._path, error) from error
            self._owner_process = os.getpid()
        return self._descriptor


def _cannot_open(path: Path, error: OSError) -> StorageError:
    return resource_limit(error) or StorageError(
        f"the lock file {path} cannot be opened for writing ({error.strerror}); a memory writes in its data directory: "
        f"check the permissions of {path.parent}, and that its disk is not mounted read-only"
    )


class FileLock:
    """Mutual exclusion between threads and processes; re-entrant within a thread. The system frees it on a crash.

    The lock is fair: a process first locks a second file (`.queue`), and holds it only while it waits. Without it, a
    process that releases the lock and takes it again at once, such as a bulk load, starves the others.
    """

    def __init__(
        self, path: Path, *, timeout: float, purpose: str = "the lock", error: type[JiyiError] = StoreBusyError
    ) -> None:
        """`error` is raised when the lock cannot be had in time; its message begins with `purpose`."""
        self._path = path
        self._timeout = timeout
        self._purpose = purpose
        self._error = error
        self._threads = threading.RLock()
        self._queue = _LockFile(path.with_suffix(".queue"))
        self._file = _LockFile(path)
        self._depth = 0

    @contextmanager
    def hold(self, timeout: float | None = None) -> Iterator[None]:
        """Hold the lock for the block; `error` when it cannot be had in time."""
        self.acquire(timeout)
        try:
            yield
        finally:
            self.release()

    def acquire(self, timeout: float | None = None) -> None:
        """Take the lock, to `release` it later; `error` when it cannot be had in time."""
        seconds = self._timeout if timeout is None else max(timeout, 0.0)
        deadline = time.monotonic() + seconds
        if not self._threads.acquire(timeout=seconds):
            raise self._busy("another thread of this process", seconds)
        taken = False
        try:
            taken = self._depth > 0 or self._lock_file(deadline)
        finally:
            if not taken:
                self._threads.release()
        if not taken:
            raise self._busy("another process", seconds)
        self._depth += 1

    def release(self) -> None:
        """Undo one `acquire` of the same thread."""
        try:
            self._depth -= 1
            if self._depth == 0:
                self._file.release()
        finally:
            self._threads.release()

    def close(self) -> None:
        """Close the files. The next `acquire` opens them again."""
        with self._threads:
            self._file.close()
            self._queue.close()

    def _lock_file(self, deadline: float) -> bool:
        if not self._queue.acquire(deadline):
            return False
        try:
            return self._file.acquire(deadline)
        finally:
            self._queue.release()

    def _busy(self, holder: str, seconds: float) -> JiyiError:
        return self._error(
            f"{self._purpose} {self._path.name} was held by {holder} for {seconds:g} s; "
            "try again, or raise the setting busy_timeout"
        )


def is_locked(path: Path) -> bool:
    """Whether another process has locked this file. `False` if there is no such file."""
    try:
        descriptor = os.open(path, os.O_RDWR | getattr(os, "O_CLOEXEC", 0))
    except FileNotFoundError:
        return False
    try:
        return is_open_file_locked(descriptor)
    finally:
        os.close(descriptor)

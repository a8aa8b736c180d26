"""The data directory of a memory that keeps nothing: private, temporary, removed when the memory is closed."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
import weakref
from pathlib import Path

_ATTEMPTS, _PAUSE = 50, 0.02


class TemporaryData:
    """A private directory that `close` removes; at the latest it is removed when the process ends."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="jiyi-memory-"))
        self._remove = weakref.finalize(self, _remove, str(self.path), os.getpid())

    def close(self) -> None:
        """Remove the directory and what it holds. A second call does nothing."""
        self._remove()


def _remove(path: str, owner: int) -> None:
    # A forked process inherits the finalizer, and must not remove the directory of the process that made it.
    if os.getpid() != owner:
        return
    # A background thread may still write a file while the directory is removed.
    for _ in range(_ATTEMPTS):
        shutil.rmtree(path, ignore_errors=True)
        if not os.path.lexists(path):
            return
        time.sleep(_PAUSE)

"""The `-shm` file of a SQLite database: the index of its write-ahead log, which SQLite maps into memory.

A process that uses the mapping after somebody has truncated the file ends with SIGBUS. With a connection open the file
never gets smaller by itself, so a smaller one is noticed by its size before the connection is used.
"""

from __future__ import annotations

import os
from pathlib import Path


class WalIndex:
    """The `-shm` file of a database that this process has open."""

    def __init__(self, database: Path) -> None:
        self._path = f"{database}-shm"
        self._size = 0

    def is_truncated(self) -> bool:
        """Whether the file has become smaller. One that was deleted is still mapped as it was."""
        try:
            size = os.stat(self._path).st_size  # noqa: PTH116 - half the time of the same by pathlib
        except (FileNotFoundError, NotADirectoryError):
            return False
        if size < self._size:
            return True
        self._size = size
        return False

    def restore(self) -> bool:
        """If it is truncated, give it its size again, filled with zeros: SQLite then makes it anew from the log.

        By path: opening and closing the file would drop the locks that SQLite holds on it.
        """
        if not self.is_truncated():
            return False
        os.truncate(self._path, 0)
        os.truncate(self._path, self._size)
        return True

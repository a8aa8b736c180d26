"""Derived files in SQLite: which file is open, and which errors mean that it has to be made anew."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import TypeAlias

FileIdentity: TypeAlias = tuple[int, int]
"""Tells a file from another one that has come under the same name."""

# The file may be sound: waiting, making room or giving permission helps, and a new file would fail the same way.
_NOT_THE_FILE = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_INTERRUPT,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN,
}


def file_identity(path: Path | str) -> FileIdentity | None:
    """Which file this is; `None` when there is none."""
    try:
        found = os.stat(path)  # noqa: PTH116 - half the time of the same by pathlib
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_dev, found.st_ino


FileVersion: TypeAlias = tuple[int, int, int]
"""Tells a file from the next one under the same name, where every new version comes by a rename."""


def file_version(path: str) -> FileVersion | None:
    """Which version of a file this is; `None` when there is none. Asked much more often than the file is read."""
    try:
        found = os.stat(path)  # noqa: PTH116 - half the time of the same by pathlib
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def tree_bytes(folder: Path) -> int:
    """How much the files of a folder take, while others may be deleting them."""
    return sum(_size(file) for file in folder.glob("*"))


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0


FILE_ERRORS = (sqlite3.DatabaseError, UnicodeDecodeError)
"""What the sqlite3 module raises for a file; the second when a damaged name stands in the message of the first."""


def means_damage(error: Exception) -> bool:
    """Whether the file has to be made anew, because it is not what was once written."""
    code = getattr(error, "sqlite_errorcode", None)
    return code is None or code & 0xFF not in _NOT_THE_FILE

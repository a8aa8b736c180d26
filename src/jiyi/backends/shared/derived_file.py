"""Derived SQLite files: the identity of a file, and which errors mean that it has to be rebuilt."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Literal, TypeAlias

from jiyi.errors import IndexingError, IndexUnavailableError
from jiyi.resource_limits import out_of_descriptors, resource_limit

FileIdentity: TypeAlias = tuple[int, int]
"""Distinguishes a file from one that has replaced it under the same name."""

# The file itself may be intact; a new one would fail in the same way.
_NOT_DAMAGE = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_INTERRUPT,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN,
}
_UNREADABLE = {
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_IOERR_READ,
    sqlite3.SQLITE_IOERR_SHORT_READ,
    sqlite3.SQLITE_IOERR_CORRUPTFS,
}


def file_identity(path: Path | str) -> FileIdentity | None:
    """The identity of a file; `None` if it does not exist."""
    try:
        found = os.stat(path)  # noqa: PTH116 - half the time of the same by pathlib
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_dev, found.st_ino


FileVersion: TypeAlias = tuple[int, int, int]
"""Distinguishes the versions of a file that is replaced by a rename."""


def file_version(path: str) -> FileVersion | None:
    """The version of a file; `None` if it does not exist."""
    try:
        found = os.stat(path)  # noqa: PTH116 - half the time of the same by pathlib
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def tree_bytes(folder: Path) -> int:
    """The size of all files of a folder. Files may be deleted meanwhile."""
    return sum(file_bytes(file) for file in folder.glob("*"))


def file_bytes(file: Path) -> int:
    """The size of a file; 0 if there is none."""
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0


FILE_ERRORS = (sqlite3.DatabaseError, UnicodeDecodeError)
"""What the sqlite3 module raises for a file; the second if the message of the first is not valid UTF-8."""


def means_damage(error: Exception) -> bool:
    """Whether the error means that the file is damaged and has to be rebuilt."""
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:
        return True
    if code & 0xFF == sqlite3.SQLITE_IOERR:
        # A file that cannot be read is damaged. One that cannot be written, locked or mapped may be intact.
        return code in _UNREADABLE
    return code & 0xFF not in _NOT_DAMAGE


def index_failure(name: str, action: str, error: BaseException) -> IndexingError:
    """An error of files that are not damaged, such as a full disk or too many open files."""
    limit = resource_limit(error) or (out_of_descriptors() if isinstance(error, sqlite3.Error) else None)
    if limit is not None:
        return IndexUnavailableError(f"{name} failed to {action}: {limit}")
    return IndexingError(f"{name} failed to {action}: {error}")


def open_derived(
    path: Path, *, synchronous: Literal["FULL", "OFF"], first_read: str, create: str | None = None
) -> sqlite3.Connection:
    """Open a derived file; with `create`, make it and run this script for its tables.

    Without `create` the file must exist: an empty file in its place would look like a complete index.
    """
    address = f"{path.absolute().as_uri()}?mode={'rw' if create is None else 'rwc'}"
    connection = sqlite3.connect(address, uri=True, timeout=30, isolation_level=None, check_same_thread=False)
    try:
        connection.execute(f"PRAGMA synchronous={synchronous}")
        # What is erased leaves the pages of the file as well.
        connection.execute("PRAGMA secure_delete=ON")
        if create is not None:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.executescript(create)
        # The first read reveals a damaged file. It also opens the WAL, so both can be read even if they are deleted.
        connection.execute(first_read).fetchone()
    except FILE_ERRORS:
        connection.close()
        raise
    return connection

"""The identity of a file, by which a replaced file is told from a changed one, and the digest of its content.

The number of an inode is reused as soon as it is free. Together with the moment at which the file was made it is
unique; Python does not report that moment on Linux, the system call `statx` does.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import struct
import time
from functools import lru_cache
from typing import Any, Final

_EMPTY_PATH: Final = 0x1000
_BIRTH: Final = 0x800
_BIRTH_AT: Final = 80
_SIZE: Final = 256


_BLANKS: Final = b" \t\r\n"
_COARSE_CLOCK: Final = getattr(time, "CLOCK_REALTIME_COARSE", None)
_CLOCK_TICK: Final = 20_000_000


def file_clock() -> int:
    """The time of files, in nanoseconds: a file that is made from now on has no earlier one.

    File systems take their times from a clock that advances every few milliseconds.
    """
    if _COARSE_CLOCK is None:
        return time.time_ns() - _CLOCK_TICK
    return time.clock_gettime_ns(_COARSE_CLOCK)


class ContentDigest:
    """The digest of a text that grows at its end. Blanks at the end do not count: editors add and remove them."""

    def __init__(self) -> None:
        self._hash = hashlib.blake2b(digest_size=8)
        self._blanks = b""
        self.size = 0
        """How many bytes were added."""

    def add(self, data: bytes) -> str:
        """The digest with these bytes."""
        self.size += len(data)
        data = self._blanks + data
        text = data.rstrip(_BLANKS)
        self._hash.update(text)
        self._blanks = data[len(text) :]
        return self._hash.hexdigest()


def content_digest(data: bytes) -> str:
    """The digest of the content of a file, but for blanks at its end."""
    return ContentDigest().add(data)


def file_identity(descriptor: int) -> str:
    """The identity of an open file; the inode alone where the system does not tell when the file was made."""
    status = os.fstat(descriptor)
    born = _born(descriptor, status)
    return f"{status.st_dev}:{status.st_ino}:{'' if born is None else born}"


def file_origin(descriptor: int) -> int:
    """When an open file came to be, in nanoseconds; appending to it changes that only where the system forgets it."""
    status = os.fstat(descriptor)
    born = _born(descriptor, status)
    known = min(status.st_mtime_ns, status.st_ctime_ns)
    return known if born is None else min(born, known)


def _born(descriptor: int, status: os.stat_result) -> int | None:
    """When the file was made, in nanoseconds."""
    seconds: float | None = getattr(status, "st_birthtime", None)
    if seconds is not None:
        return int(seconds * 1e9)
    statx = _statx()
    if statx is None:
        return None
    buffer = ctypes.create_string_buffer(_SIZE)
    if statx(descriptor, b"", _EMPTY_PATH, _BIRTH, buffer) != 0:
        return None
    (known,) = struct.unpack_from("=I", buffer, 0)
    whole, nanoseconds = struct.unpack_from("=qI", buffer, _BIRTH_AT)
    return int(whole) * 10**9 + int(nanoseconds) if known & _BIRTH else None


@lru_cache(maxsize=1)
def _statx() -> Any:
    try:
        return ctypes.CDLL(None, use_errno=True).statx
    except (OSError, AttributeError, TypeError):
        return None

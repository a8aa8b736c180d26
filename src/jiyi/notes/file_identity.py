"""Which file it is: a number that no other file has had, so that a replaced file is told from one that was changed.

The number of an inode is given to the next file as soon as it is free. Together with the moment at which the file was
made it is unique; Python does not tell that moment on Linux, the system does.
"""

from __future__ import annotations

import ctypes
import os
import struct
from functools import lru_cache
from typing import Any, Final

_EMPTY_PATH: Final = 0x1000
_BIRTH: Final = 0x800
_BIRTH_AT: Final = 80
_SIZE: Final = 256


def file_identity(descriptor: int) -> str:
    """The identity of an open file; where the system cannot tell when it was made, the inode must do."""
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

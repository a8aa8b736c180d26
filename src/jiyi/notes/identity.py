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
    """The identity of an open file."""
    status = os.fstat(descriptor)
    born = getattr(status, "st_birthtime", None)
    return f"{status.st_dev}:{status.st_ino}:{_born(descriptor) if born is None else born}"


def _born(descriptor: int) -> str:
    """When the file was made; empty where the system cannot tell, and then the inode must do."""
    statx = _statx()
    if statx is None:
        return ""
    buffer = ctypes.create_string_buffer(_SIZE)
    if statx(descriptor, b"", _EMPTY_PATH, _BIRTH, buffer) != 0:
        return ""
    (known,) = struct.unpack_from("=I", buffer, 0)
    seconds, nanoseconds = struct.unpack_from("=qI", buffer, _BIRTH_AT)
    return f"{seconds}.{nanoseconds}" if known & _BIRTH else ""


@lru_cache(maxsize=1)
def _statx() -> Any:
    try:
        return ctypes.CDLL(None, use_errno=True).statx
    except (OSError, AttributeError, TypeError):
        return None

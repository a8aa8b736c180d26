"""Out of file descriptors or threads: which errors mean that, and what to say about it.

Nothing is damaged then, and the same call can succeed later. An engine that meets such a limit often reports something
else, such as "unable to open database file".
"""

from __future__ import annotations

import errno
import os
import re
from contextlib import suppress
from typing import Final

from jiyi.errors import ResourceLimitError

__all__ = ["NO_DESCRIPTORS", "out_of_descriptors", "resource_limit", "thread_limit"]

_DESCRIPTORS: Final = frozenset({errno.EMFILE, errno.ENFILE})
# How Rust and C show them: "Too many open files (os error 24)", and "Os { code: 11, kind: WouldBlock }" for a thread.
_SAID: Final = re.compile(
    r"too many open files|\(os error (?:23|24)\)|code: (?:23|24),|file table overflow", re.IGNORECASE
)
_SAID_OF_THREADS: Final = re.compile(
    r"can't start new thread|failed to spawn thread|ThreadPoolBuildError|code: 11, kind: WouldBlock", re.IGNORECASE
)
_TRY_AGAIN: Final = "nothing was changed; try again"
NO_DESCRIPTORS: Final = "no file descriptor is left: close files, or raise the limit (ulimit -n)"
_NO_THREADS: Final = "no further thread can be started: end some, or raise the limit (ulimit -u, or of the container)"


def resource_limit(error: BaseException) -> ResourceLimitError | None:
    """The error of the tree, if this one means that a limit of the system was met."""
    if isinstance(error, ResourceLimitError):
        return error
    said = str(error)
    if (isinstance(error, OSError) and error.errno in _DESCRIPTORS) or _SAID.search(said):
        return ResourceLimitError(f"{NO_DESCRIPTORS}; {_TRY_AGAIN}")
    if _SAID_OF_THREADS.search(said):
        return thread_limit()
    return None


def thread_limit() -> ResourceLimitError:
    """No thread can be started."""
    return ResourceLimitError(f"{_NO_THREADS}; {_TRY_AGAIN}")


def out_of_descriptors() -> ResourceLimitError | None:
    """Whether no file can be opened now: for an engine that does not say why it failed to open one."""
    try:
        descriptor = os.open(os.devnull, os.O_RDONLY)
    except OSError as error:
        return resource_limit(error)
    with suppress(OSError):
        os.close(descriptor)
    return None

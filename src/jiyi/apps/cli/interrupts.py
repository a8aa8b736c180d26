"""Ctrl-C: long work stops at its next safe point, everything else at once.

The store survives a kill at any time, so ending at once loses nothing that was acknowledged; stopping at a safe point
also removes temporary files.
"""

from __future__ import annotations

import json as json_module
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from jiyi.apps.cli.exit_codes import Code

_MESSAGE = "interrupted; everything acknowledged before is kept"
_requested = threading.Event()
_stoppable = threading.Event()


class Interrupted(Exception):  # noqa: N818 - not a failure: the user asked for it
    """Raised inside long work at a safe point after Ctrl-C."""

    def __str__(self) -> str:
        return _MESSAGE


def install(*, json: bool) -> None:
    """Handle Ctrl-C in this process from now on."""

    def answer(_number: int, _frame: FrameType | None) -> None:
        if _stoppable.is_set() and not _requested.is_set():
            _requested.set()
            if not json:
                _write("stopping at the next safe point; press Ctrl-C again to stop at once")
            return
        _write(json_module.dumps({"error": "Interrupted", "message": _MESSAGE}) if json else _MESSAGE)
        os._exit(Code.INTERRUPTED)

    signal.signal(signal.SIGINT, answer)


@contextmanager
def stoppable() -> Iterator[None]:
    """For work that calls `check` often."""
    _stoppable.set()
    try:
        yield
    finally:
        _stoppable.clear()
        _requested.clear()


def check() -> None:
    """Raise `Interrupted` when Ctrl-C was pressed."""
    if _requested.is_set():
        raise Interrupted


def _write(text: str) -> None:
    # Not by `sys.stderr`: the signal may have come in the middle of a write to it, which must not be entered again.
    # A progress bar hides the cursor, and after os._exit nothing shows it again.
    with suppress(OSError):
        cursor = "\x1b[?25h" if os.isatty(2) else ""
        os.write(2, f"{cursor}\n{text}\n".encode())

"""The `jiyi` command."""

from __future__ import annotations

import gc
import os
import signal
import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line of this process and end the process."""
    # Start-up creates no garbage; collecting would cost 5 % of a short command. `Session` enables the collector again
    # when the memory is open.
    gc.disable()
    # Before anything else is loaded: Ctrl-C ends the process at any moment without a traceback.
    signal.signal(signal.SIGINT, lambda _number, _frame: os._exit(130))
    _write_any_text()
    from jiyi.apps.cli import interrupts
    from jiyi.apps.cli.command_modules import app_for

    interrupts.install(json="--json" in sys.argv)
    app = app_for(sys.argv[1] if len(sys.argv) > 1 else "")
    code: int | str | None = 0
    try:
        app()
    except SystemExit as end:
        code = end.code
    if not isinstance(code, int):
        raise SystemExit(code)
    _leave(code)


def _write_any_text() -> None:
    """Escape what a terminal or pipe that is not UTF-8 cannot show, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _leave(code: int) -> None:
    """End the process at once: every file is closed, and finalizing the interpreter would cost 40 ms."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        code = 141
    os._exit(code)

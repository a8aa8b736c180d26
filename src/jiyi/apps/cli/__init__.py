"""The `jiyi` command."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import typer

__all__ = ["main"]


def main() -> None:
    """Run the command line of this process and end the process."""
    # Nothing that start-up creates is garbage; looking for it would cost a twentieth of a short command.
    # `Session` turns the collector on again when the memory is open.
    gc.disable()
    _write_any_text()
    from jiyi.apps.cli import interrupts
    from jiyi.apps.cli.app import app

    _only_what_is_asked(app, sys.argv[1:])
    interrupts.install(json="--json" in sys.argv)
    code: int | str | None = 0
    try:
        app()
    except SystemExit as end:
        code = end.code
    if not isinstance(code, int):
        raise SystemExit(code)
    _leave(code)


def _only_what_is_asked(app: typer.Typer, words: Sequence[str]) -> None:
    """Leave the application the one command that is called: preparing all of them takes longer than to run most.

    Where the first word is none of them, everything stays, for the help and for a good error.
    """
    first = words[0] if words else ""
    commands = [info for info in app.registered_commands if info.name == first]
    groups = [info for info in app.registered_groups if info.name == first]
    if commands or groups:
        app.registered_commands[:] = commands
        app.registered_groups[:] = groups


def _write_any_text() -> None:
    """A terminal or pipe that is not UTF-8 gets escapes for what it cannot show, never a crash half-way."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _leave(code: int) -> None:
    """End the process at once: every file is closed, and taking the interpreter apart costs 40 ms more."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        code = 141
    os._exit(code)

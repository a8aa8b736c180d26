"""Reading lines of a conversation: with editing and a history on a terminal, plainly from a pipe."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

_PROMPT: Final = "> "
_MAX_LINES: Final = 1_000


class LineEditor:
    """Reads one line after the other. The history is a file of the data directory that only its owner can read."""

    def __init__(self, history: Path | None, commands: tuple[str, ...]) -> None:
        self._history = history
        self._commands = commands
        self._edits = sys.stdin.isatty() and sys.stdout.isatty() and self._prepare()

    def read(self) -> str | None:
        """The next line; `None` at the end of the input."""
        if not self._edits:
            if sys.stdout.isatty():
                sys.stdout.write(_PROMPT)
                sys.stdout.flush()
            return sys.stdin.readline() or None
        try:
            return input(_PROMPT)
        except EOFError:
            return None

    def close(self) -> None:
        """Write the history."""
        if not self._edits or self._history is None:
            return
        import readline

        with suppress(OSError):
            self._history.touch(mode=0o600)
            readline.set_history_length(_MAX_LINES)
            readline.write_history_file(self._history)

    def _prepare(self) -> bool:
        try:
            import readline
        except ImportError:  # not on every system
            return False
        if self._history is not None:
            with suppress(OSError):
                readline.read_history_file(self._history)
        readline.set_completer_delims("")
        readline.set_completer(self._complete)
        readline.parse_and_bind("tab: complete")
        return True

    def _complete(self, begun: str, number: int) -> str | None:
        fitting = [name for name in self._commands if name.startswith(begun)] if begun.startswith("/") else []
        return fitting[number] if number < len(fitting) else None

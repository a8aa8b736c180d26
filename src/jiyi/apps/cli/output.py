"""Output: results on standard output, everything else on standard error; for people or as JSON."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable
from typing import Any, TextIO

from jiyi.apps.cli.renderables import Block, text
from jiyi.apps.cli.sanitize import one_line, safe_json

JsonReady = dict[str, Any]


def is_terminal(stream: TextIO) -> bool:
    """Whether the output is a terminal. FORCE_COLOR says so where the system cannot know, as in a CI log."""
    return bool(os.environ.get("FORCE_COLOR")) or (stream.isatty() and os.environ.get("TERM") != "dumb")


def show(blocks: Iterable[Block], stream: TextIO) -> None:
    """Draw blocks for people. rich is loaded for terminals only, because loading it takes time."""
    if is_terminal(stream):
        from jiyi.apps.cli.render_terminal import draw

        draw(blocks, stream)
    else:
        from jiyi.apps.cli.render_plain import lines

        stream.write("".join(f"{line}\n" for line in lines(blocks)))


def write_json(data: JsonReady, stream: TextIO) -> None:
    """One JSON document: on one line in a pipe, indented on a terminal."""
    unicode = (stream.encoding or "utf-8").lower().replace("-", "").startswith("utf")
    document = json.dumps(data, ensure_ascii=not unicode, indent=2 if is_terminal(stream) else None)
    stream.write(safe_json(document) + "\n")


class Output:
    """The output of a command: results, errors and notes."""

    def __init__(self, *, json: bool) -> None:
        self.json = json

    def result(self, data: JsonReady, blocks: Callable[[], Iterable[Block]]) -> None:
        """The answer of a command: the data for programs, or the blocks for people."""
        if self.json:
            write_json(data, sys.stdout)
        else:
            show(blocks(), sys.stdout)
        # Flushed now, so that a closed pipe is noticed before the exit code is decided.
        sys.stdout.flush()

    def error(self, kind: str, message: str) -> None:
        """One clear line on standard error."""
        if self.json:
            write_json({"error": kind, "message": message}, sys.stderr)
        else:
            show([text(f"error: {one_line(message)}", "bad")], sys.stderr)

    def note(self, message: str) -> None:
        """Something worth knowing that is not an error."""
        if self.json:
            write_json({"note": message}, sys.stderr)
        else:
            show([text(f"note: {one_line(message)}", "dim")], sys.stderr)

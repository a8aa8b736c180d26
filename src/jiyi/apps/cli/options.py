"""Arguments and options that several commands share, and reading standard input."""

from __future__ import annotations

import sys
from typing import Annotated, Final

import typer

from jiyi.errors import InvalidInputError

MODES_WITHOUT_EMBEDDER: Final = ("keyword", "tags")

QueryArgument = Annotated[str, typer.Argument(metavar="QUERY", help="A question or words; any text at all.")]
LimitOption = Annotated[int, typer.Option("--limit", "-n", metavar="N", help="How many at most.")]
ExplainOption = Annotated[bool, typer.Option("--explain", "-e", help="Show each part of the score and what matched.")]
EraseOption = Annotated[
    bool, typer.Option("--erase", help="Delete the texts of all its versions as well, permanently.")
]


def standard_input() -> str:
    """All of standard input without its last line end."""
    try:
        body = sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInputError(
            f"standard input is not UTF-8 (byte {error.object[error.start]:#04x} at {error.start}); convert it first"
        ) from None
    return body.removesuffix("\n").removesuffix("\r")


def content_or_input(content: str) -> str:
    """The argument, or standard input if the argument is `-`."""
    return standard_input() if content == "-" else content

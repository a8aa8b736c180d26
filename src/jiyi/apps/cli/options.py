"""Arguments and options that several commands share, and reading standard input."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any, Final

import typer

from jiyi.errors import InvalidInputError

MODES_WITHOUT_EMBEDDER: Final = ("keyword", "tags")

QueryArgument = Annotated[str, typer.Argument(metavar="QUERY", help="A question or words; any text at all.")]
LimitOption = Annotated[int, typer.Option("--limit", "-n", metavar="N", help="How many at most.")]
MinRelevanceOption = Annotated[
    float,
    typer.Option(
        "--min-relevance", metavar="NUMBER", help="Leave out what is less likely to answer; 0 shows the nearest."
    ),
]
ExplainOption = Annotated[bool, typer.Option("--explain", "-e", help="Show each part of the score and what matched.")]
EraseOption = Annotated[
    bool, typer.Option("--erase", help="Delete the texts of all its versions as well, permanently.")
]

WhereOption = Annotated[
    str | None,
    typer.Option(
        "--where",
        metavar="JSON",
        help='Only with this metadata, e.g. \'{"project": "x", "score": {"$gte": 3}}\'.',
        show_default=False,
    ),
]
MetadataOption = Annotated[
    str | None,
    typer.Option("--metadata", metavar="JSON", help="A JSON object of your own.", show_default=False),
]


def json_object(value: str | None, option: str) -> dict[str, Any] | None:
    """The value of an option that takes a JSON object."""
    if value is None:
        return None
    try:
        found = json.loads(value)
    except ValueError as error:
        raise InvalidInputError(f'{option} is not JSON: {error}; write it like \'{{"project": "x"}}\'') from None
    if not isinstance(found, dict):
        raise InvalidInputError(f"{option} must be a JSON object, not {type(found).__name__}")
    return found


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

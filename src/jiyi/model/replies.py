"""The JSON in a model's reply, checked against the requested schema."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NoReturn

from jiyi.errors import ModelReplyError
from jiyi.model.json_schema import schema_problem
from jiyi.model.thinking import strip_thinking_blocks

MAX_REPLY: Final = 2_000_000
_MAX_TRIES: Final = 64
_OPENINGS: Final = {"object": re.compile(r"\{"), "array": re.compile(r"\[")}
_ANY_OPENING: Final = re.compile(r"[{\[]")


def parse_json_reply(text: str, schema: Mapping[str, Any]) -> Any:
    """Returns the JSON value in a reply that fits the schema; it may stand in a code fence or between words.

    Raises `ModelReplyError` with the reason otherwise: empty, not JSON, truncated, or where it differs from the schema.
    """
    text = strip_thinking_blocks(text[: MAX_REPLY + 1])
    if len(text) > MAX_REPLY:
        raise ModelReplyError(f"the reply is longer than {MAX_REPLY:,} characters", reason="too long")
    if not text.strip():
        raise ModelReplyError("the reply is empty", reason="empty")
    problem: str | None = None
    nothing: list[Any] | None = None
    for value in _values(text, _OPENINGS.get(str(schema.get("type")), _ANY_OPENING)):
        found = schema_problem(value, schema, "the reply")
        if found is None and value == []:
            # Empty brackets may stand among words: they are the answer only if nothing else is.
            nothing = value
        elif found is None:
            return value
        problem = problem or found
    if nothing is not None:
        return nothing
    if problem is not None:
        raise ModelReplyError(f"the reply does not fit its schema: {problem}", reason="wrong schema")
    if _is_truncated(text):
        raise ModelReplyError("the reply ends inside its JSON", reason="truncated")
    raise ModelReplyError(f"the reply is not JSON: it begins {text.strip()[:60]!r}", reason="not json")


def _values(text: str, opening: re.Pattern[str]) -> Iterator[Any]:
    """The whole text as JSON; otherwise every JSON value that begins at a bracket, outermost first."""
    decoder = json.JSONDecoder(parse_constant=_refuse_constant)
    try:
        yield decoder.decode(text.strip())
    except (ValueError, RecursionError):
        pass
    else:
        return
    place = 0
    for _ in range(_MAX_TRIES):
        match = opening.search(text, place)
        if match is None:
            return
        try:
            value, place = decoder.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            place = match.end()
        else:
            yield value


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON")


def _is_truncated(text: str) -> bool:
    return text.count("{") > text.count("}") or text.count("[") > text.count("]")

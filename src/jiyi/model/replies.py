"""JSON out of what a model wrote, checked against the schema that was asked for."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NoReturn

from jiyi.errors import ModelReplyError
from jiyi.model.thinking import strip_thinking_blocks

__all__ = ["parse_json_reply", "schema_problem"]

LONGEST_REPLY: Final = 2_000_000
_TRIES: Final = 64
_OPENINGS: Final = {"object": re.compile(r"\{"), "array": re.compile(r"\[")}
_ANY_OPENING: Final = re.compile(r"[{\[]")


def parse_json_reply(text: str, schema: Mapping[str, Any]) -> Any:
    """The JSON value in a reply that fits the schema; it may stand in a fence or among words.

    `ModelReplyError` says what is wrong otherwise: empty, not JSON, cut off, or where it differs from the schema.
    """
    text = strip_thinking_blocks(text[: LONGEST_REPLY + 1])
    if len(text) > LONGEST_REPLY:
        raise ModelReplyError(f"the reply is longer than {LONGEST_REPLY:,} characters", reason="too long")
    if not text.strip():
        raise ModelReplyError("the reply is empty", reason="empty")
    problem: str | None = None
    for value in _values(text, _OPENINGS.get(str(schema.get("type")), _ANY_OPENING)):
        found = schema_problem(value, schema)
        if found is None:
            return value
        problem = problem or found
    if problem is not None:
        raise ModelReplyError(f"the reply does not fit its schema: {problem}", reason="wrong schema")
    if _is_cut(text):
        raise ModelReplyError("the reply ends inside its JSON", reason="truncated")
    raise ModelReplyError(f"the reply is not JSON: it begins {text.strip()[:60]!r}", reason="not json")


def _values(text: str, opening: re.Pattern[str]) -> Iterator[Any]:
    """The whole text as JSON, then what stands between brackets in it, outermost first."""
    decoder = json.JSONDecoder(parse_constant=_no_number)
    try:
        yield decoder.decode(text.strip())
    except (ValueError, RecursionError):
        pass
    else:
        return
    place = 0
    for _ in range(_TRIES):
        match = opening.search(text, place)
        if match is None:
            return
        try:
            value, place = decoder.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            place = match.end()
        else:
            yield value


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON")


def _is_cut(text: str) -> bool:
    return text.count("{") > text.count("}") or text.count("[") > text.count("]")


# --- a small, strict part of JSON Schema ------------------------------------------------------------------------------

_TYPES: Final[dict[str, Callable[[Any], bool]]] = {
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
    "null": lambda value: value is None,
}
# (keyword, what it limits, whether it is a minimum)
_SIZES: Final[tuple[tuple[str, type | tuple[type, ...], bool], ...]] = (
    ("minLength", str, True),
    ("maxLength", str, False),
    ("minItems", list, True),
    ("maxItems", list, False),
    ("minimum", (int, float), True),
    ("maximum", (int, float), False),
)
_KNOWN: Final = frozenset(
    {
        "type",
        "enum",
        "const",
        "anyOf",
        "properties",
        "required",
        "additionalProperties",
        "items",
        *(size[0] for size in _SIZES),
    }
)
_NOTES: Final = frozenset({"title", "description", "default", "examples", "$schema"})


def schema_problem(value: Any, schema: Mapping[str, Any], place: str = "the reply") -> str | None:
    """Where and how a value differs from a schema, or `None`; a keyword that is not known here is a `ValueError`."""
    unknown = set(schema) - _KNOWN - _NOTES
    if unknown:
        raise ValueError(f"the schema of {place} uses {', '.join(sorted(unknown))}, which is not checked here")
    if "anyOf" in schema:
        problems = [schema_problem(value, each, place) for each in schema["anyOf"]]
        if all(problem is not None for problem in problems):
            return problems[0]
    return (
        _wrong_type(value, schema, place)
        or _wrong_size(value, schema, place)
        or (_wrong_object(value, schema, place) if isinstance(value, dict) else None)
        or (_wrong_item(value, schema, place) if isinstance(value, list) else None)
    )


def _wrong_type(value: Any, schema: Mapping[str, Any], place: str) -> str | None:
    wanted = schema.get("type")
    names = [wanted] if isinstance(wanted, str) else list(wanted or [])
    if names and not any(_TYPES[name](value) for name in names):
        return f"{place} must be {' or '.join(names)}, not {_name_of(value)}"
    if "enum" in schema and value not in schema["enum"]:
        return f"{place} is {_shown(value)}, not one of {', '.join(map(str, schema['enum']))}"
    if "const" in schema and value != schema["const"]:
        return f"{place} is {_shown(value)}, not {schema['const']!r}"
    return None


def _wrong_size(value: Any, schema: Mapping[str, Any], place: str) -> str | None:
    for keyword, kind, is_least in _SIZES:
        if keyword not in schema or not isinstance(value, kind) or isinstance(value, bool):
            continue
        size = len(value) if isinstance(value, str | list) else value
        if size < schema[keyword] if is_least else size > schema[keyword]:
            return (
                f"{place} is {size}, and {'at least' if is_least else 'at most'} {schema[keyword]} ({keyword}) is asked"
            )
    return None


def _wrong_object(value: dict[str, Any], schema: Mapping[str, Any], place: str) -> str | None:
    known: Mapping[str, Any] = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            return f"{place} has no {name!r}"
    if schema.get("additionalProperties") is False:
        for name in value:
            if name not in known:
                return f"{place} has an unknown {name[:40]!r}"
    problems = (schema_problem(value[name], known[name], f"{name!r}") for name in known if name in value)
    return next((problem for problem in problems if problem), None)


def _wrong_item(value: list[Any], schema: Mapping[str, Any], place: str) -> str | None:
    if "items" not in schema:
        return None
    problems = (schema_problem(item, schema["items"], f"{place}[{number}]") for number, item in enumerate(value))
    return next((problem for problem in problems if problem), None)


def _name_of(value: Any) -> str:
    return next(
        name for name in ("null", "boolean", "integer", "number", "string", "array", "object") if _TYPES[name](value)
    )


def _shown(value: Any) -> str:
    return repr(value)[:60]

"""A small, strict subset of JSON Schema: the keywords that the schemas of tools and replies use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

_TYPES: Final[dict[str, Callable[[Any], bool]]] = {
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
    "null": lambda value: value is None,
}
# (keyword, types it applies to, whether it is a minimum)
_SIZES: Final[tuple[tuple[str, type | tuple[type, ...], bool], ...]] = (
    ("minLength", str, True),
    ("maxLength", str, False),
    ("minItems", list, True),
    ("maxItems", list, False),
    ("minimum", (int, float), True),
    ("maximum", (int, float), False),
)
_KEYWORDS: Final = frozenset(
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
_ANNOTATIONS: Final = frozenset({"title", "description", "default", "examples", "$schema"})


def schema_problem(value: Any, schema: Mapping[str, Any], place: str) -> str | None:
    """Returns where and how a value differs from a schema, or `None`. `place` names the value in the message.

    Raises `ValueError` for a keyword that is not supported: a schema is never checked in part only.
    """
    unknown = set(schema) - _KEYWORDS - _ANNOTATIONS
    if unknown:
        raise ValueError(f"the schema of {place} uses {', '.join(sorted(unknown))}, which is not supported")
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
    for keyword, kind, is_minimum in _SIZES:
        if keyword not in schema or not isinstance(value, kind) or isinstance(value, bool):
            continue
        size = len(value) if isinstance(value, str | list) else value
        limit = schema[keyword]
        if size < limit if is_minimum else size > limit:
            what = f"has length {size}" if isinstance(value, str | list) else f"is {size}"
            return f"{place} {what}; it must be {'at least' if is_minimum else 'at most'} {limit} ({keyword})"
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
    names = ("null", "boolean", "integer", "number", "string", "array", "object")
    return next((name for name in names if _TYPES[name](value)), type(value).__name__)


def _shown(value: Any) -> str:
    return repr(value)[:60]

"""Coercion of the arguments that models write: unambiguous slips only. The schema check refuses everything else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

_MAX_DIGITS: Final = 18
_SEPARATORS: Final = frozenset(",;\n，、；")
_TRUTH: Final = {"true": True, "false": False}


def coerced(value: Any, schema: Mapping[str, Any]) -> Any:
    """The value that is plainly meant: 3 for "3" and 3.0, true for "true", ["tea"] for "tea"; otherwise unchanged."""
    wanted = schema.get("type")
    if wanted in {"integer", "number"}:
        return _number(value, whole=wanted == "integer")
    if wanted == "boolean" and isinstance(value, str):
        return _TRUTH.get(value.strip().lower(), value)
    if wanted == "array":
        return _list(value, schema)
    if wanted == "string" and "enum" in schema and isinstance(value, str):
        return next((each for each in schema["enum"] if each == value.strip().lower()), value)
    return value


def _number(value: Any, *, whole: bool) -> Any:
    if isinstance(value, str) and 0 < len(value.strip()) <= _MAX_DIGITS:
        try:
            value = float(value) if any(sign in value for sign in ".eE") else int(value)
        except ValueError:
            return value
    if whole and isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _list(value: Any, schema: Mapping[str, Any]) -> Any:
    items = schema.get("items", {})
    if isinstance(value, str):
        value = _list_of_text(value, items)
    if isinstance(value, list):
        return [coerced(item, items) for item in value if item is not None]
    return value


def _list_of_text(text: str, items: Mapping[str, Any]) -> Any:
    """A list that was written as JSON text, or one word for a list of one."""
    if text.strip().startswith("["):
        try:
            read = json.loads(text)
        except (ValueError, RecursionError):
            return text
        return read if isinstance(read, list) else text
    plain = items.get("type") == "string" and text.strip() and not _SEPARATORS & set(text)
    return [text.strip()] if plain else text

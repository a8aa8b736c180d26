"""Metadata of entries: a JSON object, checked and copied before it is stored."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, TypeAlias

from jiyi.errors import InvalidInputError
from jiyi.model.storable import not_storable

MAX_BYTES: Final = 16 * 1024
"""Of the compact JSON text in UTF-8."""
MAX_LEVELS: Final = 8
"""Objects and lists inside each other; the object itself is the first level."""
_MAX_WHOLE: Final = 2**63
_MAX_KNOWN: Final = 64
_FORBIDDEN: Final = re.compile(r'["\\\x00-\x1f]')
"""In names: paths of SQLite have no way to write them."""
Place: TypeAlias = "str | tuple[Place, object]"
"""Where a value stands: the name of the argument, or a place and a key or number inside it. Put in words for messages
only."""

_encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def metadata_text(metadata: Mapping[str, Any]) -> str:
    """Metadata as it is stored: compact JSON that keeps Chinese readable."""
    return _encoder.encode(metadata) if metadata else "{}"


def metadata_of(text: str) -> dict[str, Any]:
    """The inverse of `metadata_text`; a new object each time."""
    found: dict[str, Any] = {} if text == "{}" else json.loads(text)
    return found


def check_metadata(value: object, name: str = "metadata") -> dict[str, Any]:
    """A copy of a JSON object; raises `InvalidInputError` that names the place of what cannot be stored."""
    if not isinstance(value, Mapping):
        raise InvalidInputError(f"{name} must be a mapping, not {type(value).__name__}: {ascii(value)[:80]}")
    if not value:
        return {}
    copied: dict[str, Any] = check_json(value, name)
    size = len(metadata_text(copied).encode("utf-8"))
    if size > MAX_BYTES:
        raise InvalidInputError(
            f"{name} has {size:,} bytes as JSON and the limit is {MAX_BYTES:,}; put long texts into the content"
        )
    return copied


def metadata_fits(metadata: Mapping[str, Any]) -> bool:
    """Whether checked metadata are small enough to be stored."""
    return len(metadata_text(metadata).encode("utf-8")) <= MAX_BYTES


def check_json(value: object, place: Place, level: int = 1) -> Any:
    """A copy of a JSON value: objects, lists, texts, finite numbers, true, false and null."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _check_text(value, place)
    if isinstance(value, int):
        if not -_MAX_WHOLE <= value < _MAX_WHOLE:
            raise InvalidInputError(f"{_shown(place)} is a whole number of more than 64 bits; store it as text")
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidInputError(f"{_shown(place)} is {value}, which JSON does not have; leave it out or use null")
        return float(value)
    if not isinstance(value, dict | list | tuple | Mapping):
        raise InvalidInputError(
            f"{_shown(place)} is a {type(value).__name__}, which JSON does not have: {ascii(value)[:80]}; "
            "store it as text"
        )
    if level > MAX_LEVELS:
        raise InvalidInputError(f"{_shown(place)} is deeper than {MAX_LEVELS} levels; make it flatter")
    if isinstance(value, dict | Mapping):
        return {check_name(key, place): check_json(each, (place, key), level + 1) for key, each in value.items()}
    return [check_json(each, (place, index), level + 1) for index, each in enumerate(value)]


def check_name(key: object, place: Place) -> str:
    """The name of a value inside an object."""
    # Most entries of a program have the same names.
    if type(key) is str and len(key) <= _MAX_KNOWN and _is_name(key):
        return key
    if not isinstance(key, str):
        raise InvalidInputError(f"{_shown(place)} has the key {ascii(key)[:80]}, and keys must be text")
    if not key:
        raise InvalidInputError(f"{_shown(place)} has an empty key; name it")
    text = _check_text(key, f"the key {ascii(key)[:80]} of {_shown(place)}")
    if _FORBIDDEN.search(text):
        raise InvalidInputError(
            f"the key {ascii(key)[:80]} of {_shown(place)} contains a quotation mark, a backslash or a control "
            "character; rename it"
        )
    return text


@lru_cache(maxsize=1_024)
def _is_name(key: str) -> bool:
    return key.isascii() and bool(key) and _FORBIDDEN.search(key) is None


def _shown(place: Place) -> str:
    """Where a value stands, for a message."""
    if isinstance(place, str):
        return place
    outer, step = place
    return f"{_shown(outer)}[{step}]" if isinstance(step, int) else f"{_shown(outer)}.{ascii(step)[1:-1]}"


def _check_text(text: str, place: Place) -> str:
    if problem := not_storable(text):
        raise InvalidInputError(f"{_shown(place)} {problem}")
    return str(text)

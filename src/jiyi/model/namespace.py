"""Namespaces: where an entry is filed inside its scope, such as `("projects", "x")`. They do not isolate: scopes do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from jiyi.errors import InvalidInputError
from jiyi.model.storable import is_storable

MAX_PARTS: Final = 32
MAX_CHARACTERS: Final = 512
"""Of all parts together."""
END: Final = "\x1f"
"""Ends each part of a stored namespace, so that one namespace begins with another exactly when its text does."""
AFTER_END: Final = "\x20"
"""The next character: the texts that begin with `x` and `END` are those from there up to `x` and `AFTER_END`."""


def namespace_text(namespace: Sequence[str]) -> str:
    """A namespace as it is stored; empty for none."""
    return "".join(f"{part}{END}" for part in namespace) if namespace else ""


def namespace_of(text: str) -> tuple[str, ...]:
    """The inverse of `namespace_text`."""
    return tuple(text.split(END)[:-1])


def check_namespace(value: object, name: str = "namespace") -> tuple[str, ...]:
    """A namespace of a caller: the parts in their order. Empty means none."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise InvalidInputError(
            f"{name} must be a tuple of texts such as ('projects', 'x'), "
            f"not {type(value).__name__}: {ascii(value)[:80]}"
        )
    parts = tuple(_check_part(part, name) for part in value)
    if len(parts) > MAX_PARTS or sum(map(len, parts)) > MAX_CHARACTERS:
        raise InvalidInputError(f"{name} has more than {MAX_PARTS} parts or {MAX_CHARACTERS} characters; shorten it")
    return parts


def _check_part(part: object, name: str) -> str:
    if not isinstance(part, str):
        raise InvalidInputError(f"{name} has a part that is no text: {ascii(part)[:80]}")
    if not part or part.isspace():
        raise InvalidInputError(f"{name} has an empty part; name it or leave it out")
    if any(each < " " for each in part):
        raise InvalidInputError(f"{name} has a part with a control character: {ascii(part)[:80]}; remove it")
    if not is_storable(part):
        raise InvalidInputError(f"{name} has a part with a lone surrogate: {ascii(part)[:80]}; remove it")
    return str(part)

"""Identifiers in texts: part numbers, flights, versions. Another one of the same form is another thing."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final

from jiyi.text.normalize import fold

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["has_another", "identifiers"]

# Compiled at first use: most questions name no identifier.
_compiled = cache(re.compile)

_WORD: Final = r"(?<![a-z0-9])(?:[a-z](?:\+\+|#)|[a-z0-9]+(?:[-._][a-z0-9]+)*)(?![a-z0-9])"
_JOINT: Final = r"[-._]"
_MIN_DIGITS: Final = 3
"""Fewer digits beside letters are a kind of thing rather than a name: 5G, B12, mp3."""
_MIN_GROUPS: Final = 3
_SIGNS: Final = ("++", "#")


def identifiers(text: str) -> dict[str, str]:
    """Each identifier of a text without its joints, and its form: the same letters and groups of digits."""
    return dict(_found(fold(text)))


def has_another(text: str, asked: dict[str, str]) -> bool:
    """Whether a text has an identifier of the form of one that is asked for, and none that is asked for itself."""
    known = identifiers(text)
    return known.keys().isdisjoint(asked) and not set(known.values()).isdisjoint(asked.values())


def _found(folded: str) -> Iterator[tuple[str, str]]:
    for match in _compiled(_WORD).finditer(folded):
        word = match[0]
        if word.endswith(_SIGNS):
            yield word, f"{word[0]} with a sign"
        elif _is_identifier(word):
            yield _compiled(_JOINT).sub("", word), _compiled("[0-9]+").sub("0", word)


def _is_identifier(word: str) -> bool:
    digits = sum(map(str.isdigit, word))
    groups = len(_compiled(_JOINT).split(word))
    if any(map(str.isalpha, word)):
        return digits >= _MIN_DIGITS or (digits > 0 and groups >= _MIN_GROUPS)
    # 2026-05-14 is a date, and 604-118-220 a number that is asked for by its name.
    return "." in word and groups > _MIN_GROUPS and digits == len(word) - word.count(".")

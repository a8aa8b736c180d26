"""Words that stand for another one: a question about a pet is answered by a text with a cat in it.

The concepts are written by hand, in English and Chinese at once (bench/sets/concepts); no stored text has a part in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from pkgutil import get_data
from typing import Final, NamedTuple

from jiyi.text.rarity import specificity

__all__ = ["related_words"]

_SAME: Final = 1.0
"""For another name of the same concept."""
_KIND: Final = 0.7
"""For a word of that kind, where the question names the concept."""
_NAME: Final = 0.4
"""For the name of the concept, where the question has a word of that kind."""


class _Concept(NamedTuple):
    names: list[str]
    kinds: list[str]


@cache
def _table() -> list[str]:
    """A line is a concept: its terms between spaces, a bar between names and kinds."""
    return (get_data("jiyi.text", "data/related.txt") or b"").decode("utf-8").splitlines()


@cache
def _lines_of() -> dict[str, list[int]]:
    """Term -> the lines in which it stands."""
    found: dict[str, list[int]] = {}
    for number, line in enumerate(_table()):
        for term in line.split():
            found.setdefault(term, []).append(number)
    return found


def _concepts(term: str) -> Iterator[_Concept]:
    """Those in which the term stands."""
    for number in _lines_of().get(term, ()):
        names, _, kinds = _table()[number].partition("|")
        yield _Concept(names.split(), kinds.split())


@lru_cache(maxsize=2_000)
def related_words(term: str) -> Mapping[str, float]:
    """Other terms that speak of the same, each with how much it says, 0..1: everyday words say little."""
    concepts = list(_concepts(term))
    found: dict[str, float] = {}
    for concept in concepts:
        if term in concept.kinds:
            found.update(dict.fromkeys(concept.names, _NAME))
    named = [concept for concept in concepts if term in concept.names]
    for concept in named:
        found.update(dict.fromkeys(concept.kinds, _KIND))
    for concept in named:
        found.update(dict.fromkeys(concept.names, _SAME))
    found.pop(term, None)
    return {other: weight * specificity(other) for other, weight in found.items()}

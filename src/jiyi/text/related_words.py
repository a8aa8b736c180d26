"""Words that stand for another one: a question about a pet is answered by a text with a cat in it.

The concepts are written by hand, in English and Chinese at once (bench/sets/concepts); no stored text has a part in it.
"""

from __future__ import annotations

from collections.abc import Mapping
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
    names: tuple[str, ...]
    kinds: tuple[str, ...]


@cache
def _concepts() -> tuple[Mapping[str, list[_Concept]], Mapping[str, list[_Concept]]]:
    """Term -> the concepts that it names, and those of whose kind it is."""
    named: dict[str, list[_Concept]] = {}
    of_kind: dict[str, list[_Concept]] = {}
    for line in (get_data("jiyi.text", "data/related.txt") or b"").decode("utf-8").splitlines():
        names, _, kinds = line.partition("|")
        concept = _Concept(tuple(names.split()), tuple(kinds.split()))
        for name in concept.names:
            named.setdefault(name, []).append(concept)
        for kind in concept.kinds:
            of_kind.setdefault(kind, []).append(concept)
    return named, of_kind


@lru_cache(maxsize=2_000)
def related_words(term: str) -> Mapping[str, float]:
    """Other terms that speak of the same, each with how much it says, 0..1: everyday words say little."""
    named, of_kind = _concepts()
    found: dict[str, float] = {}
    for concept in of_kind.get(term, ()):
        found.update(dict.fromkeys(concept.names, _NAME))
    concepts = named.get(term, ())
    for concept in concepts:
        found.update(dict.fromkeys(concept.kinds, _KIND))
    for concept in concepts:
        found.update(dict.fromkeys(concept.names, _SAME))
    found.pop(term, None)
    return {other: weight * specificity(other) for other, weight in found.items()}

"""Which part of an older fact a message replaces, by the values that the trained models give to each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Final

from jiyi.longterm.replacement import only_describes
from jiyi.longterm.residue import HEADING
from jiyi.text.patterns import has_han
from jiyi.text.statements.about.subject_phrases import names_its_subject
from jiyi.text.statements.about.topics import WEAK_TOPICS

if TYPE_CHECKING:
    from jiyi.longterm.replacement import ComparedText

__all__ = ["describing", "log_odds", "probability_of", "replaced_piece", "tells_its_own", "with_named"]

_OF_NAMED: Final = 0.6
"""So much more has the only part of a fact with a word of the message."""
_OF_OTHER: Final = 2.0
"""So much less has a part that seems to be about something else."""


def log_odds(probability: float) -> float:
    """From minus infinity to infinity, 0 for a probability of one half."""
    bounded = min(max(probability, 1e-6), 1 - 1e-6)
    return math.log(bounded / (1 - bounded))


def probability_of(values: Sequence[float], chosen: int, without: AbstractSet[int]) -> float:
    """How likely the chosen part is the right one among those that may be meant."""
    rivals = [value for place, value in enumerate(values) if place != chosen and place not in without]
    return 1 / (1 + sum(math.exp(value - values[chosen]) for value in rivals))


def with_named(values: Sequence[float], named: Sequence[bool]) -> list[float]:
    """The values of the parts of a fact, with more for the only one that has a word of the message."""
    return [value + (_OF_NAMED if name and sum(named) == 1 else 0.0) for value, name in zip(values, named, strict=True)]


def tells_its_own(part: ComparedText, other: ComparedText) -> bool:
    """Whether a part of a fact is about something else than another part, and no heading."""
    if HEADING.search(part.text):
        return False
    named = has_han(part.text) and names_its_subject(part.text.strip(" ,，；;、。."))
    return bool(part.topics.keys() - other.topics.keys() - WEAK_TOPICS) or named


def describing(parts: Sequence[ComparedText], gone: int) -> set[int]:
    """The places of the parts after one that only say how often, how long or how much of it."""
    found: set[int] = set()
    for place in range(gone + 1, len(parts)):
        if not only_describes(parts[place], parts[gone]):
            break
        found.add(place)
    return found


def replaced_piece(pieces: Sequence[str], values: Sequence[float], others: AbstractSet[int]) -> int:
    """The piece that a message replaces: the one with the highest value.

    Never a heading ("What I drive:"), and seldom one that seems to be about something else.
    """
    first = 1 if HEADING.search(pieces[0]) else 0
    return max(range(first, len(pieces)), key=lambda number: values[number] - (_OF_OTHER if number in others else 0.0))

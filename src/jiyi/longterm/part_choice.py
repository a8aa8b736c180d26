"""Which part of an older fact a message replaces, by the values that the trained network gives to each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Final

from jiyi.longterm.residue import HEADING
from jiyi.text.patterns import has_han
from jiyi.text.statements.about.subject_phrases import names_its_subject
from jiyi.text.statements.about.topics import WEAK_TOPICS

if TYPE_CHECKING:
    from jiyi.longterm.replacement import ComparedText

__all__ = ["log_odds", "replaced_piece", "tells_its_own"]

_OF_OTHER: Final = 2.0
"""So much less has a part that seems to be about something else."""


def log_odds(probability: float) -> float:
    """From minus infinity to infinity, 0 for a probability of one half."""
    bounded = min(max(probability, 1e-6), 1 - 1e-6)
    return math.log(bounded / (1 - bounded))


def tells_its_own(part: ComparedText, other: ComparedText) -> bool:
    """Whether a part of a fact is about something else than another part, and no heading."""
    if HEADING.search(part.text):
        return False
    named = has_han(part.text) and names_its_subject(part.text.strip(" ,，；;、。."))
    return bool(part.topics.keys() - other.topics.keys() - WEAK_TOPICS) or named


def replaced_piece(pieces: Sequence[str], values: Sequence[float], others: AbstractSet[int]) -> int:
    """The piece that a message replaces: the one with the highest value.

    Never a heading ("What I drive:"), and seldom one that seems to be about something else.
    """
    first = 1 if HEADING.search(pieces[0]) else 0
    return max(range(first, len(pieces)), key=lambda number: values[number] - (_OF_OTHER if number in others else 0.0))

"""What a `relevance_score` is good for. It is the probability that a hit answers the question."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from jiyi.errors import InvalidInputError

if TYPE_CHECKING:
    from jiyi.model.entry import MemoryEntry

CONFIDENT: Final = 0.2
"""Hits from this relevance on are marked `confident`."""
MIN_RELEVANCE: Final = 0.02
"""What is less relevant goes neither into a prompt nor before a person, unless they ask for it."""


def check_min_relevance(value: Any) -> float:
    """The value, if it is a probability."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or not 0 <= value <= 1:
        raise InvalidInputError(f"min_relevance {value!r} must be a number from 0 to 1")
    return float(value)


def fitting(hits: Sequence[MemoryEntry], min_relevance: float = MIN_RELEVANCE) -> list[MemoryEntry]:
    """The hits that are relevant enough; what states the attribute that is asked for is, whatever stands before it."""
    return [
        hit for hit in hits if (hit.relevance_score or 0.0) >= min_relevance or hit.score_parts.get("attribute", 0) > 0
    ]

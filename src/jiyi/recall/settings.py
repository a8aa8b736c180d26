"""How recall goes about it. The defaults were measured: bench/results has the tables."""

from __future__ import annotations

from dataclasses import dataclass, field

from jiyi.model import bm25

DECIMALS = 9
"""To which scores are rounded: what differs by less is a matter of the order of additions."""


@dataclass(frozen=True, slots=True)
class ScoringWeights:
    """The numbers of the formula. One set for all texts and languages."""

    k1: float = bm25.K1
    b: float = bm25.B
    length_floor: int = bm25.LENGTH_FLOOR
    neighbours: tuple[float, float, float, float] = (0.3, 0.2, 0.1, 0.1)
    """Previous, next, previous but one, next but one."""
    conversation: float = 0.3
    bigrams: float = 0.4
    date: float = 5.0
    dense: float = 0.4
    question: float = 0.5
    company: float = 0.2
    company_power: float = 8.0
    """Only candidates near the best speak for their day."""
    question_length: int = 25
    """A longer text is not a bare question."""


@dataclass(frozen=True, slots=True)
class RecallSettings:
    """Counts of candidates, and patience. Each list is at least twice the limit."""

    word_candidates: int = 50
    bigram_candidates: int = 20
    dense_candidates: int = 50
    dated_candidates: int = 30
    """Of each kind, inside the dates that the question names."""
    freshness_seconds: float = 10.0
    """How long to wait for indexes that are behind in the visible scopes."""
    weights: ScoringWeights = field(default_factory=ScoringWeights)

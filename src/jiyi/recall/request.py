"""What a caller asks of recall, and what it gets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Final, Literal, NamedTuple, TypeAlias, get_args

from jiyi.errors import InvalidInputError
from jiyi.model.entry import IndexCoverage, MemoryEntry
from jiyi.model.filters import Filters
from jiyi.model.scoring import FinalWeights

Mode: TypeAlias = Literal["hybrid", "keyword", "semantic", "tags"]
MODES: Final[tuple[str, ...]] = get_args(Mode)


@dataclass(frozen=True, slots=True)
class Request:
    """A checked question with everything that was asked for."""

    query: str
    filters: Filters
    limit: int = 10
    mode: str = "hybrid"
    weights: FinalWeights | None = None
    """Sorts by α·relevance + β·decay + γ·importance; `None` leaves the order to relevance alone."""
    context: int = 0
    now: datetime | None = None
    zone: tzinfo | None = None
    """The time zone of whoever asks; `None` means the one of the settings."""
    highlights: bool = False
    candidates: int = 50
    """How many of the most relevant are weighed, where there are weights."""
    min_relevance: float = 0.0
    """Hits that are less relevant are left out."""
    by_similarity: bool = False
    """The `candidates` most similar by their own vectors are weighed, and relevance in the formula is the cosine; for
    an entry without a vector it is the share of the question's information. Without an embedder nothing changes."""
    rerank: bool = True
    """Whether a configured reranker is asked."""
    duplicates: bool = False
    """Whether entries that say what a better hit says are hits of their own."""
    left_out: frozenset[str] = frozenset()
    """Ids of entries that are not compared: what is being asked now is no answer to itself, and none is measured by
    it."""
    restored: tuple[MemoryEntry, ...] = ()
    """Inactive entries that are compared all the same: what stood at an earlier time and was corrected since."""


class Answer(NamedTuple):
    """Hits, best first."""

    hits: list[MemoryEntry]
    candidates: int
    """How many entries were compared."""
    reflections: Sequence[MemoryEntry] = ()
    """What was found beside the hits and drawn from several entries, best first; empty once it is among the hits."""
    may_be_corrected: bool = True
    """Whether facts of the hits may have been corrected; only a search that has looked says no."""
    coverage: tuple[IndexCoverage, ...] = ()
    """What each index contributed, also where there are no hits."""


def check_mode(mode: str) -> None:
    """Raise `InvalidInputError` unless recall has this mode."""
    if mode not in MODES:
        raise InvalidInputError(f"mode {mode!r} is unknown; use one of {', '.join(MODES)}")

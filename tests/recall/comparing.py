"""Comparing answers of two memories that should not differ."""

from collections.abc import Sequence
from typing import Any

import pytest

from jiyi.model.entry import MemoryEntry


def assert_same_hits(hits: Sequence[MemoryEntry], others: Sequence[MemoryEntry]) -> None:
    """The same memories in the same order for the same reasons; scopes, ids and the last digits do not matter."""
    assert list(map(_seen, hits)) == list(map(_seen, others))
    for hit, other in zip(hits, others, strict=True):
        assert hit.relevance_score == pytest.approx(other.relevance_score, abs=1e-6)
        assert dict(hit.score_parts) == pytest.approx(dict(other.score_parts), abs=1e-6)


def _seen(hit: MemoryEntry) -> tuple[Any, ...]:
    assert hit.explanation is not None
    return (hit.key, hit.content, hit.position, hit.explanation.matched_terms, hit.explanation.highlights)

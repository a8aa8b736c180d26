"""The best hits, put in order once more by a model that reads question and text together."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jiyi.errors import ModelError
from jiyi.model.entry import Explanation, IndexCoverage, MemoryEntry
from jiyi.recall.freshness import not_answered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jiyi.ports import Reranker

NAME = "reranker"
"""What it is called in the coverage of a hit."""


def rerank(reranker: Reranker, query: str, hits: Sequence[MemoryEntry], limit: int) -> list[MemoryEntry]:
    """The first `limit` hits in the order of the reranker, the others behind them.

    Relevances stay what they were, in order: the model says which hits are better, not how likely an answer is. When it
    fails, the order stays, and the coverage of every hit says why.
    """
    first, rest = list(hits[:limit]), list(hits[limit:])
    if not first:
        return rest
    coverage = IndexCoverage(NAME, answered=True, note=reranker.name)
    try:
        scores = reranker.rerank(query, [hit.content for hit in first])
    except ModelError as error:
        failed = not_answered(coverage, error)
        return [_covered(hit, failed, None) for hit in hits]
    order = sorted(range(len(first)), key=lambda place: -scores[place])
    relevances = [hit.relevance_score for hit in first]
    confident = [hit.confident for hit in first]
    placed = [
        replace(_covered(first[place], coverage, scores[place]), relevance_score=relevance, confident=sure)
        for place, relevance, sure in zip(order, relevances, confident, strict=True)
    ]
    return placed + [_covered(hit, coverage, None) for hit in rest]


def _covered(hit: MemoryEntry, coverage: IndexCoverage, score: float | None) -> MemoryEntry:
    explanation = hit.explanation or Explanation()
    parts = dict(explanation.parts) if score is None else {**explanation.parts, NAME: score}
    return replace(hit, explanation=replace(explanation, parts=parts, coverage=(*explanation.coverage, coverage)))

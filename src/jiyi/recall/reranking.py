"""The best hits, put in order once more by a model that reads question and text together."""

from __future__ import annotations

import math
import threading
from concurrent.futures import Future, wait
from dataclasses import replace
from numbers import Real
from typing import TYPE_CHECKING

from jiyi.errors import ModelError, ModelReplyError, ModelTimeoutError, ModelUnavailableError
from jiyi.model.entry import Explanation, IndexCoverage, MemoryEntry
from jiyi.ports import LOCAL_MODEL_ERRORS, Prepares
from jiyi.ports.optional import provides
from jiyi.recall.freshness import not_answered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jiyi.ports import Reranker
    from jiyi.recall.settings import RecallSettings

NAME = "reranker"
"""What it is called in the coverage of a hit, and its score among the parts."""


def rerank(
    reranker: Reranker, query: str, hits: Sequence[MemoryEntry], settings: RecallSettings
) -> tuple[list[MemoryEntry], IndexCoverage]:
    """The first `rerank_candidates` hits in the order of the reranker, the others behind them; whether it answered.

    Each hit keeps its own relevance: the model says which hits are better, not how likely an answer is. When it fails,
    the order stays, and the coverage of every hit says why.
    """
    first, rest = list(hits[: settings.rerank_candidates]), list(hits[settings.rerank_candidates :])
    coverage = IndexCoverage(NAME, answered=True, note=reranker.name)
    try:
        scores = _scores(reranker, query, [hit.content for hit in first], settings.rerank_seconds)
    except ModelError as error:
        failed = not_answered(coverage, error)
        return [_covered(hit, failed, None) for hit in hits], failed
    order = sorted(range(len(first)), key=lambda place: -scores[place])
    placed = [_covered(first[place], coverage, scores[place]) for place in order]
    return placed + [_covered(hit, coverage, None) for hit in rest], coverage


def _scores(reranker: Reranker, query: str, texts: Sequence[str], seconds: float) -> list[float]:
    """A finite number for each text. Whatever is wrong with the model or its answer is a `ModelError`."""
    with reranker.usage.counting(len(texts)):
        try:
            if provides(reranker, Prepares):
                reranker.prepare()
            found = _ask(reranker, query, texts, seconds)
        except LOCAL_MODEL_ERRORS as error:
            raise ModelUnavailableError(f"{reranker.name} failed: {type(error).__name__}: {error}") from error
        if len(found) != len(texts):
            raise ModelReplyError(
                f"{reranker.name} gave {len(found)} scores for {len(texts)} texts; use a model with one score a text",
                reason="wrong schema",
            )
        for score in found:
            if not _is_finite(score):
                raise ModelReplyError(
                    f"{reranker.name} gave a text the score {score!r}, which is no finite number; use another model",
                    reason="wrong schema",
                )
        return [float(score) for score in found]


def _is_finite(score: object) -> bool:
    return isinstance(score, Real) and math.isfinite(score)


def _ask(reranker: Reranker, query: str, texts: Sequence[str], seconds: float) -> list[float]:
    """What the reranker answers in time. A model in this process cannot be stopped: its thread is left to end."""
    answer: Future[list[float]] = Future()

    def run() -> None:
        try:
            answer.set_result(list(reranker.rerank(query, texts)))
        except BaseException as error:  # noqa: BLE001 - every error is raised in the caller
            answer.set_exception(error)

    threading.Thread(target=run, name="jiyi-reranker", daemon=True).start()
    wait((answer,), seconds)
    if not answer.done():
        raise ModelTimeoutError(
            f"{reranker.name} did not answer within {seconds:g} s; raise reranker_timeout or lower rerank_candidates"
        )
    return answer.result()


def _covered(hit: MemoryEntry, coverage: IndexCoverage, score: float | None) -> MemoryEntry:
    explanation = hit.explanation or Explanation()
    parts = dict(explanation.parts) if score is None else {**explanation.parts, NAME: score}
    return replace(hit, explanation=replace(explanation, parts=parts, coverage=(*explanation.coverage, coverage)))

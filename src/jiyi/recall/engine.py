"""RecallEngine: from a question to hits that explain themselves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jiyi.errors import InvalidInputError
from jiyi.model.entry import Explanation, IndexCoverage, MemoryEntry
from jiyi.model.filters import Filters

if TYPE_CHECKING:
    from jiyi.indexing import Drainer, IndexState
    from jiyi.ports import Embedder, Proposal, RecordStore, TextIndex, VectorIndex
    from jiyi.text import Analyzer

MODES = ("hybrid", "keyword", "semantic")
_CANDIDATES = 200
_DENSE_WEIGHT = 0.4


@dataclass(frozen=True, slots=True)
class RecallEngine:
    """Asks the indexes inside the visible scopes and lets the records decide."""

    store: RecordStore
    text: TextIndex
    vectors: VectorIndex | None
    embedder: Embedder | None
    analyzer: Analyzer
    drainer: Drainer
    freshness_seconds: float

    def recall(self, query: str, filters: Filters, *, limit: int, mode: str) -> list[MemoryEntry]:
        """The best entries for the question, best first; ties by newest, then id."""
        if mode not in MODES:
            raise InvalidInputError(f"mode {mode!r} is unknown; use one of {', '.join(MODES)}")
        wanted = max(_CANDIDATES, 2 * limit)
        coverage: list[IndexCoverage] = []
        words: dict[str, float] = {}
        meanings: dict[str, float] = {}
        if mode != "semantic":
            words = self._by_words(query, filters, wanted, coverage)
        if mode != "keyword":
            meanings = self._by_meaning(query, filters, wanted, coverage)
        parts = _fuse(words, meanings)
        entries = self.store.fetch(list(parts), filters)
        terms = set(self.analyzer.query(query).words)
        ranked = sorted(
            (entry for entry in entries.values()),
            key=lambda entry: (-parts[entry.id]["total"], -entry.event_time.timestamp(), entry.id),
        )
        return [self._hit(entry, parts[entry.id], terms, tuple(coverage)) for entry in ranked[:limit]]

    def _by_words(
        self, query: str, filters: Filters, wanted: int, coverage: list[IndexCoverage]
    ) -> dict[str, float]:
        state = self.drainer.catch_up(self.text, filters.scopes, seconds=self.freshness_seconds)
        coverage.append(_covered(state))
        if not state.usable:
            return {}
        found = self.text.search(self.analyzer.query(query), filters, limit=wanted)
        return {proposal.entry_id: proposal.score for proposal in found}

    def _by_meaning(
        self, query: str, filters: Filters, wanted: int, coverage: list[IndexCoverage]
    ) -> dict[str, float]:
        if self.vectors is None or self.embedder is None:
            coverage.append(IndexCoverage("vectors", answered=False, note="no embedder is configured"))
            return {}
        state = self.drainer.catch_up(self.vectors, filters.scopes, seconds=self.freshness_seconds)
        coverage.append(_covered(state))
        if not state.usable:
            return {}
        vector = self.embedder.embed([query])[0]
        allowed = None if filters.only_scopes else self.store.matching_ids(filters)
        found: list[Proposal] = self.vectors.search(vector, filters.scopes, limit=wanted, allowed=allowed)
        return {proposal.entry_id: proposal.score for proposal in found}

    def _hit(
        self,
        entry: MemoryEntry,
        parts: dict[str, float],
        terms: set[str],
        coverage: tuple[IndexCoverage, ...],
    ) -> MemoryEntry:
        matched = tuple(
            dict.fromkeys(word for word in self.analyzer.analyze(entry.content).words if word in terms)
        )
        score = parts["total"]
        shown = {name: round(value, 6) for name, value in parts.items() if name != "total"}
        return replace(entry, relevance_score=score, explanation=Explanation(shown, matched, coverage))


def _covered(state: IndexState) -> IndexCoverage:
    note = "" if state.usable else "the index is being rebuilt"
    return IndexCoverage(state.name, answered=state.usable, behind=state.behind, note=note)


def _fuse(words: dict[str, float], meanings: dict[str, float]) -> dict[str, dict[str, float]]:
    """Words lead and meaning adds: a weak embedder as an equal partner would make the answer worse."""
    best_word = max(words.values(), default=0.0)
    mean = sum(meanings.values()) / len(meanings) if meanings else 0.0
    best_meaning = max(meanings.values(), default=0.0)
    spread = best_meaning - mean
    weights = (1.0 if words else 0.0, (_DENSE_WEIGHT if words else 1.0) if meanings else 0.0)
    whole = sum(weights) or 1.0
    found: dict[str, dict[str, float]] = {}
    for entry_id in words.keys() | meanings.keys():
        word = words.get(entry_id, 0.0) / best_word if best_word > 0 else 0.0
        similarity = meanings.get(entry_id)
        meaning = (
            0.0 if similarity is None else (max(0.0, similarity - mean) / spread if spread > 1e-9 else 1.0)
        )
        found[entry_id] = {
            "words": word,
            "dense": meaning,
            "similarity": 0.0 if similarity is None else similarity,
            "total": (weights[0] * word + weights[1] * meaning) / whole,
        }
    return found

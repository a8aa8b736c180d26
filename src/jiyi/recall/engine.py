"""RecallEngine: from a question to hits that explain themselves.

Indexes propose ids inside the visible scopes, the scorer puts them in order, and the record store has the last word: what
is missing, foreign, forgotten or outside the filters is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, tzinfo
from typing import TYPE_CHECKING

from jiyi.errors import IndexingError, InvalidInputError
from jiyi.model import clock
from jiyi.model.entry import Explanation, IndexCoverage, MemoryEntry
from jiyi.model.filters import Filters
from jiyi.model.scoring import FinalWeights, time_decay
from jiyi.ports import CONVERSATION
from jiyi.recall.question import Period, Question, read_question
from jiyi.recall.settings import RecallSettings
from jiyi.text import highlight

if TYPE_CHECKING:
    from jiyi.indexing import Drainer, IndexState
    from jiyi.ports import DerivedIndex, Embedder, RecordStore, TextIndex, VectorIndex, VectorScan
    from jiyi.recall.gather import Gathered
    from jiyi.recall.scorer import Candidates
    from jiyi.text import Analyzer

MODES = ("hybrid", "keyword", "semantic", "tags")
_FINAL_CANDIDATES = 50
_SPARE = 5
_DECIMALS = 9
_SOFT_EDGE = timedelta(days=3)


@dataclass(frozen=True, slots=True)
class Request:
    """A checked question with everything that was asked for."""

    query: str
    filters: Filters
    limit: int = 10
    mode: str = "hybrid"
    weights: FinalWeights | None = None
    """The design's formula on top of relevance; `None` leaves the order to relevance alone."""
    context: int = 0
    now: datetime | None = None
    highlights: bool = False


@dataclass(frozen=True, slots=True)
class RecallEngine:
    """Asks the indexes inside the visible scopes and lets the records decide."""

    store: RecordStore
    text: TextIndex
    vectors: VectorIndex | None
    embedder: Embedder | None
    analyzer: Analyzer
    drainer: Drainer
    settings: RecallSettings
    zone: tzinfo

    def recall(self, request: Request) -> list[MemoryEntry]:
        """The best entries for the question, best first. Equal scores: newer first, then by key, then by text."""
        if request.mode not in MODES:
            raise InvalidInputError(f"mode {request.mode!r} is unknown; use one of {', '.join(MODES)}")
        now = request.now or clock.utc_now()
        if request.mode == "tags":
            from jiyi.recall.tags import recall_by_tags

            hits = recall_by_tags(self.store, request.query, request.filters, request.limit)
        else:
            hits = self._recall(request, now)
        return self._with_context(hits, request) if request.context else hits

    def _recall(self, request: Request, now: datetime) -> list[MemoryEntry]:
        coverage: list[IndexCoverage] = []
        text_ready = self._ready(self.text, request.filters, coverage)
        scan = self._scan(request, coverage) if request.mode != "keyword" else None
        if not text_ready and scan is None:
            reasons = "; ".join(f"{part.index}: {part.note or 'not asked'}" for part in coverage)
            raise IndexingError(f"no index could answer ({reasons}); the records are safe: run 'jiyi repair'")
        question = read_question(request.query, self.analyzer, now=now, zone=self.zone)
        allowed = None if scan is None or request.filters.only_scopes else self.store.matching_ids(request.filters)
        if text_ready:
            found = self._gathered(request, question, scan, allowed)
        else:
            assert scan is not None
            most = max(self.settings.dense_candidates, 2 * request.limit)
            from jiyi.recall.gather import gather_without_text

            found = gather_without_text(scan, scan.best(most, allowed=allowed), allowed)
        return self._ranked(request, question, found, tuple(coverage), now)

    # --- asking the indexes ---------------------------------------------------------------------------------------

    def _ready(self, index: DerivedIndex, filters: Filters, coverage: list[IndexCoverage]) -> bool:
        state = self.drainer.catch_up(index, filters.scopes, seconds=self.settings.freshness_seconds)
        coverage.append(_covered(state))
        return state.usable

    def _scan(self, request: Request, coverage: list[IndexCoverage]) -> VectorScan | None:
        if self.vectors is None or self.embedder is None:
            coverage.append(IndexCoverage("vectors", answered=False, note="no embedder is configured"))
            return None
        if not self._ready(self.vectors, request.filters, coverage):
            return None
        return self.vectors.scan(self.embedder.embed([request.query])[0], request.filters.scopes)

    def _gathered(
        self, request: Request, question: Question, scan: VectorScan | None, allowed: Sequence[str] | None
    ) -> Gathered:
        from jiyi.recall.gather import gather

        periods = self._periods(question, request.filters)
        dated = replace(request.filters, periods=_within(request.filters, periods)) if periods else None
        return gather(
            question,
            self._proposals(request, question, scan, dated, allowed),
            self.text,
            scan,
            request.filters.scopes,
            self.settings.weights,
            periods=periods,
            inside_dates=self.store.count(Filters(request.filters.scopes, periods=_plain(periods))) if periods else 0,
            admit=self._admission(request.filters),
            allowed=allowed,
        )

    def _periods(self, question: Question, filters: Filters) -> list[Period]:
        """The times that the question names, as far as there are memories of them."""
        known = self.store.time_range(filters.scopes) if question.dates else None
        if known is None:
            return []
        return question.periods(known[0] - _SOFT_EDGE, known[1] + _SOFT_EDGE, self.zone)

    def _proposals(
        self,
        request: Request,
        question: Question,
        scan: VectorScan | None,
        dated: Filters | None,
        allowed: Sequence[str] | None,
    ) -> list[str]:
        settings, filters = self.settings, request.filters
        least = 2 * request.limit
        found: dict[str, None] = {}
        if request.mode != "semantic":
            found.update(
                self._by_text(question, filters, max(settings.word_candidates, least), settings.bigram_candidates)
            )
            if dated is not None and dated.periods:
                inside = max(settings.dated_candidates, least)
                found.update(self._by_text(question, dated, inside, inside))
                if not question.words:
                    # Nothing but a date was asked: whatever happened then.
                    found.update(dict.fromkeys(entry.id for entry in self.store.page(dated, limit=inside, offset=0)))
        if scan is not None:
            found.update(dict.fromkeys(scan.best(max(settings.dense_candidates, least), allowed=allowed)))
            if dated is not None and dated.periods:
                inside = max(settings.dated_candidates, least)
                found.update(dict.fromkeys(scan.best(inside, allowed=allowed, periods=dated.periods)))
        return list(found)

    def _by_text(self, question: Question, filters: Filters, words: int, bigrams: int) -> dict[str, None]:
        found = dict.fromkeys(self.text.propose("words", question.words, filters, limit=words, labels=True))
        if question.bigrams:
            found.update(dict.fromkeys(self.text.propose("bigrams", question.bigrams, filters, limit=bigrams)))
        return found

    def _admission(self, filters: Filters) -> Callable[[Sequence[str]], set[str]] | None:
        if filters.only_scopes:
            return None
        return lambda ids: set(self.store.fetch(ids, filters))

    # --- deciding -------------------------------------------------------------------------------------------------

    def _ranked(
        self,
        request: Request,
        question: Question,
        found: Gathered,
        coverage: tuple[IndexCoverage, ...],
        now: datetime,
    ) -> list[MemoryEntry]:
        # The scorer brings numpy, which a program that only writes need not load.
        from jiyi.recall.scorer import score

        scores = score(found.candidates, self.settings.weights, keyword=request.mode != "semantic")
        totals = [round(float(value), _DECIMALS) for value in scores.total]
        # Neither its words nor its meaning speak for it: not an answer.
        places = [place for place in range(len(totals)) if totals[place] > 0]
        places.sort(key=lambda place: (-totals[place], -found.times[place], found.ids[place]))
        most = max(request.limit, _FINAL_CANDIDATES if request.weights is not None else 0) + _SPARE
        hits: list[MemoryEntry] = []
        # The records may drop what an index still holds: go on down the order until there is enough.
        for start in range(0, len(places), most):
            chunk = places[start : start + most]
            entries = self.store.fetch([found.ids[place] for place in chunk], request.filters)
            for place in chunk:
                entry = entries.get(found.ids[place])
                if entry is not None:
                    parts = {name: round(float(part[place]), _DECIMALS) for name, part in scores.parts.items()}
                    relevance = round(float(scores.relevance[place]), _DECIMALS)
                    matched = _matched(found.candidates, place, question)
                    hits.append(entry.as_hit(relevance, Explanation(parts, matched, coverage)))
            if len(hits) >= most - _SPARE:
                break
        if request.weights is not None:
            hits = [_final(hit, request.weights, now) for hit in hits[:_FINAL_CANDIDATES]]
        hits.sort(key=_order)
        del hits[request.limit :]
        return [self._highlighted(hit) for hit in hits] if request.highlights else hits

    def _highlighted(self, hit: MemoryEntry) -> MemoryEntry:
        assert hit.explanation is not None
        ranges = tuple(highlight(hit.content, hit.explanation.matched_terms, self.analyzer))
        return replace(hit, explanation=replace(hit.explanation, highlights=ranges))

    def _with_context(self, hits: list[MemoryEntry], request: Request) -> list[MemoryEntry]:
        """Give each hit the entries around it in its conversation."""
        rows = self.text.windows([hit.id for hit in hits], reach=request.context)
        place_of = {row.entry_id: place for place, row in enumerate(rows)}
        entries = self.store.fetch(list(place_of), Filters(request.filters.scopes))
        found = []
        for hit in hits:
            place = place_of.get(hit.id)
            near: list[MemoryEntry] = []
            if place is not None and hit.conversation_id is not None:
                for other in range(max(0, place - request.context), min(len(rows), place + request.context + 1)):
                    row = rows[other]
                    if other != place and row.thread == CONVERSATION + hit.conversation_id and row.scope == hit.scope:
                        entry = entries.get(row.entry_id)
                        if entry is not None:
                            near.append(entry)
            found.append(replace(hit, context=tuple(near)))
        return found


def _matched(candidates: Candidates, place: int, question: Question) -> tuple[str, ...]:
    """The question's words that stand in the text; where there are none, its pairs of characters."""
    row = candidates.scored[place]
    for field, terms in ((candidates.words, question.words), (candidates.bigrams, question.bigrams)):
        if field is not None and field.tf.shape[1] and (matched := field.tf[row].nonzero()[0].tolist()):
            return tuple(terms[term] for term in matched)
    return ()


def _order(hit: MemoryEntry) -> tuple[float, float, str, str]:
    score = hit.score_parts.get("final", hit.relevance_score or 0.0)
    return (-score, -hit.event_time.timestamp(), hit.key or "", hit.content)


def _final(hit: MemoryEntry, weights: FinalWeights, now: datetime) -> MemoryEntry:
    """S_final = α·relevance + β·decay + γ·importance."""
    assert hit.explanation is not None
    relevance = hit.relevance_score or 0.0
    decay = time_decay(hit.last_accessed_at, now, weights.decay_rate)
    final = weights.final_score(relevance, decay, hit.importance_score)
    parts = {
        **hit.explanation.parts,
        "relevance": relevance,
        "decay": decay,
        "importance": hit.importance_score,
        "final": round(final, _DECIMALS),
    }
    return replace(hit, explanation=replace(hit.explanation, parts=parts))


def _plain(periods: Sequence[Period]) -> tuple[tuple[datetime, datetime], ...]:
    return tuple((period.start, period.end) for period in periods)


def _within(filters: Filters, periods: Sequence[Period]) -> tuple[tuple[datetime, datetime], ...]:
    """The periods, cut to what `since` and `until` leave of them."""
    found = []
    for period in periods:
        start = max(period.start, filters.since) if filters.since is not None else period.start
        end = min(period.end, filters.until) if filters.until is not None else period.end
        if start < end:
            found.append((start, end))
    return tuple(found)


def _covered(state: IndexState) -> IndexCoverage:
    note = "" if state.usable else "missing or being rebuilt"
    return IndexCoverage(state.name, answered=state.usable, behind=state.behind, note=note)

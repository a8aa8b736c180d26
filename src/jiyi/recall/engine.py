"""RecallEngine: from a question to hits that explain themselves.

Indexes propose ids inside the visible scopes, the scorer puts them in order, and the record store has the last word:
what is missing, foreign, forgotten or outside the filters is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, NamedTuple

from jiyi.errors import IndexingError, InvalidInputError, ModelError
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
# In a scope with more texts than this, what the filters leave is found by looking at the best first.
_MANY_TEXTS = 2_000
_LOOK_AHEAD = (2, 7, 25)
_SPARE = 5
_DECIMALS = 9
_SOFT_EDGE = timedelta(days=3)
# So far from the ends of the calendar that an edge fits in.
_FIRST_MOMENT = datetime.min.replace(tzinfo=UTC) + _SOFT_EDGE
_LAST_MOMENT = datetime.max.replace(tzinfo=UTC) - _SOFT_EDGE
# A date without a year is one for every year, and a single memory of the year 1 makes that thousands.
_MOST_PERIODS = 200


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
    candidates: int = 50
    """How many of the most relevant are weighed, where there are weights."""


@dataclass(frozen=True, slots=True)
class _Allowed:
    """What the filters leave."""

    ids: Sequence[str]
    """All, or at least the best by meaning."""
    all_ids: Sequence[str] | None
    """All, if they were looked up."""


class _Weighed(NamedTuple):
    """An entry on its way to being a hit."""

    entry: MemoryEntry
    place: int
    """Among the candidates."""
    relevance: float
    score: float
    """By which it is put in order."""
    parts: Mapping[str, float] = {}


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
        """The best entries for the question, best first.

        Equal scores: newer first, then by key, then by text, then by conversation and place in it.
        """
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
        if scan is None and (request.mode == "semantic" or not text_ready):
            reasons = "; ".join(f"{part.index}: {part.note or 'not asked'}" for part in coverage)
            raise IndexingError(f"no index could answer ({reasons}); the records are safe: run 'jiyi repair'")
        today = min(max(now, _FIRST_MOMENT), _LAST_MOMENT)
        question = read_question(request.query, self.analyzer, now=today, zone=self.zone)
        allowed = None if scan is None else self._allowed(request, question, scan)
        if scan is not None and not text_ready:
            from jiyi.recall.gather import gather_without_text

            most = max(self.settings.dense_candidates, 2 * request.limit)
            ids = scan.best(most, allowed=allowed.ids if allowed is not None else None)
            found = gather_without_text(scan, ids, allowed.all_ids if allowed is not None else None)
        else:
            found = self._gathered(request, question, scan, allowed, today)
        return self._ranked(request, question, found, tuple(coverage), now)

    # --- asking the indexes ---------------------------------------------------------------------------------------

    def _ready(self, index: DerivedIndex, filters: Filters, coverage: list[IndexCoverage]) -> bool:
        try:
            state = self.drainer.catch_up(index, filters.scopes, seconds=self.settings.freshness_seconds)
        except ModelError as error:
            # The embedder cannot be reached: what was written since is not found by meaning, and the answer says so.
            coverage.append(IndexCoverage(index.name, answered=False, note=f"{type(error).__name__}: {error}"))
            return False
        coverage.append(_covered(state))
        return state.usable

    def _scan(self, request: Request, coverage: list[IndexCoverage]) -> VectorScan | None:
        if self.vectors is None or self.embedder is None:
            if request.mode == "semantic":
                raise InvalidInputError(
                    "mode 'semantic' compares meanings and no embedder is configured; "
                    "set embedder to bundled, or use mode 'keyword'"
                )
            coverage.append(IndexCoverage("vectors", answered=False, note="no embedder is configured"))
            return None
        if not self._ready(self.vectors, request.filters, coverage):
            return None
        try:
            vector = self.embedder.embed([request.query])[0]
        except ModelError as error:
            coverage[-1] = replace(coverage[-1], answered=False, note=f"{type(error).__name__}: {error}")
            return None
        return self.vectors.scan(vector, request.filters.scopes)

    def _allowed(self, request: Request, question: Question, scan: VectorScan) -> _Allowed | None:
        """What the filters leave for the vectors to choose from.

        In a large scope not all of it is listed: if enough of the best pass, nothing behind them matters.
        """
        if request.filters.only_scopes:
            return None
        most = max(self.settings.dense_candidates, 2 * request.limit)
        if scan.count > _MANY_TEXTS and not question.dates:
            for ahead in _LOOK_AHEAD[1:] if request.filters.domains else _LOOK_AHEAD:
                passed = self.store.admitted(scan.best(ahead * most), request.filters)
                if len(passed) >= most:
                    return _Allowed(list(passed), None)
        ids = self.store.matching_ids(request.filters)
        return _Allowed(ids, ids)

    def _gathered(
        self,
        request: Request,
        question: Question,
        scan: VectorScan | None,
        allowed: _Allowed | None,
        today: datetime,
    ) -> Gathered:
        from jiyi.recall.gather import gather

        periods = self._periods(question, request.filters, today)
        dated = replace(request.filters, periods=_within(request.filters, periods)) if periods else None
        return gather(
            question,
            self._proposals(request, question, scan, dated, allowed.ids if allowed is not None else None),
            self.text,
            scan,
            request.filters.scopes,
            self.settings.weights,
            periods=periods,
            inside_dates=self.store.count(Filters(request.filters.scopes, periods=_plain(periods))) if periods else 0,
            offset=self.zone.utcoffset(today.replace(tzinfo=None)) or timedelta(),
            admit=self._admission(request.filters),
            allowed=allowed.all_ids if allowed is not None else None,
        )

    def _periods(self, question: Question, filters: Filters, today: datetime) -> list[Period]:
        """The times that the question names, as far as there are memories of them; if too many, those near today."""
        known = self.store.time_range(filters.scopes) if question.dates else None
        if known is None:
            return []
        first, last = max(known[0], _FIRST_MOMENT), min(known[1], _LAST_MOMENT)
        periods = question.periods(first - _SOFT_EDGE, last + _SOFT_EDGE, self.zone)
        return sorted(periods, key=lambda period: abs(period.start - today))[:_MOST_PERIODS]

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
                if scan is None:
                    # The date may be all that matches: whatever happened then.
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
        return lambda ids: self.store.admitted(ids, filters)

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
        places = [place for place in range(len(totals)) if totals[place] > 0 or scores.lexical[place] > 0]
        if request.mode == "semantic" and (cosine := found.candidates.cosine) is not None:
            # Only what has a meaning of its own: not what a reflection speaks for, however near it stands to a hit.
            scored = found.candidates.scored
            places = [place for place in places if cosine[scored[place]] == cosine[scored[place]]]
        places.sort(key=lambda place: (-totals[place], -found.times[place], found.ids[place]))
        most = max(request.limit, request.candidates if request.weights is not None else 0) + _SPARE
        found_entries: list[_Weighed] = []
        # The records may drop what an index still holds: go on down the order until there is enough.
        for chunk in _chunks(places, most, lambda place: (totals[place], found.times[place])):
            entries = self.store.fetch([found.ids[place] for place in chunk], request.filters)
            for place in chunk:
                entry = entries.get(found.ids[place])
                if entry is not None:
                    relevance = round(float(scores.relevance[place]), _DECIMALS)
                    found_entries.append(_Weighed(entry, place, relevance, relevance))
            if len(found_entries) >= most - _SPARE:
                break
        found_entries.sort(key=_order)
        if request.weights is not None:
            kept = found_entries[: max(request.limit, request.candidates)]
            found_entries = sorted((_final(each, request.weights, now) for each in kept), key=_order)
        # Only what is returned is made a hit: copying an entry takes longer than weighing it.
        hits = []
        for each in found_entries[: request.limit]:
            parts = {name: round(float(part[each.place]), _DECIMALS) for name, part in scores.parts.items()}
            matched = _matched(found.candidates, each.place, question)
            explanation = Explanation({**parts, **each.parts}, matched, coverage)
            hits.append(each.entry.as_hit(each.relevance, explanation))
        return [self._highlighted(hit) for hit in hits] if request.highlights else hits

    def _highlighted(self, hit: MemoryEntry) -> MemoryEntry:
        explanation = hit.explanation or Explanation()
        ranges = tuple(highlight(hit.content, explanation.matched_terms, self.analyzer))
        return replace(hit, explanation=replace(explanation, highlights=ranges))

    def _with_context(self, hits: list[MemoryEntry], request: Request) -> list[MemoryEntry]:
        """Give each hit the entries around it in its conversation; the text index knows who stands next to whom."""
        coverage: list[IndexCoverage] = []
        if not self._ready(self.text, request.filters, coverage):
            return [_covered_by(hit, coverage) for hit in hits]
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
                        # What was learned from a conversation is not part of what was said in it.
                        if entry is not None and (entry.domain is None or entry.position is not None):
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


def _chunks(places: Sequence[int], size: int, rank: Callable[[int], object]) -> Iterator[Sequence[int]]:
    """Pieces of at least this size that do not part equals: which of them comes first, only the records tell."""
    start = 0
    while start < len(places):
        end = start + size
        while end < len(places) and rank(places[end]) == rank(places[end - 1]):
            end += 1
        yield places[start:end]
        start = end


def _covered_by(hit: MemoryEntry, coverage: Sequence[IndexCoverage]) -> MemoryEntry:
    """The hit with a word about an index, unless it has one already."""
    explanation = hit.explanation or Explanation()
    said = {part.index for part in explanation.coverage}
    added = tuple(part for part in coverage if part.index not in said)
    return replace(hit, explanation=replace(explanation, coverage=explanation.coverage + added))


def _order(each: _Weighed) -> tuple[float, int, str, str, str, int]:
    entry = each.entry
    place = (entry.conversation_id or "", -1 if entry.position is None else entry.position)
    return (-each.score, -clock.microseconds(entry.event_time), entry.key or "", entry.content, *place)


def _final(each: _Weighed, weights: FinalWeights, now: datetime) -> _Weighed:
    """S_final = α·relevance + β·decay + γ·importance."""
    entry = each.entry
    decay = time_decay(entry.last_accessed_at, now, weights.decay_rate)
    final = round(weights.final_score(each.relevance, decay, entry.importance_score), _DECIMALS)
    parts = {"relevance": each.relevance, "decay": decay, "importance": entry.importance_score, "final": final}
    return _Weighed(entry, each.place, each.relevance, final, parts)


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

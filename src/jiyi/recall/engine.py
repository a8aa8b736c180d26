"""RecallEngine: from a question to hits that explain themselves.

Indexes propose ids inside the visible scopes, the scorer puts them in order, and the record store has the last word:
what is missing, foreign, forgotten or outside the filters is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import wait
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo
from threading import Event
from typing import TYPE_CHECKING, NamedTuple

from jiyi.errors import IndexDamagedError, IndexingError, IndexUnavailableError, InvalidInputError, ModelError
from jiyi.model import clock
from jiyi.model.entry import Explanation, IndexCoverage, MemoryEntry
from jiyi.model.filters import Filters
from jiyi.model.scoring import FinalWeights, time_decay
from jiyi.ports import ALONE, CONVERSATION, StatesMode
from jiyi.recall.question import Period, Question, read_question
from jiyi.recall.settings import DECIMALS, RecallSettings
from jiyi.recall.tags import TagMirror, recall_by_tags
from jiyi.text import highlight

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from jiyi.indexing import Drainer, IndexState
    from jiyi.ports import (
        DerivedIndex,
        Embedder,
        LogPosition,
        RecordStore,
        ScopeReader,
        TermRow,
        TermStatistics,
        TextIndex,
        TextSource,
        VectorIndex,
        Vectors,
        VectorScan,
    )
    from jiyi.recall.gather import Gathered
    from jiyi.recall.scorer import Candidates
    from jiyi.text import Analyzer

MODES = ("hybrid", "keyword", "semantic", "tags")
# In a scope with more texts than this, what the filters leave is found by looking at the best first.
_MANY_TEXTS = 2_000
_LOOK_AHEAD = (2, 7, 25)
_SOFT_EDGE = timedelta(days=3)
# So far from the ends of the calendar that an edge fits in.
_FIRST_MOMENT = datetime.min.replace(tzinfo=UTC) + _SOFT_EDGE
_LAST_MOMENT = datetime.max.replace(tzinfo=UTC) - _SOFT_EDGE
# A date without a year is one for every year, and a single memory of the year 1 makes that thousands.
_MAX_PERIODS = 200


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
class Answer:
    """Hits, best first."""

    hits: list[MemoryEntry]
    candidates: int
    """How many entries were compared."""


@dataclass(frozen=True, slots=True)
class _Search:
    """What is looked for, and what the words have found."""

    request: Request
    text: TextSource
    """Where the words are looked for."""
    question: Question
    today: datetime
    periods: list[Period]
    dated: Filters | None
    """The filters together with the times that the question names; `None` where it names none that there are."""
    least: int
    """How many proposals an answer needs at the least."""
    inside: int
    """How many of them from the named times."""
    proposed: Sequence[str] = ()
    """What the text index proposes."""
    statistics: TermStatistics | None = None
    """`None` where the text index cannot be asked."""
    ahead: Sequence[TermRow] = ()
    """Proposals that were read already; each stands by itself."""


@dataclass(frozen=True, slots=True)
class _Similar:
    """What the vectors say."""

    scan: VectorScan
    best: Sequence[str]
    allowed: Sequence[str] | None
    """The entries that the filters admit, where they ask for more than scopes and had to be listed."""


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
    helpers: Executor
    """Where the text index is asked while the vectors are."""
    tags: TagMirror
    reader: ScopeReader | None = None
    """Reads small scopes whole, where the engine can."""

    def answer(self, request: Request) -> list[MemoryEntry]:
        """`recall`, and once more if an index was deleted or turned out to be broken while it was asked."""
        return self.answer_counted(request).hits

    def answer_counted(self, request: Request) -> Answer:
        """The same with how many candidates there were."""
        try:
            return self._answer(request)
        except IndexDamagedError:
            # It is rebuilt for the second answer.
            return self._answer(request)

    def recall(self, request: Request) -> list[MemoryEntry]:
        """The best entries for the question, best first.

        Equal scores: newer first, then by key, then by text, then by conversation and place in it.
        """
        return self._answer(request).hits

    def _answer(self, request: Request) -> Answer:
        if request.mode not in MODES:
            raise InvalidInputError(f"mode {request.mode!r} is unknown; use one of {', '.join(MODES)}")
        now = request.now or clock.utc_now()
        if request.mode == "tags":
            by_tags = recall_by_tags(self.store, self.tags, request.query, request.filters, request.limit)
            answer = Answer(by_tags.hits, by_tags.candidates)
        else:
            answer = self._recall(request, now)
        return replace(answer, hits=self._with_context(answer.hits, request)) if request.context else answer

    def close(self) -> None:
        """Let go of the threads."""
        self.helpers.shutdown()

    def _recall(self, request: Request, now: datetime) -> Answer:
        vector: Vectors | ModelError | None = None
        if self.reader is not None and self.reader.worthwhile(request.filters.scopes):
            answer, vector = self._recall_at_once(self.reader, request, now)
            if answer is not None:
                return answer
        head = self.store.head()
        coverage: list[IndexCoverage] = []
        beside: list[IndexCoverage] = []
        similar: _Similar | None = None
        if self._scans(request, beside):
            # The words are looked for in another thread. The meaning takes longer, and so nobody has to be woken when
            # both are known.
            scanned = Event()
            words = self.helpers.submit(self._words, request, now, head, coverage, scanned)
            try:
                similar = self._similar(request, head, beside, vector)
            except BaseException:
                wait((words,))
                raise
            finally:
                scanned.set()
            search = words.result()
        else:
            search = self._words(request, now, head, coverage, None)
        coverage += beside
        try:
            found = self._found(search, similar)
        except IndexUnavailableError as error:
            if similar is None:
                raise
            # The vectors went away in the middle of the answer.
            coverage[-1] = _silent(coverage[-1], error)
            found = self._found(search, None)
        if found is None:
            reasons = "; ".join(f"{part.index}: {part.note or 'not asked'}" for part in coverage)
            raise IndexingError(f"no index could answer ({reasons}); the records are safe: run 'jiyi repair'")
        return Answer(self._ranked(request, search.question, found, tuple(coverage), now), len(found.ids))

    def _recall_at_once(
        self, reader: ScopeReader, request: Request, now: datetime
    ) -> tuple[Answer | None, Vectors | ModelError | None]:
        """Out of scopes that are read whole; no answer when the indexes have to be asked one by one.

        Beside it the question as a vector, if that was tried: it may have taken longer than everything else.
        """
        coverage: list[IndexCoverage] = []
        vector: Vectors | ModelError | None = None
        if self._scans(request, coverage) and self.vectors is not None and self.embedder is not None:
            vector = _embedded(self.embedder, request.query)
            coverage.append(IndexCoverage(self.vectors.name, answered=True))
        asked = vector
        if isinstance(asked, ModelError):
            coverage[-1], asked = _silent(coverage[-1], asked), None
        search = self._search(request, now)
        reading = reader.read(request.filters, asked, bigrams=bool(search.question.bigrams))
        if reading is None or (reading.scan is None and request.mode == "semantic"):
            return None, vector
        coverage.insert(0, IndexCoverage(self.text.name, answered=True, note=reading.mode))
        search = self._looked_up(replace(search, text=reading.text))
        similar = None if reading.scan is None else self._best(request, reading.scan)
        found = self._found(search, similar)
        if found is None:
            return None, vector
        ranked = self._ranked(request, search.question, found, tuple(coverage), now)
        return Answer(ranked, len(found.ids)), vector

    def _found(self, search: _Search, similar: _Similar | None) -> Gathered | None:
        """The candidates; `None` when no index could be asked."""
        if search.statistics is not None and (similar is not None or search.request.mode != "semantic"):
            proposed = dict.fromkeys(search.proposed)
            if similar is not None:
                proposed.update(self._by_meaning(search, similar))
            elif search.dated is not None:
                # The date may be all that matches: whatever happened then.
                inside = self.store.page(search.dated, limit=search.inside, offset=0)
                proposed.update(dict.fromkeys(entry.id for entry in inside))
            return self._gathered(search, list(proposed), search.statistics, similar)
        if similar is not None:
            from jiyi.recall.gather import gather_without_text

            return gather_without_text(similar.scan, similar.best, similar.allowed)
        return None

    # --- asking the indexes ---------------------------------------------------------------------------------------

    def _ready(self, index: DerivedIndex, filters: Filters, coverage: list[IndexCoverage], head: LogPosition) -> bool:
        try:
            state = self.drainer.catch_up(index, filters.scopes, seconds=self.settings.freshness_seconds, head=head)
        except IndexDamagedError:
            raise
        except (ModelError, IndexingError) as error:
            # The embedder or the index's server cannot be reached: the others answer, and the answer says so.
            coverage.append(_silent(IndexCoverage(index.name, answered=False), error))
            return False
        coverage.append(_covered(state, index.mode if isinstance(index, StatesMode) else ""))
        return state.usable

    def _scans(self, request: Request, coverage: list[IndexCoverage]) -> bool:
        """Whether the vectors are to be asked."""
        if request.mode == "keyword":
            return False
        if self.vectors is not None and self.embedder is not None:
            return True
        if request.mode == "semantic":
            raise InvalidInputError(
                "mode 'semantic' compares meanings and no embedder is configured; "
                "set embedder to bundled, or use mode 'keyword'"
            )
        coverage.append(IndexCoverage("vectors", answered=False, note="no embedder is configured"))
        return False

    def _similar(
        self, request: Request, head: LogPosition, coverage: list[IndexCoverage], known: Vectors | ModelError | None
    ) -> _Similar | None:
        """What the vectors say; `known` is the question as a vector, if somebody has made it already."""
        if self.vectors is None or self.embedder is None:
            return None
        # First, while the words are looked for: it is what takes longest, and needs nothing else.
        vector = _embedded(self.embedder, request.query) if known is None else known
        if not self._ready(self.vectors, request.filters, coverage, head):
            return None
        if isinstance(vector, ModelError):
            coverage[-1] = _silent(coverage[-1], vector)
            return None
        try:
            return self._best(request, self.vectors.scan(vector, request.filters.scopes))
        except IndexDamagedError:
            raise
        except (ModelError, IndexingError) as error:
            coverage[-1] = _silent(coverage[-1], error)
            return None

    def _best(self, request: Request, scan: VectorScan) -> _Similar:
        """The most similar ones of those that the filters leave.

        In a large scope these are not all listed: if enough of the best pass, nothing behind them matters.
        """
        filters = request.filters
        most = max(self.settings.dense_candidates, 2 * request.limit)
        if filters.only_scopes:
            return _Similar(scan, scan.best(most), None)
        if scan.count > _MANY_TEXTS:
            for ahead in _LOOK_AHEAD[1:] if filters.domains else _LOOK_AHEAD:
                ahead_of = scan.best(ahead * most)
                passed = self.store.admitted(ahead_of, filters)
                if len(passed) >= most:
                    return _Similar(scan, [one for one in ahead_of if one in passed][:most], None)
        allowed = self.store.matching_ids(filters)
        return _Similar(scan, scan.best(most, allowed=allowed), allowed)

    def _words(
        self, request: Request, now: datetime, head: LogPosition, coverage: list[IndexCoverage], scanned: Event | None
    ) -> _Search:
        """The question, taken apart, with what the text index says to it.

        What it proposes is read at once, unless the vectors have been `scanned` and nobody is to be kept waiting. Not
        the records as well: most of them are not needed, and reading them holds the vectors up.
        """
        ready = self._ready(self.text, request.filters, coverage, head)
        search = self._search(request, now)
        if not ready:
            return search
        search = self._looked_up(search)
        if not search.proposed or scanned is None or scanned.is_set():
            return search
        from jiyi.recall.gather import REACH

        ahead = self.text.windows(search.proposed, reach=REACH, scopes=request.filters.scopes)
        if not all(row.thread.startswith(ALONE) for row in ahead):
            # Of what has neighbours only one reading of all proposals knows the order.
            return search
        return replace(search, ahead=ahead)

    def _looked_up(self, search: _Search) -> _Search:
        """The search with what its words find, and their numbers."""
        scopes, question = search.request.filters.scopes, search.question
        return replace(
            search,
            proposed=list(self._by_words(search)) if search.request.mode != "semantic" else [],
            statistics=search.text.statistics(scopes, question.words, question.bigrams),
        )

    def _search(self, request: Request, now: datetime) -> _Search:
        """The question, taken apart."""
        today = min(max(now, _FIRST_MOMENT), _LAST_MOMENT)
        question = read_question(request.query, self.analyzer, now=today, zone=self.zone)
        periods = self._periods(question, request.filters, today)
        within = _within(request.filters, periods)
        return _Search(
            request,
            self.text,
            question,
            today,
            periods,
            dated=replace(request.filters, periods=within) if within else None,
            least=2 * request.limit,
            inside=max(self.settings.dated_candidates, 2 * request.limit),
        )

    def _gathered(
        self,
        search: _Search,
        proposals: Sequence[str],
        statistics: TermStatistics,
        similar: _Similar | None,
    ) -> Gathered:
        from jiyi.recall.gather import gather

        filters, periods = search.request.filters, search.periods
        return gather(
            search.question,
            proposals,
            search.text,
            statistics,
            None if similar is None else similar.scan,
            filters.scopes,
            self.settings.weights,
            periods=periods,
            inside_dates=self.store.count(Filters(filters.scopes, periods=_plain(periods))) if periods else 0,
            offset=self.zone.utcoffset(search.today.replace(tzinfo=None)) or timedelta(),
            admit=self._admission(filters),
            known=search.ahead,
            allowed=None if similar is None else similar.allowed,
        )

    def _periods(self, question: Question, filters: Filters, today: datetime) -> list[Period]:
        """The times that the question names, as far as there are memories of them; if too many, those near today."""
        known = self.store.time_range(filters.scopes) if question.dates else None
        if known is None:
            return []
        first, last = max(known[0], _FIRST_MOMENT), min(known[1], _LAST_MOMENT)
        periods = question.periods(first - _SOFT_EDGE, last + _SOFT_EDGE, self.zone)
        return sorted(periods, key=lambda period: abs(period.start - today))[:_MAX_PERIODS]

    def _by_words(self, search: _Search) -> dict[str, None]:
        """What the text index proposes: everywhere, and at the times that the question names."""
        settings, filters = self.settings, search.request.filters
        found = _by_text(search, filters, max(settings.word_candidates, search.least), settings.bigram_candidates)
        if search.dated is not None:
            found.update(_by_text(search, search.dated, search.inside, search.inside))
        return found

    def _by_meaning(self, search: _Search, similar: _Similar) -> dict[str, None]:
        """The most similar ones: everywhere, and at the times that the question names."""
        found = dict.fromkeys(similar.best)
        if search.dated is not None:
            allowed = similar.allowed
            if allowed is None and not search.request.filters.only_scopes:
                allowed = self.store.matching_ids(search.dated)
            inside = similar.scan.best(search.inside, allowed=allowed, periods=search.dated.periods)
            found.update(dict.fromkeys(inside))
        return found

    def _admission(self, filters: Filters) -> Callable[[Sequence[str]], set[str]] | None:
        return None if filters.only_scopes else lambda ids: self.store.admitted(ids, filters)

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
        from jiyi.recall.scorer import rounded, score

        scores = score(found.candidates, self.settings.weights, keyword=request.mode != "semantic")
        totals, relevances = rounded(scores.total), rounded(scores.relevance)
        # Neither its words nor its meaning speak for it: not an answer.
        spoken_for = (scores.lexical > 0).tolist()
        places = [place for place, total in enumerate(totals) if total > 0 or spoken_for[place]]
        if request.mode == "semantic" and (cosine := found.candidates.cosine) is not None:
            # Only what has a meaning of its own: not what a reflection speaks for, however near it stands to a hit.
            scored = found.candidates.scored
            places = [place for place in places if cosine[scored[place]] == cosine[scored[place]]]
        places.sort(key=lambda place: (-totals[place], -found.times[place], found.ids[place]))
        most = max(request.limit, request.candidates if request.weights is not None else 0)
        found_entries: list[_Weighed] = []

        def rank(place: int) -> tuple[float, int]:
            # What is less than nothing is shown as nothing: then only the times tell, in any order.
            return (totals[place], found.times[place]) if relevances[place] == totals[place] else (relevances[place], 0)

        # The records may drop what an index still holds: go on down the order until there is enough.
        for chunk in _chunks(places, most, rank):
            entries = self.store.fetch([found.ids[place] for place in chunk], request.filters)
            for place in chunk:
                entry = entries.get(found.ids[place])
                if entry is not None:
                    found_entries.append(_Weighed(entry, place, relevances[place], relevances[place]))
            if len(found_entries) >= most:
                break
        found_entries.sort(key=_order)
        if request.weights is not None:
            kept = found_entries[:most]
            found_entries = sorted((_final(each, request.weights, now) for each in kept), key=_order)
        # Only what is returned is made a hit: copying an entry takes longer than weighing it.
        returned = found_entries[: request.limit]
        rows = [each.place for each in returned]
        shown = {name: rounded(part[rows]) for name, part in scores.parts.items()}
        hits = []
        for line, each in enumerate(returned):
            parts = {name: part[line] for name, part in shown.items()}
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
        if not self._ready(self.text, request.filters, coverage, self.store.head()):
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


def _by_text(search: _Search, filters: Filters, words: int, bigrams: int) -> dict[str, None]:
    text, question = search.text, search.question
    found = dict.fromkeys(text.propose("words", question.words, filters, limit=words, labels=True))
    if question.bigrams:
        found.update(dict.fromkeys(text.propose("bigrams", question.bigrams, filters, limit=bigrams)))
    return found


def _embedded(embedder: Embedder, query: str) -> Vectors | ModelError:
    """The question as a vector, or why there is none."""
    try:
        vector: Vectors = embedder.embed([query])[0]
    except ModelError as error:
        return error
    return vector


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
    final = round(weights.final_score(each.relevance, decay, entry.importance_score), DECIMALS)
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


def _silent(part: IndexCoverage, error: Exception) -> IndexCoverage:
    return replace(part, answered=False, note=f"{type(error).__name__}: {error}")


def _covered(state: IndexState, mode: str) -> IndexCoverage:
    note = mode if state.usable else "missing or being rebuilt"
    return IndexCoverage(state.name, answered=state.usable, behind=state.behind, note=note)

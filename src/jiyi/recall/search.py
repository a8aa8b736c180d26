"""One search: the question taken apart, its filters, and the sources that proposers ask."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, NamedTuple

from jiyi.model.filters import Filters
from jiyi.model.overfetch import Fetched, enough, fetch_until_enough
from jiyi.ports import ComparesLists
from jiyi.ports.optional import provides
from jiyi.recall.question import Period, Question, read_question
from jiyi.recall.reflections import first_beside

if TYPE_CHECKING:
    from jiyi.ports import RecordStore, TextSource, Vectors, VectorScan
    from jiyi.recall.request import Request
    from jiyi.recall.settings import RecallSettings
    from jiyi.text import Analyzer

# In a scope with more texts than this, the filters are applied to the most similar texts first.
_MIN_TEXTS_OF_LOOK_AHEAD = 2_000
_LOOK_AHEAD = (2, 7, 25)
# To check so many of the most similar ones takes less time than to check the conditions for the whole scope.
_SHARE_LOOKED_AT = 10
_SOFT_EDGE = timedelta(days=3)
# The ends of the calendar, less the soft edge that is added to a period.
_FIRST_MOMENT = datetime.min.replace(tzinfo=UTC) + _SOFT_EDGE
_LAST_MOMENT = datetime.max.replace(tzinfo=UTC) - _SOFT_EDGE
# A date without a year stands for one period a year: with a memory of the year 1 that would be thousands.
_MAX_PERIODS = 200


class FilteredScan:
    """The similarities of one question to the visible texts, under the filters of one request."""

    def __init__(self, scan: VectorScan, store: RecordStore, filters: Filters, personal: float = 0.0) -> None:
        self.scan = scan
        self.personal = personal
        """What the embedder says of the question: from −1, general knowledge, to 1, somebody's life."""
        self.allowed: Sequence[str] | None = None
        """The entries that the filters admit, or may admit, where they ask for more than scopes and were listed."""
        self._store = store
        self._filters = filters
        self._best: tuple[int, list[str]] | None = None

    def best(self, limit: int) -> list[str]:
        """Ids of the most similar ones that the filters admit, best first. The last answer is kept.

        In a large scope not all admitted ids are listed: if enough of the most similar pass, the others do not matter.
        """
        if self._best is None or self._best[0] != limit:
            self._best = (limit, self._find_best(limit))
        return self._best[1]

    def best_in(self, limit: int, dated: Filters) -> list[str]:
        """The most similar ones inside the periods of `dated`, which has the other conditions of the request too."""
        listed = self._best_listed(limit, dated)
        if listed is not None:
            return listed
        if dated.superset_ids is not None:
            return self._best_among(limit, dated)
        allowed = self.allowed
        if allowed is None and not self._filters.only_scopes:
            allowed = self._store.matching_ids(dated)
        return self.scan.best(limit, allowed=allowed, periods=dated.periods)

    def of(self, ids: Sequence[str], *, rough: bool = False) -> Vectors:
        """The similarity of each of these; NaN where there is no vector."""
        return self.scan.of(ids, rough=rough)

    def _find_best(self, limit: int) -> list[str]:
        scan, filters = self.scan, self._filters
        if filters.only_scopes:
            return scan.best(limit)
        if filters.exact_ids is not None:
            self.allowed = sorted(filters.exact_ids)
            return scan.best(limit, allowed=self.allowed)
        listed = self._best_listed(limit, filters)
        if listed is not None:
            return listed
        if scan.count > _MIN_TEXTS_OF_LOOK_AHEAD and (
            filters.superset_ids is None or len(filters.superset_ids) > scan.count // 100
        ):
            first = _LOOK_AHEAD[1 if filters.domains else 0] * limit
            if filters.estimate is not None:
                first = max(first, enough(limit, filters.estimate, scan.count))
            max_fetched = max(_LOOK_AHEAD[-1] * limit, scan.count // _SHARE_LOOKED_AT)
            found = fetch_until_enough(
                lambda asked: (passing(scan.best(asked), self._store, filters), False),
                limit,
                first,
                max_fetched=max_fetched,
            )
            if found is not None:
                return found[:limit]
        if filters.superset_ids is not None:
            self.allowed = sorted(filters.superset_ids)
            return self._best_among(limit, filters)
        self.allowed = self._store.matching_ids(filters)
        return scan.best(limit, allowed=self.allowed)

    def _best_among(self, limit: int, filters: Filters) -> list[str]:
        """The most similar of those that may pass; nearly all of them do."""
        among = sorted(filters.superset_ids or ())
        found = self._first_passing(
            limit, filters, lambda asked: self.scan.best(asked, allowed=among, periods=filters.periods)
        )
        return found or []

    def _best_listed(self, limit: int, filters: Filters) -> list[str] | None:
        """The same, where the scan has the vectors of all that may pass in memory."""
        scan, among = self.scan, filters.superset_ids
        if among is None or not provides(scan, ComparesLists):
            return None
        return self._first_passing(
            limit, filters, lambda asked: scan.best_listed(asked, among, periods=filters.periods)
        )

    def _first_passing(
        self, limit: int, filters: Filters, best: Callable[[int], Sequence[str] | None]
    ) -> list[str] | None:
        """The first that pass; more and more are looked at until they are enough. `None` if there is no answer."""

        def fetch(asked: int) -> Fetched[str] | None:
            first = best(asked)
            return None if first is None else (passing(first, self._store, filters), len(first) < asked)

        found = fetch_until_enough(fetch, limit, limit)
        return None if found is None else found[:limit]


def passing(ids: Sequence[str], records: RecordStore, filters: Filters) -> list[str]:
    """Those that the filters admit, in the same order."""
    passed = records.admitted(ids, filters)
    return [each for each in ids if each in passed]


class Sources(NamedTuple):
    """What proposers ask: the indexes, or what was read of small scopes at once. `None` did not answer."""

    records: RecordStore
    text: TextSource | None = None
    vectors: FilteredScan | None = None


class Search(NamedTuple):
    """A request with its question taken apart."""

    request: Request
    settings: RecallSettings
    sources: Sources
    question: Question
    today: datetime
    periods: Sequence[Period]
    """The times that the question names, as far as there are memories of them."""
    dated: Filters | None
    """The filters together with these times; `None` where there are none."""
    offset: timedelta
    """Of the user's time zone from UTC."""
    reflections: frozenset[str] = frozenset()
    """Ids of all reflections of the scopes: they use up no place of another candidate."""

    @property
    def word_limit(self) -> int:
        """How many proposals by words an answer needs."""
        return max(self.settings.word_candidates, 2 * self.request.limit)

    @property
    def dated_limit(self) -> int:
        """How many proposals of each kind from the named times an answer needs."""
        return max(self.settings.dated_candidates, 2 * self.request.limit)

    def first(self, fetch: Callable[[int], list[str]], limit: int) -> list[str]:
        """The best `limit` of what `fetch` gives, and the reflections among them."""
        return first_beside(fetch, limit, self.reflections) if self.reflections else fetch(limit)

    def most_similar(self, vectors: FilteredScan) -> list[str]:
        """What is proposed by meaning."""
        return self.first(vectors.best, vector_limit(self.request, self.settings))

    def without_reflections(self) -> Search:
        """The same search, for which there are no reflections."""
        left_out = self.request.left_out | self.reflections
        return self._replace(request=replace(self.request, left_out=left_out))

    def with_text(self, text: TextSource | None) -> Search:
        """The same search that asks this source for words."""
        return self._replace(sources=self.sources._replace(text=text))

    def with_vectors(self, vectors: FilteredScan | None) -> Search:
        """The same search that asks these similarities."""
        return self._replace(sources=self.sources._replace(vectors=vectors))


def vector_limit(request: Request, settings: RecallSettings) -> int:
    """How many proposals by meaning an answer needs; known before the question is taken apart."""
    if request.by_similarity:
        return request.candidates
    return max(settings.dense_candidates, 2 * request.limit)


def begin_search(
    request: Request, now: datetime, settings: RecallSettings, store: RecordStore, analyzer: Analyzer, zone: tzinfo
) -> Search:
    """Take the question apart. No source is attached yet but the records, and the reflections are not known."""
    today = min(max(now, _FIRST_MOMENT), _LAST_MOMENT)
    question = read_question(request.query, analyzer, now=today, zone=zone)
    periods = _periods(question, request.filters, today, store, zone)
    within = _within(request.filters, periods)
    return Search(
        request,
        settings,
        Sources(store),
        question,
        today,
        periods,
        dated=replace(request.filters, periods=within) if within else None,
        offset=zone.utcoffset(today.replace(tzinfo=None)) or timedelta(),
    )


def _periods(
    question: Question, filters: Filters, today: datetime, store: RecordStore, zone: tzinfo
) -> Sequence[Period]:
    """The times that the question names, as far as there are memories of them; if too many, those near today."""
    known = store.time_range(filters.scopes) if question.dates else None
    if known is None:
        return []
    first, last = max(known[0], _FIRST_MOMENT), min(known[1], _LAST_MOMENT)
    periods = question.periods(first - _SOFT_EDGE, last + _SOFT_EDGE, zone)
    return sorted(periods, key=lambda period: abs(period.start - today))[:_MAX_PERIODS]


def _within(filters: Filters, periods: Sequence[Period]) -> tuple[tuple[datetime, datetime], ...]:
    """The periods, cut to what `since` and `until` leave of them."""
    found = []
    for period in periods:
        start = max(period.start, filters.since) if filters.since is not None else period.start
        end = min(period.end, filters.until) if filters.until is not None else period.end
        if start < end:
            found.append((start, end))
    return tuple(found)

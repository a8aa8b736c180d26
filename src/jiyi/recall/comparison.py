"""From what was proposed for a question to its hits: compared, put in order, reflections beside the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from jiyi.recall.proposers import RECORDS, VECTORS, Proposer, ask
from jiyi.recall.ranking import EntryFetcher, rank
from jiyi.recall.reflections import split
from jiyi.recall.request import Answer, Request

if TYPE_CHECKING:
    from jiyi.model.entry import IndexCoverage, MemoryEntry
    from jiyi.model.filters import Filters
    from jiyi.ports import RecordStore
    from jiyi.recall.gather import CandidateSet
    from jiyi.recall.search import Search
    from jiyi.recall.settings import RecallSettings
    from jiyi.recall.sources import TextAnswer
    from jiyi.text import Analyzer


class _FetchedOnce:
    """Fetches each entry once: with reflections among the candidates, these are put in order twice."""

    def __init__(self, store: EntryFetcher) -> None:
        self._store = store
        self._asked: set[str] = set()
        self._found: dict[str, MemoryEntry] = {}

    def fetch(self, ids: Sequence[str], filters: Filters | None) -> dict[str, MemoryEntry]:
        """Those of these entries that the filters admit."""
        new = [each for each in ids if each not in self._asked]
        if new:
            self._asked.update(new)
            self._found.update(self._store.fetch(new, filters))
        return {each: self._found[each] for each in ids if each in self._found}


@dataclass(frozen=True, slots=True)
class Comparison:
    """Compares the candidates of one question with it."""

    store: RecordStore
    analyzer: Analyzer
    settings: RecallSettings
    proposers: Sequence[Proposer]
    reranks: bool
    """Whether there is a reranker."""

    def is_reranked(self, request: Request) -> bool:
        """Whether the reranker is asked for this request."""
        return self.reranks and request.rerank and request.weights is None and request.mode != "tags"

    def answer(self, text: TextAnswer, coverage: list[IndexCoverage], now: datetime) -> Answer | None:
        """The best of what was proposed; `None` when no source could answer."""
        # It brings numpy, which a program that only writes need not load.
        from jiyi.recall.gather import gather, gather_without_text

        search, vectors = text.search, text.search.sources.vectors
        if vectors is None and (text.statistics is None or search.request.mode == "semantic"):
            return None
        later = ask(self.proposers, (VECTORS, RECORDS), search, coverage)
        proposed = list(dict.fromkeys([*text.proposed, *later]))
        if text.statistics is None:
            proposed = later
        elif not proposed and any(
            not part.answered for part in coverage if part.index != VECTORS or vectors is not None
        ):
            # A proposer failed and the others found nothing: that is not an empty answer.
            return None

        def collected(search: Search) -> CandidateSet:
            if text.statistics is None:
                return gather_without_text(search, proposed)
            return gather(search, proposed, text.statistics, text.ahead)

        known = tuple(coverage)
        if search.reflections.isdisjoint(proposed):
            found = collected(search)
            return Answer(self._ranked(search, found, known, now, self.store), len(found.ids), coverage=known)
        alone, found = search.without_reflections(), collected(search)
        store = _FetchedOnce(self.store)
        wide = search._replace(request=replace(search.request, limit=len(found.ids)))
        summaries = split(rank(wide, found, known, now, store, self.analyzer))[1]
        reflections = [hit for hit in summaries if hit.id in search.reflections]
        hits = self._ranked(alone, collected(alone), known, now, store)
        return Answer(hits, len(found.ids), reflections, coverage=known)

    def _ranked(
        self,
        search: Search,
        found: CandidateSet,
        coverage: tuple[IndexCoverage, ...],
        now: datetime,
        store: EntryFetcher,
    ) -> list[MemoryEntry]:
        """The best hits; more than asked for where a reranker will choose among them."""
        request = search.request
        if self.is_reranked(request):
            wide = max(request.limit, self.settings.rerank_candidates)
            search = search._replace(request=replace(request, limit=wide))
        return rank(search, found, coverage, now, store, self.analyzer)

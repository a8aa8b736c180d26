"""RecallEngine: from a question to hits that explain themselves.

Proposers name ids inside the visible scopes, the scorer puts them in order, and the record store has the last word:
what is missing, foreign, forgotten or outside the filters is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import wait
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from threading import Event
from typing import TYPE_CHECKING, TypeVar

from jiyi.contexts import on_error
from jiyi.errors import IndexDamagedError, IndexingError, IndexUnavailableError, InvalidInputError, ModelError
from jiyi.model import clock
from jiyi.model.entry import IndexCoverage, MemoryEntry
from jiyi.model.recalled import RecalledEntries, notes_of
from jiyi.recall.comparison import Comparison
from jiyi.recall.context import add_context
from jiyi.recall.corrections import current_first, mark_corrected
from jiyi.recall.filter_pushdown import push_down_filters, short_because_of_expiry, with_restored
from jiyi.recall.freshness import Freshness, not_answered
from jiyi.recall.proposers import PROPOSERS, Proposer
from jiyi.recall.reflections import in_free_places
from jiyi.recall.request import Answer, Request, check_mode
from jiyi.recall.reranking import rerank
from jiyi.recall.settings import RecallSettings
from jiyi.recall.small_scopes import read_small_scopes
from jiyi.recall.sources import BegunRecall, RecallSources, TextAnswer, WithArchived
from jiyi.recall.tags import TagMirror, answer_by_tags

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from jiyi.indexing import Drainer
    from jiyi.ports import Embedder, RecordStore, Reranker, ScopeReader, TextIndex, VectorIndex, Vectors
    from jiyi.text import Analyzer


R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class RecallEngine:
    """Asks the proposers inside the visible scopes and lets the records decide."""

    store: RecordStore
    text: TextIndex
    vectors: VectorIndex | None
    embedder: Embedder | None
    analyzer: Analyzer
    drainer: Drainer
    settings: RecallSettings
    zone: tzinfo
    helpers: Executor
    """Runs the text proposers while the question is embedded and compared."""
    tags: TagMirror
    reader: ScopeReader | None = None
    """Reads small scopes whole, where the backend can."""
    proposers: Sequence[Proposer] = PROPOSERS
    reranker: Reranker | None = None
    with_archived: WithArchived | None = None
    """Lets a text source find entries as well that are in no index any more."""

    def answer(self, request: Request) -> RecalledEntries:
        """The best entries, best first. Equal scores: newer first, then by key, text, conversation and place in it."""
        answer = self.answer_counted(request)
        return RecalledEntries(answer.hits, notes=notes_of(answer.coverage))

    def answer_counted(self, request: Request) -> Answer:
        """The same with how many candidates there were. Every entrance passes here."""
        answer = self.answer_apart(request)
        hits = in_free_places(answer.hits, answer.reflections, request.limit)
        return answer._replace(hits=hits, reflections=())

    def answer_apart(self, request: Request) -> Answer:
        """The same with the reflections apart from the hits, each text once: the hits are as if there were none.

        An index that was deleted or turns out to be damaged is rebuilt, and asked once more.
        """
        check_mode(request.mode)
        request = push_down_filters(with_restored(request), self.store)
        if frozenset() in {request.filters.exact_ids, request.filters.superset_ids}:
            return Answer([], 0)
        answer = _retried(lambda: self._answer(request))
        if short_because_of_expiry(request, answer, self.store, self.settings):
            beyond = replace(request, filters=replace(request.filters, beyond_expired=True))
            answer = _retried(lambda: self._answer(beyond))
        # Once, when no index will be asked again: a caller waits for the reranker once at the most.
        answer = self._reranked(request, answer)
        if request.context:
            answer = answer._replace(
                hits=self._with_context(request, answer.hits),
                reflections=self._with_context(request, answer.reflections),
            )
        if not answer.may_be_corrected:
            return answer
        hits, instead = mark_corrected(answer.hits, self.store, self.analyzer)
        # Where a formula or the similarity itself gives the order, it stays.
        if not request.weights and not request.by_similarity:
            found = current_first(hits, request.query, lambda ids: self.store.admitted(ids, request.filters), instead)
            hits = found[: request.limit]
        return answer._replace(hits=hits)

    def _with_context(self, request: Request, hits: Sequence[MemoryEntry]) -> list[MemoryEntry]:
        return _retried(lambda: add_context(list(hits), request, self.text, self.store, self._freshness))

    def similarities(self, texts: Sequence[str], ids: Sequence[str], scopes: Sequence[str]) -> list[list[float]]:
        """For each entry of these scopes how near in meaning it is to each text; NaN where there is no vector."""
        return _retried(lambda: self._similarities(texts, ids, scopes))

    def _similarities(self, texts: Sequence[str], ids: Sequence[str], scopes: Sequence[str]) -> list[list[float]]:
        index = self.vectors
        if index is None or self.embedder is None:
            raise InvalidInputError("meanings cannot be compared: no embedder is configured; set embedder to bundled")
        freshness = self._freshness
        part, missing = freshness.vectors(index, scopes, self.store.head())
        if not part.answered:
            raise IndexUnavailableError(f"meanings cannot be compared: {part.note}")
        vectors = self.embedder.embed(list(texts))
        scans = (freshness.overlay(index, index.scan(vector, scopes), vector, missing) for vector in vectors)
        return [list(row) for row in zip(*(scan.of(ids).tolist() for scan in scans), strict=True)]

    def close(self) -> None:
        """Stop the threads."""
        self.helpers.shutdown()
        if self.reranker is not None:
            self.reranker.close()

    @property
    def _freshness(self) -> Freshness:
        return Freshness(self.drainer, self.settings.freshness_seconds, self.settings.overlaid_changes)

    @property
    def _sources(self) -> RecallSources:
        return RecallSources(
            self.store,
            self.text,
            self.vectors,
            self.embedder,
            self.analyzer,
            self._freshness,
            self.settings,
            self.zone,
            self.helpers,
            self.proposers,
            self.with_archived,
        )

    def _answer(self, request: Request) -> Answer:
        """The best hits; more than asked for where a reranker will choose among them."""
        now = request.now or clock.utc_now()
        if request.mode == "tags":
            return answer_by_tags(self.store, self.tags, request, self.zone)
        sources = self._sources
        begun = sources.begin(request, now)
        vector: Vectors | ModelError | None = None
        if self.reader is not None and self.reader.worthwhile(request.filters.scopes):
            read = read_small_scopes(self.reader, sources, begun)
            if read.text is not None:
                answer = self._finish(read.text, read.vector_coverage, now)
                return answer._replace(may_be_corrected=read.may_be_corrected)
            vector = read.vector
        return self._answer_from_indexes(sources, begun, now, vector)

    def _answer_from_indexes(
        self, sources: RecallSources, begun: BegunRecall, now: datetime, vector: Vectors | ModelError | None
    ) -> Answer:
        """Each index is brought up to date and asked; `vector` is the question's, if it was embedded already."""
        head, request = self.store.head(), begun.search.request
        reflections = frozenset(self.store.reflections(request.filters.scopes))
        begun = begun._replace(search=begun.search._replace(reflections=reflections))
        vector_coverage = list(begun.vector_coverage)
        text = sources.ask_text_index(begun.search, head)
        if not begun.asks_vectors:
            return self._finish(sources.ask_proposers(text), vector_coverage, now)
        # What is embedded depends on the words of the texts, so these are counted first.
        wording = sources.wording(text)
        vector = vector if wording == request.query else None
        scanned = Event()
        proposing = sources.in_parallel(text, scanned) if sources.is_large(text) else None
        try:
            with on_error(lambda: None if proposing is None else wait((proposing,))):
                if vector is None:
                    vector = sources.embedded(request, wording)
                vectors = sources.scan_vectors(request, vector, wording, head, vector_coverage)
        finally:
            scanned.set()
        text = sources.ask_proposers(text) if proposing is None else proposing.result()
        return self._finish(text._replace(search=text.search.with_vectors(vectors)), vector_coverage, now)

    def _finish(self, text: TextAnswer, vector_coverage: Sequence[IndexCoverage], now: datetime) -> Answer:
        """Candidates from the answers of all sources, in order."""
        coverage = [*text.coverage, *vector_coverage]
        try:
            answer = self._comparison.answer(text, coverage, now)
        except IndexUnavailableError as error:
            if text.search.sources.vectors is None:
                raise
            # The vectors became unreachable in the middle of the answer.
            coverage = [*text.coverage, not_answered(vector_coverage[-1], error)]
            answer = self._comparison.answer(text._replace(search=text.search.with_vectors(None)), coverage, now)
        if answer is None:
            reasons = "; ".join(f"{part.index}: {part.note or 'not asked'}" for part in coverage)
            raise IndexingError(f"no index could answer ({reasons}); the records are safe: run 'jiyi repair'")
        return answer

    @property
    def _comparison(self) -> Comparison:
        return Comparison(self.store, self.analyzer, self.settings, self.proposers, reranks=self.reranker is not None)

    def _reranked(self, request: Request, answer: Answer) -> Answer:
        """The hits in the order of the reranker, if there is one; the coverage says whether it answered."""
        if self.reranker is None or not self._comparison.is_reranked(request) or not answer.hits:
            return answer
        hits, part = rerank(self.reranker, request.query, answer.hits, self.settings)
        return answer._replace(hits=hits[: request.limit], coverage=(*answer.coverage, part))


def _retried(ask: Callable[[], R]) -> R:
    """The answer. An index that turns out to be damaged while it is asked is rebuilt by asking once more."""
    try:
        return ask()
    except IndexDamagedError:
        return ask()

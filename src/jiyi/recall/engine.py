"""RecallEngine: from a question to hits that explain themselves.

Proposers name ids inside the visible scopes, the scorer puts them in order, and the record store has the last word:
what is missing, foreign, forgotten or outside the filters is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from threading import Event
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

from jiyi.contexts import on_error
from jiyi.errors import IndexDamagedError, IndexingError, IndexUnavailableError, InvalidInputError, ModelError
from jiyi.model import clock
from jiyi.model.entry import IndexCoverage, MemoryEntry
from jiyi.model.recalled import NO_EMBEDDER, RecalledEntries, notes_of
from jiyi.ports import ALONE, EmbedsQuestions
from jiyi.ports.optional import provides
from jiyi.recall.comparison import Comparison, TextAnswer
from jiyi.recall.context import add_context
from jiyi.recall.corrections import current_first, mark_corrected
from jiyi.recall.filter_pushdown import push_down_filters, short_because_of_expiry
from jiyi.recall.freshness import Freshness, not_answered
from jiyi.recall.proposers import PROPOSERS, TEXT, Proposer, ask
from jiyi.recall.question import text_to_embed, without_shouting
from jiyi.recall.reflections import in_free_places
from jiyi.recall.request import Answer, Request, check_mode
from jiyi.recall.search import FilteredScan, Search, begin_search, vector_limit
from jiyi.recall.settings import RecallSettings
from jiyi.recall.tags import TagMirror, answer_by_tags
from jiyi.resource_limits import resource_limit
from jiyi.text.questions import asks_about_questions, is_question

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from jiyi.indexing import Drainer
    from jiyi.ports import (
        Embedder,
        LogPosition,
        RecordStore,
        Reranker,
        ScopeReader,
        TextIndex,
        TextSource,
        VectorIndex,
        Vectors,
        VectorScan,
    )
    from jiyi.text import Analyzer


R = TypeVar("R")
_MAX_ARCHIVED: Final = 10_000
"""How many archived entries a question about an earlier time looks at, those that expired last."""
WithArchived: TypeAlias = "Callable[[TextSource, Sequence[MemoryEntry]], TextSource]"


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
        request = push_down_filters(request, self.store)
        if frozenset() in {request.filters.exact_ids, request.filters.superset_ids}:
            return Answer([], 0)
        answer = _retried(lambda: self._answer(request))
        if short_because_of_expiry(request, answer, self.store, self.settings):
            beyond = replace(request, filters=replace(request.filters, beyond_expired=True))
            answer = _retried(lambda: self._answer(beyond))
        if not answer.may_be_corrected:
            return answer
        hits, instead = mark_corrected(answer.hits, self.store, self.analyzer)
        # Where a formula or the similarity itself gives the order, it stays.
        if not request.weights and not request.by_similarity:
            found = current_first(hits, request.query, lambda ids: self.store.admitted(ids, request.filters), instead)
            hits = found[: request.limit]
        return answer._replace(hits=hits)

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

    def _answer(self, request: Request) -> Answer:
        now = request.now or clock.utc_now()
        if request.mode == "tags":
            answer = answer_by_tags(self.store, self.tags, request, self.zone)
        else:
            answer = self._recall(request, now)
        if request.context:
            given = [
                add_context(hits, request, self.text, self.store, self._freshness) if hits else []
                for hits in (answer.hits, list(answer.reflections))
            ]
            answer = answer._replace(hits=given[0], reflections=given[1])
        return answer

    def _recall(self, request: Request, now: datetime) -> Answer:
        vector: Vectors | ModelError | None = None
        if self.reader is not None and self.reader.worthwhile(request.filters.scopes):
            answer, vector = self._recall_at_once(self.reader, request, now)
            if answer is not None:
                return answer
        return self._recall_from_indexes(request, now, vector)

    def _recall_from_indexes(self, request: Request, now: datetime, vector: Vectors | ModelError | None) -> Answer:
        """Each index is brought up to date and asked; `vector` is the question's, if it was embedded already."""
        head = self.store.head()
        vector_coverage: list[IndexCoverage] = []
        asks_vectors = self._asks_vectors(request, vector_coverage)
        text = self._begin_with_text(request, now, head)
        if not asks_vectors:
            return self._finish(self._ask_text(text), vector_coverage, now)
        # What is embedded depends on the words of the texts, so these are counted first.
        wording = self._wording(text)
        vector = vector if wording == request.query else None
        scanned = Event()
        proposing = self._in_parallel(text, scanned) if self._is_large(text) else None
        try:
            with on_error(lambda: None if proposing is None else wait((proposing,))):
                if vector is None and self.embedder is not None:
                    vector = self._embedded(self.embedder, request, wording)
                vectors = self._scan_vectors(request, vector, wording, head, vector_coverage)
        finally:
            scanned.set()
        text = self._ask_text(text) if proposing is None else proposing.result()
        return self._finish(text._replace(search=text.search.with_vectors(vectors)), vector_coverage, now)

    def _is_large(self, text: TextAnswer) -> bool:
        """Whether the text proposers take longer than what another thread costs.

        That thread delays the many small steps of embedding a little. Beside the comparison of the vectors alone it
        gains nothing: a large product occupies two cores.
        """
        min_entries = self.settings.parallel_from
        return not min_entries or (text.statistics is not None and text.statistics.entries >= min_entries)

    def _recall_at_once(
        self, reader: ScopeReader, request: Request, now: datetime
    ) -> tuple[Answer | None, Vectors | ModelError | None]:
        """From scopes that are read whole; no answer when the indexes have to be asked one by one.

        Beside it the question's vector, if it was embedded: that may have taken longer than everything else.
        """
        vector_coverage: list[IndexCoverage] = []
        asked: Vectors | ModelError | None = None
        search = self._begin(request, now)
        # As a rule these are the texts that will be read, and tell how to word the question.
        known = self._count_words(TextAnswer(search.with_text(reader.last_read(request.filters)), []))
        expected = self._wording(known)
        if self._asks_vectors(request, vector_coverage) and self.vectors is not None and self.embedder is not None:
            asked = self._embedded(self.embedder, request, expected)
            vector_coverage.append(IndexCoverage(self.vectors.name, answered=True))
        vector = asked if expected == request.query else None
        if isinstance(asked, ModelError):
            vector_coverage[-1], asked = not_answered(vector_coverage[-1], asked), None
        reading = reader.read(request.filters, asked, bigrams=bool(search.question.bigrams))
        if reading is None or (reading.compared is None and request.mode == "semantic"):
            return None, vector
        coverage = [IndexCoverage(self.text.name, answered=True, note=reading.mode)]
        source = self._as_of(reading.text, request)
        if source is known.search.sources.text:
            text, wording = known._replace(coverage=coverage), expected
        else:
            text = self._count_words(TextAnswer(search.with_text(source), coverage))
            wording = self._wording(text)
        compared = reading.compared
        if compared is not None and self.embedder is not None and wording != expected:
            # Only the counted words say how to word the question, so that the similarities are read once more.
            reworded = self._embedded(self.embedder, request, wording)
            compared = None if isinstance(reworded, ModelError) else reader.compare(request.filters, reworded)
            if compared is None or isinstance(reworded, ModelError):
                return None, vector
            asked = reworded
        filtered = None
        if compared is not None:
            scan: VectorScan | None = compared.scan
            if compared.scanned_at is not None and self.vectors is not None and asked is not None:
                scopes = request.filters.scopes
                scan = self._freshness.overlay_since(self.vectors, compared.scan, asked, scopes, compared.scanned_at)
            if scan is None:
                return None, vector
            filtered = FilteredScan(scan, self.store, request.filters, self._how_personal(request, wording))
        text = self._ask_text(text)
        text = text._replace(search=text.search.with_vectors(filtered))
        return self._finish(text, vector_coverage, now)._replace(may_be_corrected=reading.corrected), vector

    def _finish(self, text: TextAnswer, vector_coverage: list[IndexCoverage], now: datetime) -> Answer:
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

    def _as_of(self, text: TextSource, request: Request) -> TextSource:
        """The source, for a question about an earlier time with what had not expired then and is archived now."""
        alive_at = request.filters.alive_at
        if self.with_archived is None or alive_at is None or alive_at >= clock.utc_now():
            return text
        entries = self.store.archived(request.filters, limit=_MAX_ARCHIVED)
        return self.with_archived(text, entries) if entries else text

    @property
    def _comparison(self) -> Comparison:
        return Comparison(self.store, self.analyzer, self.settings, self.proposers, self.reranker)

    # --- asking the sources ---------------------------------------------------------------------------------------

    @property
    def _freshness(self) -> Freshness:
        return Freshness(self.drainer, self.settings.freshness_seconds, self.settings.overlaid_changes)

    def _begin(self, request: Request, now: datetime) -> Search:
        return begin_search(request, now, self.settings, self.store, self.analyzer, request.zone or self.zone)

    def _asks_vectors(self, request: Request, coverage: list[IndexCoverage]) -> bool:
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
        coverage.append(IndexCoverage("vectors", answered=False, note=NO_EMBEDDER))
        return False

    def _in_parallel(self, text: TextAnswer, scanned: Event) -> Future[TextAnswer]:
        """With the proposals of the text source, asked in another thread; in this one if the system gives no further.

        Comparing takes longer than they do, so as a rule they are there when this thread needs them.
        """
        try:
            return self.helpers.submit(self._read_ahead, text, scanned)
        except RuntimeError as error:
            if resource_limit(error) is None:
                raise
        answer: Future[TextAnswer] = Future()
        answer.set_result(self._ask_text(text))
        return answer

    def _scan_vectors(
        self,
        request: Request,
        vector: Vectors | ModelError | None,
        wording: str,
        head: LogPosition,
        coverage: list[IndexCoverage],
    ) -> FilteredScan | None:
        """The similarities to the vector of this wording, with the most similar entries read already."""
        if self.vectors is None or vector is None:
            return None
        index = self.vectors
        part, missing = self._freshness.vectors(index, request.filters.scopes, head)
        coverage.append(part)
        if not part.answered:
            return None
        if isinstance(vector, ModelError):
            coverage[-1] = not_answered(coverage[-1], vector)
            return None
        try:
            scan = self._freshness.overlay(index, index.scan(vector, request.filters.scopes), vector, missing)
            vectors = FilteredScan(scan, self.store, request.filters, self._how_personal(request, wording))
            # Computed here, beside the text proposers, and kept for the proposer that asks for it.
            vectors.best(vector_limit(request, self.settings))
        except IndexDamagedError:
            raise
        except (ModelError, IndexingError) as error:
            coverage[-1] = not_answered(coverage[-1], error)
            return None
        return vectors

    def _embedded(self, embedder: Embedder, request: Request, wording: str) -> Vectors | ModelError:
        """The vector of the question in this wording, or why there is none."""
        embed = embedder.embed  # where the similarity itself is the answer, it is the plain one
        if self._asked_as_question(request) and provides(embedder, EmbedsQuestions):
            embed = embedder.embed_questions
        try:
            vector: Vectors = embed([wording])[0]
        except ModelError as error:
            return error
        return vector

    def _asked_as_question(self, request: Request) -> bool:
        asked = is_question(request.query) and not asks_about_questions(request.query)
        return self.settings.adapts_questions and not request.by_similarity and asked

    def _how_personal(self, request: Request, wording: str) -> float:
        """What the embedder says of the question; of what does not ask ("explain tides"), only if it is general."""
        # Not by `JudgesQuestions`: comparing an object with a protocol takes longer than the judgement.
        judge = getattr(self.embedder, "how_personal", None)
        if judge is None or request.by_similarity or not self.settings.adapts_questions:
            return 0.0
        found = float(judge(wording))
        return found if self._asked_as_question(request) else min(0.0, found)

    def _begin_with_text(self, request: Request, now: datetime, head: LogPosition) -> TextAnswer:
        """The question taken apart, with the statistics of its words in the text index."""
        part, text = self._freshness.text(self.text, request.filters.scopes, head)
        found = TextAnswer(self._begin(request, now), [part])
        if not part.answered:
            return found
        return self._count_words(found._replace(search=found.search.with_text(self._as_of(text, request))))

    def _read_ahead(self, text: TextAnswer, scanned: Event) -> TextAnswer:
        """With the proposals of the text source and their term rows, while the vectors are compared.

        Not after the vectors have been `scanned`: the caller would wait. The records are not read: most of them are not
        needed, and reading them slows the vectors down.
        """
        found = self._ask_text(text)
        source = found.search.sources.text
        if not found.proposed or source is None or scanned.is_set():
            return found
        from jiyi.recall.gather import REACH

        ahead = source.windows(found.proposed, reach=REACH, scopes=found.search.request.filters.scopes)
        # The order of what has neighbours is known only when all proposals are read together.
        return found._replace(ahead=ahead) if all(row.thread.startswith(ALONE) for row in ahead) else found

    def _count_words(self, found: TextAnswer) -> TextAnswer:
        """With the statistics of the text source."""
        search, text = found.search, found.search.sources.text
        if text is None:
            return found
        try:
            statistics = text.statistics(search.request.filters.scopes, search.question.words, search.question.bigrams)
        except IndexUnavailableError as error:
            # The text index became unreachable in the middle of the answer: the vectors answer alone.
            first, *others = found.coverage
            return found._replace(search=search.with_text(None), coverage=[not_answered(first, error), *others])
        return found._replace(statistics=statistics)

    def _wording(self, found: TextAnswer) -> str:
        """The text to embed. What does not ask is embedded as it is, so that an entry's own text finds the entry."""
        request = found.search.request
        if found.statistics is None or request.by_similarity or not is_question(request.query):
            return request.query
        wording = text_to_embed(found.search.question, found.statistics, self.analyzer, self.settings.common_share)
        return without_shouting(wording)

    def _ask_text(self, found: TextAnswer) -> TextAnswer:
        """With the proposals of the text source."""
        if found.search.sources.text is None:
            return found
        return found._replace(proposed=list(dict.fromkeys(ask(self.proposers, (TEXT,), found.search, found.coverage))))


def _retried(ask: Callable[[], R]) -> R:
    """The answer. An index that turns out to be damaged while it is asked is rebuilt by asking once more."""
    try:
        return ask()
    except IndexDamagedError:
        return ask()

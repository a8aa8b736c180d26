"""`RecallSources`: one recall asks the text index, the vectors and the records, as they are or as they were."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from datetime import datetime, tzinfo
from threading import Event
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from jiyi.errors import IndexDamagedError, IndexingError, IndexUnavailableError, InvalidInputError, ModelError
from jiyi.model import clock
from jiyi.model.entry import IndexCoverage, MemoryEntry
from jiyi.model.recalled import NO_EMBEDDER
from jiyi.ports import ALONE, START, EmbedsQuestions, IndexBatch
from jiyi.ports.optional import provides
from jiyi.recall.freshness import Freshness, not_answered
from jiyi.recall.proposers import TEXT, Proposer, ask
from jiyi.recall.question import text_to_embed, without_shouting
from jiyi.recall.request import Request
from jiyi.recall.search import FilteredScan, Search, begin_search, vector_limit
from jiyi.recall.settings import RecallSettings
from jiyi.resource_limits import resource_limit
from jiyi.text.questions import asks_about_questions, is_question

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from jiyi.ports import (
        Embedder,
        LogPosition,
        RecordStore,
        TermRow,
        TermStatistics,
        TextIndex,
        TextSource,
        VectorIndex,
        Vectors,
        VectorScan,
    )
    from jiyi.text import Analyzer

_MAX_ARCHIVED: Final = 10_000
"""How many archived entries a question about an earlier time looks at, those that expired last."""
WithArchived: TypeAlias = "Callable[[TextSource, Sequence[MemoryEntry]], TextSource]"


class BegunRecall(NamedTuple):
    """A recall whose question is taken apart; no source was asked yet."""

    search: Search
    asks_vectors: bool
    vector_coverage: tuple[IndexCoverage, ...] = ()
    """Why the vectors are not asked, where the answer has to say so."""


class TextAnswer(NamedTuple):
    """A search, and what its text source has answered so far. Each step returns one that knows more."""

    search: Search
    coverage: list[IndexCoverage]
    proposed: Sequence[str] = ()
    statistics: TermStatistics | None = None
    """`None` where the text source did not answer."""
    ahead: Sequence[TermRow] = ()
    """Proposals that were read already; each has no neighbours."""


class RecallSources(NamedTuple):
    """What recalls ask."""

    store: RecordStore
    text: TextIndex
    vectors: VectorIndex | None
    embedder: Embedder | None
    analyzer: Analyzer
    freshness: Freshness
    settings: RecallSettings
    zone: tzinfo
    helpers: Executor
    proposers: Sequence[Proposer]
    with_archived: WithArchived | None = None

    def begin(self, request: Request, now: datetime) -> BegunRecall:
        """Take the question apart."""
        search = begin_search(request, now, self.settings, self.store, self.analyzer, request.zone or self.zone)
        if request.mode == "keyword":
            return BegunRecall(search, asks_vectors=False)
        if self.vectors is not None and self.embedder is not None:
            return BegunRecall(search, asks_vectors=True)
        if request.mode == "semantic":
            raise InvalidInputError(
                "mode 'semantic' compares meanings and no embedder is configured; "
                "set embedder to bundled, or use mode 'keyword'"
            )
        missing = IndexCoverage("vectors", answered=False, note=NO_EMBEDDER)
        return BegunRecall(search, asks_vectors=False, vector_coverage=(missing,))

    # --- words ----------------------------------------------------------------------------------------------------

    def ask_text_index(self, search: Search, head: LogPosition) -> TextAnswer:
        """The statistics of the question's words in the text index, which is brought up to date."""
        part, text = self.freshness.text(self.text, search.request.filters.scopes, head)
        return self.count_words(search, text if part.answered else None, [part])

    def count_words(self, search: Search, text: TextSource | None, coverage: list[IndexCoverage]) -> TextAnswer:
        """The statistics of the question's words in this source, and in what it lacks of an earlier time."""
        if text is None:
            return TextAnswer(search, coverage)
        request, question = search.request, search.question
        text = self._as_of(text, request)
        try:
            statistics = text.statistics(request.filters.scopes, question.words, question.bigrams)
        except IndexUnavailableError as error:
            # The text index became unreachable in the middle of the answer: the vectors answer alone.
            return TextAnswer(search, [*(not_answered(part, error) for part in coverage[:1]), *coverage[1:]])
        return TextAnswer(search.with_text(text), coverage, statistics=statistics)

    def ask_proposers(self, found: TextAnswer) -> TextAnswer:
        """With the proposals of the text source."""
        if found.search.sources.text is None:
            return found
        return found._replace(proposed=list(dict.fromkeys(ask(self.proposers, (TEXT,), found.search, found.coverage))))

    def in_parallel(self, text: TextAnswer, scanned: Event) -> Future[TextAnswer]:
        """With the proposals of the text source, asked in another thread; in this one if the system gives no further.

        Comparing takes longer than they do, so as a rule they are there when this thread needs them.
        """
        try:
            return self.helpers.submit(self._read_ahead, text, scanned)
        except RuntimeError as error:
            if resource_limit(error) is None:
                raise
        answer: Future[TextAnswer] = Future()
        answer.set_result(self.ask_proposers(text))
        return answer

    def _read_ahead(self, text: TextAnswer, scanned: Event) -> TextAnswer:
        """With the proposals of the text source and their term rows, while the vectors are compared.

        Not after the vectors have been `scanned`: the caller would wait. The records are not read: most of them are not
        needed, and reading them slows the vectors down.
        """
        found = self.ask_proposers(text)
        source = found.search.sources.text
        if not found.proposed or source is None or scanned.is_set():
            return found
        from jiyi.recall.gather import REACH

        ahead = source.windows(found.proposed, reach=REACH, scopes=found.search.request.filters.scopes)
        # The order of what has neighbours is known only when all proposals are read together.
        return found._replace(ahead=ahead) if all(row.thread.startswith(ALONE) for row in ahead) else found

    def is_large(self, text: TextAnswer) -> bool:
        """Whether the text proposers take longer than what another thread costs.

        That thread delays the many small steps of embedding a little. Beside the comparison of the vectors alone it
        gains nothing: a large product occupies two cores.
        """
        min_entries = self.settings.parallel_from
        return not min_entries or (text.statistics is not None and text.statistics.entries >= min_entries)

    def _as_of(self, text: TextSource, request: Request) -> TextSource:
        """The source, for a question about an earlier time with what stood then and is in no index any more."""
        if self.with_archived is None:
            return text
        entries, alive_at = list(request.restored), request.filters.alive_at
        if alive_at is not None and alive_at < clock.utc_now():
            entries += self.store.archived(request.filters, limit=_MAX_ARCHIVED)
        return self.with_archived(text, entries) if entries else text

    # --- meaning --------------------------------------------------------------------------------------------------

    def wording(self, found: TextAnswer) -> str:
        """The text to embed. What does not ask is embedded as it is, so that an entry's own text finds the entry."""
        request = found.search.request
        if found.statistics is None or request.by_similarity or not is_question(request.query):
            return request.query
        wording = text_to_embed(found.search.question, found.statistics, self.analyzer, self.settings.common_share)
        return without_shouting(wording)

    def embedded(self, request: Request, wording: str) -> Vectors | ModelError | None:
        """The vector of the question in this wording, or why there is none."""
        if self.embedder is None:
            return None
        embed = self.embedder.embed  # where the similarity itself is the answer, it is the plain one
        if self._asked_as_question(request) and provides(self.embedder, EmbedsQuestions):
            embed = self.embedder.embed_questions
        try:
            vector: Vectors = embed([wording])[0]
        except ModelError as error:
            return error
        return vector

    def scan_vectors(
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
        part, missing = self.freshness.vectors(index, request.filters.scopes, head)
        coverage.append(part)
        if not part.answered:
            return None
        if isinstance(vector, ModelError):
            coverage[-1] = not_answered(coverage[-1], vector)
            return None
        try:
            scan = self.freshness.overlay(index, index.scan(vector, request.filters.scopes), vector, missing)
            vectors = self.filtered(scan, vector, request, wording)
            # Computed here, beside the text proposers, and kept for the proposer that asks for it.
            vectors.best(vector_limit(request, self.settings))
        except IndexDamagedError:
            raise
        except (ModelError, IndexingError) as error:
            coverage[-1] = not_answered(coverage[-1], error)
            return None
        return vectors

    def filtered(self, scan: VectorScan, vector: Vectors, request: Request, wording: str) -> FilteredScan:
        """The similarities under the filters of the request, with those of what stood at an earlier time."""
        if request.restored and self.vectors is not None:
            # No index holds these: they are compared as changes are that an index has not taken in yet.
            scan = self.freshness.overlay(self.vectors, scan, vector, IndexBatch(request.restored, (), START))
        return FilteredScan(scan, self.store, request.filters, self._how_personal(request, wording))

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

"""Proposers: each names entries that may answer a question. The scorer decides afterwards.

To add one, write a class with `name`, `needs`, `fields` and `propose`, and put it into `PROPOSERS`. It is then
asked wherever recall looks: the indexes one by one, or small scopes that were read at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Protocol

from jiyi.errors import IndexDamagedError, IndexingError, ModelError
from jiyi.model.entry import IndexCoverage
from jiyi.model.overfetch import FACTOR, Fetched, enough, fetch_until_enough
from jiyi.recall.freshness import not_answered
from jiyi.recall.search import passing

if TYPE_CHECKING:
    from jiyi.model.filters import Filters
    from jiyi.ports import TextSource
    from jiyi.recall.question import Question
    from jiyi.recall.search import Search

TEXT, VECTORS, RECORDS = "text", "vectors", "records"
"""The sources. Proposers of `text` are asked while the question is embedded, the others afterwards."""


class Proposer(Protocol):
    """Names entries that may answer a question."""

    @property
    def name(self) -> str:
        """What it is called in the coverage of an answer when it fails."""
        ...

    @property
    def needs(self) -> str:
        """The source it asks: `text`, `vectors` or `records`. It is not asked when that source did not answer."""
        ...

    def fields(self, question: Question) -> Sequence[str]:
        """The fields of the texts, `words` or `bigrams`, in which it looks for this question.

        What is read of small scopes holds no others.
        """
        ...

    def propose(self, search: Search) -> Sequence[str]:
        """Ids, best first.

        Raises `IndexingError` or `ModelError` when it cannot answer: the answer is then made of what the others
        propose, and its coverage says why.
        """
        ...


def _matches(
    search: Search, text: TextSource, name: str, terms: Sequence[str], filters: Filters, limit: int, *, labels: bool
) -> list[str]:
    """The best matches that the filters admit, best first.

    Where only the records can check a condition, more and more matches are looked at until enough of them pass.
    """
    if not filters.needs_record_check:
        return text.propose(name, terms, filters, limit=limit, labels=labels)
    first = FACTOR * limit
    if filters.superset_ids is not None:
        # The index is given the ids of the entries that may pass: hardly any proposal is dropped afterwards.
        first = limit
    elif filters.estimate is not None:
        first = max(first, enough(limit, filters.estimate, text.statistics(filters.scopes, (), ()).entries))

    def fetch(asked: int) -> Fetched[str]:
        found = text.propose(name, terms, filters, limit=asked, labels=labels)
        return passing(found, search.sources.records, filters), len(found) < asked

    return (fetch_until_enough(fetch, limit, first) or [])[:limit]


class WordProposer:
    """Texts, keys and tags that share words with the question: everywhere, and at the times that it names."""

    name = "words"
    needs = TEXT

    def fields(self, question: Question) -> Sequence[str]:
        """The words of the texts."""
        del question
        return ("words",)

    def propose(self, search: Search) -> Sequence[str]:
        """Ids of the best matches by BM25."""
        found = self._matches(search, search.request.filters, search.word_limit)
        return found if search.dated is None else found + self._matches(search, search.dated, search.dated_limit)

    def _matches(self, search: Search, filters: Filters, limit: int) -> list[str]:
        text = search.sources.text
        if text is None or search.request.mode == "semantic":
            return []
        terms = (*search.question.words, *search.question.attributes)
        return search.first(lambda asked: _matches(search, text, "words", terms, filters, asked, labels=True), limit)


class BigramProposer:
    """Texts that share pairs of characters with a question in a script without spaces."""

    name = "bigrams"
    needs = TEXT

    def fields(self, question: Question) -> Sequence[str]:
        """Pairs of characters, where the question has some."""
        return ("bigrams",) if question.bigrams else ()

    def propose(self, search: Search) -> Sequence[str]:
        """Ids of the best matches by BM25."""
        found = self._matches(search, search.request.filters, search.settings.bigram_candidates)
        return found if search.dated is None else found + self._matches(search, search.dated, search.dated_limit)

    def _matches(self, search: Search, filters: Filters, limit: int) -> list[str]:
        text, bigrams = search.sources.text, search.question.bigrams
        if text is None or not bigrams or search.request.mode == "semantic":
            return []
        return search.first(
            lambda asked: _matches(search, text, "bigrams", bigrams, filters, asked, labels=False), limit
        )


class VectorProposer:
    """The texts that are most similar to the question: everywhere, and at the times that it names."""

    name = "vectors"
    needs = VECTORS

    def fields(self, question: Question) -> Sequence[str]:
        """No field of the texts."""
        del question
        return ()

    def propose(self, search: Search) -> Sequence[str]:
        """Ids of the most similar ones."""
        vectors = search.sources.vectors
        if vectors is None:
            return []
        found, dated = search.most_similar(vectors), search.dated
        if dated is None:
            return found
        return found + search.first(lambda asked: vectors.best_in(asked, dated), search.dated_limit)


class DateProposer:
    """Whatever happened at the times that the question names, where similarity does not choose among it."""

    name = "dates"
    needs = RECORDS

    def fields(self, question: Question) -> Sequence[str]:
        """No field of the texts."""
        del question
        return ()

    def propose(self, search: Search) -> Sequence[str]:
        """Ids of the newest entries of these times."""
        dated, records = search.dated, search.sources.records
        if dated is None or search.sources.vectors is not None:
            return []
        return search.first(
            lambda asked: [entry.id for entry in records.page(dated, limit=asked, offset=0)], search.dated_limit
        )


PROPOSERS: Final[tuple[Proposer, ...]] = (WordProposer(), BigramProposer(), VectorProposer(), DateProposer())


def fields_needed(proposers: Sequence[Proposer], question: Question) -> frozenset[str]:
    """The fields of the texts that an answer needs: those of the proposers, and those that the scorer counts."""
    return frozenset(question.fields).union(*(proposer.fields(question) for proposer in proposers))


def ask(
    proposers: Sequence[Proposer], needs: Sequence[str], search: Search, coverage: list[IndexCoverage]
) -> list[str]:
    """What the proposers with these needs propose; a proposer that cannot answer is named in the coverage."""
    found: list[str] = []
    for proposer in proposers:
        if proposer.needs not in needs:
            continue
        try:
            found += proposer.propose(search)
        except IndexDamagedError:
            raise
        except (ModelError, IndexingError) as error:
            failed = not_answered(IndexCoverage(proposer.name, answered=False), error)
            # Each name stands once in the coverage, and the vectors have the same name as index and as proposer.
            coverage[:] = [*(part for part in coverage if part.index != failed.index), failed]
    return found

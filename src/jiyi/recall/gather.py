"""From proposals to the arrays of the scorer."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from datetime import timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from jiyi.ports import ALONE, CONVERSATION, TIMED
from jiyi.recall.dated import date_nearness, inside_dates
from jiyi.recall.evidence import BARE
from jiyi.recall.scorer import NOBODY, Candidates, FieldCounts
from jiyi.text.questions import asks_about_requests, is_question
from jiyi.text.rarity import specificity
from jiyi.text.related_words import related_words
from jiyi.text.term_ids import term_id

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from jiyi.ports import TermRow, TermStatistics, TextSource, Vectors
    from jiyi.recall.question import Question
    from jiyi.recall.scorer import Floats, Rows
    from jiyi.recall.search import FilteredScan, Search
    from jiyi.recall.settings import ScoringWeights

    TermIds: TypeAlias = NDArray[np.uint32]

EXPANSION = 2
"""Entries this near to a proposal are candidates as well: an answer often stands next to what was asked."""
REACH = 2 * EXPANSION
"""How far to read around a proposal, so that every candidate knows its own neighbours."""
NEIGHBOUR_SECONDS = 3600
_DAY = 86_400_000_000
_DAYS_TO_1970 = 719_163
_MICROSECOND = timedelta(microseconds=1)
_STEPS = (-1, 1, -2, 2)
_ITSELF = 2.0
# Few texts say little about what an unrelated one looks like: count this many with similarity 0 beside them.
_PRIOR_TEXTS = 20


class CandidateSet(NamedTuple):
    """The candidates by id, and what the scorer needs."""

    ids: list[str]
    times: list[int]
    candidates: Candidates
    terms: list[bytes]
    """The term ids of each candidate's text; empty when the text source did not answer."""


def gather(
    search: Search, proposals: Sequence[str], statistics: TermStatistics, known: Sequence[TermRow]
) -> CandidateSet:
    """Read the proposals with their surroundings; the statistics are those of the visible texts.

    `known` are some of the proposals that were read before and that have no surroundings.
    """
    question, filters, weights = search.question, search.request.filters, search.settings.weights
    text, vectors = search.sources.text, search.sources.vectors
    if text is None:
        raise TypeError("candidates are gathered from a text source, and this search has none")
    read = {row.entry_id for row in known}
    left = [each for each in proposals if each not in read]
    rows = [*known, *text.windows(left, reach=REACH, scopes=filters.scopes)] if left else list(known)
    if search.request.left_out:
        rows = [row for row in rows if row.entry_id not in search.request.left_out]
    ids = [row.entry_id for row in rows]
    threads = _Threads.of(rows)
    scored = _candidate_rows(ids, set(proposals), threads)
    if not filters.only_scopes:
        admitted = search.sources.records.admitted([ids[place] for place in scored], filters)
        scored = np.asarray([place for place in scored if ids[place] in admitted], dtype=np.int64)
    candidates = scored.tolist()
    times = np.asarray([row.event_time for row in rows], dtype=np.int64)
    row_question_share = _question_shares(rows, threads, weights)
    conversation, counts = _conversations(question, rows, candidates, threads, text, statistics)
    words = _Terms.of([row.words for row in rows], [row.word_counts for row in rows])
    word_counts, related = _counts_and_related(question.words, words, with_related=vectors is not None)
    return CandidateSet(
        ids=[ids[place] for place in candidates],
        times=times[scored].tolist(),
        candidates=Candidates(
            scored=scored,
            neighbours=_neighbours(times, threads)[scored],
            entries=statistics.entries,
            words=_field(
                word_counts,
                [row.length for row in rows],
                statistics.word_df,
                statistics.mean_length,
                [specificity(word) for word in question.words],
            ),
            bigrams=_field(
                _Terms.of([row.bigrams for row in rows], [row.bigram_counts for row in rows]).counts_of(
                    _ids(question.bigrams)
                ),
                [row.bigram_length for row in rows],
                statistics.bigram_df,
                statistics.mean_bigram_length,
                [specificity(pair) for pair in question.bigrams],
            )
            if question.bigrams
            else None,
            conversation=conversation,
            conversation_counts=counts,
            conversations=statistics.conversations,
            date_nearness=date_nearness(search, times[scored], (~threads.conversation & ~threads.timed)[scored])
            if question.dates
            else None,
            inside_dates=inside_dates(search),
            cosine=vectors.of(ids).astype(np.float64) if vectors is not None else None,
            only_dates=question.only_dates,
            date_alone=question.date_alone,
            when_words=np.asarray([word in question.when_words for word in question.words], dtype=np.bool_)
            if question.when_words
            else None,
            mean_cosine=_usual_similarity(vectors, search.reflections) if vectors is not None else 0.0,
            question_share=_unanswered(rows, threads, row_question_share, weights, search.request.query)[scored],
            query_is_question=is_question(search.request.query),
            row_question_share=row_question_share,
            standalone=(~threads.conversation & ~threads.timed)[scored],
            in_conversation=threads.conversation[scored],
            maximal_words=_maximal_words(question.words),
            related=related[scored],
            answers=(_has_any_term(question.answer_terms, words) * ~threads.timed)[scored]
            if question.answer_terms
            else None,
            states_attribute=_has_any_term(question.attributes, words)[scored] if question.attributes else None,
            personal=vectors.personal if vectors is not None else 0.0,
            day=_days(times, threads, search.offset)[scored],
        ),
        terms=[rows[place].words for place in candidates],
    )


def gather_without_text(search: Search, ids: Sequence[str]) -> CandidateSet:
    """Candidates when the text source did not answer: similarity alone, no neighbours."""
    vectors = search.sources.vectors
    if vectors is None:
        raise TypeError("candidates are compared by text or by vectors, and this search has neither")
    ids = [each for each in ids if each not in search.request.left_out]
    count = len(ids)
    return CandidateSet(
        ids=list(ids),
        times=[0] * count,
        candidates=Candidates(
            scored=np.arange(count),
            neighbours=np.full((count, len(_STEPS)), NOBODY),
            entries=vectors.scan.count,
            words=FieldCounts(np.zeros((count, 0)), np.zeros(count), np.zeros(0), 1.0, np.zeros(0)),
            bigrams=None,
            conversation=np.full(count, NOBODY),
            conversation_counts=FieldCounts(np.zeros((0, 0)), np.zeros(0), np.zeros(0), 1.0, np.zeros(0)),
            conversations=0,
            date_nearness=None,
            inside_dates=0,
            cosine=vectors.of(ids).astype(np.float64),
            only_dates=False,
            mean_cosine=_usual_similarity(vectors, search.reflections),
            question_share=np.zeros(count),
            query_is_question=False,
            row_question_share=np.zeros(count),
            standalone=np.zeros(count, dtype=np.bool_),
            in_conversation=np.zeros(count, dtype=np.bool_),
            maximal_words=np.zeros(0, dtype=np.bool_),
            related=np.zeros((count, 0)),
            answers=None,
            states_attribute=None,
            personal=vectors.personal,
            day=np.full(count, NOBODY),
        ),
        terms=[],
    )


def _usual_similarity(vectors: FilteredScan, reflections: AbstractSet[str]) -> float:
    """How similar the question is to a text that has nothing to do with it, as far as the searched ones tell.

    Reflections are similar to what they were made of, and tell nothing.
    """
    mean, count = vectors.scan.mean, vectors.scan.count
    if vectors.allowed is not None:
        known = _finite(vectors.of([each for each in vectors.allowed if each not in reflections], rough=True))
        mean, count = (float(known.mean()), len(known)) if len(known) else (0.0, 0)
    elif reflections:
        theirs = _finite(vectors.of(sorted(reflections), rough=True))
        total, count = mean * count - float(theirs.sum(dtype=np.float64)), count - len(theirs)
        mean = total / count if count > 0 else 0.0
    return mean * count / (count + _PRIOR_TEXTS)


def _finite(similarities: Vectors) -> Vectors:
    return similarities[np.isfinite(similarities)]


class _Threads(NamedTuple):
    """Which rows stand in one thread, and what kind of thread it is: read once, for all rules that need it."""

    number: Rows
    """Row -> thread."""
    conversation: NDArray[np.bool_]
    """Row -> whether its thread is a conversation."""
    timed: NDArray[np.bool_]
    """Row -> whether it stands in order of time only."""
    apart: bool
    """Whether no two rows stand in one thread."""

    @classmethod
    def of(cls, rows: Sequence[TermRow]) -> _Threads:
        if all([row.thread.startswith(ALONE) for row in rows]):  # noqa: C419 - a generator takes three times as long
            no = np.zeros(len(rows), dtype=np.bool_)
            return cls(np.arange(len(rows)), no, no, apart=True)
        names: dict[tuple[str, str], int] = {}
        number = np.asarray([names.setdefault((row.scope, row.thread), len(names)) for row in rows], dtype=np.int64)
        conversation = np.asarray([thread.startswith(CONVERSATION) for _, thread in names], dtype=np.bool_)
        timed = np.asarray([thread.startswith(TIMED) for _, thread in names], dtype=np.bool_)
        return cls(number, conversation[number], timed[number], apart=len(names) == len(rows))

    def same(self, step: int) -> NDArray[np.bool_]:
        """Row -> whether the one so many rows further on stands in the same thread; as many rows less."""
        return np.asarray(self.number[step:] == self.number[:-step])


def _days(times: Rows, threads: _Threads, offset: timedelta) -> Rows:
    """The local day of a record, counted from the year 1. An hour of summer time more or less does not matter here."""
    return np.where(threads.timed, _DAYS_TO_1970 + (times + offset // _MICROSECOND) // _DAY, NOBODY)


def _candidate_rows(ids: Sequence[str], proposed: set[str], threads: _Threads) -> Rows:
    """Places of the proposals and of what stands near them."""
    own = np.asarray([entry_id in proposed for entry_id in ids], dtype=np.bool_)
    found = own.copy()
    for step in () if threads.apart else range(1, EXPANSION + 1):
        same = threads.same(step)
        found[step:] |= own[:-step] & same
        found[:-step] |= own[step:] & same
    return np.flatnonzero(found)


def _neighbours(times: Rows, threads: _Threads) -> Rows:
    """Rows × 4: each one's neighbours, at most an hour from step to step."""
    found = np.full((len(times), len(_STEPS)), NOBODY, dtype=np.int64)
    if threads.apart:
        return found
    linked = threads.same(1) & (np.abs(np.diff(times)) <= NEIGHBOUR_SECONDS * 1_000_000)
    # The rows that are neighbours of the next row, and those that are neighbours of the one after it.
    for step, goes in ((1, linked), (2, linked[1:] & linked[:-1])):
        row = np.flatnonzero(goes)
        found[row + step, _STEPS.index(-step)] = row
        found[row, _STEPS.index(step)] = row + step
    return found


def _question_shares(rows: Sequence[TermRow], threads: _Threads, weights: ScoringWeights) -> Floats:
    """Row -> share of its text that answers nothing; outside conversations only where that is all of a short text.

    A note with a question and its answer, and a long one, count as they are.
    """
    share = np.asarray([row.question_share for row in rows], dtype=np.float64)
    if not share.any():
        return share
    short = np.asarray([row.length for row in rows]) <= weights.question_length
    return np.where(threads.conversation | ((share >= BARE) & short), share, 0.0)


def _unanswered(
    rows: Sequence[TermRow], threads: _Threads, row_question_share: Floats, weights: ScoringWeights, query: str
) -> Floats:
    """A bare question is not an answer, unless it is long, or nothing followed it and nothing is asked now.

    It is one for whoever asks what was asked before.
    """
    if not row_question_share.any():
        return np.zeros(len(rows))
    query_is_question = is_question(query)
    if (threads.apart and not query_is_question) or (query_is_question and asks_about_requests(query)):
        return np.zeros(len(rows))
    followed = np.append(threads.same(1), False) | query_is_question
    short = np.asarray([row.length for row in rows]) <= weights.question_length
    return np.where(followed & short, row_question_share, 0.0)


def _maximal_words(words: Sequence[str]) -> NDArray[np.bool_]:
    """Chinese words are also looked for by the words inside them, which add no information of their own."""
    # In a text of all words, one a line, a word that is part of another one occurs more than once.
    together = "\n".join(dict.fromkeys(words))
    return np.asarray([together.count(word) == 1 for word in words], dtype=np.bool_)


class _Terms(NamedTuple):
    """The terms of one field of all rows, one after the other."""

    ids: TermIds
    counts: NDArray[np.uint8]
    ends: Rows
    """Row -> where its terms end."""

    @classmethod
    def of(cls, terms: Sequence[bytes], counts: Sequence[bytes]) -> _Terms:
        ends = np.cumsum([len(count) for count in counts], dtype=np.int64)
        return cls(np.frombuffer(b"".join(terms), dtype="<u4"), np.frombuffer(b"".join(counts), dtype=np.uint8), ends)

    def possible_places(self, ids: TermIds) -> Rows:
        """Where one of these terms may stand. Most terms are none of them: half of the bits tell that at once."""
        may_be = np.zeros(1 << 16, dtype=np.bool_)
        may_be[ids & 0xFFFF] = True
        return np.flatnonzero(may_be[self.ids & 0xFFFF])

    def find(self, ids: TermIds) -> tuple[Rows, Rows, Rows]:
        """Where these terms stand: for each time one of them does its place, its row, and which one it is."""
        places = self.possible_places(ids)
        possible = self.ids[places]
        order = ids.argsort(kind="stable")
        ordered = ids[order]
        first = ordered.searchsorted(possible)
        if (ordered[1:] == ordered[:-1]).any():
            # The related words of two words may be the same.
            times = ordered.searchsorted(possible, side="right") - first
            at = np.repeat(np.arange(len(places)), times)
            which = order[first[at] + np.arange(len(at)) - (times.cumsum() - times)[at]]
        else:
            at = np.flatnonzero(ordered[np.minimum(first, len(ordered) - 1)] == possible)
            which = order[first[at]]
        places = places[at]
        return places, self.ends.searchsorted(places, side="right"), which

    def counts_of(self, ids: TermIds) -> Floats:
        """Rows × terms: how often each of these terms stands in a row."""
        found = np.zeros((len(self.ends), len(ids)))
        if len(ids):
            places, rows, which = self.find(ids)
            found[rows, which] = self.counts[places]
        return found


def _field(
    tf: Floats, lengths: Sequence[int], df: Sequence[int], mean_length: float, specificities: Sequence[float]
) -> FieldCounts:
    return FieldCounts(
        tf,
        np.asarray(lengths, dtype=np.float64),
        np.asarray(df, dtype=np.float64),
        mean_length,
        np.asarray(specificities, dtype=np.float64),
    )


def _ids(terms: Sequence[str]) -> TermIds:
    return np.asarray([term_id(term) for term in terms], dtype=np.uint32)


@lru_cache(maxsize=2_000)
def _instead_of(word: str) -> tuple[TermIds, Floats]:
    """A word and the words that stand for it, with how much each says.

    The word itself says more than any other: where it stands, the others are not counted.
    """
    others = related_words(word)
    return _ids((word, *others)), np.asarray((_ITSELF, *others.values()))


def _counts_and_related(words: Sequence[str], terms: _Terms, *, with_related: bool) -> tuple[Floats, Floats]:
    """Rows × words, both: how often a word stands in a row, and how much the best word says that stands there instead.

    The second is 0 beside the word itself. Both in one search.
    """
    related = np.zeros((len(terms.ends), len(words)))
    wanted = [_instead_of(word) for word in words] if with_related else []
    sizes = [len(ids) for ids, _ in wanted]
    if sum(sizes) <= len(words):
        return terms.counts_of(_ids(words)), related
    counts = np.zeros_like(related)
    columns = np.repeat(np.arange(len(words)), sizes)
    places, rows, which = terms.find(np.concatenate([ids for ids, _ in wanted]))
    columns, says = columns[which], np.concatenate([weights for _, weights in wanted])[which]
    itself = says >= _ITSELF
    counts[rows[itself], columns[itself]] = terms.counts[places[itself]]
    np.maximum.at(related, (rows, columns), says)
    related[related >= _ITSELF] = 0.0
    return counts, related


@lru_cache(maxsize=128)
def _sorted_ids(terms: tuple[str, ...]) -> TermIds:
    """Kept: there are a few kinds of answers, each with hundreds of terms, and some dozens of attributes."""
    return np.sort(_ids(terms))


def _has_any_term(names: tuple[str, ...], terms: _Terms) -> Floats:
    """Row -> 1 where it has one of these terms, of which there are hundreds."""
    ids = _sorted_ids(names)
    places = terms.possible_places(ids)
    possible = terms.ids[places]
    places = places[ids[np.minimum(ids.searchsorted(possible), len(ids) - 1)] == possible]
    found = np.zeros(len(terms.ends))
    found[terms.ends.searchsorted(places, side="right")] = 1.0
    return found


def _conversations(
    question: Question,
    rows: Sequence[TermRow],
    places: Sequence[int],
    threads: _Threads,
    text: TextSource,
    statistics: TermStatistics,
) -> tuple[Rows, FieldCounts]:
    df = np.asarray(statistics.conversation_df, dtype=np.float64)
    which = np.full(len(places), NOBODY)
    in_conversation = [place for place in places if threads.conversation[place]] if threads.conversation.any() else []
    if not in_conversation or not question.words:
        nothing = FieldCounts(np.zeros((0, len(df))), np.zeros(0), df, statistics.mean_conversation_length, np.ones(0))
        return which, nothing
    named = list(dict.fromkeys((rows[place].scope, rows[place].thread) for place in in_conversation))
    found = text.conversations(named, question.words)
    number = {thread: line for line, thread in enumerate(found)}
    tf = np.asarray([counts for _, counts in found.values()], dtype=np.float64).reshape(len(found), len(question.words))
    lengths = np.asarray([length for length, _ in found.values()], dtype=np.float64)
    if number:
        which[:] = [number.get((rows[place].scope, rows[place].thread), NOBODY) for place in places]
    return which, FieldCounts(tf, lengths, df, statistics.mean_conversation_length, np.ones(len(df)))

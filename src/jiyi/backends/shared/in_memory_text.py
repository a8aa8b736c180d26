"""`InMemoryTextIndex`: a text index over the rows of a few small scopes, which were all read at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeAlias, assert_never

import numpy as np

from jiyi.backends.shared.bm25 import PackedTexts, TermCounts, bm25_order
from jiyi.backends.shared.filters import (
    AnyDomain,
    AnyId,
    AnyOf,
    Condition,
    EveryTag,
    InPeriods,
    NoneOf,
    Word,
    conditions,
)
from jiyi.backends.shared.term_rows import NOT_COUNTED, UNIT, mean_length
from jiyi.model import clock
from jiyi.model.bm25 import LENGTH_FLOOR
from jiyi.model.filters import Filters
from jiyi.ports import ALONE, CONVERSATION, TermRow, TermStatistics
from jiyi.text.term_ids import term_id

Row: TypeAlias = tuple[Any, ...]
Conversations: TypeAlias = dict[tuple[str, str], list[int]]
"""(scope, thread) -> the places of its texts."""

COLUMNS = (
    "scope",
    "thread",
    "position",
    "event_time",
    "entry_id",
    "length",
    "bigram_length",
    "question_share",
    "words",
    "word_counts",
    "counted",
    "bigrams",
    "bigram_counts",
    "counted_bigrams",
    "category",
    "memory_type",
    "domains",
    "tags",
)

if TYPE_CHECKING:
    from jiyi.backends.shared.bm25 import Lengths
"""The columns of a row. The last four are for filters and may be left out; the three before them may be `None`."""
BIGRAM_COLUMNS, FILTER_COLUMNS = slice(11, 14), slice(14, 18)
_THREAD, _EVENT_TIME, _ID, _LENGTH, _BIGRAM_LENGTH, _QUESTION_SHARE = 1, 3, 4, 5, 6, 7
_WORDS, _WORD_COUNTS, _COUNTED, _BIGRAMS, _BIGRAM_COUNTS, _COUNTED_BIGRAMS = 8, 9, 10, 11, 12, 13
_CATEGORY, _MEMORY_TYPE, _DOMAINS, _TAGS = 14, 15, 16, 17
_MAX_COUNTS = 16
"""So many counts of terms are kept: a question asks for some of them twice, and others may ask at the same time."""
_COLUMN_OF: dict[Word, int] = {"category": _CATEGORY, "memory_type": _MEMORY_TYPE, "conversation": _THREAD}


class InMemoryTextIndex:
    """A `TextSource` over rows in memory; labels are part of the words."""

    def __init__(self, rows: Iterable[Row]) -> None:
        """`rows` have the values of `COLUMNS`; the thread of an entry without neighbours may be `None`."""
        alone: list[Row] = []
        threaded: list[Row] = []
        for row in rows:
            thread = row[_THREAD]
            (alone if thread is None or thread.startswith(ALONE) else threaded).append(row)
        # A thread in its own order; the order of the others is arbitrary but always the same.
        threaded.sort(key=_place)
        alone.sort(key=itemgetter(_ID))
        self._rows = threaded + alone
        self._threaded = len(threaded)
        self._made: dict[int, TermRow] = {}
        """Place -> its row for the scorer. Kept: several questions are asked of the same texts."""
        self._counts: dict[tuple[str, tuple[str, ...]], TermCounts] = {}
        self._packed: dict[str, PackedTexts] = {}
        self._totals: tuple[float, float, Conversations, float] | None = None
        self._lengths = {
            name: np.fromiter((row[place] for row in self._rows), dtype=np.int64, count=len(self._rows))
            for name, place in (("words", _LENGTH), ("bigrams", _BIGRAM_LENGTH))
        }

        counted = (row[_COUNTED] != NOT_COUNTED for row in self._rows)
        self._in_statistics = np.fromiter(counted, dtype=np.bool_, count=len(self._rows))

    @cached_property
    def reflections(self) -> frozenset[str]:
        """Ids of the texts that are in no statistics."""
        return frozenset(row[_ID] for row in self._rows if row[_COUNTED] == NOT_COUNTED)

    def __len__(self) -> int:
        return len(self._rows)

    def propose(
        self, field: str, terms: Sequence[str], filters: Filters, *, limit: int, labels: bool = False
    ) -> list[str]:
        """Ids of the best matches, best first."""
        del labels
        rows = self._rows
        if not terms or not rows:
            return []
        tf, lengths = self._counted(field, tuple(dict.fromkeys(terms))).tf, self._lengths[field]
        wanted = list(conditions(filters))
        if wanted:
            places = [place for place, row in enumerate(rows) if all(_meets(row, each) for each in wanted)]
            if not places:
                return []
            rows, tf, lengths = [rows[place] for place in places], tf[places], lengths[places]
        ids = [row[_ID] for row in rows]
        return [ids[place] for place in bm25_order(tf, lengths, [row[_EVENT_TIME] for row in rows], ids, limit)]

    def statistics(self, scopes: Sequence[str], words: Sequence[str], bigrams: Sequence[str]) -> TermStatistics:
        """Numbers of all the texts together."""
        del scopes
        if self._totals is None:
            self._totals = self._summed()
        mean_length, mean_bigram_length, conversations, mean_conversation_length = self._totals
        return TermStatistics(
            entries=int(self._in_statistics.sum()),
            mean_length=mean_length,
            mean_bigram_length=mean_bigram_length,
            word_df=self._df("words", words),
            bigram_df=self._df("bigrams", bigrams),
            conversations=len(conversations),
            mean_conversation_length=mean_conversation_length,
            conversation_df=self._conversation_df(conversations, words),
        )

    def _summed(self) -> tuple[float, float, Conversations, float]:
        """What the statistics need of all texts, whatever is asked."""
        conversations = self._conversations()
        lengths = [int(self._lengths["words"][places].sum()) for places in conversations.values()]
        return (
            _mean(self._lengths["words"][self._in_statistics]),
            _mean(self._lengths["bigrams"][self._in_statistics]),
            conversations,
            _mean(np.asarray(lengths, dtype=np.int64)),
        )

    def windows(self, ids: Sequence[str], *, reach: int, scopes: Sequence[str] = ()) -> list[TermRow]:
        """Texts by id with up to `reach` others before and after each in its thread, in order."""
        del scopes
        wanted, rows, threaded = set(ids), self._rows, self._threaded
        shown: set[int] = set()
        for place in range(threaded):
            if rows[place][_ID] in wanted:
                thread = rows[place][: _THREAD + 1]
                near = range(max(0, place - reach), min(threaded, place + reach + 1))
                shown.update(other for other in near if rows[other][: _THREAD + 1] == thread)
        found = sorted(shown)
        found += [place for place in range(threaded, len(rows)) if rows[place][_ID] in wanted]
        made = self._made
        return [made.get(place) or made.setdefault(place, _term_row(rows[place])) for place in found]

    def conversations(
        self, threads: Iterable[tuple[str, str]], words: Sequence[str]
    ) -> dict[tuple[str, str], tuple[int, tuple[int, ...]]]:
        """For each (scope, conversation) its length and how often each word occurs in it."""
        conversations = self._conversations()
        counted = self._counted("words", tuple(words)).counted
        found = {}
        for thread in threads:
            places = conversations.get(thread, [])
            frequencies = counted[places].sum(axis=0).astype(np.int64).tolist()
            found[thread] = (int(self._lengths["words"][places].sum()), tuple(frequencies))
        return found

    # --- statistics -----------------------------------------------------------------------------------------------

    def _counted(self, field: str, terms: tuple[str, ...]) -> TermCounts:
        found = self._counts.get((field, terms))
        if found is None:
            packed = self._packed.get(field)
            if packed is None:
                self._packed[field] = packed = self._pack(field)
            unique = tuple(dict.fromkeys(terms))
            found = packed.count([term_id(term) for term in unique])
            if len(unique) < len(terms):
                places = [unique.index(term) for term in terms]
                found = TermCounts(found.tf[:, places], found.counted[:, places])
            if len(self._counts) >= _MAX_COUNTS:
                self._counts.clear()
            self._counts[field, terms] = found
        return found

    def _pack(self, field: str) -> PackedTexts:
        rows = self._rows
        terms, counts = [row[_WORDS] for row in rows], [row[_WORD_COUNTS] for row in rows]
        counted = [row[_COUNTED] for row in rows]
        if field == "bigrams":
            for place, row in enumerate(rows):
                # The bigrams of a text without Han characters are its words, stored once.
                if row[_BIGRAMS]:
                    terms[place], counts[place] = row[_BIGRAMS], row[_BIGRAM_COUNTS]
                    counted[place] = row[_COUNTED_BIGRAMS]
        return PackedTexts(terms, counts, [max(0, number) for number in counted])

    def _df(self, field: str, terms: Sequence[str]) -> tuple[int, ...]:
        if not terms:
            return ()
        return tuple((self._counted(field, tuple(terms)).counted > 0).sum(axis=0).tolist())

    def _conversations(self) -> Conversations:
        found: Conversations = defaultdict(list)
        for place, row in enumerate(self._rows[: self._threaded]):
            if row[_THREAD].startswith(CONVERSATION) and self._in_statistics[place]:
                found[row[0], row[_THREAD]].append(place)
        return found

    def _conversation_df(self, conversations: Conversations, words: Sequence[str]) -> tuple[int, ...]:
        if not conversations:
            return (0,) * len(words)
        counted = self._counted("words", tuple(words)).counted
        present = np.asarray([counted[places].sum(axis=0) > 0 for places in conversations.values()])
        return tuple(present.sum(axis=0).tolist())


def _term_row(row: Row) -> TermRow:
    return TermRow(
        row[0],
        row[_THREAD] or ALONE + row[_ID],
        row[_EVENT_TIME],
        row[_ID],
        row[_LENGTH],
        row[_BIGRAM_LENGTH],
        row[_QUESTION_SHARE],
        row[_WORDS],
        row[_WORD_COUNTS],
        row[_BIGRAMS] or row[_WORDS],
        row[_BIGRAM_COUNTS] or row[_WORD_COUNTS],
    )


def _place(row: Row) -> Row:
    return row[: _ID + 1]


def _mean(lengths: Lengths) -> float:
    """`mean_length` of an array."""
    return mean_length(len(lengths), int((UNIT // np.maximum(lengths, LENGTH_FLOOR)).sum()))


def _meets(row: Row, condition: Condition) -> bool:
    """Whether a row meets a condition of a filter."""
    match condition:
        case AnyOf(word, values):
            return _word(row, word) in values
        case NoneOf(word, values):
            return _word(row, word) not in values
        case AnyDomain(domains):
            return any(domain in domains for domain in row[_DOMAINS])
        case EveryTag(tags):
            return all(tag in row[_TAGS] for tag in tags)
        case InPeriods(periods):
            moment = row[_EVENT_TIME]
            return any(
                (start is None or moment >= clock.microseconds(start))
                and (end is None or moment < clock.microseconds(end))
                for start, end in periods
            )
        case AnyId(ids):
            return row[_ID] in ids
        case _:
            assert_never(condition)


def _word(row: Row, word: Word) -> str | None:
    value: str | None = row[_COLUMN_OF[word]]
    if word != "conversation":
        return value
    return value.removeprefix(CONVERSATION) if value is not None and value.startswith(CONVERSATION) else None

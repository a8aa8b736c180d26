"""All texts of a few small scopes, at hand: what a text index answers, worked out of rows that were read at once.

The answers are those of an index that keeps its numbers; nothing is asked of anybody here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from jiyi.backends.term_rows import LENGTH_FLOOR, mean_length, shortness, term_id, term_row
from jiyi.model import clock
from jiyi.model.filters import Filters
from jiyi.ports import ALONE, CONVERSATION, TermRow, TermStatistics

Row: TypeAlias = tuple[Any, ...]
Floats: TypeAlias = NDArray[np.float64]

SHOWN = (
    "scope, thread, position, event_time, entry_id, length, bigram_length, question_share, "
    "words, word_counts, bigrams, bigram_counts, counted, counted_bigrams"
)
"""The columns of a row."""
FILTERED = "category, memory_type, domains, tags"
"""And those that only filters look at, after them."""
_THREAD, _EVENT_TIME, _ID, _LENGTH, _BIGRAM_LENGTH = 1, 3, 4, 5, 6
_WORDS, _WORD_COUNTS, _BIGRAMS, _BIGRAM_COUNTS, _COUNTED, _COUNTED_BIGRAMS = 8, 9, 10, 11, 12, 13
_CATEGORY, _MEMORY_TYPE, _DOMAINS, _TAGS = 14, 15, 16, 17
# The numbers of the scorer.
_K1, _B = 0.9, 0.75


class TermCounts(NamedTuple):
    """How often some terms stand in some texts."""

    tf: Floats
    """Texts × terms."""
    counted: Floats
    """The same without the terms that have no statistics."""


def count_terms(
    terms: Sequence[bytes], counts: Sequence[bytes], wanted: Sequence[int], counted: Sequence[int]
) -> TermCounts:
    """Count the wanted terms in every text at once; the first `counted` terms of a text have statistics."""
    tf = np.zeros((len(terms), len(wanted)))
    inside = np.zeros_like(tf)
    if wanted and terms:
        ids = np.frombuffer(b"".join(terms), dtype="<u4")
        times = np.frombuffer(b"".join(counts), dtype=np.uint8)
        sizes = np.fromiter(map(len, counts), dtype=np.int64, count=len(counts))
        numbers = np.asarray(wanted, dtype=np.uint32)
        order = np.argsort(numbers)
        ordered = numbers[order]
        at = np.minimum(np.searchsorted(ordered, ids), len(ordered) - 1)
        (match,) = np.nonzero(ordered[at] == ids)
        ends = np.cumsum(sizes)
        row = np.searchsorted(ends, match, side="right")
        column = order[at[match]]
        found = times[match]
        tf[row, column] = found
        first = match - (ends - sizes)[row] < np.asarray(counted, dtype=np.int64)[row]
        inside[row[first], column[first]] = found[first]
    return TermCounts(tf, inside)


def bm25_order(
    tf: Floats,
    lengths: Floats,
    times: Sequence[int],
    limit: int,
    df: Sequence[int] | None = None,
    entries: int = 0,
    mean: float = 0.0,
) -> list[int]:
    """The texts with the highest BM25; of equal ones the newest. Without `df` the numbers are those of the texts."""
    floored = np.maximum(lengths, LENGTH_FLOOR)
    if df is None:
        frequency, entries, mean = (tf > 0).sum(axis=0).astype(np.float64), len(tf), float(floored.mean())
    else:
        frequency = np.asarray(df, dtype=np.float64)
    idf = np.log(1.0 + (np.maximum(entries - frequency, 0.0) + 0.5) / (frequency + 0.5))
    norm = _K1 * (1.0 - _B + _B * floored / max(mean, 1.0))
    scores = ((_K1 + 1.0) * tf * idf / (tf + norm[:, None])).sum(axis=1).tolist()
    places = [place for place, score in enumerate(scores) if score > 0]
    places.sort(key=lambda place: (-scores[place], -times[place]))
    return places[:limit]


class WholeText:
    """Proposes, counts and shows surroundings, as `TextIndex` does; labels are part of the words."""

    def __init__(self, rows: list[Row]) -> None:
        """`rows` have the columns `SHOWN`, and where filters are to be met also `FILTERED`."""
        # In the order of threads, and in each thread in its order: no two rows have the same id.
        rows.sort(key=_place)
        self._rows = rows
        self._counts: dict[tuple[str, tuple[str, ...]], TermCounts] = {}
        self._talking = any(row[_THREAD].startswith(CONVERSATION) for row in rows)

    def propose(
        self, field: str, terms: Sequence[str], filters: Filters, *, limit: int, labels: bool = False
    ) -> list[str]:
        """Ids of the best matches, best first."""
        del labels
        rows = self._rows
        if not terms or not rows:
            return []
        tf = self._counted(field, tuple(dict.fromkeys(terms))).tf
        if not filters.only_scopes:
            places = [place for place, row in enumerate(rows) if _admits(row, filters)]
            if not places:
                return []
            rows, tf = [rows[place] for place in places], tf[places]
        length = _LENGTH if field == "words" else _BIGRAM_LENGTH
        lengths = np.fromiter((row[length] for row in rows), dtype=np.float64, count=len(rows))
        best = bm25_order(tf, lengths, [row[_EVENT_TIME] for row in rows], limit)
        return [rows[place][_ID] for place in best]

    def statistics(self, scopes: Sequence[str], words: Sequence[str], bigrams: Sequence[str]) -> TermStatistics:
        """Numbers of all the texts together."""
        del scopes
        rows = self._rows
        talks = self._talks()
        return TermStatistics(
            entries=len(rows),
            mean_length=mean_length(len(rows), sum(shortness(row[_LENGTH]) for row in rows)),
            mean_bigram_length=mean_length(len(rows), sum(shortness(row[_BIGRAM_LENGTH]) for row in rows)),
            word_df=self._df("words", words),
            bigram_df=self._df("bigrams", bigrams),
            conversations=len(talks),
            mean_conversation_length=mean_length(
                len(talks), sum(shortness(sum(rows[place][_LENGTH] for place in talk)) for talk in talks.values())
            ),
            conversation_df=self._conversation_df(talks, words),
        )

    def windows(self, ids: Sequence[str], *, reach: int, scopes: Sequence[str] = ()) -> list[TermRow]:
        """Texts by id with up to `reach` others before and after each in its thread, in order."""
        del scopes
        wanted, rows = set(ids), self._rows
        shown = [False] * len(rows)
        for place, row in enumerate(rows):
            if row[_ID] in wanted:
                shown[place] = True
                if not row[_THREAD].startswith(ALONE):
                    for near in range(max(0, place - reach), min(len(rows), place + reach + 1)):
                        shown[near] = shown[near] or rows[near][: _THREAD + 1] == row[: _THREAD + 1]
        return [
            term_row(row[0], row[_THREAD], row[_EVENT_TIME], row[_ID], row[_LENGTH:_COUNTED])
            for row, here in zip(rows, shown, strict=True)
            if here
        ]

    def conversations(
        self, threads: Iterable[tuple[str, str]], words: Sequence[str]
    ) -> dict[tuple[str, str], tuple[int, tuple[int, ...]]]:
        """For each (scope, conversation) its length and how often each word stands in it."""
        talks = self._talks()
        counted = self._counted("words", tuple(words)).counted
        found = {}
        for thread in threads:
            places = talks.get(thread, [])
            spoken = counted[places].sum(axis=0).astype(np.int64).tolist()
            found[thread] = (sum(self._rows[place][_LENGTH] for place in places), tuple(spoken))
        return found

    def term_ids(self, terms: Sequence[str]) -> list[int]:
        """The numbers under which `windows` shows these terms."""
        return [term_id(term) for term in terms]

    # --- numbers --------------------------------------------------------------------------------------------------

    def _counted(self, field: str, terms: tuple[str, ...]) -> TermCounts:
        found = self._counts.get((field, terms))
        if found is None:
            if field == "words":
                columns = [row[_WORDS : _WORD_COUNTS + 1] + (row[_COUNTED],) for row in self._rows]
            else:
                # A text without Han has its pairs under its words.
                columns = [
                    row[_BIGRAMS : _BIGRAM_COUNTS + 1] + (row[_COUNTED_BIGRAMS],)
                    if row[_BIGRAMS]
                    else row[_WORDS : _WORD_COUNTS + 1] + (row[_COUNTED],)
                    for row in self._rows
                ]
            packed, counts, counted = zip(*columns, strict=True) if columns else ((), (), ())
            # A term that is asked for twice is counted in the place of the first.
            once = tuple(dict.fromkeys(terms))
            found = count_terms(packed, counts, self.term_ids(once), counted)
            if len(once) < len(terms):
                places = [once.index(term) for term in terms]
                found = TermCounts(found.tf[:, places], found.counted[:, places])
            self._counts[field, terms] = found
        return found

    def _df(self, field: str, terms: Sequence[str]) -> tuple[int, ...]:
        if not terms:
            return ()
        return tuple((self._counted(field, tuple(terms)).counted > 0).sum(axis=0).tolist())

    def _talks(self) -> dict[tuple[str, str], list[int]]:
        """(scope, conversation) -> the places of what was said in it."""
        found: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        if self._talking:
            for place, row in enumerate(self._rows):
                if row[_THREAD].startswith(CONVERSATION):
                    found[row[0], row[_THREAD]].append(place)
        return found

    def _conversation_df(self, talks: dict[tuple[str, str], list[int]], words: Sequence[str]) -> tuple[int, ...]:
        if not talks:
            return (0,) * len(words)
        counted = self._counted("words", tuple(words)).counted
        said = np.asarray([counted[places].sum(axis=0) > 0 for places in talks.values()])
        return tuple(said.sum(axis=0).tolist())


def _place(row: Row) -> Row:
    return row[: _ID + 1]


def _admits(row: Row, filters: Filters) -> bool:
    """Whether a text meets every condition but that of its scope."""
    moment = row[_EVENT_TIME]
    return (
        (not filters.categories or row[_CATEGORY] in filters.categories)
        and (not filters.memory_types or row[_MEMORY_TYPE] in filters.memory_types)
        and row[_MEMORY_TYPE] not in filters.without_types
        and (not filters.domains or any(domain in filters.domains for domain in row[_DOMAINS]))
        and all(tag in row[_TAGS] for tag in filters.tags)
        and (not filters.conversations or any(row[_THREAD] == CONVERSATION + each for each in filters.conversations))
        and (filters.since is None or moment >= clock.microseconds(filters.since))
        and (filters.until is None or moment < clock.microseconds(filters.until))
        and (
            not filters.periods
            or any(clock.microseconds(start) <= moment < clock.microseconds(end) for start, end in filters.periods)
        )
    )

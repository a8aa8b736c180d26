"""All texts of a few small scopes, at hand: what a text index answers, worked out of rows that were read at once.

The answers are those of an index that keeps its numbers; nothing is asked of anybody here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from jiyi.backends.shared.term_rows import UNIT, mean_length, term_id
from jiyi.model import clock
from jiyi.model.bm25 import K1, LENGTH_FLOOR, B
from jiyi.model.filters import Filters
from jiyi.ports import ALONE, CONVERSATION, TermRow, TermStatistics

Row: TypeAlias = tuple[Any, ...]
Floats: TypeAlias = NDArray[np.float64]

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
"""What a row says. The last four are for filters and may be left out; the three before them may be `None`."""
FOR_BIGRAMS, FOR_FILTERS = slice(11, 14), slice(14, 18)
_THREAD, _EVENT_TIME, _ID, _LENGTH, _BIGRAM_LENGTH, _QUESTION_SHARE = 1, 3, 4, 5, 6, 7
_WORDS, _WORD_COUNTS, _COUNTED, _BIGRAMS, _BIGRAM_COUNTS, _COUNTED_BIGRAMS = 8, 9, 10, 11, 12, 13
_CATEGORY, _MEMORY_TYPE, _DOMAINS, _TAGS = 14, 15, 16, 17


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
    inside = np.zeros((len(terms), len(wanted)))
    if wanted and terms:
        ids = np.frombuffer(b"".join(terms), dtype="<u4")
        times = np.frombuffer(b"".join(counts), dtype=np.uint8)
        sizes = np.fromiter(map(len, counts), dtype=np.int64, count=len(counts))
        # A question has few terms: comparing all with all is sooner done than sorting anything.
        column, match = (ids == np.asarray(wanted, dtype=np.uint32)[:, None]).nonzero()
        ends = sizes.cumsum()
        row = ends.searchsorted(match, side="right")
        found = times[match]
        tf[row, column] = found
        # How far behind the first term of its text it stands.
        inside[row, column] = found * (match - (ends - sizes)[row] < np.asarray(counted, dtype=np.int64)[row])
    return TermCounts(tf, inside)


def bm25_order(
    tf: Floats,
    lengths: NDArray[np.int64],
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
    norm = K1 * (1.0 - B + B * floored / max(mean, 1.0))
    scores = ((K1 + 1.0) * tf * idf / (tf + norm[:, None])).sum(axis=1).tolist()
    places = [place for place, score in enumerate(scores) if score > 0]
    places.sort(key=lambda place: (-scores[place], -times[place]))
    return places[:limit]


class InMemoryTextIndex:
    """Proposes, counts and shows surroundings, as `TextIndex` does; labels are part of the words."""

    def __init__(self, rows: Iterable[Row]) -> None:
        """`rows` say what `COLUMNS` are; the thread of who stands alone may be `None`."""
        alone: list[Row] = []
        together: list[Row] = []
        for row in rows:
            thread = row[_THREAD]
            (alone if thread is None or thread.startswith(ALONE) else together).append(row)
        # Each thread in its order; the others in any, but always in the same.
        together.sort(key=_place)
        alone.sort(key=itemgetter(_ID))
        self._rows = together + alone
        self._together = len(together)
        self._counts: dict[tuple[str, tuple[str, ...]], TermCounts] = {}
        self._lengths = {
            name: np.fromiter((row[place] for row in self._rows), dtype=np.int64, count=len(self._rows))
            for name, place in (("words", _LENGTH), ("bigrams", _BIGRAM_LENGTH))
        }

    def propose(
        self, field: str, terms: Sequence[str], filters: Filters, *, limit: int, labels: bool = False
    ) -> list[str]:
        """Ids of the best matches, best first."""
        del labels
        rows = self._rows
        if not terms or not rows:
            return []
        tf, lengths = self._counted(field, tuple(dict.fromkeys(terms))).tf, self._lengths[field]
        if not filters.only_scopes:
            places = [place for place, row in enumerate(rows) if _admits(row, filters)]
            if not places:
                return []
            rows, tf, lengths = [rows[place] for place in places], tf[places], lengths[places]
        best = bm25_order(tf, lengths, [row[_EVENT_TIME] for row in rows], limit)
        return [rows[place][_ID] for place in best]

    def statistics(self, scopes: Sequence[str], words: Sequence[str], bigrams: Sequence[str]) -> TermStatistics:
        """Numbers of all the texts together."""
        del scopes
        talks = self._talks()
        spoken = [int(self._lengths["words"][talk].sum()) for talk in talks.values()]
        return TermStatistics(
            entries=len(self._rows),
            mean_length=_mean(self._lengths["words"]),
            mean_bigram_length=_mean(self._lengths["bigrams"]),
            word_df=self._df("words", words),
            bigram_df=self._df("bigrams", bigrams),
            conversations=len(talks),
            mean_conversation_length=_mean(np.asarray(spoken, dtype=np.int64)),
            conversation_df=self._conversation_df(talks, words),
        )

    def windows(self, ids: Sequence[str], *, reach: int, scopes: Sequence[str] = ()) -> list[TermRow]:
        """Texts by id with up to `reach` others before and after each in its thread, in order."""
        del scopes
        wanted, rows, together = set(ids), self._rows, self._together
        shown: set[int] = set()
        for place in range(together):
            if rows[place][_ID] in wanted:
                thread = rows[place][: _THREAD + 1]
                near = range(max(0, place - reach), min(together, place + reach + 1))
                shown.update(other for other in near if rows[other][: _THREAD + 1] == thread)
        found = [rows[place] for place in sorted(shown)]
        found += [row for row in rows[together:] if row[_ID] in wanted]
        return [
            TermRow(
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
            for row in found
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
            found[thread] = (int(self._lengths["words"][places].sum()), tuple(spoken))
        return found

    def term_ids(self, terms: Sequence[str]) -> list[int]:
        """The numbers under which `windows` shows these terms."""
        return [term_id(term) for term in terms]

    # --- numbers --------------------------------------------------------------------------------------------------

    def _counted(self, field: str, terms: tuple[str, ...]) -> TermCounts:
        found = self._counts.get((field, terms))
        if found is None:
            rows = self._rows
            packed, counts = [row[_WORDS] for row in rows], [row[_WORD_COUNTS] for row in rows]
            counted = [row[_COUNTED] for row in rows]
            if field == "bigrams":
                for place, row in enumerate(rows):
                    # A text without Han has its pairs under its words.
                    if row[_BIGRAMS]:
                        packed[place], counts[place] = row[_BIGRAMS], row[_BIGRAM_COUNTS]
                        counted[place] = row[_COUNTED_BIGRAMS]
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
        for place, row in enumerate(self._rows[: self._together]):
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


def _mean(lengths: NDArray[np.int64]) -> float:
    """As `mean_length`, of all at once."""
    return mean_length(len(lengths), int((UNIT // np.maximum(lengths, LENGTH_FLOOR)).sum()))


def _admits(row: Row, filters: Filters) -> bool:
    """Whether a text meets every condition but that of its scope."""
    moment = row[_EVENT_TIME]
    return (
        (not filters.categories or row[_CATEGORY] in filters.categories)
        and (not filters.memory_types or row[_MEMORY_TYPE] in filters.memory_types)
        and (not filters.without_types or row[_MEMORY_TYPE] not in filters.without_types)
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

"""`ArchivedTexts`: a text source together with entries that no index holds any more.

A question about an earlier time is also answered by what had not expired then, or was corrected since. Such entries are
few and such questions are rare, so their texts are analysed when they are asked for.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from jiyi.backends.shared.term_rows import Features, analyse, features_of, term_row
from jiyi.model.bm25 import LENGTH_FLOOR
from jiyi.model.entry import MemoryEntry
from jiyi.model.filters import Filters
from jiyi.ports import ALONE, CONVERSATION, TermRow, TermStatistics, TextSource
from jiyi.text.term_ids import term_id

if TYPE_CHECKING:
    from jiyi.text import Analyzer


class ArchivedTexts:
    """Finds by words what the source finds, and these entries. They have no neighbours."""

    def __init__(self, source: TextSource, analyzer: Analyzer, entries: Sequence[MemoryEntry]) -> None:
        self._source = source
        self._entries = {entry.id: entry for entry in entries}
        self._features = [features_of(analyse(analyzer, entry)) for entry in entries]
        self._rows = {row.entry_id: _row(row) for row in self._features}
        self._conversations = {
            (row.scope, _own_thread(row)): (row.scope, row.thread)
            for row in self._features
            if row.thread.startswith(CONVERSATION)
        }

    def propose(
        self, field: str, terms: Sequence[str], filters: Filters, *, limit: int, labels: bool = False
    ) -> list[str]:
        """Ids of these entries that have a term, those with most terms first, and what the source proposes."""
        wanted = {term_id(term) for term in terms}
        matched = {
            row.entry_id: len(wanted.intersection(array("I", row.words if field == "words" else row.bigrams)))
            for row in self._rows.values()
            if filters.admits(self._entries[row.entry_id])
        }
        own = sorted((entry_id for entry_id, count in matched.items() if count), key=lambda each: -matched[each])
        return [*own[:limit], *self._source.propose(field, terms, filters, limit=limit, labels=labels)]

    def windows(self, ids: Sequence[str], *, reach: int, scopes: Sequence[str] = ()) -> list[TermRow]:
        """Texts by id; those of the source with others around them."""
        rows = [self._rows[each] for each in ids if each in self._rows]
        others = [each for each in ids if each not in self._rows]
        return [*rows, *self._source.windows(others, reach=reach, scopes=scopes)] if others else rows

    def statistics(self, scopes: Sequence[str], words: Sequence[str], bigrams: Sequence[str]) -> TermStatistics:
        """Numbers of these scopes together with these entries. Conversations are counted as they are now."""
        found, rows = self._source.statistics(scopes, words, bigrams), self._features
        in_words = [set(array("I", row.words)[: row.counted]) for row in rows]
        in_bigrams = [
            set(array("I", row.bigrams)[: row.counted_bigrams]) if row.bigrams else own
            for row, own in zip(rows, in_words, strict=True)
        ]
        return replace(
            found,
            entries=found.entries + len(rows),
            mean_length=_mean(found.mean_length, found.entries, [row.length for row in rows]),
            mean_bigram_length=_mean(found.mean_bigram_length, found.entries, [row.bigram_length for row in rows]),
            word_df=_df(found.word_df, words, in_words),
            bigram_df=_df(found.bigram_df, bigrams, in_bigrams),
        )

    def conversations(
        self, threads: Iterable[tuple[str, str]], words: Sequence[str]
    ) -> dict[tuple[str, str], tuple[int, tuple[int, ...]]]:
        """As the source says; an entry that no index holds has the numbers of the conversation that it came from."""
        named = {thread: self._conversations.get(thread, thread) for thread in threads}
        found = self._source.conversations(list(dict.fromkeys(named.values())), words)
        return {thread: found[known] for thread, known in named.items() if known in found}


def _own_thread(row: Features) -> str:
    """The kind of its thread, so that it is scored as it was, and no other entry in it: neighbours are not known."""
    return row.thread if row.thread.startswith(ALONE) else f"{row.thread}\n{row.entry_id}"


def _row(row: Features) -> TermRow:
    terms = (
        row.length,
        row.bigram_length,
        row.question_share,
        row.words,
        row.word_counts,
        row.bigrams,
        row.bigram_counts,
    )
    return term_row(row.scope, _own_thread(row), row.event_time, row.entry_id, terms)


def _mean(mean: float, count: int, lengths: Sequence[int]) -> float:
    """The harmonic mean of so many lengths with this mean, and of these."""
    reciprocals = count / mean if count else 0.0
    return (count + len(lengths)) / (reciprocals + sum(1.0 / max(length, LENGTH_FLOOR) for length in lengths))


def _df(df: Sequence[int], terms: Sequence[str], texts: Sequence[set[int]]) -> tuple[int, ...]:
    ids = map(term_id, terms)
    return tuple(count + sum(each in text for text in texts) for count, each in zip(df, ids, strict=True))

"""`ArchivedTexts`: a text source together with entries that no index holds any more.

A question about an earlier time is also answered by what had not expired then. Such entries are few and such questions
are rare, so their texts are analysed when they are asked for.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from jiyi.backends.shared.term_rows import analyse, features_of, term_row
from jiyi.model.entry import MemoryEntry
from jiyi.model.filters import Filters
from jiyi.ports import ALONE, TermRow, TermStatistics, TextSource
from jiyi.text.term_ids import term_id

if TYPE_CHECKING:
    from jiyi.text import Analyzer


class ArchivedTexts:
    """Finds by words what the source finds, and these entries. They have no neighbours."""

    def __init__(self, source: TextSource, analyzer: Analyzer, entries: Sequence[MemoryEntry]) -> None:
        self._source = source
        self._entries = {entry.id: entry for entry in entries}
        self._rows = {entry.id: _row(analyzer, entry) for entry in entries}

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
        """Numbers of these scopes together; a few texts more would not change them much."""
        return self._source.statistics(scopes, words, bigrams)

    def conversations(
        self, threads: Iterable[tuple[str, str]], words: Sequence[str]
    ) -> dict[tuple[str, str], tuple[int, tuple[int, ...]]]:
        """As the source says."""
        return self._source.conversations(threads, words)


def _row(analyzer: Analyzer, entry: MemoryEntry) -> TermRow:
    features = features_of(analyse(analyzer, entry))
    terms = (
        features.length,
        features.bigram_length,
        features.question_share,
        features.words,
        features.word_counts,
        features.bigrams,
        features.bigram_counts,
    )
    return term_row(entry.scope, ALONE + entry.id, features.event_time, entry.id, terms)

"""`CountedTerms`: the numbers that the scorer of one recall has asked a text index for. Its proposals need the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from jiyi.backends.shared.term_rows import CollectionStatistics
from jiyi.ports import TermStatistics


class CountedTerms:
    """What was counted, by field, scopes and terms."""

    def __init__(self) -> None:
        self._counted: dict[tuple[str, tuple[str, ...], tuple[str, ...]], CollectionStatistics] = {}
        self._totals: dict[tuple[str, ...], TermStatistics] = {}

    def put(
        self, scopes: Sequence[str], words: Sequence[str], bigrams: Sequence[str], found: TermStatistics
    ) -> TermStatistics:
        """Keep the numbers of these terms; returns them."""
        for field, terms, df, mean_length in (
            ("words", words, found.word_df, found.mean_length),
            ("bigrams", bigrams, found.bigram_df, found.mean_bigram_length),
        ):
            key = (field, tuple(scopes), tuple(terms))
            self._counted[key] = CollectionStatistics(df, found.entries, mean_length)
        self._totals[tuple(scopes)] = found
        return found

    def of(self, field: str, scopes: Sequence[str], terms: Sequence[str]) -> CollectionStatistics | None:
        """The numbers of these terms of a field, each of them once; `None` if they were not counted."""
        return self._counted.get((field, tuple(scopes), tuple(terms))) if len(set(terms)) == len(terms) else None

    def totals(self, scopes: Sequence[str]) -> TermStatistics | None:
        """The numbers that depend on no term; `None` if nothing was counted in these scopes."""
        found = self._totals.get(tuple(scopes))
        return None if found is None else replace(found, word_df=(), bigram_df=(), conversation_df=())

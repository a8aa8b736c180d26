"""The text index of PostgreSQL as one recall sees it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from jiyi.backends.shared.counted_terms import CountedTerms
from jiyi.model.filters import Filters
from jiyi.ports import TermStatistics

if TYPE_CHECKING:
    from jiyi.backends.postgres.text.index import PostgresTextIndex


class RecallTextView:
    """A `TextSource` that counts a term once: what the scorer has asked for needs no round trip for a proposal."""

    def __init__(self, index: PostgresTextIndex) -> None:
        self._index = index
        self._counted = CountedTerms()
        self.windows = index.windows
        self.conversations = index.conversations

    def propose(
        self, field: str, terms: Sequence[str], filters: Filters, *, limit: int, labels: bool = False
    ) -> list[str]:
        """Ids of the best matches, best first."""
        counted = self._counted.of(field, filters.scopes, terms)
        return self._index.propose(field, terms, filters, limit=limit, labels=labels, counted=counted)

    def statistics(self, scopes: Sequence[str], words: Sequence[str], bigrams: Sequence[str]) -> TermStatistics:
        """Numbers of these scopes together."""
        known = None if words or bigrams else self._counted.totals(scopes)
        return known or self._counted.put(scopes, words, bigrams, self._index.statistics(scopes, words, bigrams))

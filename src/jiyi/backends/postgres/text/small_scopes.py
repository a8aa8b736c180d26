"""Small scopes are read as a whole and searched in memory: that is exact, and faster than opening a BM25 index."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TypeAlias

from jiyi.backends.postgres.text.tables import TEXTS
from jiyi.backends.postgres.wire import GENERIC_PLANS, TEXT_ARRAY, BoundStatement, Row, Statement, text_array
from jiyi.backends.shared.in_memory_text import BIGRAM_COLUMNS, COLUMNS, FILTER_COLUMNS, InMemoryTextIndex
from jiyi.model.filters import Filters

FetchPipelined: TypeAlias = Callable[[Sequence[BoundStatement]], list[list[Row]]]

MAX_SMALL_SCOPE = 400
"""Scopes with at most this many texts together are read as a whole."""
_LARGE_SECONDS = 60.0
_MAX_REMEMBERED = 10_000


class LargeScopeCache:
    """Remembers for a minute which scopes were found to be large, so that they are not read in vain each time."""

    def __init__(self) -> None:
        self._until: dict[tuple[str, ...], float] = {}

    def __contains__(self, scopes: tuple[str, ...]) -> bool:
        return self._until.get(scopes, 0.0) > time.monotonic()

    def add(self, scopes: tuple[str, ...]) -> None:
        """Remember these scopes."""
        if len(self._until) >= _MAX_REMEMBERED:
            self._until.clear()
        self._until[scopes] = time.monotonic() + _LARGE_SECONDS


def texts_sql(*, bigrams: bool, filtered: bool) -> str:
    """A statement for the texts of `:scopes`; the columns for bigrams and for filters only if they are needed."""
    columns = list(COLUMNS)
    # The thread of an entry without neighbours is named after the entry: it need not be sent.
    columns[columns.index("thread")] = "CASE WHEN place IS NOT NULL THEN thread END"
    if not filtered:
        del columns[FILTER_COLUMNS]
    if not bigrams:
        columns[BIGRAM_COLUMNS] = ["NULL"] * len(columns[BIGRAM_COLUMNS])
    shown = ", ".join(columns)
    return f"SELECT {shown} FROM {TEXTS} WHERE scope = ANY (:scopes)"


class SmallScopeProposer:
    """Proposes from small scopes. Recalls need it only where `PostgresReader` cannot read them: with other vectors."""

    def __init__(self, fetch: FetchPipelined, max_texts: int = MAX_SMALL_SCOPE) -> None:
        self._fetch = fetch
        self._max_texts = max_texts
        self._statements = {
            (bigrams, filtered): Statement(
                f"{texts_sql(bigrams=bigrams, filtered=filtered)} LIMIT {max_texts + 1:d}", {"scopes": TEXT_ARRAY}
            )
            for bigrams in (False, True)
            for filtered in (False, True)
        }
        self._large = LargeScopeCache()

    def propose(
        self, field: str, terms: Sequence[str], filters: Filters, *, limit: int, labels: bool = False
    ) -> list[str] | None:
        """Ids of the best matches, best first; `None` if the scopes are too large."""
        # The words of keys and tags are counted with those of the text: they cannot be left out.
        if filters.scopes in self._large or (field == "words" and not labels):
            return None
        statement = self._statements[field == "bigrams", not filters.only_scopes]
        _, rows = self._fetch([GENERIC_PLANS, statement.bound({"scopes": text_array(filters.scopes)})])
        if len(rows) > self._max_texts:
            self._large.add(filters.scopes)
            return None
        return InMemoryTextIndex(rows).propose(field, terms, filters, limit=limit)

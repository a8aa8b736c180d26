"""`TermCountCache`: what was read of a term store before, as long as nobody has written to its file.

One question asks for the same numbers several times: for the scorer, and for each field that is searched. The questions
to a small scope read the same rows again and again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any, Final

from jiyi.backends.records.sql import sqlite_list, sqlite_text
from jiyi.ports import TermRow

_MAX_CACHED: Final = 50_000
"""How many frequencies are cached."""
_MAX_ROW_BYTES: Final = 8 << 20
"""About how much memory rows may take that are cached."""
_ROW_BYTES: Final = 700
"""Of a row beside its terms."""
_TOTALS: Final = sqlite_text(
    "SELECT scope, entries, shortness, bigram_shortness, conversations, conversation_shortness "
    "FROM scope_totals WHERE scope IN :scopes"
)
_FREQUENCIES: Final = sqlite_text(
    "SELECT term, df FROM term_df WHERE scope = :scope AND field = :field AND term IN :terms"
)


class TermCountCache:
    """Totals of scopes, document frequencies of terms, and rows of entries without a thread.

    They were read by one connection, which never writes.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._version = -1
        self._totals: dict[str, tuple[Any, ...] | None] = {}
        self._frequencies: dict[tuple[str, int], dict[int, int]] = {}
        self._cached = 0
        self.rows: dict[str, TermRow] = {}
        """By entry id."""
        self._row_bytes = 0

    def refresh(self) -> None:
        """Forget what was read if another connection has written since."""
        version = self._connection.execute("PRAGMA data_version").fetchone()[0]
        if version != self._version or self._cached > _MAX_CACHED:
            self.clear()
            self._version = version

    def clear(self) -> None:
        """Forget what was read."""
        self._totals, self._frequencies, self._cached = {}, {}, 0
        self.rows, self._row_bytes = {}, 0

    def put_rows(self, rows: Iterable[TermRow]) -> None:
        """Cache these rows; those that were cached before are dropped when there is no room."""
        for row in rows:
            self._row_bytes += _ROW_BYTES + 2 * len(row.words) + len(row.bigrams)
            if self._row_bytes > _MAX_ROW_BYTES:
                self.rows, self._row_bytes = {}, 0
            self.rows[row.entry_id] = row

    def totals(self, scopes: Sequence[str]) -> list[tuple[Any, ...]]:
        """The rows of these scopes: name, entries, shortness of words and bigrams, conversations, their shortness."""
        missing = [scope for scope in scopes if scope not in self._totals]
        if missing:
            rows = self._connection.execute(_TOTALS, {"scopes": sqlite_list(missing)}).fetchall()
            self._totals |= dict.fromkeys(missing)
            self._totals |= {row[0]: row for row in rows}
            self._cached += len(missing)
        found = (self._totals[scope] for scope in dict.fromkeys(scopes))
        return [row for row in found if row is not None]

    def frequencies(self, scope: str, field: int, terms: Iterable[int]) -> dict[int, int]:
        """In how many texts of the scope each of these terms stands; it may have other terms as well."""
        known = self._frequencies.setdefault((scope, field), {})
        missing = [term for term in terms if term not in known]
        if missing:
            params = {"scope": scope, "field": field, "terms": sqlite_list(missing)}
            rows = self._connection.execute(_FREQUENCIES, params).fetchall()
            known |= dict.fromkeys(missing, 0)
            known |= rows
        self._cached += len(missing)
        return known

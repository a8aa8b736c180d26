"""Checks that the statistics of a term store follow from its entries. SQLite detects broken pages, not wrong values."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Sequence
from typing import Any

_Sums = dict[str, tuple[int, ...]]


def row_checksum(values: Sequence[Any]) -> int:
    """The checksum that is stored with the values of a row."""
    data = [value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass") for value in values]
    return zlib.crc32(b"\x1f".join([b"", *data]))


def wrong_sums(connection: sqlite3.Connection, *, length_floor: int, unit: int, conversation: str) -> list[str]:
    """The kinds of statistics that do not follow from the entries, as messages."""
    entries = _sums(
        connection,
        "SELECT scope, count(*), sum(:unit / max(length, :floor)), sum(:unit / max(bigram_length, :floor)) "
        "FROM entry_terms WHERE counted >= 0 GROUP BY scope",
        {"unit": unit, "floor": length_floor},
    )
    terms = _sums(
        connection,
        "SELECT scope, sum(counted), sum(iif(length(bigrams), counted_bigrams, counted)) FROM entry_terms "
        "WHERE counted >= 0 GROUP BY scope",
    )
    in_conversations = _sums(
        connection,
        "SELECT scope, count(*), sum(length) FROM entry_terms WHERE substr(thread, 1, length(:prefix)) = :prefix "
        "AND counted >= 0 GROUP BY scope",
        {"prefix": conversation},
    )
    pairs = {
        "entries": (entries, _sums(connection, "SELECT scope, entries, shortness, bigram_shortness FROM scope_totals")),
        "terms": (
            terms,
            _sums(
                connection,
                "SELECT scope, sum(iif(field = 0, df, 0)), sum(iif(field = 1, df, 0)) FROM term_df GROUP BY scope",
            ),
        ),
        "conversations": (
            in_conversations,
            _sums(connection, "SELECT scope, sum(entries), sum(length) FROM conversation_lengths GROUP BY scope"),
        ),
        "terms of conversations": (
            _sums(connection, "SELECT scope, count(*) FROM conversation_terms GROUP BY scope"),
            _sums(connection, "SELECT scope, sum(df) FROM term_df WHERE field = 2 GROUP BY scope"),
        ),
        "numbers of conversations": (
            _sums(
                connection,
                "SELECT scope, sum(entries > 0), sum(iif(entries > 0, :unit / max(length, :floor), 0)) "
                "FROM conversation_lengths GROUP BY scope",
                {"unit": unit, "floor": length_floor},
            ),
            _sums(connection, "SELECT scope, conversations, conversation_shortness FROM scope_totals"),
        ),
    }
    return [f"the statistics of {kind} do not add up" for kind, (one, other) in pairs.items() if one != other]


def _sums(connection: sqlite3.Connection, statement: str, params: dict[str, Any] | None = None) -> _Sums:
    """Sums by scope, without scopes that are empty."""
    rows = connection.execute(statement, params or {})
    return {str(scope): tuple(sums) for scope, *sums in rows if any(sums)}

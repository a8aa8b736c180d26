"""Checks that the statistics in the tables of `PostgresTextIndex` follow from its texts."""

from __future__ import annotations

from jiyi.backends.postgres.session import Connection
from jiyi.backends.postgres.text.tables import (
    CONVERSATION_LENGTHS,
    CONVERSATION_TERMS,
    PG_SEARCH,
    SCOPES,
    TERMS,
    TEXTS,
    State,
)
from jiyi.backends.shared.term_rows import UNIT
from jiyi.model.bm25 import LENGTH_FLOOR
from jiyi.ports import CONVERSATION

_SHORT = f"({UNIT} / greatest({{0}}, {LENGTH_FLOOR}))"
# Each pair: the stored sums, and the same sums computed from the rows they are about; without empty scopes.
_ENTRIES = (
    f"SELECT scope, entries AS a, shortness AS b, bigram_shortness AS c FROM {SCOPES} WHERE entries <> 0",
    f"""SELECT scope, count(*) AS a, sum({_SHORT.format("length")})::bigint AS b,
        sum({_SHORT.format("bigram_length")})::bigint AS c FROM {TEXTS} WHERE counted >= 0 GROUP BY scope""",
)
_TERMS = (
    f"""SELECT s.scope, sum(t.df) FILTER (WHERE field = 0)::bigint AS a,
        sum(t.df) FILTER (WHERE field = 1)::bigint AS b,
        0 AS c FROM {TERMS} t JOIN {SCOPES} s ON s.number = t.scope
        GROUP BY s.scope HAVING sum(t.df) FILTER (WHERE field < 2) <> 0""",
    f"""SELECT scope, sum(counted)::bigint AS a,
        sum(CASE WHEN bigrams = '' THEN counted ELSE counted_bigrams END)::bigint AS b, 0 AS c
        FROM {TEXTS} WHERE counted >= 0 GROUP BY scope HAVING sum(counted) + sum(counted_bigrams) <> 0""",
)
_CONVERSATIONS = (
    f"""SELECT scope, sum(entries)::bigint AS a, sum(length)::bigint AS b, 0 AS c FROM {CONVERSATION_LENGTHS}
        GROUP BY scope HAVING sum(entries) <> 0""",
    f"""SELECT scope, count(*) AS a, sum(length)::bigint AS b, 0 AS c FROM {TEXTS}
        WHERE starts_with(thread, '{CONVERSATION}') AND counted >= 0 GROUP BY scope""",
)
_CONVERSATION_TERMS = (
    f"""SELECT s.scope, sum(t.df)::bigint AS a, 0 AS b, 0 AS c FROM {TERMS} t JOIN {SCOPES} s ON s.number = t.scope
        WHERE field = 2 GROUP BY s.scope HAVING sum(t.df) <> 0""",
    f"""SELECT t.scope, count(*) AS a, 0 AS b, 0 AS c FROM {CONVERSATION_TERMS} w
        JOIN {CONVERSATION_LENGTHS} t ON t.number = w.conversation
        GROUP BY t.scope""",
)
_CONVERSATION_TOTALS = (
    f"SELECT scope, conversations AS a, conversation_shortness AS b, 0 AS c FROM {SCOPES} WHERE conversations <> 0",
    f"""SELECT scope, count(*) AS a, sum({_SHORT.format("length")})::bigint AS b, 0 AS c FROM {CONVERSATION_LENGTHS}
        WHERE entries > 0 GROUP BY scope""",
)
_SUMS = {
    "entries": _ENTRIES,
    "terms": _TERMS,
    "conversations": _CONVERSATIONS,
    "terms of conversations": _CONVERSATION_TERMS,
    "numbers of conversations": _CONVERSATION_TOTALS,
}


def table_problems(connection: Connection, state: State | None) -> list[str]:
    """The problems found; `state` is `None` if the BM25 index has to be rebuilt."""
    with connection.transaction():
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        found = [
            f"the statistics of {kind} do not add up"
            for kind, (stored, computed) in _SUMS.items()
            if connection.execute(
                f"SELECT 1 FROM ({stored}) s FULL JOIN ({computed}) n USING (scope) "
                "WHERE (s.a, s.b, s.c) IS DISTINCT FROM (n.a, n.b, n.c) LIMIT 1"
            ).fetchone()
        ]
        if state is None:
            found.append("the BM25 index was lost in a crash of the server; the next recall rebuilds it")
        elif state.mode == PG_SEARCH:
            checksums = "SELECT * FROM paradedb.validate_checksum(:name::regclass)"
            broken = connection.execute(checksums, {"name": state.bm25})
            found += [f"the BM25 index is damaged: {row[0]}" for row in broken]
    return found

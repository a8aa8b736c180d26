"""A few texts taken into the index in the transaction that changes them: two round trips, behind a savepoint.

The first brings what the index is, the entries as the transaction sees them, and what is held of them. The second
writes what has changed. Texts of conversations have numbers that depend on what is written first: for these, and for
many at once, there is `TextWriter`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus

from jiyi.backends.postgres.session import Connection
from jiyi.backends.postgres.text.rows import TextWriter, signed, text_values
from jiyi.backends.postgres.text.tables import FEATURES, SCOPES, STATE_QUERY, TERMS, TEXTS, columns
from jiyi.backends.postgres.wire import (
    BYTES,
    INT2S,
    INT4,
    INT4S,
    INT8,
    INT8S,
    REAL8,
    TEXT,
    UUID,
    Question,
    Row,
    Statement,
    Wire,
    array,
    settings,
    text,
    whole_numbers,
)
from jiyi.backends.postgres.wire import TEXTS as TEXT_ARRAY
from jiyi.backends.records.codec import ENTRY_FIELDS, entry_of
from jiyi.backends.shared.term_rows import Analysed, Differences, Features, changed_only, differences, features_of
from jiyi.model.entry import MemoryEntry

_SAVEPOINT = "jiyi_text"
# Not prepared: whatever was cleared in this session, there is a point to go back to.
_SAVE = Question(Statement(f"SAVEPOINT {_SAVEPOINT}", once=True))
_RELEASE = Question(Statement(f"RELEASE SAVEPOINT {_SAVEPOINT}", once=True))
_GENERIC = Question(settings({}))
_STATE = Question(Statement(STATE_QUERY))
_ENTRIES = Statement(f"SELECT {', '.join(ENTRY_FIELDS)} FROM memory_records WHERE id = ANY ($1)", (TEXT_ARRAY,))
_HELD = Statement(f"SELECT {FEATURES} FROM {TEXTS} WHERE entry_id = ANY ($1)", (TEXT_ARRAY,))
_DELETE = Statement(f"DELETE FROM {TEXTS} WHERE entry_id = ANY ($1)", (TEXT_ARRAY,))
_ADD_SCOPES = Statement(
    f"INSERT INTO {SCOPES} AS s (scope, entries, shortness, bigram_shortness, conversations, conversation_shortness) "
    "SELECT a.*, 0, 0 FROM unnest($1, $2, $3, $4) AS a ON CONFLICT (scope) DO UPDATE SET "
    "entries = s.entries + excluded.entries, shortness = s.shortness + excluded.shortness, "
    "bigram_shortness = s.bigram_shortness + excluded.bigram_shortness",
    (TEXT_ARRAY, INT8S, INT8S, INT8S),
)
_ADD_TERMS = Statement(
    f"INSERT INTO {TERMS} AS t (scope, field, term, df) "
    f"SELECT (SELECT s.number FROM {SCOPES} s WHERE s.scope = a.scope), a.field, a.term, a.df "
    "FROM unnest($1, $2, $3, $4) AS a (scope, field, term, df) "
    "ON CONFLICT (scope, field, term) DO UPDATE SET df = t.df + excluded.df",
    (TEXT_ARRAY, INT2S, INT4S, INT4S),
)
_TYPES = {
    **dict.fromkeys(("position", "event_time"), INT8),
    **dict.fromkeys(("length", "bigram_length", "counted", "counted_bigrams"), INT4),
    **dict.fromkeys(("words", "word_counts", "bigrams", "bigram_counts"), BYTES),
    **dict.fromkeys(("domains", "tags"), TEXT_ARRAY),
    "question_share": REAL8,
    "place": UUID,
}


@cache
def _insert(mode: str) -> Statement:
    names = columns(mode)
    values = (f"${place}{'::tsvector' if name == 'terms' else ''}" for place, name in enumerate(names, 1))
    return Statement(
        f"INSERT INTO {TEXTS} ({', '.join(names)}) VALUES ({', '.join(values)})",
        tuple(_TYPES.get(name, TEXT) for name in names),
    )


def _encoded(value: Any) -> bytes | None:
    if value is None or isinstance(value, bytes):
        return value
    if isinstance(value, list):
        return array(value)
    return text(value if isinstance(value, str) else str(value))


class SmallBatchWriter:
    """One transaction that changes a few entries."""

    def __init__(self, wire: Wire, ids: Sequence[str]) -> None:
        self._wire = wire
        self._ids = array(ids)
        self._entries: list[MemoryEntry] = []
        self._held: list[Features] = []

    @contextmanager
    def undone_on_error(self) -> Iterator[None]:
        """What fails inside leaves the transaction as it was before `look`."""
        try:
            yield
        except BaseException:
            self._undo()
            raise

    def _undo(self) -> None:
        connection = self._wire.connection
        if connection.pgconn.transaction_status in {TransactionStatus.INERROR, TransactionStatus.INTRANS}:
            connection.execute(f"ROLLBACK TO SAVEPOINT {_SAVEPOINT}")

    def look(self) -> list[Row]:
        """Read everything that is needed; returns what `STATE_QUERY` was answered with."""
        asked = [_SAVE, _GENERIC, _STATE, Question(_ENTRIES, [self._ids]), Question(_HELD, [self._ids])]
        try:
            answers = self._wire.ask(asked)
        except psycopg.errors.InvalidSqlStatementName:
            # Somebody has cleared what was prepared in this session.
            self._undo()
            answers = self._wire.ask(asked)
        _, _, state, entries, held = answers
        self._entries = [entry_of(row) for row in entries]
        self._held = [Features(*row) for row in held]
        return state

    def write(self, mode: str, analyse: Callable[[MemoryEntry], Analysed]) -> None:
        """Put the entries as they are into the place of what is held of them."""
        by_id = {entry.id: analyse(entry) for entry in self._entries if entry.is_active}
        gone, come = changed_only(self._held, [features_of(analysed) for analysed in by_id.values()])
        changes = differences(gone, come)
        if changes.lengths:
            self._write_conversations(mode, list(by_id.values()))
            return
        asked: list[Question] = []
        if gone:
            asked.append(Question(_DELETE, [array([row.entry_id for row in gone])]))
        for row in come:
            values = text_values(row, by_id[row.entry_id], mode)
            asked.append(Question(_insert(mode), [_encoded(value) for value in values]))
        self._wire.ask([*asked, *_counted(changes), _RELEASE])

    def _write_conversations(self, mode: str, upserts: Sequence[Analysed]) -> None:
        connection: Connection = self._wire.connection
        with connection.pipeline() as pipeline:
            TextWriter(connection, mode).change(self._held, upserts)
            # Before the savepoint is let go it is known that everything was done.
            pipeline.sync()
            connection.execute(_RELEASE.statement.sql)


def _counted(changes: Differences) -> Iterator[Question]:
    if changes.totals:
        scopes, totals = zip(*sorted(changes.totals.items()), strict=True)
        yield Question(_ADD_SCOPES, [array(scopes), *map(whole_numbers, zip(*totals, strict=True))])
    terms = sorted((*key, change) for key, change in changes.terms.items() if change)
    if terms:
        scopes, fields, ids, counts = zip(*terms, strict=True)
        numbers = (fields, map(signed, ids), counts)
        yield Question(_ADD_TERMS, [array(scopes), *map(whole_numbers, numbers)])

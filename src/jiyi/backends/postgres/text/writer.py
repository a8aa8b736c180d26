"""`TextWriter`: writes texts and their statistics into the tables of `PostgresTextIndex`.

It works in the caller's transaction. The locks of the record store keep others from writing the same scopes meanwhile,
so counters are updated by differences to the current rows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Any
from uuid import UUID

import psycopg
from psycopg.rows import TupleRow

from jiyi.backends.postgres.session import Connection
from jiyi.backends.postgres.text.tables import (
    CONVERSATION_LENGTHS,
    CONVERSATION_TERMS,
    FEATURES,
    PG_SEARCH,
    RAW_CONVERSATION_TERMS,
    RAW_TERMS,
    SCOPES,
    TERMS,
    TEXTS,
    TSVECTOR,
    columns,
)
from jiyi.backends.records.codec import ENTRY_FIELDS, entry_of
from jiyi.backends.shared.term_rows import (
    CONVERSATIONS,
    Analysed,
    Features,
    StatisticsChange,
    analyse,
    changed_only,
    features_of,
    shortness,
    statistics_change,
)
from jiyi.ports import ALONE
from jiyi.text import Analyzer
from jiyi.text.term_ids import term_id

_FEATURE_NAMES = FEATURES.split(", ")
_ENTRIES = f"SELECT {', '.join(ENTRY_FIELDS)} FROM memory_records WHERE id = ANY (:ids)"
MIN_COPIED_ROWS = 50
"""Fewer rows are inserted one by one, which can be pipelined; from this number on they are copied."""
_SIGN_BIT = 1 << 31


def place_of(scope: str, thread: str) -> UUID | None:
    """A hash of scope and thread, whose names have no maximal length; `None` for an entry without neighbours."""
    if thread.startswith(ALONE):
        return None
    return UUID(bytes=blake2b(f"{scope}\x00{thread}".encode("utf-8", "surrogatepass"), digest_size=16).digest())


def signed(term: int) -> int:
    """An unsigned 32-bit number as a PostgreSQL integer."""
    return term - 2 * _SIGN_BIT if term >= _SIGN_BIT else term


def lexeme(field: str, scope: str, term: int) -> str:
    """A term of a field in a scope, as a word of a `tsvector`: a match is always inside the scope."""
    number = int.from_bytes(blake2b(scope.encode("utf-8", "surrogatepass"), digest_size=8).digest())
    return f"{field[0]}{number:016x}{term:08x}"


class TextWriter:
    """Writes into the current tables, or with `suffix` into those of the next generation."""

    def __init__(self, connection: Connection, mode: str, suffix: str = "") -> None:
        self._connection = connection
        self._mode = mode
        self._suffix = suffix

    def apply(self, upserts: Sequence[Analysed], removals: Sequence[str]) -> None:
        """Add and remove entries and update the statistics. Idempotent."""
        ids = [analysed.entry.id for analysed in upserts] + list(removals)
        self.replace([Features(*row) for row in self.select_held(ids)], upserts)

    def replace(self, old: Sequence[Features], upserts: Sequence[Analysed]) -> None:
        """Replace the old rows by those of these entries."""
        by_id = {analysed.entry.id: analysed for analysed in upserts}
        removed, added = changed_only(old, [features_of(analysed) for analysed in by_id.values()])
        if not removed and not added:
            return
        if removed:
            self._connection.execute(
                f"DELETE FROM {TEXTS}{self._suffix} WHERE entry_id = ANY (:ids)",
                {"ids": [row.entry_id for row in removed]},
            )
        self._insert(added, by_id)
        self._update_statistics(statistics_change(removed, added))

    def select_held(self, ids: Sequence[str]) -> psycopg.Cursor[TupleRow]:
        """The current rows of these entries, with the columns of `Features`."""
        cursor = self._connection.cursor(binary=True)
        statement = f"SELECT {FEATURES} FROM {TEXTS}{self._suffix} WHERE entry_id = ANY (:ids)"
        return cursor.execute(statement, {"ids": list(ids)})

    def fill(self, upserts: Sequence[Analysed]) -> None:
        """Add entries to tables of the next generation, whose counts are added up at the end."""
        rows = [features_of(analysed) for analysed in upserts]
        self._insert(rows, {analysed.entry.id: analysed for analysed in upserts})
        changes = statistics_change((), rows)
        scopes = self._update_scopes({scope: [*total, 0, 0] for scope, total in changes.scopes.items()})
        conversations = {key: number for key, (number, *_) in self._update_lengths(changes).items()}
        frequencies = changes.document_frequencies.items()
        self._copy(RAW_TERMS, ((scopes[scope], field, signed(term), df) for (scope, field, term), df in frequencies))
        counts = changes.conversation_terms.items()
        self._copy(
            RAW_CONVERSATION_TERMS,
            ((conversations[scope, thread], signed(term), tf) for (scope, thread, term), tf in counts),
        )

    def _copy(self, table: str, lines: Iterable[Sequence[Any]]) -> None:
        with self._connection.cursor() as cursor, cursor.copy(f"COPY {table} FROM STDIN") as copy:
            for line in lines:
                copy.write_row(line)

    def _insert(self, rows: Sequence[Features], by_id: dict[str, Analysed]) -> None:
        names = columns(self._mode)
        values = [text_values(row, by_id[row.entry_id], self._mode) for row in rows]
        table = f"{TEXTS}{self._suffix} ({', '.join(names)})"
        if len(values) >= MIN_COPIED_ROWS:
            self._copy(table, values)
            return
        placeholders = ", ".join(":terms::tsvector" if name == "terms" else f":{name}" for name in names)
        with self._connection.cursor() as cursor:
            cursor.executemany(f"INSERT INTO {table} VALUES ({placeholders})", values)

    # --- statistics --------------------------------------------------------------------------------------------------

    def _update_statistics(self, changes: StatisticsChange) -> None:
        conversations = self._update_conversations(changes)
        number = self._update_scopes(
            {scope: [*total, *conversations.get(scope, (0, 0))] for scope, total in changes.scopes.items()}
        )
        terms = sorted(
            (number[scope], field, signed(term), change)
            for (scope, field, term), change in changes.document_frequencies.items()
            if change
        )
        if terms:
            self._connection.execute(
                f"INSERT INTO {TERMS}{self._suffix} AS t (scope, field, term, df) "
                "SELECT * FROM unnest(:scopes::integer[], :fields::smallint[], :terms::integer[], :dfs::integer[]) "
                "ON CONFLICT (scope, field, term) DO UPDATE SET df = t.df + excluded.df",
                _columns_of(terms, 4),
            )

    def _update_scopes(self, totals: dict[str, list[int]]) -> dict[str, int]:
        """Add to the totals of scopes; returns the numbers of the scopes."""
        rows = self._connection.execute(
            f"INSERT INTO {SCOPES}{self._suffix} AS s (scope, entries, shortness, bigram_shortness, conversations, "
            "conversation_shortness) SELECT * FROM unnest(:scopes::text[], :entries::bigint[], :shortness::bigint[], "
            ":bigram_shortness::bigint[], :conversations::bigint[], :conversation_shortness::bigint[]) "
            "ON CONFLICT (scope) DO UPDATE SET entries = s.entries + excluded.entries, "
            "shortness = s.shortness + excluded.shortness, "
            "bigram_shortness = s.bigram_shortness + excluded.bigram_shortness, "
            "conversations = s.conversations + excluded.conversations, "
            "conversation_shortness = s.conversation_shortness + excluded.conversation_shortness "
            "RETURNING scope, number",
            _columns_of(sorted((scope, *total) for scope, total in totals.items()), 6),
        )
        return {row[0]: row[1] for row in rows}

    def _update_lengths(self, changes: StatisticsChange) -> dict[tuple[str, str], tuple[int, int, int]]:
        """Add to the lengths of conversations; returns the number, the new length and the new entries of each."""
        if not changes.conversation_lengths:
            return {}
        places = {key: place_of(*key) for key in changes.conversation_lengths}
        rows = self._connection.execute(
            f"INSERT INTO {CONVERSATION_LENGTHS}{self._suffix} AS c (place, scope, length, entries) "
            "SELECT * FROM unnest(:places::uuid[], :scopes::text[], :lengths::bigint[], :entries::bigint[]) "
            "ON CONFLICT (place) DO UPDATE SET length = c.length + excluded.length, "
            "entries = c.entries + excluded.entries RETURNING place, number, length, entries",
            _columns_of(
                sorted((places[key], key[0], *change) for key, change in changes.conversation_lengths.items()), 4
            ),
        )
        after = {row[0]: (row[1], row[2], row[3]) for row in rows}
        return {key: after[place] for key, place in places.items()}

    def _update_conversations(self, changes: StatisticsChange) -> dict[str, tuple[int, int]]:
        """Conversations are documents too. Returns the change of their number and of their shortness by scope."""
        after = self._update_lengths(changes)
        found: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
        for key, (length, entries) in changes.conversation_lengths.items():
            _, length_after, entries_after = after[key]
            length_before, entries_before = length_after - length, entries_after - entries
            total = found[key[0]]
            total[0] += (entries_after > 0) - (entries_before > 0)
            total[1] += (shortness(length_after) if entries_after else 0) - (
                shortness(length_before) if entries_before else 0
            )
        self._update_conversation_terms(changes, {key: number for key, (number, *_) in after.items()})
        return {scope: (total[0], total[1]) for scope, total in found.items()}

    def _update_conversation_terms(self, changes: StatisticsChange, number: dict[tuple[str, str], int]) -> None:
        scope_of = {number[key]: key[0] for key in number}
        change_of = {
            (number[scope, thread], signed(term)): (term, change)
            for (scope, thread, term), change in changes.conversation_terms.items()
            if change
        }
        if not change_of:
            return
        rows = self._connection.execute(
            f"INSERT INTO {CONVERSATION_TERMS}{self._suffix} AS t (conversation, term, tf) "
            "SELECT * FROM unnest(:conversations::bigint[], :terms::integer[], :tfs::integer[]) "
            "ON CONFLICT (conversation, term) DO UPDATE SET tf = t.tf + excluded.tf RETURNING conversation, term, tf",
            _columns_of(sorted((*key, change) for key, (_, change) in change_of.items()), 3),
        )
        unused = []
        for conversation, signed_term, after in rows:
            term, change = change_of[conversation, signed_term]
            df_change = (after > 0) - (after - change > 0)
            changes.document_frequencies[scope_of[conversation], CONVERSATIONS, term] += df_change
            if after <= 0:
                unused.append((conversation, signed_term))
        if unused:
            self._connection.execute(
                f"DELETE FROM {CONVERSATION_TERMS}{self._suffix} t USING "
                "unnest(:conversations::bigint[], :terms::integer[]) "
                "AS unused (conversation, term) WHERE t.conversation = unused.conversation AND t.term = unused.term",
                _columns_of(unused, 2),
            )


def text_values(row: Features, analysed: Analysed, mode: str) -> tuple[Any, ...]:
    """A text as the values of `columns`."""
    entry, analysis = analysed.entry, analysed.analysis
    extra: tuple[str, ...] = ()
    if mode == PG_SEARCH:
        extra = (" ".join(analysis.words), " ".join(analysis.bigrams), " ".join(analysed.labels))
    elif mode == TSVECTOR:
        fields = {"words": analysis.words, "labels": analysed.labels}
        if analysis.has_han:
            # Without Han characters the bigrams are the words.
            fields["bigrams"] = analysis.bigrams
        extra = (" ".join({lexeme(name, entry.scope, term_id(t)) for name, terms in fields.items() for t in terms}),)
    return (
        *(getattr(row, name) for name in _FEATURE_NAMES),
        place_of(row.scope, row.thread),
        str(entry.category),
        entry.memory_type,
        list(entry.domains),
        list(entry.tags),
        *extra,
    )


def _columns_of(lines: Sequence[Sequence[Any]], width: int) -> list[list[Any]]:
    """The transposed lines."""
    return [[line[place] for line in lines] for place in range(width)]


def write_current(connection: Connection, analyzer: Analyzer, mode: str, ids: Sequence[str], suffix: str = "") -> None:
    """Bring the rows of these entries to the state of the records that this transaction sees."""
    wanted = list(dict.fromkeys(ids))
    writer = TextWriter(connection, mode, suffix)
    records = connection.execute(_ENTRIES, {"ids": wanted})
    held = writer.select_held(wanted)
    entries = [entry_of(row) for row in records]
    old = [Features(*row) for row in held]
    writer.replace(old, [analyse(analyzer, entry) for entry in entries if entry.is_active])

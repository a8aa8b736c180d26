"""Writes texts and their numbers into the tables of `PostgresTextIndex`, in the caller's transaction.

Nobody else writes the same scopes meanwhile: the record store's locks see to that. So counters are changed by
differences, and a difference is worked out from what is there now.
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
    FEATURES,
    PG_SEARCH,
    RAW_TALK_TERMS,
    RAW_TERMS,
    SCOPES,
    TALK_TERMS,
    TALKS,
    TERMS,
    TEXTS,
    TSVECTOR,
    columns,
)
from jiyi.backends.shared.term_rows import (
    CONVERSATIONS,
    Analysed,
    Differences,
    Features,
    changed_only,
    differences,
    features_of,
    shortness,
    term_id,
)
from jiyi.ports import ALONE

_FEATURE_NAMES = FEATURES.split(", ")
COPIED_FROM = 50
"""A few rows are inserted one by one, which can be sent with other statements; from so many on they are copied."""
_HALF, _WHOLE = 1 << 31, 1 << 32


def place_of(scope: str, thread: str) -> UUID | None:
    """A thread of a scope as something of fixed length; none for who stands alone."""
    if thread.startswith(ALONE):
        return None
    return UUID(bytes=blake2b(f"{scope}\x00{thread}".encode("utf-8", "surrogatepass"), digest_size=16).digest())


def signed(term: int) -> int:
    """A 32-bit number as PostgreSQL's integers have it."""
    return term - _WHOLE if term >= _HALF else term


def lexeme(field: str, scope: str, term: int) -> str:
    """A term of a field in a scope, as a word of a `tsvector`: what it finds is inside the scope already."""
    number = int.from_bytes(blake2b(scope.encode("utf-8", "surrogatepass"), digest_size=8).digest())
    return f"{field[0]}{number:016x}{term:08x}"


class TextWriter:
    """Writes into the current tables, or with `suffix` into those of the next generation."""

    def __init__(self, connection: Connection, mode: str, suffix: str = "") -> None:
        self._connection = connection
        self._mode = mode
        self._suffix = suffix

    def apply(self, upserts: Sequence[Analysed], removals: Sequence[str]) -> None:
        """Take entries in and out, and their numbers with them. Doing it twice changes nothing."""
        ids = [analysed.entry.id for analysed in upserts] + list(removals)
        self.change([Features(*row) for row in self.ask_held(ids)], upserts)

    def change(self, old: Sequence[Features], upserts: Sequence[Analysed]) -> None:
        """Put these entries in the place of what is held of them, and of others that go."""
        by_id = {analysed.entry.id: analysed for analysed in upserts}
        gone, come = changed_only(old, [features_of(analysed) for analysed in by_id.values()])
        if not gone and not come:
            return
        if gone:
            self._connection.execute(
                f"DELETE FROM {TEXTS}{self._suffix} WHERE entry_id = ANY (%s)", [[row.entry_id for row in gone]]
            )
        self._insert(come, by_id)
        self._count(differences(gone, come))

    def ask_held(self, ids: Sequence[str]) -> psycopg.Cursor[TupleRow]:
        """What is held of these entries, as rows of `Features`."""
        cursor = self._connection.cursor(binary=True)
        return cursor.execute(f"SELECT {FEATURES} FROM {TEXTS}{self._suffix} WHERE entry_id = ANY (%s)", [list(ids)])

    def fill(self, upserts: Sequence[Analysed]) -> None:
        """Take in entries that are certainly new, into tables whose numbers are added up at the end."""
        rows = [features_of(analysed) for analysed in upserts]
        self._insert(rows, {analysed.entry.id: analysed for analysed in upserts})
        changes = differences((), rows)
        scopes = self._count_scopes({scope: [*total, 0, 0] for scope, total in changes.totals.items()})
        talks = {key: number for key, (number, *_) in self._add_talks(changes).items()}
        terms = ((scopes[scope], field, signed(term), df) for (scope, field, term), df in changes.terms.items())
        self._copy(RAW_TERMS, terms)
        spoken = ((talks[scope, talk], signed(term), tf) for (scope, talk, term), tf in changes.spoken.items())
        self._copy(RAW_TALK_TERMS, spoken)

    def _copy(self, table: str, lines: Iterable[Sequence[Any]]) -> None:
        with self._connection.cursor() as cursor, cursor.copy(f"COPY {table} FROM STDIN") as copy:
            for line in lines:
                copy.write_row(line)

    def _insert(self, rows: Sequence[Features], by_id: dict[str, Analysed]) -> None:
        names = columns(self._mode)
        values = [text_values(row, by_id[row.entry_id], self._mode) for row in rows]
        table = f"{TEXTS}{self._suffix} ({', '.join(names)})"
        if len(values) >= COPIED_FROM:
            self._copy(table, values)
            return
        marks = ", ".join("%s::tsvector" if name == "terms" else "%s" for name in names)
        with self._connection.cursor() as cursor:
            cursor.executemany(f"INSERT INTO {table} VALUES ({marks})", values)

    # --- numbers --------------------------------------------------------------------------------------------------

    def _count(self, changes: Differences) -> None:
        talks = self._count_talks(changes)
        number = self._count_scopes(
            {scope: [*total, *talks.get(scope, (0, 0))] for scope, total in changes.totals.items()}
        )
        terms = sorted(
            (number[scope], field, signed(term), change)
            for (scope, field, term), change in changes.terms.items()
            if change
        )
        if terms:
            self._connection.execute(
                f"INSERT INTO {TERMS}{self._suffix} AS t (scope, field, term, df) "
                "SELECT * FROM unnest(%s::integer[], %s::smallint[], %s::integer[], %s::integer[]) "
                "ON CONFLICT (scope, field, term) DO UPDATE SET df = t.df + excluded.df",
                _turned(terms, 4),
            )

    def _count_scopes(self, totals: dict[str, list[int]]) -> dict[str, int]:
        """Add to what is known of scopes; returns their numbers."""
        rows = self._connection.execute(
            f"INSERT INTO {SCOPES}{self._suffix} AS s (scope, entries, shortness, bigram_shortness, conversations, "
            "conversation_shortness) SELECT * FROM unnest(%s::text[], %s::bigint[], %s::bigint[], %s::bigint[], "
            "%s::bigint[], %s::bigint[]) ON CONFLICT (scope) DO UPDATE SET entries = s.entries + excluded.entries, "
            "shortness = s.shortness + excluded.shortness, "
            "bigram_shortness = s.bigram_shortness + excluded.bigram_shortness, "
            "conversations = s.conversations + excluded.conversations, "
            "conversation_shortness = s.conversation_shortness + excluded.conversation_shortness "
            "RETURNING scope, number",
            _turned(sorted((scope, *total) for scope, total in totals.items()), 6),
        )
        return {row[0]: row[1] for row in rows}

    def _add_talks(self, changes: Differences) -> dict[tuple[str, str], tuple[int, int, int]]:
        """Add to the lengths of conversations; returns their numbers, and their lengths and entries afterwards."""
        if not changes.lengths:
            return {}
        places = {key: place_of(*key) for key in changes.lengths}
        rows = self._connection.execute(
            f"INSERT INTO {TALKS}{self._suffix} AS t (place, scope, length, entries) "
            "SELECT * FROM unnest(%s::uuid[], %s::text[], %s::bigint[], %s::bigint[]) "
            "ON CONFLICT (place) DO UPDATE SET length = t.length + excluded.length, "
            "entries = t.entries + excluded.entries RETURNING place, number, length, entries",
            _turned(sorted((places[key], key[0], *change) for key, change in changes.lengths.items()), 4),
        )
        after = {row[0]: (row[1], row[2], row[3]) for row in rows}
        return {key: after[place] for key, place in places.items()}

    def _count_talks(self, changes: Differences) -> dict[str, tuple[int, int]]:
        """Conversations are documents too. Returns, for each scope, how their number and their shortness change."""
        after = self._add_talks(changes)
        found: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
        for key, (length, entries) in changes.lengths.items():
            _, length_after, entries_after = after[key]
            length_before, entries_before = length_after - length, entries_after - entries
            total = found[key[0]]
            total[0] += (entries_after > 0) - (entries_before > 0)
            total[1] += (shortness(length_after) if entries_after else 0) - (
                shortness(length_before) if entries_before else 0
            )
        self._count_talk_terms(changes, {key: number for key, (number, *_) in after.items()})
        return {scope: (total[0], total[1]) for scope, total in found.items()}

    def _count_talk_terms(self, changes: Differences, number: dict[tuple[str, str], int]) -> None:
        scope_of = {number[key]: key[0] for key in number}
        change_of = {
            (number[scope, thread], signed(term)): (term, change)
            for (scope, thread, term), change in changes.spoken.items()
            if change
        }
        if not change_of:
            return
        rows = self._connection.execute(
            f"INSERT INTO {TALK_TERMS}{self._suffix} AS t (talk, term, tf) "
            "SELECT * FROM unnest(%s::bigint[], %s::integer[], %s::integer[]) "
            "ON CONFLICT (talk, term) DO UPDATE SET tf = t.tf + excluded.tf RETURNING talk, term, tf",
            _turned(sorted((talk, term, change) for (talk, term), (_, change) in change_of.items()), 3),
        )
        silent = []
        for talk, number_of_term, after in rows:
            term, change = change_of[talk, number_of_term]
            changes.terms[scope_of[talk], CONVERSATIONS, term] += (after > 0) - (after - change > 0)
            if after <= 0:
                silent.append((talk, number_of_term))
        if silent:
            self._connection.execute(
                f"DELETE FROM {TALK_TERMS}{self._suffix} t USING unnest(%s::bigint[], %s::integer[]) "
                "AS gone (talk, term) WHERE t.talk = gone.talk AND t.term = gone.term",
                _turned(silent, 2),
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
            # Without Han the pairs are the words.
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


def _turned(lines: Sequence[Sequence[Any]], width: int) -> list[list[Any]]:
    """Lines as columns."""
    return [[line[place] for line in lines] for place in range(width)]

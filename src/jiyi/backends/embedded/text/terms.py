"""`TermStore`: the rows and statistics that the scorer needs, in a SQLite file beside the tantivy index.

For each entry its terms with counts, its length, its time and its place in the conversation; for each scope the number
of entries and the document frequency of each term; the same for whole conversations. The statistics are updated by
differences, so adding an entry costs the same in a large scope as in a small one.
"""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from operator import itemgetter
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from jiyi.backends.embedded.text.pending import NOTHING_PENDING, PendingTerms, values_of
from jiyi.backends.embedded.text.term_counts import TermCountCache
from jiyi.backends.embedded.text.term_statistics import (
    CONVERSATION_COUNTS,
    CONVERSATION_LENGTH,
    read_conversations,
    update_statistics,
)
from jiyi.backends.embedded.text.terms_check import row_checksum, wrong_sums
from jiyi.backends.records.sql import sqlite_list, sqlite_many, sqlite_text
from jiyi.backends.shared.derived_file import open_derived
from jiyi.backends.shared.term_rows import (
    BIGRAMS,
    CONVERSATIONS,
    UNIT,
    WORDS,
    Analysed,
    CollectionStatistics,
    Features,
    StatisticsChange,
    changed_only,
    features_of,
    mean_length,
    statistics_change,
    term_row,
)
from jiyi.backends.shared.wal_index import WalIndex
from jiyi.contexts import on_error
from jiyi.errors import IndexDamagedError
from jiyi.model.bm25 import LENGTH_FLOOR
from jiyi.ports import ALONE, CONVERSATION, TermRow, TermStatistics
from jiyi.text.term_ids import term_id

R = TypeVar("R")

_MAX_WHOLE_THREAD = 64
"""A conversation of at most this many entries is read as a whole: one query instead of two for each entry."""
_PROBE = 8
"""So many entries are looked up first, to see whether the entries of a scope are alone or in threads."""

_CREATE = """
CREATE TABLE IF NOT EXISTS entry_terms (
    scope TEXT NOT NULL,
    thread TEXT NOT NULL,            -- the entries it is a neighbour of: see `term_rows`
    position INTEGER NOT NULL,       -- place in the conversation, -1 if the order follows from the time
    event_time INTEGER NOT NULL,     -- microseconds
    entry_id TEXT NOT NULL,
    hash TEXT NOT NULL,
    length INTEGER NOT NULL,
    bigram_length INTEGER NOT NULL,
    question_share REAL NOT NULL,
    words BLOB NOT NULL,             -- term ids, counted terms first
    word_counts BLOB NOT NULL,
    bigrams BLOB NOT NULL,           -- empty if they are the same as the words
    bigram_counts BLOB NOT NULL,
    counted INTEGER NOT NULL,        -- how many of the words have statistics
    counted_bigrams INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    PRIMARY KEY (scope, thread, position, event_time, entry_id)
) WITHOUT ROWID;
CREATE UNIQUE INDEX IF NOT EXISTS ix_entry_terms_id ON entry_terms (entry_id);
CREATE TABLE IF NOT EXISTS term_df (
    scope TEXT NOT NULL, field INTEGER NOT NULL, term INTEGER NOT NULL, df INTEGER NOT NULL,
    PRIMARY KEY (scope, field, term)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS conversation_terms (
    scope TEXT NOT NULL, thread TEXT NOT NULL, term INTEGER NOT NULL, tf INTEGER NOT NULL,
    PRIMARY KEY (scope, thread, term)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS conversation_lengths (
    scope TEXT NOT NULL, thread TEXT NOT NULL, length INTEGER NOT NULL, entries INTEGER NOT NULL,
    PRIMARY KEY (scope, thread)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS log_position (id INTEGER PRIMARY KEY, sequence INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS scope_totals (
    scope TEXT PRIMARY KEY, entries INTEGER NOT NULL, shortness INTEGER NOT NULL, bigram_shortness INTEGER NOT NULL,
    conversations INTEGER NOT NULL, conversation_shortness INTEGER NOT NULL
) WITHOUT ROWID;
"""
_COLUMNS = (
    "scope, thread, position, event_time, entry_id, hash, length, bigram_length, question_share, "
    "words, word_counts, bigrams, bigram_counts, counted, counted_bigrams"
)
_INSERT = sqlite_many(
    f"INSERT INTO entry_terms ({_COLUMNS}, checksum) "
    f"VALUES ({', '.join(f':{name}' for name in (*_COLUMNS.split(', '), 'checksum'))})"
)
_DELETE = sqlite_many("DELETE FROM entry_terms WHERE entry_id = :entry_id")
_SELECT = f"SELECT {_COLUMNS} FROM entry_terms"
_BY_IDS = sqlite_text(f"{_SELECT} WHERE entry_id IN :ids")
_ALONE = sqlite_text(f"{_SELECT} WHERE scope = :scope AND thread IN :threads")
_THREAD = f"{_SELECT} WHERE scope = :scope AND thread = :thread"
_WHOLE_THREAD = f"{_THREAD} ORDER BY position, event_time, entry_id"
_BEFORE = (
    f"{_THREAD} AND (position, event_time, entry_id) < (:position, :event_time, :entry_id) "
    "ORDER BY position DESC, event_time DESC, entry_id DESC LIMIT :reach"
)
_AFTER = (
    f"{_THREAD} AND (position, event_time, entry_id) > (:position, :event_time, :entry_id) "
    "ORDER BY position, event_time, entry_id LIMIT :reach"
)
_PLACE = ("scope", "thread", "position", "event_time", "entry_id")
_BY_THREAD = itemgetter(0, 1)
_NO_CHANGES: Mapping[tuple[str, int, int], int] = MappingProxyType({})
_NO_CHANGE = StatisticsChange()
"""Only read: looking something up in it adds nothing."""


class TermStore:
    """One SQLite file in the folder of a text index."""

    def __init__(self, path: Path, *, create: bool = False) -> None:
        self._path = path
        # One connection to read and one to write, so that a reader does not wait for a batch.
        self._reader = _connect(path, create=create)
        self._counts = TermCountCache(self._reader)
        self._mostly_alone: set[str] = set()
        """Scopes where the last entries that were looked up had no threads: they are looked up without a probe."""
        self._wal_index = WalIndex(path)
        self._writer: sqlite3.Connection | None = None

    def check_mapping(self) -> None:
        """`IndexDamagedError` if the memory that SQLite maps was truncated; to be called before a use."""
        if self._wal_index.restore():
            raise IndexDamagedError("the log index of the terms was truncated")

    def close(self) -> None:
        """Close the file."""
        self._wal_index.restore()
        self._reader.close()
        if self._writer is not None:
            self._writer.close()

    # --- writing --------------------------------------------------------------------------------------------------

    def apply(self, upserts: Sequence[Analysed], removals: Sequence[str], sequence: int) -> None:
        """Add and remove entries and update the statistics. Idempotent."""
        new = [features_of(analysed) for analysed in upserts]
        ids = [row.entry_id for row in new] + list(removals)
        if self._writer is None:
            self._writer = _connect(self._path)
        connection = self._writer
        connection.execute("BEGIN IMMEDIATE")
        with on_error(connection.rollback):
            old = [Features(*row) for row in _by_ids(connection, ids)]
            removed, added = changed_only(old, new)
            connection.executemany(_DELETE, [(row.entry_id,) for row in removed])
            connection.executemany(_INSERT, [_values(row) for row in added])
            update_statistics(connection, statistics_change(removed, added))
            connection.execute("INSERT OR REPLACE INTO log_position VALUES (1, :sequence)", {"sequence": sequence})
            connection.execute("COMMIT")
        self._counts.clear()

    # --- reading --------------------------------------------------------------------------------------------------

    def sequence(self) -> int:
        """The last change of the change log that was applied."""
        return int(self._reader.execute("SELECT max(sequence) FROM log_position").fetchone()[0] or 0)

    def statistics(
        self, scopes: Sequence[str], words: Sequence[str], bigrams: Sequence[str], pending: PendingTerms | None = None
    ) -> TermStatistics:
        """Numbers of the visible scopes together, with `pending` as if it were in the store."""
        if pending is None:
            return self._statistics(scopes, words, bigrams, _NO_CHANGE)
        with self._snapshot(pending) as (change, _):
            return self._statistics(scopes, words, bigrams, change)

    def _statistics(
        self, scopes: Sequence[str], words: Sequence[str], bigrams: Sequence[str], change: StatisticsChange
    ) -> TermStatistics:
        self._counts.refresh()
        totals = self._counts.totals(scopes)
        totals += [(scope, *change.scopes[scope], 0, 0) for scope in scopes if scope in change.scopes]
        totals += [(scope, 0, 0, 0, *change.conversations[scope]) for scope in scopes if scope in change.conversations]
        entries, shortness, bigram_shortness, conversations, conversation_shortness = (
            sum(total[column] for total in totals) for column in range(1, 6)
        )
        # A scope without texts, or without conversations, has no frequencies: it is not queried.
        with_texts = list(dict.fromkeys(total[0] for total in totals if total[1]))
        with_conversations = list(dict.fromkeys(total[0] for total in totals if total[4]))
        df = partial(self._df, changes=change.document_frequencies)
        return TermStatistics(
            entries=entries,
            mean_length=mean_length(entries, shortness),
            mean_bigram_length=mean_length(entries, bigram_shortness),
            word_df=df(with_texts, WORDS, words),
            bigram_df=df(with_texts, BIGRAMS, bigrams),
            conversations=conversations,
            mean_conversation_length=mean_length(conversations, conversation_shortness),
            conversation_df=df(with_conversations, CONVERSATIONS, words),
        )

    def frequencies(self, scopes: Sequence[str], field: int, terms: Sequence[str]) -> CollectionStatistics:
        """How many texts these scopes have, their mean length, and in how many of them each term of a field stands."""
        self._counts.refresh()
        column = 2 if field == WORDS else 3
        totals = self._counts.totals(scopes)
        entries = sum(total[1] for total in totals)
        df = self._df([total[0] for total in totals if total[1]], field, terms)
        return CollectionStatistics(df, entries, mean_length(entries, sum(total[column] for total in totals)))

    def _df(
        self,
        scopes: Sequence[str],
        field: int,
        terms: Sequence[str],
        changes: Mapping[tuple[str, int, int], int] = _NO_CHANGES,
    ) -> tuple[int, ...]:
        ids = [term_id(term) for term in terms]
        found = dict.fromkeys(ids, 0)
        for scope in scopes if ids else ():
            counts = self._counts.frequencies(scope, field, found)
            for term in found:
                found[term] += counts[term]
        for scope in scopes if changes else ():
            for term in found:
                found[term] += changes.get((scope, field, term), 0)
        return tuple(found[term] for term in ids)

    def windows(
        self, ids: Sequence[str], *, reach: int, scopes: Sequence[str] = (), pending: PendingTerms | None = None
    ) -> list[TermRow]:
        """The entries with these ids and up to `reach` entries before and after each in its thread, in order.

        Rows that follow each other in one thread follow each other in the answer.
        """
        if pending is not None:
            with self._snapshot(pending) as (_, hidden):
                return self._windows(ids, reach, scopes, pending, hidden)
        self._counts.refresh()
        kept = self._counts.rows
        found = [kept[entry_id] for entry_id in ids if entry_id in kept]
        if len(found) < len(ids):
            left = [entry_id for entry_id in ids if entry_id not in kept] if found else ids
            read = self._windows(left, reach, scopes, NOTHING_PENDING, Counter())
            self._counts.put_rows(row for row in read if row.thread.startswith(ALONE))
            found += read
        found.sort(key=_BY_THREAD)
        return found

    def _windows(
        self,
        ids: Sequence[str],
        reach: int,
        scopes: Sequence[str],
        pending: PendingTerms,
        hidden: Counter[tuple[str, str]],
    ) -> list[TermRow]:
        members: defaultdict[tuple[str, str], list[tuple[Any, ...]]] = defaultdict(list)
        found: list[tuple[Any, ...]] = []
        for row in pending.replaced(self._rows(ids, scopes), ids):
            if row[1].startswith(ALONE):
                found.append(row)
            else:
                members[row[0], row[1]].append(row)
        for (scope, thread), rows in sorted(members.items()):
            if thread.startswith(CONVERSATION) and self._entries(scope, thread) <= _MAX_WHOLE_THREAD:
                near = self._reader.execute(_WHOLE_THREAD, {"scope": scope, "thread": thread}).fetchall()
            else:
                # Rows that are no longer true must not make the window smaller.
                near = self._around(rows, reach + hidden[scope, thread])
            found += pending.merged(near, scope, thread)
        # The sort is stable: the rows of a thread stay in their order.
        found.sort(key=_BY_THREAD)
        return [term_row(row[0], row[1], row[3], row[4], row[6:13]) for row in found]

    def _rows(self, ids: Sequence[str], scopes: Sequence[str]) -> list[tuple[Any, ...]]:
        """Entries by id. Entries without a thread are looked up by the primary key, which begins with the scope.

        By the index of ids the reads are spread over the whole file, which takes several times as long in a large one.
        """
        found: list[tuple[Any, ...]] = []
        left = list(ids)
        for scope in scopes:
            probe = left if scope in self._mostly_alone else left[:_PROBE]
            alone = _alone(self._reader, scope, probe)
            if 2 * len(alone) > len(probe):
                alone += _alone(self._reader, scope, left[len(probe) :])
                self._mostly_alone.add(scope)
            else:
                self._mostly_alone.discard(scope)
            found += alone
            known = {row[4] for row in alone}
            left = [entry_id for entry_id in left if entry_id not in known]
        return found + _by_ids(self._reader, left)

    def _entries(self, scope: str, thread: str) -> int:
        row = self._reader.execute(CONVERSATION_LENGTH, {"scope": scope, "thread": thread}).fetchone()
        return int(row[1]) if row is not None else 0

    def _around(self, rows: list[tuple[Any, ...]], reach: int) -> list[tuple[Any, ...]]:
        """Some rows of one thread with their neighbours, in order."""
        found: dict[tuple[Any, ...], tuple[Any, ...]] = {}
        for row in sorted(rows):
            place = {**dict(zip(_PLACE, row[:5], strict=True)), "reach": reach}
            if row[:5] not in found:
                # Otherwise it is a neighbour of the row before it, and so are all rows between them.
                before = self._reader.execute(_BEFORE, place).fetchall()
                found.update((near[:5], near) for near in reversed(before))
                found[row[:5]] = row
            after = self._reader.execute(_AFTER, place).fetchall()
            found.update((near[:5], near) for near in after)
        return [found[line] for line in sorted(found)]

    def conversations(
        self, threads: Iterable[tuple[str, str]], words: Sequence[str], pending: PendingTerms | None = None
    ) -> dict[tuple[str, str], tuple[int, tuple[int, ...]]]:
        """For each (scope, conversation) its length and how often each word occurs in it."""
        with self._snapshot(pending) as (change, _):
            return self._conversations(threads, words, change)

    def _conversations(
        self, threads: Iterable[tuple[str, str]], words: Sequence[str], change: StatisticsChange
    ) -> dict[tuple[str, str], tuple[int, tuple[int, ...]]]:
        ids = [term_id(word) for word in words]
        terms = sqlite_list(ids)
        found = {}
        for scope, thread in threads:
            params = {"scope": scope, "thread": thread, "terms": terms}
            length = self._reader.execute(CONVERSATION_LENGTH, params).fetchone()
            counts = dict(self._reader.execute(CONVERSATION_COUNTS, params).fetchall())
            more, _ = change.conversation_lengths.get((scope, thread), (0, 0))
            found[scope, thread] = (
                (length[0] if length else 0) + more,
                tuple(counts.get(term, 0) + change.conversation_terms[scope, thread, term] for term in ids),
            )
        return found

    @contextmanager
    def _snapshot(self, pending: PendingTerms | None) -> Iterator[tuple[StatisticsChange, Counter[tuple[str, str]]]]:
        """What is pending against one state of the store, which all reads of the block see.

        How the statistics change, and how many rows of each (scope, thread) are no longer true.
        """
        if pending is None:
            yield _NO_CHANGE, Counter()
            return
        self._reader.execute("BEGIN")
        try:
            old = [Features(*row) for row in _by_ids(self._reader, sorted(pending.ids))]
            change = statistics_change(*changed_only(old, pending.features))
            read_conversations(self._reader, change)
            yield change, Counter((row.scope, row.thread) for row in old)
        finally:
            self._reader.rollback()

    def contents(self) -> Iterator[tuple[str, str]]:
        """(id, hash) of every entry; a wrong hash where the row does not match its checksum."""
        for *row, checksum in self._reader.execute(f"SELECT {_COLUMNS}, checksum FROM entry_terms"):
            yield row[4], row[5] if row_checksum(row) == checksum else "damaged"

    def check(self) -> list[str]:
        """SQLite's integrity check, and whether the statistics follow from the entries."""
        found = [row[0] for row in self._reader.execute("PRAGMA integrity_check(20)") if row[0] != "ok"]
        return found or wrong_sums(self._reader, length_floor=LENGTH_FLOOR, unit=UNIT, conversation=CONVERSATION)


def _connect(path: Path, *, create: bool = False) -> sqlite3.Connection:
    connection = open_derived(
        path,
        # The tantivy commit that follows refers to this one, so this one must be on disk first.
        synchronous="FULL",
        first_read="SELECT max(sequence) FROM log_position",
        create=_CREATE if create else None,
    )
    connection.execute("PRAGMA cache_size=-32000")
    return connection


def _alone(connection: sqlite3.Connection, scope: str, ids: Sequence[str]) -> list[tuple[Any, ...]]:
    """The entries of this scope, among these, that have no thread with others."""
    if not ids:
        return []
    threads = sqlite_list([ALONE + entry_id for entry_id in ids])
    return connection.execute(_ALONE, {"scope": scope, "threads": threads}).fetchall()


def _by_ids(connection: sqlite3.Connection, ids: Sequence[str]) -> list[tuple[Any, ...]]:
    return connection.execute(_BY_IDS, {"ids": sqlite_list(ids)}).fetchall() if ids else []


def _values(row: Features) -> tuple[Any, ...]:
    values = values_of(row)
    return (*values, row_checksum(values))

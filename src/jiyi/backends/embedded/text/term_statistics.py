"""The statistics of a term store: numbers of scopes and conversations, kept up to date by differences."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Sequence

from jiyi.backends.records.sql import sqlite_list, sqlite_many, sqlite_text
from jiyi.backends.shared.term_rows import CONVERSATIONS, StatisticsChange, shortness

_ADD_DF = sqlite_many(
    "INSERT INTO term_df VALUES (:scope, :field, :term, :df) ON CONFLICT DO UPDATE SET df = df + excluded.df"
)
_DELETE_DF = sqlite_many("DELETE FROM term_df WHERE scope = :scope AND field = :field AND term = :term AND df = 0")
_ADD_ENTRIES = sqlite_many(
    "INSERT INTO scope_totals VALUES (:scope, :entries, :shortness, :bigram_shortness, 0, 0) "
    "ON CONFLICT DO UPDATE SET entries = entries + excluded.entries, shortness = shortness + excluded.shortness, "
    "bigram_shortness = bigram_shortness + excluded.bigram_shortness"
)
_ADD_CONVERSATIONS = sqlite_many(
    "INSERT INTO scope_totals VALUES (:scope, 0, 0, 0, :conversations, :conversation_shortness) "
    "ON CONFLICT DO UPDATE SET conversations = conversations + excluded.conversations, "
    "conversation_shortness = conversation_shortness + excluded.conversation_shortness"
)
_DELETE_SCOPES = sqlite_many("DELETE FROM scope_totals WHERE scope = :scope AND entries = 0 AND conversations = 0")
_PUT_TERMS = sqlite_many("INSERT OR REPLACE INTO conversation_terms VALUES (:scope, :thread, :term, :tf)")
_DELETE_TERMS = sqlite_many("DELETE FROM conversation_terms WHERE scope = :scope AND thread = :thread AND term = :term")
_PUT_LENGTHS = sqlite_many("INSERT OR REPLACE INTO conversation_lengths VALUES (:scope, :thread, :length, :entries)")
_DELETE_LENGTHS = sqlite_many("DELETE FROM conversation_lengths WHERE scope = :scope AND thread = :thread")
CONVERSATION_LENGTH = "SELECT length, entries FROM conversation_lengths WHERE scope = :scope AND thread = :thread"
CONVERSATION_COUNTS = sqlite_text(
    "SELECT term, tf FROM conversation_terms WHERE scope = :scope AND thread = :thread AND term IN :terms"
)


def update_statistics(connection: sqlite3.Connection, changes: StatisticsChange) -> None:
    """Write the changes inside the caller's transaction."""
    _update_conversations(connection, changes)
    connection.executemany(
        _ADD_DF,
        sorted((*key, change) for key, change in changes.document_frequencies.items() if change),
    )
    connection.executemany(
        _DELETE_DF,
        [key for key, change in changes.document_frequencies.items() if change < 0],
    )
    connection.executemany(
        _ADD_ENTRIES,
        [(scope, *total) for scope, total in changes.scopes.items()],
    )
    connection.executemany(_DELETE_SCOPES, [(scope,) for scope in changes.scopes])


def _update_conversations(connection: sqlite3.Connection, changes: StatisticsChange) -> None:
    """Conversations are documents too: update their term counts, lengths and document frequencies."""
    terms, lengths = read_conversations(connection, changes)
    updated = [(*key, count) for key, count in terms.items() if count > 0]
    removed = [key for key, count in terms.items() if count <= 0]
    connection.executemany(_PUT_TERMS, sorted(updated))
    connection.executemany(_DELETE_TERMS, removed)
    connection.executemany(_PUT_LENGTHS, [row for row in lengths if row[3]])
    connection.executemany(_DELETE_LENGTHS, [row[:2] for row in lengths if not row[3]])
    connection.executemany(
        _ADD_CONVERSATIONS,
        [(scope, *total) for scope, total in changes.conversations.items()],
    )


def read_conversations(
    connection: sqlite3.Connection, changes: StatisticsChange
) -> tuple[dict[tuple[str, str, int], int], list[tuple[str, str, int, int]]]:
    """The term counts and the (scope, thread, length, entries) of conversations after the changes.

    What follows from them for the scopes is added to the changes.
    """
    changed = {key: change for key, change in changes.conversation_terms.items() if change}
    before_all = _term_counts(connection, list(changed))
    terms: dict[tuple[str, str, int], int] = {}
    for (scope, thread, term), change in changed.items():
        before = before_all.get((scope, thread, term), 0)
        after = terms[scope, thread, term] = before + change
        changes.document_frequencies[scope, CONVERSATIONS, term] += (after > 0) - (before > 0)
    lengths: list[tuple[str, str, int, int]] = []
    for (scope, thread), (length, entries) in changes.conversation_lengths.items():
        row = connection.execute(CONVERSATION_LENGTH, {"scope": scope, "thread": thread}).fetchone()
        before_length, before_entries = row if row is not None else (0, 0)
        after_length, after_entries = before_length + length, before_entries + entries
        lengths.append((scope, thread, after_length, after_entries))
        total = changes.conversations[scope]
        total[0] += (after_entries > 0) - (before_entries > 0)
        total[1] += (shortness(after_length) if after_entries else 0) - (
            shortness(before_length) if before_entries else 0
        )
    return terms, lengths


def _term_counts(
    connection: sqlite3.Connection, keys: Sequence[tuple[str, str, int]]
) -> dict[tuple[str, str, int], int]:
    """The current count of each (scope, conversation, term) that occurs."""
    by_thread: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for scope, thread, term in keys:
        by_thread[scope, thread].append(term)
    found: dict[tuple[str, str, int], int] = {}
    for (scope, thread), wanted in by_thread.items():
        rows = connection.execute(CONVERSATION_COUNTS, {"scope": scope, "thread": thread, "terms": sqlite_list(wanted)})
        found.update(((scope, thread, term), tf) for term, tf in rows)
    return found

"""What a question to the record store costs depends on its answer, not on everything that is stored."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from jiyi.backends.embedded.connection import SqliteConnection
from jiyi.backends.embedded.database import SqliteDatabase
from jiyi.backends.records import chat, history, jobs, longterm, notes, writes
from jiyi.backends.records.sql import sqlite_text
from jiyi.backends.records.store import SqlRecordStore
from jiyi.model.filters import make_filters
from jiyi.model.listing import Order
from jiyi.ports import TagPosition

SCOPES = ("main", "public")
FILTERS = make_filters(SCOPES)
NOW = datetime(2026, 1, 2, tzinfo=UTC)
DATED = make_filters(SCOPES, category="core", since=NOW)
PREFIXED = make_filters(SCOPES, key_prefix="k")
TAGGED = make_filters(SCOPES, tags=("tea",))

BY_ID = "sqlite_autoindex_memory_records_1 (id"
BY_SCOPE = "(scope=?"
# What was asked for, and what other steps have found.
NOT_STORED = (
    "SCAN anon_",
    "SCAN matched",
    "SCAN all_matched",
    "SCAN places",
    "SCAN (subquery",
    "SCAN CONSTANT ROW",
    "SCAN json_each",
)
QUESTIONS: dict[str, tuple[Any, str]] = {
    "fetch": (lambda store: store.fetch(["a", "b"], FILTERS), BY_ID),
    "fetch filtered": (lambda store: store.fetch(["a", "b"], DATED), BY_ID),
    "admitted": (lambda store: store.admitted(["a", "b"], DATED), BY_ID),
    "count": (lambda store: store.count(FILTERS), BY_SCOPE),
    "time range": (lambda store: store.time_range(SCOPES), BY_SCOPE),
    "matching ids": (lambda store: store.matching_ids(DATED), "(scope=? AND event_time"),
    "matching tags": (lambda store: store.matching_ids(TAGGED), BY_SCOPE),
    "page": (lambda store: store.page(FILTERS, limit=10, offset=5), "ix_memory_records_scope_created"),
    "page after a place": (
        lambda store: store.page(FILTERS, limit=10, after=("2026-01-01T00:00:00.000000Z", "a")),
        "ix_memory_records_scope_created (scope=? AND created_at<?)",
    ),
    "page by event": (
        lambda store: store.page(FILTERS, limit=10, order=Order("event"), after=("2026-01-01T00:00:00.000000Z", "a")),
        "ix_memory_records_scope_event (scope=? AND event_time<?)",
    ),
    "page by key": (
        lambda store: store.page(FILTERS, limit=10, order=Order("key", descending=False), after=("k", "a")),
        "sqlite_autoindex_memory_records_2 (scope=? AND key>?)",
    ),
    "page of a prefix": (
        lambda store: store.page(PREFIXED, limit=10, order=Order("key", descending=False)),
        "sqlite_autoindex_memory_records_2 (scope=? AND key>? AND key<?)",
    ),
    "namespaces": (
        lambda store: store.namespaces(SCOPES, now=NOW),
        "ix_memory_records_namespace (scope=? AND namespace>?)",
    ),
    "under a namespace": (
        lambda store: store.count(make_filters(SCOPES[:1], namespace=("a",))),
        "ix_memory_records_namespace (scope=? AND namespace>? AND namespace<?)",
    ),
    "expired": (lambda store: store.count_expired(None, NOW), "ix_memory_records_expires (expires_at"),
    "get by id": (lambda store: store.get(SCOPES, None, entry_id="a"), BY_ID),
    "scan": (lambda store: store.scan(after_id="a", limit=10), BY_ID),
    "tagged": (lambda store: store.tagged([1, 2], FILTERS, limit=10), "ix_memory_tag_rel_tag (tag_id=? AND scope=?)"),
    "tagged, then by id": (lambda store: store.tagged([1, 2], FILTERS, limit=10), BY_ID),
    "tagged of each type": (lambda store: store.tagged([1], DATED, limit=10, each_type=True), BY_ID),
    "tags of each type": (
        lambda store: store.tagged([1], DATED, limit=10, each_type=True),
        "ix_memory_tag_rel_tag (tag_id=? AND scope=?)",
    ),
    "new tags": (lambda store: store.tags_since(TagPosition(0, 7)), "SEARCH memory_tags"),
    "pending": (lambda store: store.pending(7), "PRIMARY KEY (rowid>?)"),
    "pending in scopes": (lambda store: store.pending(7, SCOPES), "PRIMARY KEY (rowid>?)"),
    "versions": (lambda store: store.versions("main", "k"), "ix_memory_changes_key (scope=? AND key=?)"),
    "get": (lambda store: store.get(SCOPES, "k"), "sqlite_autoindex_memory_records_2 (scope=? AND key=?)"),
    "touch": (lambda store: store.touch(["a"], NOW), BY_ID),
}

BY_POSITION = "ix_conversation_history_session (scope=? AND session_id=? AND position"
CHAT_STATEMENTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "where the next message goes": (
        history._NEXT_POSITION,
        ("sqlite_autoindex_chat_epochs_1 (scope=? AND session_id=?)", "ix_conversation_history_session (scope=? AND"),
    ),
    "where the next message goes, and what was asked": (
        history._NEXT_POSITION_AND_QUESTION,
        ("sqlite_autoindex_chat_epochs_1 (scope=? AND session_id=?)", BY_POSITION),
    ),
    "the current epoch": (chat._CURRENT_EPOCH, ("sqlite_autoindex_chat_epochs_1 (scope=? AND session_id=?)",)),
    "the newest summary": (
        chat._NEWEST_SUMMARY,
        ("sqlite_autoindex_chat_summaries_2 (scope=? AND session_id=? AND epoch=?)",),
    ),
    "the window": (chat._NEWEST_FIRST, (BY_POSITION,)),
    "what follows": (chat._OLDEST_FIRST, (BY_POSITION,)),
    "the system messages": (
        chat._SYSTEM_MESSAGES,
        ("ix_conversation_history_prompts (scope=? AND session_id=? AND replaced_at=? AND position",),
    ),
}


class Planned:
    """A record store whose engine tells the plan of each statement."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "memory.db"
        SqliteDatabase(self._file, busy_timeout=5).close()
        # Opened again, so that every connection in use is one that is traced.
        self.database = SqliteDatabase(self._file, busy_timeout=5)
        self._statements: list[str] = []
        connect = self.database._connect

        def traced(*pragmas: str) -> SqliteConnection:
            connection = connect(*pragmas)
            connection.driver.set_trace_callback(self._statements.append)
            return connection

        self.database._connect = traced  # type: ignore[method-assign]
        self.store = SqlRecordStore(self.database)
        self._statements.clear()

    def steps(self) -> list[str]:
        asked = [sql for sql in self._statements if sql.startswith(("SELECT", "WITH", "UPDATE", "DELETE"))]
        with closing(sqlite3.connect(self._file)) as connection:
            return [row[3] for sql in asked for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}")]


@pytest.fixture
def planned(tmp_path: Path) -> Iterator[Planned]:
    planned = Planned(tmp_path)
    yield planned
    planned.store.close()


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_is_answered_by_the_index_that_is_made_for_it(question: str, planned: Planned) -> None:
    ask, index = QUESTIONS[question]
    ask(planned.store)
    steps = planned.steps()
    assert any(index in step for step in steps), steps
    # Nearly all entries of all scopes are active: by that index every question would walk through everything.
    tables = [step for step in steps if not step.startswith(NOT_STORED)]
    assert not any("active" in step or step.startswith("SCAN") for step in tables), steps


def test_touching_for_a_scope_reads_no_other_entries_of_the_scope(planned: Planned) -> None:
    planned.store.touch(["a"], NOW, scope="main")
    read = [step for step in planned.steps() if "memory_records" in step]
    assert len(read) == 2
    assert all(BY_ID in step for step in read), read


@pytest.mark.parametrize("made_last", ["ix_conversation_history_session", "ix_conversation_history_prompts"])
@pytest.mark.parametrize("question", CHAT_STATEMENTS)
def test_a_chat_never_walks_through_its_history(question: str, made_last: str, planned: Planned) -> None:
    statement, indexes = CHAT_STATEMENTS[question]
    with planned.database.write() as connection:
        # Of two indexes that fit as well SQLite takes the one that was made last.
        stated = connection.scalar(f"SELECT sql FROM sqlite_master WHERE name = '{made_last}'")
        connection.execute(f"DROP INDEX {made_last}")
        connection.execute(stated)
    steps = plan(planned.database, statement)
    for index in indexes:
        assert any(index in step for step in steps), steps
    assert not any("TEMP B-TREE" in step for step in steps), steps
    assert not any(step.startswith("SCAN ") and step != "SCAN CONSTANT ROW" for step in steps), steps


def plan(database: SqliteDatabase, statement: str) -> list[str]:
    """The steps of a statement."""
    names = re.findall(r":(\w+)", sqlite_text(statement))
    return [row[3] for row in database.query(f"EXPLAIN QUERY PLAN {statement}", dict.fromkeys(names, 1))]


ROOM_STATEMENTS = {
    "what no reflection summarizes": (longterm._UNSUMMARIZED, "ix_memory_records_kinds (scope=? AND memory_type=?"),
    "the last reflection": (longterm._LAST_REFLECTION, "ix_memory_records_kinds (scope=? AND memory_type=?"),
    "what may be forgotten": (
        longterm._CANDIDATES + longterm._CANDIDATES_ORDER,
        "ix_memory_records_longterm (scope=?)",
    ),
    "what was forgotten": (longterm._INACTIVE, "ix_memory_records_inactive (scope=?)"),
    "the facts of a reflection": (
        longterm._OF_REFLECTION,
        "ix_memory_records_summarized (scope=? AND summarized_by=?)",
    ),
    "the next scope": (longterm._NEXT_SCOPE, "(scope>?)"),
    "a job that waits already": (jobs._QUEUED_DUPLICATE, "ix_jobs_dedupe (dedupe_key=?)"),
    "pieces of a note": (notes._PIECES, "ix_memory_records_conversation (scope=? AND conversation_id=?)"),
    "entries by scope and key": (writes._BY_PAIRS, "(scope=? AND key=?)"),
}


@pytest.mark.parametrize("question", ROOM_STATEMENTS)
def test_a_statement_of_a_room_uses_the_index_that_is_made_for_it(question: str, planned: Planned) -> None:
    statement, index = ROOM_STATEMENTS[question]
    steps = plan(planned.database, statement)
    assert any(index in step for step in steps), steps

"""What a question to the record store costs depends on its answer, not on everything that is stored."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from jiyi.backends.sql.records import SqlRecordStore
from jiyi.backends.sql.sqlite import SqliteDatabase
from jiyi.model.filters import make_filters
from jiyi.ports import TagMark

SCOPES = ("main", "public")
FILTERS = make_filters(SCOPES)
NOW = datetime(2026, 1, 2, tzinfo=UTC)
DATED = make_filters(SCOPES, category="core", since=NOW)
TAGGED = make_filters(SCOPES, tags=("tea",))

BY_ID = "sqlite_autoindex_memory_records_1 (id"
BY_SCOPE = "(scope=?"
# What was asked for, and what other steps have found.
NOT_STORED = ("SCAN anon_", "SCAN matched", "SCAN all_matched", "SCAN places", "SCAN (subquery", "SCAN CONSTANT ROW")
QUESTIONS: dict[str, tuple[Any, str]] = {
    "fetch": (lambda store: store.fetch(["a", "b"], FILTERS), BY_ID),
    "fetch filtered": (lambda store: store.fetch(["a", "b"], DATED), BY_ID),
    "count": (lambda store: store.count(FILTERS), BY_SCOPE),
    "matching ids": (lambda store: store.matching_ids(DATED), "(scope=? AND event_time"),
    "matching tags": (lambda store: store.matching_ids(TAGGED), BY_SCOPE),
    "page": (lambda store: store.page(FILTERS, limit=10, offset=5), "ix_memory_records_scope_created"),
    "scan": (lambda store: store.scan(after_id="a", limit=10), BY_ID),
    "tagged": (lambda store: store.tagged([1, 2], FILTERS, limit=10), "ix_memory_tag_rel_tag (tag_id=? AND scope=?)"),
    "tagged, then by id": (lambda store: store.tagged([1, 2], FILTERS, limit=10), BY_ID),
    "tagged of each type": (lambda store: store.tagged([1], DATED, limit=10, each_type=True), BY_ID),
    "tags of each type": (
        lambda store: store.tagged([1], DATED, limit=10, each_type=True),
        "ix_memory_tag_rel_tag (tag_id=? AND scope=?)",
    ),
    "new tags": (lambda store: store.tags_since(TagMark(0, 7)), "SEARCH memory_tags"),
    "pending": (lambda store: store.pending(7), "PRIMARY KEY (rowid>?)"),
    "pending in scopes": (lambda store: store.pending(7, SCOPES), "PRIMARY KEY (rowid>?)"),
    "touch": (lambda store: store.touch(["a"], NOW), BY_ID),
}


class Planned:
    """A record store whose engine tells how it goes about each statement."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "memory.db"
        SqliteDatabase(self._file, busy_timeout=5).close()
        # Opened again, so that no connection is in use before the one who listens.
        database = SqliteDatabase(self._file, busy_timeout=5)
        self.store = SqlRecordStore(database)
        self._statements: list[str] = []
        sa.event.listen(database._engine, "checkout", self._listen)

    def _listen(self, connection: sqlite3.Connection, *_: Any) -> None:
        connection.set_trace_callback(self._statements.append)

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

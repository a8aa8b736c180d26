"""The columns of an entry: the codec, `MemoryEntry` and the schema agree, on every engine."""

import sqlite3
from dataclasses import fields, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from jiyi.backends.embedded.database import SqliteDatabase
from jiyi.backends.records.codec import (
    COLUMNS,
    ENTRY_FIELDS,
    SELECT_ENTRY,
    VERSIONED_FIELDS,
    changed_fields,
    entry_of,
    entry_values,
)
from jiyi.backends.records.column_checks import check_column
from jiyi.backends.records.import_checks import ImportSchema
from jiyi.backends.records.schema import memory_records
from jiyi.backends.records.tables import BOOLEAN, INTEGER, REAL, TEXT, TIME, Column, ColumnType
from jiyi.backends.records.writes import insert_rows
from jiyi.errors import InvalidInputError
from jiyi.model.category import MemoryCategory
from jiyi.model.entry import MemoryEntry, Source
from jiyi.model.limits import Limits

NOON = datetime(2026, 1, 2, 12, 0, 0, 123456, tzinfo=UTC)
OF_A_HIT = {"relevance_score", "similarity", "confident", "explanation", "context", "other_sources", "corrected_by"}
EMPTY = MemoryEntry(
    id="1", scope="main", key=None, content="text", created_at=NOON, updated_at=NOON, last_accessed_at=NOON
)
FULL = MemoryEntry(
    id="2",
    scope="alice",
    key="city",
    content="住在奥斯陆",
    category=MemoryCategory("daily"),
    memory_type="reflection",
    domain="work",
    more_domains=("travel", "home"),
    reasoning="because",
    importance_score=0.75,
    strength=3,
    tags=("tea", "绿茶"),
    conversation_id="s",
    position=7,
    source=Source("note", "agent", ("a.md:1-2",)),
    metadata={"title": "茶", "score": 0.5, "more": {"kind": ["a", None, True, 2**53]}},
    namespace=("projects", "x y"),
    occurred_at=NOON.replace(year=1999),
    expires_at=NOON.replace(year=2031),
    created_at=NOON,
    updated_at=NOON.replace(hour=13),
    last_accessed_at=NOON.replace(hour=14),
    access_count=5,
    is_active=False,
    pinned=True,
    superseded_by="3",
    summarized_by="4",
    version=9,
)
STORED = [field.name for field in fields(MemoryEntry) if field.name not in OF_A_HIT]


def test_every_field_of_an_entry_is_a_column_and_every_column_a_field() -> None:
    assert sorted(ENTRY_FIELDS) == sorted(STORED)
    assert {column.name for column in COLUMNS} - set(ENTRY_FIELDS) == {"event_time"}
    assert memory_records.columns is COLUMNS


def test_the_example_differs_from_the_empty_entry_in_every_field() -> None:
    same = [name for name in STORED if getattr(FULL, name) == getattr(EMPTY, name)]
    assert same == ["created_at"]


@pytest.mark.parametrize("entry", [EMPTY, FULL], ids=["empty", "full"])
def test_an_entry_comes_back_from_its_row_from_its_dictionary_and_from_an_export(
    entry: MemoryEntry, tmp_path: Path
) -> None:
    database = SqliteDatabase(tmp_path / "memory.db", busy_timeout=5)
    with database.write() as connection:
        insert_rows(connection, [entry])
    assert [entry_of(row) for row in database.query(SELECT_ENTRY)] == [entry]
    database.close()
    assert MemoryEntry.from_dict(entry.to_dict()) == entry
    assert sorted(entry.to_dict()) == sorted(STORED)
    assert ImportSchema(Limits()).entry(entry.to_dict()) == entry
    assert list(entry_values(entry)) == list(memory_records.names)


def test_the_table_has_the_columns_of_the_codec(tmp_path: Path) -> None:
    SqliteDatabase(tmp_path / "memory.db", busy_timeout=5).close()
    connection = sqlite3.connect(tmp_path / "memory.db")
    found = connection.execute("PRAGMA table_info(memory_records)").fetchall()
    connection.close()
    assert [(name, kind, bool(not_null)) for _, name, kind, not_null, _, _ in found] == [
        (column.name, column.type.sql("sqlite"), not column.nullable) for column in COLUMNS
    ]


def test_a_change_of_a_versioned_field_is_named_and_bookkeeping_is_not() -> None:
    changed = changed_fields(EMPTY, replace(FULL, id=EMPTY.id))
    assert changed == list(VERSIONED_FIELDS)
    assert not {"id", "scope", "key", "access_count", "last_accessed_at", "updated_at", "version"} & set(changed)


@pytest.mark.parametrize(
    ("kind", "good", "wrong"),
    [
        (TEXT, "any text, 也可以\nin lines", "a\x00b"),
        (TEXT, "", "half a pair \ud800"),
        (INTEGER, 3, -1),
        (BOOLEAN, True, 1),
        (REAL, 0.5, 1.5),
        (TIME, NOON, NOON.replace(tzinfo=None)),
    ],
)
def test_a_column_without_a_check_of_its_own_is_checked_by_its_type(
    kind: ColumnType, good: object, wrong: object
) -> None:
    column = Column("mood", kind)
    check_column(column, Limits(), good)
    with pytest.raises(InvalidInputError):
        check_column(column, Limits(), wrong)

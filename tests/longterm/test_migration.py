"""A store from before the long-term room becomes the same as a new one, and loses nothing."""

import sqlite3
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from jiyi.backends.records.migrations import MIGRATIONS
from tests.longterm.conftest import OpenMemory
from tests.support import contents_of, database

COLUMNS = ("superseded_by", "summarized_by", "more_domains")
INDEXES = ("longterm", "kinds", "summarized", "superseded")


def shape(connection: sqlite3.Connection) -> dict[str, Any]:
    """Columns and indexes of the tables that the migration touches."""
    found: dict[str, Any] = {}
    for table in ("memory_records", "jobs"):
        columns = connection.execute(f"PRAGMA table_info({table})").fetchall()
        found[table] = {(name, kind, not_null, key) for _, name, kind, not_null, _, key in columns}
        for _, index, unique, _, partial in connection.execute(f"PRAGMA index_list({table})").fetchall():
            names = [row[2] for row in connection.execute(f"PRAGMA index_info({index})")]
            found[index] = (names, unique, partial)
    return found


def test_an_older_store_becomes_what_a_new_one_is(open_room: OpenMemory, tmp_path: Path) -> None:
    with open_room() as memory:
        memory.store("city", "lives in Oslo", tags=["home"], domain="lifestyle_and_interests")
        memory.save_conversation_history("s", [{"role": "user", "content": "hello"}])
        before = contents_of(memory)
    with database(tmp_path / "data") as connection:
        new = shape(connection)
        for index in INDEXES:
            connection.execute(f"DROP INDEX ix_memory_records_{index}")
        for column in COLUMNS:
            connection.execute(f"ALTER TABLE memory_records DROP COLUMN {column}")
        connection.execute("DROP TABLE jobs")
    step = next(migration for migration in MIGRATIONS if migration.name.startswith("long-term"))
    engine = sa.create_engine(f"sqlite:///{tmp_path / 'data' / 'memory.db'}")
    with engine.begin() as transaction:
        step.apply(transaction)
    engine.dispose()
    memory = open_room()
    assert contents_of(memory) == before
    assert memory.longterm.extract_and_store_memories_for_round("main", "c", "I am allergic to nuts", "ok")
    memory.close()
    with database(tmp_path / "data") as connection:
        assert shape(connection) == new

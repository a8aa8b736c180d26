"""The index of metadata in SQLite: new entries are added to it a hundred at once, and are found before that."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jiyi.backends.embedded.database import SqliteDatabase
from jiyi.backends.records import metadata_index, versions
from jiyi.backends.records.store import SqlRecordStore
from jiyi.model.filters import Filters, make_filters
from jiyi.sync import migrate_store
from jiyi.testing.conformance.examples import draft

PENDING = "memory_metadata_pending"
RED = make_filters(("main",), where={"color": "red"})


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlRecordStore]:
    store = SqlRecordStore(SqliteDatabase(tmp_path / "memory.db", busy_timeout=5))
    yield store
    store.close()


def count(folder: Path, table: str) -> int:
    with closing(sqlite3.connect(folder / "memory.db")) as connection:
        return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def may_match(store: SqlRecordStore, filters: Filters) -> frozenset[str]:
    with store._database.read(filters.scopes) as connection:
        return metadata_index.may_match(connection, filters)


def keys(store: SqlRecordStore, filters: Filters) -> set[str | None]:
    """What each of the ways finds that go through the index; they agree."""
    few = store.few_matching(filters, limit=1_000)
    assert few is not None
    assert set(store.admitted(list(may_match(store, filters)), filters)) == set(few)
    for _ in range(3):
        # The second time on, what was read before is used again.
        estimate = store.estimate(filters, limit=1_000)
        assert estimate is not None
        assert estimate >= len(few)
        listed = store.listed_matches(filters, limit=1_000)
        assert listed is not None
        assert listed >= set(few)
    return {entry.key for entry in store.fetch(few, None).values()}


changes = st.one_of(
    st.tuples(st.just("put"), st.integers(0, 5), st.sampled_from([{}, {"color": "red"}, {"color": "blue", "n": 1}])),
    st.tuples(st.just("forget"), st.integers(0, 5), st.just(None)),
    st.tuples(st.just("erase"), st.integers(0, 5), st.just(None)),
)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(changes, max_size=20), st.integers(1, 6))
def test_whatever_is_written_changed_and_forgotten_a_condition_finds_what_meets_it(
    tmp_path_factory: pytest.TempPathFactory, story: list[tuple[str, int, Any]], limit: int
) -> None:
    folder = tmp_path_factory.mktemp("index")
    with (
        pytest.MonkeyPatch.context() as patch,
        closing(SqlRecordStore(SqliteDatabase(folder / "memory.db", busy_timeout=5))) as store,
    ):
        patch.setattr(metadata_index, "_MAX_PENDING", limit)
        expected: dict[str, dict[str, Any]] = {}
        for operation, number, metadata in story:
            key = f"k{number}"
            if operation == "put":
                store.put([draft(key, "text", metadata=metadata)], actor="a")
                expected[key] = metadata
            else:
                store.forget("main", key, actor="a", erase=operation == "erase")
                expected.pop(key, None)
            assert keys(store, RED) == {key for key, value in expected.items() if value.get("color") == "red"}


def test_new_entries_wait_and_are_added_to_the_index_a_hundred_at_once(store: SqlRecordStore, tmp_path: Path) -> None:
    for number in range(127):
        store.put([draft(f"k{number}", "text", metadata={"color": "red"})], actor="a")
    assert (count(tmp_path, PENDING), count(tmp_path, "memory_metadata")) == (127, 0)
    assert len(keys(store, RED)) == 127
    store.put([draft("last", "text", metadata={"color": "red"})], actor="a")
    assert (count(tmp_path, PENDING), count(tmp_path, "memory_metadata")) == (0, 128)
    assert len(keys(store, RED)) == 128


def test_a_large_write_is_in_the_index_at_once(store: SqlRecordStore, tmp_path: Path) -> None:
    store.put([draft(f"k{number}", "text", metadata={"color": "red"}) for number in range(300)], actor="a")
    assert (count(tmp_path, PENDING), count(tmp_path, "memory_metadata")) == (0, 300)
    assert len(keys(store, RED)) == 300


def test_pending_entries_of_other_scopes_are_not_named(store: SqlRecordStore) -> None:
    store.put([draft("mine", "text", metadata={"color": "red"})], actor="a")
    theirs = store.put([draft("theirs", "text", scope="other", metadata={"color": "red"})], actor="a")
    assert keys(store, RED) == {"mine"}
    assert theirs[0].id not in may_match(store, RED)
    assert store.estimate(RED, limit=10) == 1


def test_more_entries_are_listed_when_they_are_asked_for_again_and_until_their_scope_changes(
    store: SqlRecordStore,
) -> None:
    store.put([draft(f"k{number}", "text", metadata={"color": "red"}) for number in range(5)], actor="a")

    def listed() -> frozenset[str] | None:
        store.estimate(RED, limit=3)
        return store.listed_matches(RED, limit=3)

    assert listed() is None
    before = listed()
    assert before is not None
    assert len(before) == 5
    store.put([draft("theirs", "text", scope="other", metadata={"color": "red"})], actor="a")
    assert listed() is before
    store.put([draft("another", "text", metadata={"color": "red"})], actor="a")
    assert listed() is None
    after = listed()
    assert after is not None
    assert len(after) == 6


def test_what_is_listed_for_one_question_holds_for_others_with_the_same_condition(store: SqlRecordStore) -> None:
    entries = store.put(
        [
            draft("core", "text", category="core", metadata={"color": "red"}),
            draft("daily", "text", category="daily", metadata={"color": "red"}),
        ],
        actor="a",
    )
    of_core = make_filters(("main",), category="core", where={"color": "red"})
    for _ in range(3):
        store.estimate(of_core, limit=10)
        store.listed_matches(of_core, limit=10)
    store.estimate(RED, limit=10)
    assert set(store.listed_matches(RED, limit=10) or ()) == {entry.id for entry in entries}


def test_a_forgotten_entry_leaves_nothing_that_waits(store: SqlRecordStore, tmp_path: Path) -> None:
    store.put([draft("k", "text", metadata={"color": "red"})], actor="a")
    store.forget("main", "k", actor="a", erase=True)
    assert (count(tmp_path, PENDING), count(tmp_path, "memory_metadata")) == (0, 0)


def test_a_store_whose_index_was_kept_by_triggers_alone_is_brought_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with closing(SqlRecordStore(SqliteDatabase(path, busy_timeout=5))) as store:
        store.put([draft(f"k{number}", "text", metadata={"color": "red"}) for number in range(300)], actor="a")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"DROP TABLE {PENDING}")
        for name in ("changed", "deleted"):
            connection.execute(f"DROP TRIGGER memory_metadata_{name}")
        connection.execute(
            "CREATE TRIGGER memory_metadata_1 AFTER INSERT ON memory_records BEGIN SELECT RAISE(FAIL, 'outdated'); END"
        )
        connection.execute("UPDATE schema_migrations SET version = 11")
    with closing(SqlRecordStore(SqliteDatabase(path, busy_timeout=5))) as store:
        assert store.describe()["schema_version"] == versions.NEWEST
        store.put([draft("new", "text", metadata={"color": "red"})], actor="a")
        store.forget("main", "k0", actor="a")
        assert keys(store, RED) == {"new", *(f"k{number}" for number in range(1, 300))}


def test_in_a_copied_store_a_condition_finds_what_was_copied(tmp_path: Path) -> None:
    with closing(SqlRecordStore(SqliteDatabase(tmp_path / "from" / "memory.db", busy_timeout=5))) as store:
        store.put([draft(f"k{number}", "text", metadata={"color": "red"}) for number in range(200)], actor="a")
        store.put([draft("pending", "text", metadata={"color": "red"})], actor="a")
    migrate_store(tmp_path / "from", tmp_path / "to")
    with closing(SqlRecordStore(SqliteDatabase(tmp_path / "to" / "memory.db", busy_timeout=5))) as store:
        assert keys(store, RED) == {"pending", *(f"k{number}" for number in range(200))}

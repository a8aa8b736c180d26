"""Transactions of the SQLite engine: whole or not at all."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from jiyi.backends.embedded.database import SqliteDatabase
from jiyi.backends.records.schema import store_meta
from jiyi.backends.records.sql import Connection
from jiyi.errors import StorageError


@pytest.fixture
def database(tmp_path: Path) -> Iterator[SqliteDatabase]:
    found = SqliteDatabase(tmp_path / "memory.db", busy_timeout=5)
    yield found
    found.close()


def write(connection: Connection, *names: str) -> None:
    connection.executemany(store_meta.insert, [{"name": name, "value": "x"} for name in names])


def names(database: SqliteDatabase) -> set[str]:
    return {row[0] for row in database.query("SELECT name FROM store_meta WHERE value = 'x'")}


def test_what_was_written_is_there_when_the_block_has_ended_and_not_before(database: SqliteDatabase) -> None:
    with database.write() as connection:
        write(connection, "one", "two")
        assert names(database) == set()
    assert names(database) == {"one", "two"}


def test_an_error_in_the_block_leaves_nothing_and_the_next_write_works(database: SqliteDatabase) -> None:
    def broken() -> None:
        with database.write() as connection:
            write(connection, "one")
            raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        broken()
    assert names(database) == set()
    with database.write() as connection:
        write(connection, "two")
    assert names(database) == {"two"}


def test_an_error_of_the_engine_says_what_it_means_and_leaves_nothing(database: SqliteDatabase) -> None:
    def twice() -> None:
        with database.write() as connection:
            write(connection, "one")
            write(connection, "one")

    with pytest.raises(StorageError, match=r"memory\.db failed"):
        twice()
    assert names(database) == set()
    with database.write() as connection:
        write(connection, "one")
    assert names(database) == {"one"}


def test_a_snapshot_does_not_see_what_is_written_meanwhile(database: SqliteDatabase) -> None:
    statement = "SELECT count(*) FROM store_meta WHERE value = 'x'"
    with database.read() as snapshot:
        assert snapshot.scalar(statement) == 0
        with database.write() as connection:
            write(connection, "one")
        assert snapshot.scalar(statement) == 0
    assert names(database) == {"one"}


@pytest.mark.parametrize(
    "name", ["one", "a😀b", "\x1fnotes", "用户", "it's", 'say "x"', "back\\slash", "\\u0000", "%s", ":x"]
)
def test_a_list_is_compared_exactly_whatever_its_values_are(database: SqliteDatabase, name: str) -> None:
    with database.write() as connection:
        write(connection, name, "other")
    listed = "SELECT name FROM store_meta WHERE value = 'x' AND name {} :names"
    assert database.query(listed.format("IN"), {"names": [name, "missing"]}) == [(name,)]
    assert database.query(listed.format("NOT IN"), {"names": (name,)}) == [("other",)]
    assert database.query(listed.format("IN"), {"names": []}) == []


def test_a_value_with_a_nul_in_a_list_matches_nothing(database: SqliteDatabase) -> None:
    with database.write() as connection:
        write(connection, "one")
    found = database.query("SELECT name FROM store_meta WHERE name IN :names", {"names": ["one\x00more", "one\x00"]})
    assert found == []


def test_a_list_of_pairs_is_compared_pair_by_pair(database: SqliteDatabase) -> None:
    with database.write() as connection:
        write(connection, "one", "two")
    pairs = json.dumps([("one", "x"), ("two", "y"), ("three", "x")])
    statement = "SELECT name FROM store_meta WHERE (name, value) IN PAIRS :pairs"
    assert database.query(statement, {"pairs": pairs}) == [("one",)]


def test_a_value_that_no_engine_knows_is_refused(database: SqliteDatabase) -> None:
    with pytest.raises(TypeError, match="a set cannot be a value"):
        database.query("SELECT 1 WHERE 1 IN :numbers", {"numbers": {1, 2}})


def test_a_reader_does_not_write(database: SqliteDatabase) -> None:
    with pytest.raises(StorageError, match="readonly"), database.read() as connection:
        write(connection, "one")
    assert names(database) == set()

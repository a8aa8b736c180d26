"""Transactions of the SQLite engine: whole or not at all, whichever way the statements went."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from jiyi.backends.embedded.database import SqliteDatabase
from jiyi.backends.records.prepared import Prepared
from jiyi.backends.records.schema import store_meta
from jiyi.errors import StorageError

_DIRECT = Prepared(store_meta.insert().inline(), ["name", "value"])
WAYS = ["direct", "sqlalchemy", "both"]


@pytest.fixture
def database(tmp_path: Path) -> Iterator[SqliteDatabase]:
    found = SqliteDatabase(tmp_path / "memory.db", busy_timeout=5)
    yield found
    found.close()


def write(connection: sa.Connection, way: str, name: str) -> None:
    """Rows straight at the driver, through SQLAlchemy, or one after the other."""
    if way != "sqlalchemy":
        _DIRECT.run(connection, {"name": f"{name} direct", "value": "x"})
    if way != "direct":
        connection.execute(store_meta.insert().values(name=f"{name} sqlalchemy", value="x"))


def names(database: SqliteDatabase) -> set[str]:
    with database.read() as connection:
        return set(connection.execute(sa.select(store_meta.c.name).where(store_meta.c.value == "x")).scalars())


@pytest.mark.parametrize("way", WAYS)
def test_what_was_written_is_there_when_the_block_has_ended_and_not_before(database: SqliteDatabase, way: str) -> None:
    with database.write() as connection:
        write(connection, way, "one")
        assert names(database) == set()
    assert {name.split()[1] for name in names(database)} == ({way} if way != "both" else {"direct", "sqlalchemy"})


@pytest.mark.parametrize("way", WAYS)
def test_an_error_in_the_block_leaves_nothing_and_the_next_write_works(database: SqliteDatabase, way: str) -> None:
    def broken() -> None:
        with database.write() as connection:
            write(connection, way, "one")
            raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        broken()
    assert names(database) == set()
    with database.write() as connection:
        write(connection, "both", "two")
    assert names(database) == {"two direct", "two sqlalchemy"}


@pytest.mark.parametrize("way", ["direct", "sqlalchemy"])
def test_an_error_of_the_engine_says_what_it_means_and_leaves_nothing(database: SqliteDatabase, way: str) -> None:
    def twice() -> None:
        with database.write() as connection:
            write(connection, way, "one")
            write(connection, way, "one")

    with pytest.raises(StorageError, match=r"memory\.db failed"):
        twice()
    assert names(database) == set()
    with database.write() as connection:
        write(connection, way, "one")
    assert len(names(database)) == 1

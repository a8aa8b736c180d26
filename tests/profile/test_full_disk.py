"""A disk that is full where the indexes are: nothing acknowledged is lost, it is said, and it mends itself."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from jiyi.backends.embedded.text import terms as term_store
from jiyi.backends.embedded.vectors import rows as sqlite_vectors
from jiyi.backends.shared.derived_file import open_derived
from jiyi.errors import IndexingError, StorageError
from jiyi.sync import AgentMemory
from jiyi.testing.fakes import HashEmbedder
from tests.servers.fixtures import NewDatabase
from tests.support import QUICK

Full = Callable[[], AbstractContextManager[None]]

_REFUSE = """
CREATE FUNCTION jiyi_search.no_room() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full'; END $$
"""


@contextmanager
def no_room_for_files() -> Iterator[None]:
    """The databases of the indexes that are opened now cannot grow: SQLite says that the disk is full."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (term_store, sqlite_vectors):
            patch.setattr(module, "open_derived", _without_room(open_derived))
        yield


def _without_room(connect: Callable[..., sqlite3.Connection]) -> Callable[..., sqlite3.Connection]:
    def connected(*args: Any, **kwargs: Any) -> sqlite3.Connection:
        connection = connect(*args, **kwargs)
        connection.execute("PRAGMA max_page_count=1")  # which is never less than there is already
        return connection

    return connected


@contextmanager
def refusing_tables(address: str) -> Iterator[None]:
    """Every write to a derived table ends as on a full disk."""
    with psycopg.connect(address, autocommit=True) as connection:
        found = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'jiyi_search'").fetchall()
        assert found
        connection.execute(_REFUSE)
        for (table,) in found:
            connection.execute(
                f"CREATE TRIGGER no_room BEFORE INSERT OR UPDATE OR DELETE ON jiyi_search.{table} "
                "FOR EACH ROW EXECUTE FUNCTION jiyi_search.no_room()".encode()
            )
        yield
        connection.execute("DROP FUNCTION jiyi_search.no_room CASCADE")


@pytest.fixture(params=["embedded", pytest.param("postgres", marks=pytest.mark.server)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path | str, Full]:
    """Where the memory is, and how its indexes run out of room."""
    if request.param == "embedded":
        return tmp_path / "data", no_room_for_files
    new_postgres: NewDatabase = request.getfixturevalue("new_postgres")
    address = new_postgres()
    return address, lambda: refusing_tables(address)


def test_a_full_disk_under_the_indexes_loses_nothing_and_mends_itself(place: tuple[Path | str, Full]) -> None:
    where, full = place
    settings = {**QUICK, "embedder": HashEmbedder()}
    with AgentMemory.open(where, **settings) as memory:
        memory.store("first", "the lighthouse keeper")
        assert [hit.key for hit in memory.recall("lighthouse")] == ["first"]
    with full(), AgentMemory.open(where, **settings) as memory:
        memory.store_many({"key": f"k{n}", "content": f"灯塔 number {n} of the coast"} for n in range(300))
        assert memory.forget("first")
        for _ in range(2):
            with pytest.raises((IndexingError, StorageError), match=r"(?i)the records are safe|no room left"):
                memory.recall("灯塔 number 299", 1)
        assert memory.count() == 300
        assert memory.get("k299") is not None
    with AgentMemory.open(where, **settings) as memory:
        assert [hit.key for hit in memory.recall("灯塔 number 299", 1)] == ["k299"]
        assert memory.recall("lighthouse keeper", mode="keyword") == []
        memory.drain()
        assert [report.to_dict() for report in memory.verify() if not report.sound] == []
        assert memory.doctor()["healthy"]

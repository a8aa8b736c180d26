"""A store moves from one engine to another: whole, resumable, and shown to be equal."""

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

import jiyi
from jiyi.apps.server.keys import Keys
from jiyi.backends.records import copy as copying
from jiyi.backends.records import schema
from jiyi.errors import InvalidInputError, StorageError, StoreBusyError, StoreIncompleteError
from jiyi.model.access_key import AccessLine
from jiyi.sync import AgentMemory, migrate_store
from jiyi.wiring.keys import open_key_store
from tests.profile.stories import tell, write_notes
from tests.servers.fixtures import NewDatabase
from tests.support import QUICK, first_store

pytestmark = pytest.mark.server

ENTRIES = 100


@pytest.fixture(autouse=True)
def _small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a table of the story has more than two of them."""
    monkeypatch.setattr(copying, "_PAGE", 40)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with everything in it; no test writes to it."""
    folder = tmp_path_factory.mktemp("told")
    write_notes(folder / "notes")
    with AgentMemory.open(folder / "data", workspace=folder / "notes", **QUICK) as memory:
        tell(memory, many=ENTRIES)
        memory.notes.scan()
        memory.store("shared", "The office is closed on Monday", scope="public")
        memory.longterm.feedback("alice", ["shared"])
        keys = Keys(open_key_store(memory.settings))
        key, _ = keys.add("bot", "alice")
        keys.log([AccessLine(key.created_at, key.id, "alice", "POST /v1/entries", "", 201)])
        keys.close()
    return folder / "data"


def export_of(place: str | Path, folder: Path) -> bytes:
    """Every byte of an export but its first line, which holds the time; without indexes, which are not moved."""
    with AgentMemory.open(place, **{**QUICK, "enable_simple_memory": True}) as memory:
        memory.export_jsonl(folder / "export.jsonl")
    return (folder / "export.jsonl").read_bytes().partition(b"\n")[2]


def rows_of(folder: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table that is moved, the replaced ones and the bookkeeping included."""
    with closing(sqlite3.connect(folder / "memory.db")) as connection:
        found = {
            table.name: connection.execute(
                f"SELECT * FROM {table.name} ORDER BY {', '.join(table.primary_key)}"
            ).fetchall()
            for table in schema.CONTENTS
        }
        own = "name NOT IN ('store_id', 'migration')"
        found["store_meta"] = connection.execute(f"SELECT * FROM store_meta WHERE {own} ORDER BY name").fetchall()
        found["sqlite_sequence"] = connection.execute("SELECT name, seq FROM sqlite_sequence ORDER BY name").fetchall()
        return found


def test_the_story_has_rows_in_every_table(told: Path) -> None:
    empty = {name for name, rows in rows_of(told).items() if not rows}
    assert empty == set()


def test_from_one_file_to_postgresql_and_back_nothing_is_lost(
    told: Path, new_postgres: NewDatabase, tmp_path: Path
) -> None:
    address, back = new_postgres(), tmp_path / "back"
    there = migrate_store(told, address)
    again = migrate_store(address, back)
    assert export_of(told, tmp_path) == export_of(address, tmp_path) == export_of(back, tmp_path)
    assert rows_of(back) == rows_of(told)
    assert there.digests == again.digests
    assert there.rows == again.rows == {n: len(r) for n, r in rows_of(told).items() if n in there.rows}
    assert not there.resumed


def test_numbers_go_on_where_they_stood(told: Path, new_postgres: NewDatabase) -> None:
    address = new_postgres()
    migrate_store(told, address)
    last = dict(rows_of(told)["sqlite_sequence"])
    with AgentMemory.open(address, **{**QUICK, "enable_simple_memory": True}) as memory:
        memory.store("new", "after the move", tags=["never seen before"])
        memory.save_conversation_history("new", [{"role": "user", "content": "hello"}])
    with psycopg.connect(address) as connection:
        connection.execute("SET jiyi.whole_store = 'on'")
        assert _scalar(connection, "SELECT min(sequence) FROM memory_changes WHERE key = 'new'") == (
            last["memory_changes"] + 1
        )
        assert _scalar(connection, "SELECT id FROM memory_tags ORDER BY id DESC LIMIT 1") == last["memory_tags"] + 1
        assert _scalar(connection, "SELECT max(id) FROM conversation_history") == last["conversation_history"] + 1


def _scalar(connection: psycopg.Connection[Any], statement: str) -> Any:
    row = connection.execute(statement.encode()).fetchone()
    assert row is not None
    return row[0]


def test_the_copy_is_a_store_of_its_own_and_both_go_on(told: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    migrate_store(told, first)
    with AgentMemory.open(first, **QUICK) as memory:
        assert [hit.key for hit in memory.recall("lives in Oslo", 1)] == ["city"]
        memory.store("only here", "the lamp of the first house")
    migrate_store(first, second)
    # An index that lies where the copy is made is not taken for its own, whatever it held.
    with AgentMemory.open(first, **QUICK) as one, AgentMemory.open(second, **QUICK) as other:
        other.store("only there", "the lamp of the second house")
        assert [hit.key for hit in one.recall("lamp first house", 1)] == ["only here"]
        assert [hit.key for hit in other.recall("lamp second house", 1)] == ["only there"]
        assert one._target._store.store_id != other._target._store.store_id
        assert all(report.sound for memory in (one, other) for report in memory.verify())


class _StoppedError(Exception):
    pass


def stop_after(pages: int) -> Callable[[int, int | None], None]:
    """A progress that breaks the work off."""
    calls = 0

    def progress(done: int, total: int | None) -> None:
        nonlocal calls
        calls += 1
        if calls == pages:
            raise _StoppedError

    return progress


def once(action: Callable[[], object]) -> Callable[[int, int | None], None]:
    """A progress that does something the first time it is called."""
    called: list[object] = []

    def progress(done: int, total: int | None) -> None:
        if not called:
            called.append(True)
            action()

    return progress


@pytest.mark.parametrize("pages", [1, 4, 9, 14, 20])
def test_a_migration_that_breaks_off_goes_on_and_copies_nothing_twice(told: Path, tmp_path: Path, pages: int) -> None:
    target = tmp_path / "target"
    with pytest.raises(_StoppedError):
        migrate_store(told, target, progress=stop_after(pages))
    before = {
        name: len(rows) for name, rows in rows_of(target).items() if name in {table.name for table in schema.TABLES}
    }
    with pytest.raises(StoreIncompleteError, match="jiyi migrate"):
        AgentMemory.open(target, **QUICK)
    steps: list[int] = []
    report = migrate_store(told, target, progress=lambda done, total: steps.append(done))
    assert report.resumed
    assert report.copied_again == ()
    copied = max(steps[: next((i for i, n in enumerate(steps[1:], 1) if n <= steps[i - 1]), len(steps))])
    already = sum(before[name] for name in report.rows)
    assert copied == report.total - already or already == report.total
    assert rows_of(target) == rows_of(told)


def test_a_migration_that_is_killed_goes_on(told: Path, new_postgres: NewDatabase, tmp_path: Path) -> None:
    address = new_postgres()
    program = textwrap.dedent("""
        import os, signal, sys
        from jiyi.backends.records import copy as copying
        from jiyi.sync import migrate_store
        copying._PAGE = 40
        calls = 0
        def progress(done, total):
            global calls
            calls += 1
            if calls == int(sys.argv[3]):
                os.kill(os.getpid(), signal.SIGKILL)
        migrate_store(sys.argv[1], sys.argv[2], progress=progress)
    """)
    for pages in ("3", "5"):
        done = subprocess.run([sys.executable, "-c", program, str(told), address, pages], check=False, env=os.environ)
        assert done.returncode == -signal.SIGKILL
        with pytest.raises(StoreIncompleteError):
            AgentMemory.open(address, **QUICK)
    assert migrate_store(told, address).resumed
    assert export_of(address, tmp_path) == export_of(told, tmp_path)
    back = tmp_path / "back"
    migrate_store(address, back)
    assert rows_of(back) == rows_of(told)


@pytest.mark.parametrize("pages", [8, 14, 19, 24])
def test_what_changed_at_the_source_between_two_runs_is_taken_in(told: Path, tmp_path: Path, pages: int) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    migrate_store(told, source)
    with pytest.raises(_StoppedError):
        migrate_store(source, target, progress=stop_after(pages))
    with AgentMemory.open(source, **QUICK) as memory:
        memory.store("city", "moved to Bergen")
        memory.forget("n3", erase=True)
        memory.store("late", "came later", tags=["late"])
    report = migrate_store(source, target)
    assert report.resumed
    assert ("memory_records" in report.copied_again) == (pages >= 14)
    assert rows_of(target) == rows_of(source)


def test_a_write_while_it_is_copied_is_noticed_and_taken_in_by_the_next_run(told: Path, tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    migrate_store(told, source)
    with AgentMemory.open(source, **QUICK) as memory:
        progress = once(lambda: memory.store("meanwhile", "somebody wrote this"))

        with pytest.raises(StoreBusyError, match="was written to while it was copied"):
            migrate_store(source, target, progress=progress)
        with pytest.raises(StoreIncompleteError):
            AgentMemory.open(target, **QUICK)
    assert migrate_store(source, target).copied_again
    assert rows_of(target) == rows_of(source)


def test_a_recall_while_it_is_copied_is_noticed_too(told: Path, tmp_path: Path) -> None:
    """It counts how often an entry was recalled: that is kept with the entry and would be lost."""
    source, target = tmp_path / "source", tmp_path / "target"
    migrate_store(told, source)
    with AgentMemory.open(source, **QUICK) as memory:

        def recall() -> None:
            memory.longterm.retrieve_relevant_memories("ada", "花生")
            memory.count()  # what is touched after an answer has been touched when the next call begins

        progress = once(recall)

        with pytest.raises(StoreBusyError, match="was written to"):
            migrate_store(source, target, progress=progress)


def test_a_target_with_memories_is_refused_and_left_as_it_is(
    told: Path, new_postgres: NewDatabase, tmp_path: Path
) -> None:
    target = tmp_path / "target"
    with AgentMemory.open(target, **QUICK) as memory:
        memory.store("mine", "stays")
    before = rows_of(target)
    with pytest.raises(InvalidInputError, match=r"is not empty.*memory_records"):
        migrate_store(told, target)
    assert rows_of(target) == before
    migrate_store(target, address := new_postgres())
    with pytest.raises(InvalidInputError, match="is not empty"):
        migrate_store(told, address)
    with pytest.raises(InvalidInputError, match=r"is not empty.*copied there at"):
        migrate_store(target, address)


def test_a_target_that_was_only_opened_is_empty(told: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    AgentMemory.open(target, **QUICK).close()
    migrate_store(told, target)
    assert rows_of(target) == rows_of(told)


def test_a_begun_copy_of_another_store_is_refused(told: Path, tmp_path: Path) -> None:
    other, target = tmp_path / "other", tmp_path / "target"
    with AgentMemory.open(other, **QUICK) as memory:
        memory.store("k", "v")
    with pytest.raises(_StoppedError):
        migrate_store(told, target, progress=stop_after(2))
    with pytest.raises(InvalidInputError, match="begun copy of another store"):
        migrate_store(other, target)
    with pytest.raises(StoreIncompleteError):
        migrate_store(target, tmp_path / "third")


def test_of_two_migrations_into_one_target_one_goes_on(told: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    progress = once(lambda: migrate_store(told, target))
    with pytest.raises(StoreBusyError, match="another process has taken over"):
        migrate_store(told, target, progress=progress)
    assert rows_of(target) == rows_of(told)


def test_something_else_that_writes_to_the_target_is_noticed(told: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    AgentMemory.open(target, **QUICK).close()
    with closing(sqlite3.connect(target / "memory.db", isolation_level=None)) as connection:
        inserts = iter(["INSERT INTO memory_tags (name) VALUES ('a stranger')"])

        def progress(done: int, total: int | None) -> None:
            if total == done:
                for insert in inserts:
                    connection.execute(insert)

        with pytest.raises(StorageError, match="something else writes there"):
            migrate_store(told, target, progress=progress)


def test_a_store_and_itself_are_not_two_places(told: Path, new_postgres: NewDatabase, tmp_path: Path) -> None:
    for target in (told, f"{told}/", told / ".." / told.name):
        with pytest.raises(InvalidInputError, match="source and target are both"):
            migrate_store(told, target)
    (tmp_path / "link").symlink_to(told, target_is_directory=True)
    with pytest.raises(InvalidInputError, match="source and target are both"):
        migrate_store(told, tmp_path / "link")
    address = new_postgres()
    with pytest.raises(InvalidInputError, match="the same store"):
        migrate_store(address, f"{address}?application_name=other")


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("nowhere", "there is no memory in"),
        ("a file", "is a file; name the data directory"),
        ("https://ada:s3cr3t@example.org/x", "neither a data directory nor"),
        ("postgresql://ada:s3cr3t@host:port/x", "the port is no number"),
        ("", "must be a data directory"),
        (None, "must be a data directory"),
    ],
)
def test_a_source_that_is_none_is_named(tmp_path: Path, place: Any, words: str) -> None:
    if place == "a file":
        place = tmp_path / "file"
        place.write_text("x")
    if place == "nowhere":
        place = tmp_path / "nowhere"
    with pytest.raises(InvalidInputError, match=words) as caught:
        migrate_store(place, tmp_path / "target")
    assert "s3cr3t" not in str(caught.value)
    assert not (tmp_path / "target").exists()
    assert not (tmp_path / "nowhere").exists()


def test_an_old_store_is_brought_up_to_date_and_moved(tmp_path: Path, new_postgres: NewDatabase) -> None:
    first_store(tmp_path / "old")
    address = new_postgres()
    migrate_store(tmp_path / "old", address)
    assert export_of(address, tmp_path) == export_of(tmp_path / "old", tmp_path)


def test_a_program_with_async_moves_a_store_too(told: Path, tmp_path: Path) -> None:
    report = asyncio.run(jiyi.migrate_store(told, tmp_path / "target"))
    assert report.to_dict()["total"] == report.total == sum(report.rows.values())
    assert rows_of(tmp_path / "target") == rows_of(told)

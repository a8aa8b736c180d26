"""The change feed on PostgreSQL: hints by LISTEN and NOTIFY, and the log as the truth."""

import subprocess
import sys
import threading
from pathlib import Path

import psycopg
import pytest

from jiyi.model.change import MemoryChange
from jiyi.sync import AgentMemory
from tests.servers.fixtures import NewDatabase
from tests.support import QUICK

pytestmark = pytest.mark.server

WRITER = """
import sys
from jiyi.sync import AgentMemory
settings = dict(embedder="none", background_indexing=False, background_jobs=False, storage=sys.argv[2])
with AgentMemory.open(sys.argv[1], **settings) as memory:
    for number in range(25):
        memory.store(f"{sys.argv[3]}-{number}", "a text", scope=sys.argv[3])
"""
LONG = 600.0
"""Longer than any test waits: what comes sooner was told by the server."""


def watched(memory: AgentMemory, count: int, seen: list[MemoryChange]) -> threading.Thread:
    """A thread that takes so many changes of the feed, and the position that it begins at is fixed."""
    after = memory.changes()[-1].position

    def take() -> None:
        feed = memory.watch(after=after, interval=LONG)
        seen.extend(next(feed) for _ in range(count))

    thread = threading.Thread(target=take, daemon=True)
    thread.start()
    return thread


def test_a_watcher_is_told_at_once_of_what_another_memory_writes(tmp_path: Path, new_postgres: NewDatabase) -> None:
    settings = {**QUICK, "storage": new_postgres()}
    with AgentMemory.open(tmp_path / "a", **settings) as memory, AgentMemory.open(tmp_path / "b", **settings) as other:
        other.store("before", "not seen")
        seen: list[MemoryChange] = []
        thread = watched(memory, 3, seen)
        for key in ("one", "two", "three"):
            other.store(key, "a text")
        thread.join(60)
        assert [change.key for change in seen] == ["one", "two", "three"]


def test_the_feed_of_four_writing_processes_misses_and_doubles_nothing(
    tmp_path: Path, new_postgres: NewDatabase
) -> None:
    url = new_postgres()
    with AgentMemory.open(tmp_path, **QUICK, storage=url) as memory:
        memory.store("before", "not seen")
        seen: list[MemoryChange] = []
        thread = watched(memory, 100, seen)
        names = [f"writer{number}" for number in range(4)]
        writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), url, name]) for name in names]
        assert [writer.wait(120) for writer in writers] == [0, 0, 0, 0]
        thread.join(60)
        assert sorted(str(change.key) for change in seen) == sorted(f"{n}-{i}" for n in names for i in range(25))
        assert [change.position for change in seen] == sorted({change.position for change in seen})
        for name in names:
            assert [c.key for c in seen if c.scope == name] == [f"{name}-{i}" for i in range(25)]


def test_a_watcher_whose_connection_is_lost_goes_on_by_asking(tmp_path: Path, new_postgres: NewDatabase) -> None:
    url = new_postgres()
    with AgentMemory.open(tmp_path, **QUICK, storage=url) as memory:
        memory.store("before", "not seen")
        feed = memory.watch(after=memory.changes()[-1].position, interval=0.05)
        memory.store("one", "a text")
        assert next(feed).key == "one"
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN %'")
        memory.store("two", "a text")
        assert next(feed).key == "two"

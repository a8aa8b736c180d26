"""Many processes on one store: no increment is lost, and nobody waits for ever."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import psycopg
import pytest

from jiyi.backends.postgres.database import PostgresDatabase
from jiyi.backends.records.runtime import SqlRuntimeStore
from jiyi.backends.records.store import SqlRecordStore
from jiyi.model.filters import Filters
from jiyi.testing.conformance.examples import ACTOR, entry
from tests.servers.fixtures import as_app

pytestmark = pytest.mark.server

ROOT = Path(__file__).parents[2]


def together(*commands: list[str]) -> list[str]:
    """Run workers at the same time; what each of them says."""
    workers = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.postgres.worker", *command],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for command in commands
    ]
    answers = [worker.communicate() for worker in workers]
    assert [error for _, error in answers] == [""] * len(workers)
    assert [worker.returncode for worker in workers] == [0] * len(workers)
    return [said for said, _ in answers]


def increments(url: str, processes: int, times: int) -> None:
    database = PostgresDatabase(url)
    store, memory = SqlRecordStore(database), entry(None, "judgment", strength=1)
    SqlRuntimeStore(database).add([memory], actor=ACTOR)
    together(*[["increment", url, memory.id, str(times)]] * processes)
    after = store.fetch([memory.id], None)[memory.id]
    total = processes * times
    assert (after.strength, after.access_count, after.version) == (1 + total, total, 1 + total)
    assert store.pending(0) == 1 + total
    with database.read() as connection:
        assert connection.column("SELECT useful FROM runtime_memories") == [total]
    store.close()


def test_increments_of_several_processes_are_all_counted(postgres_url: str) -> None:
    increments(as_app(postgres_url), processes=3, times=100)


@pytest.mark.crash
def test_eight_processes_with_five_hundred_increments_each_lose_none(postgres_url: str) -> None:
    increments(as_app(postgres_url), processes=8, times=500)


def test_a_child_process_goes_on_with_connections_of_its_own(postgres_url: str) -> None:
    program = """
import os, sys
from jiyi.backends.postgres.database import PostgresDatabase
from jiyi.backends.records.store import SqlRecordStore
from jiyi.testing.conformance.examples import draft
store = SqlRecordStore(PostgresDatabase(sys.argv[1]))
store.put([draft("before", "x")], actor="parent")
child = os.fork()
for number in range(5):
    store.put([draft(f"{bool(child)} {number}", "x")], actor="either")
if not child:
    store.close()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
store.put([draft("after", "x")], actor="parent")
store.close()
"""
    url = as_app(postgres_url)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program, url], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    store = SqlRecordStore(PostgresDatabase(url))
    assert store.count(Filters(scopes=("main",))) == 12
    store.close()


def mixture(url: str, processes: int, threads: int, times: int) -> None:
    """So many operations in all; PostgreSQL counts deadlocks itself."""
    store = SqlRecordStore(PostgresDatabase(as_app(url)))
    each = times // processes
    said = together(*[["mixed", as_app(url), str(number), str(each), str(threads)] for number in range(processes)])
    done = sum((Counter(json.loads(one)) for one in said), Counter[str]())
    assert done.total() >= 0.95 * times
    assert min(done.values()) > 0
    assert len(done) == 13
    with psycopg.connect(url) as connection:
        statement = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
        assert connection.execute(statement).fetchone() == (0,)
    # What is left fits together: each entry's versions are all there, and every tag is the right one.
    scopes = ("alice", "bob", "carol", "public")
    assert store.check() == []
    everything = store.page(Filters(scopes=scopes), limit=1_000_000, offset=0)
    changes = store.changes_after(0, limit=1_000_000)
    last = {change.entry_id: change.version for change in changes}
    assert all(last[one.id] == one.version for one in everything)
    used = Counter(tag for one in everything for tag in one.tags)
    assert dict(store.tag_usage(scopes, limit=1_000_000, offset=0)) == used
    store.close()


def test_no_deadlock_in_a_thousand_mixed_operations(postgres_url: str) -> None:
    mixture(postgres_url, processes=2, threads=4, times=1_000)


@pytest.mark.crash
def test_no_deadlock_in_ten_thousand_mixed_operations(postgres_url: str) -> None:
    mixture(postgres_url, processes=4, threads=4, times=10_000)

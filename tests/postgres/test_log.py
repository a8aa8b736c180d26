"""The change log of PostgreSQL: in the order of the commits, and with what hangs on it."""

import threading
from collections.abc import Iterator

import psycopg
import pytest

from jiyi.backends.postgres.database import PostgresDatabase
from jiyi.backends.records.jobs import SqlJobStore
from jiyi.backends.records.sql import Connection
from jiyi.backends.records.store import SqlRecordStore
from jiyi.errors import StorageError
from jiyi.model.filters import Filters
from jiyi.model.job import JobDraft
from jiyi.ports import LogPosition
from jiyi.testing.conformance.examples import ACTOR, draft, entry

pytestmark = pytest.mark.server


@pytest.fixture
def database(postgres_url: str) -> Iterator[PostgresDatabase]:
    database = PostgresDatabase(postgres_url)
    yield database
    database.close()


@pytest.fixture
def store(database: PostgresDatabase) -> SqlRecordStore:
    return SqlRecordStore(database)


def test_a_line_has_no_number_before_its_transaction_is_the_only_one_that_writes_lines(
    store: SqlRecordStore, database: PostgresDatabase, postgres_url: str
) -> None:
    [first] = store.put([draft("first", "x")], actor=ACTOR)
    with psycopg.connect(postgres_url) as other, psycopg.connect(postgres_url, autocommit=True) as watcher:
        other.execute("SELECT pg_advisory_xact_lock(%s)", [database.key("log")])
        writer = threading.Thread(target=store.put, args=([draft("second", "x", scope="b")],), kwargs={"actor": ACTOR})
        writer.start()
        waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        while watcher.execute(waiting).fetchone() == (0,):
            pass
        last = watcher.execute("SELECT last_value FROM memory_changes_sequence_seq").fetchone()
        assert last == (store.head().sequence,)
        assert store.changes_after(0, limit=9)[-1].entry_id == first.id
        other.rollback()
        writer.join()
    assert [change.scope for change in store.changes_after(0, limit=9)] == ["main", "b"]


def test_what_writes_no_line_does_not_wait_for_the_log(
    store: SqlRecordStore, database: PostgresDatabase, postgres_url: str
) -> None:
    [one] = store.put([draft("k", "x")], actor=ACTOR)
    with psycopg.connect(postgres_url) as other:
        other.execute("SELECT pg_advisory_xact_lock(%s)", [database.key("log")])
        store.touch([one.id], one.created_at)
        assert SqlJobStore(database).add(JobDraft("learn", "main", {}))
        assert store.get(("main",), "k") is not None


def test_a_hook_hears_of_every_change_with_the_place_in_the_log(
    store: SqlRecordStore, database: PostgresDatabase
) -> None:
    heard: list[tuple[list[tuple[str, str]], LogPosition]] = []

    def hook(connection: Connection, changed: object, head: LogPosition) -> None:
        # Its own lines are there, and nobody else's can come between.
        assert connection.scalar("SELECT max(sequence) FROM memory_changes") == head.sequence
        assert isinstance(changed, list)
        heard.append((list(changed), head))

    database.before_commit(hook)
    one, two = store.put([draft("a", "x"), draft("b", "y", scope="other")], actor=ACTOR)
    assert heard.pop() == ([("main", one.id), ("other", two.id)], store.head())
    store.touch([one.id], one.created_at)
    store.add_user_word("早报")
    assert heard == []
    store.forget("main", "a", actor=ACTOR, erase=True)
    assert heard.pop() == ([("main", one.id)], store.head())
    three = entry(None, "z")
    store.import_rows([{"kind": "entry", **three.to_dict()}], actor=ACTOR)
    assert heard.pop() == ([("main", three.id)], store.head())


def test_a_hook_that_fails_undoes_the_write(store: SqlRecordStore, database: PostgresDatabase) -> None:
    def hook(connection: Connection, _changed: object, _head: LogPosition) -> None:
        connection.execute("SELECT 1 / 0")

    database.before_commit(hook)
    with pytest.raises(StorageError, match="division by zero"):
        store.put([draft("a", "x")], actor=ACTOR)
    assert store.count(Filters(scopes=("main",))) == 0
    assert store.pending(0) == 0


def test_an_erased_text_is_in_no_line_of_the_log(store: SqlRecordStore, postgres_url: str) -> None:
    for text in ("secret one", "secret two"):
        store.put([draft("k", text)], actor=ACTOR)
    store.forget("main", "k", actor=ACTOR, erase=True)
    with psycopg.connect(postgres_url) as connection:
        rows = connection.execute("SELECT memory_changes::text FROM memory_changes").fetchall()
    assert len(rows) == 3
    assert not any("secret" in row for (row,) in rows)

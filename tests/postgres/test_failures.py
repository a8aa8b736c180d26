"""What can go wrong with a server: nothing acknowledged is lost, errors say what to do, and the store goes on."""

import gc
import threading
from collections.abc import Iterator
from contextlib import closing
from typing import Any, Self

import psycopg
import pytest

import jiyi.backends.postgres.database as module
from jiyi.backends.postgres.database import PostgresDatabase
from jiyi.backends.records.store import SqlRecordStore
from jiyi.errors import CommitUnknownError, StorageError, StoreBusyError, StoreUnavailableError
from jiyi.model.filters import Filters
from jiyi.testing.conformance.examples import ACTOR, draft
from tests.servers.cable import Cable
from tests.servers.fixtures import as_app
from tests.servers.postgres import PostgresServer

pytestmark = pytest.mark.server

MAIN = Filters(scopes=("main",))


@pytest.fixture
def store(postgres_url: str) -> Iterator[SqlRecordStore]:
    store = SqlRecordStore(PostgresDatabase(as_app(postgres_url), lock_timeout=0.3, statement_timeout=0.5))
    yield store
    store.close()


def put(store: SqlRecordStore, key: str, scope: str = "main") -> None:
    store.put([draft(key, "x", scope=scope)], actor=ACTOR)


def cut_all(url: str) -> None:
    """End the sessions of everybody else."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )


# --- too slow -------------------------------------------------------------------------------------------------------


def test_a_statement_that_takes_too_long_changes_nothing_and_can_be_tried_again(store: SqlRecordStore) -> None:
    database = store._database
    head = store.head()
    with pytest.raises(StoreBusyError, match=r"longer than statement_timeout.*try again") as caught:  # noqa: PT012, SIM117
        with database.write(("main",)) as connection:
            connection.execute("INSERT INTO runtime_requests VALUES ('main', 'r', 'f', '{}', now())")
            connection.execute("SELECT pg_sleep(60)")
    assert caught.value.retryable
    with database.read(("main",)) as connection:
        assert connection.scalar("SELECT count(*) FROM runtime_requests") == 0
    assert store.head() == head
    put(store, "k")
    assert store.count(MAIN) == 1


def test_a_table_that_somebody_has_locked_is_told_and_nothing_is_changed(
    store: SqlRecordStore, postgres_url: str
) -> None:
    with psycopg.connect(postgres_url) as other:
        other.execute("LOCK TABLE memory_records IN EXCLUSIVE MODE")
        with pytest.raises(StoreBusyError, match=r"a lock was held by another session.*try again"):
            put(store, "k")
        assert store.count(MAIN) == 0
        other.rollback()
    put(store, "k")
    assert store.count(MAIN) == 1


def test_a_scope_that_is_being_written_for_long_holds_up_only_itself(store: SqlRecordStore) -> None:
    with store._database.write(("main",)):
        with pytest.raises(StoreBusyError, match="nothing was changed, try again"):
            put(store, "k")
        put(store, "k", scope="other")
        with pytest.raises(StoreBusyError):
            store.collect_tags()
    put(store, "k")
    assert store.collect_tags() == 0


def test_a_pool_without_a_free_connection_is_told(postgres_url: str) -> None:
    with (
        closing(PostgresDatabase(postgres_url, pool_size=1, lock_timeout=0.1)) as database,
        database.read(),
        database.read(),
        pytest.raises(StoreBusyError, match=r"no connection of the pool became free in 0\.1 s; try again"),
        database.read(),
    ):
        pass


def test_a_server_without_a_free_connection_is_told(postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("ALTER ROLE jiyi_app CONNECTION LIMIT 0")
        try:
            with pytest.raises(StorageError, match='too many connections for role "jiyi_app"'):
                PostgresDatabase(as_app(postgres_url))
        finally:
            connection.execute("ALTER ROLE jiyi_app CONNECTION LIMIT -1")


# --- gone -----------------------------------------------------------------------------------------------------------


def test_connections_that_were_cut_while_nobody_used_them_are_replaced_unnoticed(
    store: SqlRecordStore, postgres_url: str
) -> None:
    database = store._database
    with database.read(), database.read(), database.read():
        pass
    cut_all(postgres_url)
    put(store, "k")
    assert store.count(MAIN) == 1
    cut_all(postgres_url)
    assert store.count(MAIN) == 1


def test_a_connection_that_is_cut_in_a_write_loses_the_write_and_says_so(
    store: SqlRecordStore, postgres_url: str
) -> None:
    with pytest.raises(StoreUnavailableError, match=r"the connection was lost.*try again") as caught:  # noqa: PT012, SIM117
        with store._database.write(("main",)) as connection:
            connection.execute("INSERT INTO runtime_requests VALUES ('main', 'r', 'f', '{}', now())")
            cut_all(postgres_url)
            connection.execute("SELECT 1")
    assert caught.value.retryable
    put(store, "k")
    with store._database.read(("main",)) as connection:
        assert connection.scalar("SELECT count(*) FROM runtime_requests") == 0


def test_a_connection_that_is_cut_in_a_read_is_told_and_the_next_read_works(
    store: SqlRecordStore, postgres_url: str
) -> None:
    put(store, "k")
    rows = store.export_rows("main")
    assert next(rows)["kind"] == "jiyi-export"
    cut_all(postgres_url)
    with pytest.raises(StoreUnavailableError):
        list(rows)
    assert len(list(store.export_rows("main"))) == 3


def test_who_stops_reading_in_the_middle_leaves_nothing_open(store: SqlRecordStore) -> None:
    for number in range(3):
        put(store, f"{number}")
    rows = store.export_rows("main")
    assert [next(rows)["kind"] for _ in range(3)] == ["jiyi-export", "change", "change"]
    del rows
    gc.collect()
    assert store.count(MAIN) == 3


# --- gone during the commit -----------------------------------------------------------------------------------------


@pytest.fixture
def cable(postgres_server: PostgresServer) -> Iterator[Cable]:
    with Cable(postgres_server.port) as cable:
        yield cable


@pytest.fixture
def far_store(postgres_url: str, postgres_server: PostgresServer, cable: Cable) -> Iterator[SqlRecordStore]:
    """A store at the other end of the cable."""
    url = as_app(postgres_url).replace(f":{postgres_server.port}/", f":{cable.port}/")
    store = SqlRecordStore(PostgresDatabase(url))
    yield store
    store.close()


def test_a_commit_that_was_done_unheard_is_found_and_counts(far_store: SqlRecordStore, cable: Cable) -> None:
    cable.cut_at(b"COMMIT\x00", "after")
    put(far_store, "k")
    assert cable.cuts == 1
    assert [version.version for version in far_store.versions("main", "k")] == [1]


def test_a_commit_that_never_arrived_is_found_missing_and_can_be_tried_again(
    far_store: SqlRecordStore, cable: Cable
) -> None:
    cable.cut_at(b"COMMIT\x00", "before")
    with pytest.raises(StoreUnavailableError, match=r"lost during the commit; nothing was kept, try again"):
        put(far_store, "k")
    assert far_store.count(MAIN) == 0
    put(far_store, "k")
    assert far_store.count(MAIN) == 1


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_commit_that_cannot_be_looked_for_is_not_known(
    far_store: SqlRecordStore, cable: Cable, when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MAX_SECONDS_AFTER_COMMIT", 0.1)
    cable.cut_at(b"COMMIT\x00", "before" if when == "before" else "after", stay_cut=True)
    with pytest.raises(CommitUnknownError, match="not known whether the write was kept; look") as caught:
        put(far_store, "k")
    assert not caught.value.retryable
    cable.plug_in()
    assert far_store.count(MAIN) == (0 if when == "before" else 1)


def test_of_what_leaves_no_line_in_the_log_it_is_not_known(far_store: SqlRecordStore, cable: Cable) -> None:
    cable.cut_at(b"COMMIT\x00", "after")
    with pytest.raises(CommitUnknownError):
        far_store.add_user_word("早报")
    assert far_store.user_words() == ["早报"]


# --- killed ---------------------------------------------------------------------------------------------------------


def test_a_server_that_is_killed_in_the_middle_of_writes_loses_nothing_it_has_acknowledged() -> None:
    kill_and_write(kills=1)


@pytest.mark.crash
def test_a_server_that_is_killed_again_and_again_loses_nothing_it_has_acknowledged() -> None:
    kill_and_write(kills=12)


class Writers:
    """Threads that write without end to one store; what was acknowledged, what failed, and what nobody knows of."""

    def __init__(self, store: SqlRecordStore) -> None:
        self._store = store
        self._stop = threading.Event()
        self.acknowledged: list[str] = []
        self.unknown: list[str] = []
        self.errors: list[StorageError] = []
        self.wrong: list[BaseException] = []
        self._threads = [threading.Thread(target=self._write, args=(writer,)) for writer in range(4)]

    def _write(self, writer: int) -> None:
        number = 0
        try:
            while not self._stop.is_set():
                number += 1
                self._put(f"{writer}:{number}", f"scope {writer % 3}")
        except BaseException as error:  # noqa: BLE001 - shown in the thread of the test
            self.wrong.append(error)

    def _put(self, key: str, scope: str) -> None:
        try:
            put(self._store, key, scope=scope)
        except StorageError as error:
            if isinstance(error, CommitUnknownError):
                self.unknown.append(key)
            self.errors.append(error)
            self._stop.wait(0.02)
        else:
            self.acknowledged.append(key)

    def wait_for(self, kept: list[Any], more: int) -> None:
        """Until the list has so many more."""
        enough = len(kept) + more
        while len(kept) < enough and not self.wrong:
            self._stop.wait(0.01)

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()


def kill_and_write(kills: int) -> None:
    """Writers that never stop, and a server that dies and comes back under them; one store object all the time."""
    with (
        PostgresServer() as server,
        closing(SqlRecordStore(PostgresDatabase(server.url(), lock_timeout=20))) as store,
    ):
        with Writers(store) as writers:
            for _ in range(kills):
                writers.wait_for(writers.acknowledged, 60)
                server.kill()
                writers.wait_for(writers.errors, 6)
                server.start()
            writers.wait_for(writers.acknowledged, 60)
        assert writers.wrong == []
        assert {type(error) for error in writers.errors} <= {StoreUnavailableError, CommitUnknownError}
        scopes = Filters(scopes=("scope 0", "scope 1", "scope 2"))
        kept = {str(entry.key) for entry in store.page(scopes, limit=1_000_000, offset=0)}
        assert set(writers.acknowledged) <= kept
        assert kept - set(writers.acknowledged) <= set(writers.unknown)
        # The log tells of each exactly once, in order.
        changes = store.changes_after(0, limit=1_000_000)
        assert len(changes) == len({change.entry_id for change in changes}) == len(kept)
        assert store.check() == []

"""Row-level security: what a statement without a condition can reach is what its transaction is about."""

from collections.abc import Iterator

import pytest

from jiyi.backends.postgres.database import PostgresDatabase
from jiyi.backends.postgres.schema import tables_with_policies
from jiyi.backends.records.chat import SqlChatStore
from jiyi.backends.records.jobs import SqlJobStore
from jiyi.backends.records.runtime import SqlRuntimeStore
from jiyi.backends.records.sql import Connection
from jiyi.backends.records.store import SqlRecordStore
from jiyi.errors import StorageError
from jiyi.model.job import JobDraft
from jiyi.model.message import Message
from jiyi.testing.conformance.examples import ACTOR, LOOK_ALIKE_SCOPES, draft, entry
from tests.servers.fixtures import as_app

pytestmark = pytest.mark.server

SCOPES = ("a", "b", "public")


@pytest.fixture
def database(postgres_url: str) -> Iterator[PostgresDatabase]:
    """A database that three scopes have written to, seen by a role without rights of its own."""
    database = PostgresDatabase(as_app(postgres_url))
    records, chats, jobs, runtime = (
        SqlRecordStore(database),
        SqlChatStore(database),
        SqlJobStore(database),
        SqlRuntimeStore(database),
    )
    for scope in SCOPES:
        records.put([draft("k", "x", scope=scope, tags=("tea",))], actor=ACTOR)
        chats.append(scope, "s", [Message("user", "hello")], actor=ACTOR, recallable=True)
        jobs.add(JobDraft("learn", scope, {}))
        runtime.add([entry(None, "judgment", scope=scope)], actor=ACTOR)
    yield database
    database.close()


def scopes_in(connection: Connection, table: str) -> set[str]:
    return set(connection.column(f"SELECT scope FROM {table}"))


USED = ("memory_records", "memory_tag_rel", "memory_changes", "conversation_history", "jobs", "runtime_memories")


@pytest.mark.parametrize("table", USED)
def test_a_transaction_sees_its_scope_and_public_even_if_it_asks_for_everything(
    database: PostgresDatabase, table: str
) -> None:
    with database.read(("a",)) as connection:
        assert scopes_in(connection, table) == {"a", "public"}
    with database.read(("public",)) as connection:
        assert scopes_in(connection, table) == {"public"}
    with database.read(("a", "b")) as connection:
        assert scopes_in(connection, table) == set(SCOPES)
    with database.read() as connection:
        assert scopes_in(connection, table) == set(SCOPES)


def test_without_a_word_about_scopes_nothing_is_seen(database: PostgresDatabase) -> None:
    with database.read(("a",)):
        pass
    connection, unseen = database.pool.begin(lambda new: all(scopes_in(new, table) == set() for table in USED))
    database.pool.release(connection)
    assert unseen
    with database.read(()) as connection:
        # Nobody's scope is not the whole store.
        assert scopes_in(connection, "memory_records") == {"public"}


@pytest.mark.parametrize("table", USED)
def test_a_deletion_without_a_condition_stays_in_its_scope(database: PostgresDatabase, table: str) -> None:
    with database.write(("a",)) as connection:
        connection.execute(f"DELETE FROM {table}")
    with database.read() as connection:
        assert scopes_in(connection, table) == {"b", "public"}


def test_an_update_without_a_condition_stays_in_its_scope(database: PostgresDatabase) -> None:
    with database.write(("a",)) as connection:
        connection.execute("UPDATE memory_records SET content = 'overwritten'")
    with database.read() as connection:
        scopes = connection.column("SELECT DISTINCT scope FROM memory_records WHERE content = 'overwritten'")
        assert scopes == ["a"]


def test_nothing_is_written_into_a_foreign_scope(database: PostgresDatabase) -> None:
    statement = "INSERT INTO runtime_requests VALUES ('b', 'r', 'f', '{}', now())"
    with pytest.raises(StorageError, match="row-level security"), database.write(("a",)) as connection:
        connection.execute(statement)
    with database.write(("b",)) as connection:
        connection.execute(statement)
    with pytest.raises(StorageError, match="row-level security"), database.write(("b",)) as connection:
        connection.execute("UPDATE runtime_requests SET scope = 'a'")
    with database.read() as connection:
        assert scopes_in(connection, "runtime_requests") == {"b"}


def test_a_reader_does_not_write(database: PostgresDatabase) -> None:
    with pytest.raises(StorageError, match="read-only transaction"), database.read(("a",)) as connection:
        connection.execute("DELETE FROM memory_records")


@pytest.mark.parametrize("scope", [*LOOK_ALIKE_SCOPES, 'a"', "a\\", "{a}", "a,b", "NULL", "a}'; --", "*", "on", "用户"])
def test_a_scope_is_compared_exactly_whatever_stands_in_it(database: PostgresDatabase, scope: str) -> None:
    store = SqlRecordStore(database)
    store.put([draft("mine", "x", scope=scope)], actor=ACTOR)
    with database.read((scope,)) as connection:
        assert scopes_in(connection, "memory_records") == {scope, "public"}
    others = {each for each in LOOK_ALIKE_SCOPES if each != scope}
    store.put([draft("k", "y", scope=each) for each in others], actor=ACTOR)
    with database.read((scope,)) as connection:
        assert scopes_in(connection, "memory_records") == {scope, "public"}


def test_every_table_with_a_scope_has_row_level_security(database: PostgresDatabase) -> None:
    with database.read() as connection:
        statement = (
            "SELECT c.relname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid "
            "WHERE a.attname = 'scope' AND c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace "
            "AND c.relrowsecurity AND c.relforcerowsecurity"
        )
        assert sorted(connection.column(statement)) == sorted(tables_with_policies())

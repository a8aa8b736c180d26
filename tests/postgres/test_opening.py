"""Opening a store on PostgreSQL: made once, found by everybody, refused where it must be."""

import logging
import subprocess
import sys
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from jiyi.backends.postgres.database import PostgresDatabase
from jiyi.backends.records.migrations import MIGRATIONS
from jiyi.backends.records.schema import TABLES
from jiyi.backends.records.store import SqlRecordStore
from jiyi.errors import ConfigError, StorageError, StoreDamagedError, StoreTooNewError, StoreUnavailableError
from jiyi.testing.conformance.examples import ACTOR, draft
from tests.servers.fixtures import APP, NewDatabase, as_app
from tests.servers.own import free_port
from tests.servers.postgres import PostgresServer

pytestmark = pytest.mark.server


@pytest.fixture
def empty(postgres_server: PostgresServer) -> Iterator[str]:
    """A database without any tables."""
    with psycopg.connect(postgres_server.url(), autocommit=True) as connection:
        connection.execute("CREATE DATABASE empty_one")
        yield postgres_server.url("empty_one")
        connection.execute("DROP DATABASE empty_one WITH (FORCE)")


def run(url: str, *statements: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


def test_of_many_who_open_an_empty_database_one_makes_the_tables(empty: str) -> None:
    with ThreadPoolExecutor(6) as threads:
        opened = list(threads.map(PostgresDatabase, [empty] * 6))
    ids = {SqlRecordStore(database).store_id for database in opened}
    for database in opened:
        database.close()
    assert len(ids) == 1
    with psycopg.connect(empty) as connection:
        found = connection.execute("SELECT version FROM schema_migrations ORDER BY version").fetchall()
        assert [version for (version,) in found] == [migration.version for migration in MIGRATIONS]


def test_a_store_made_by_one_process_is_found_by_another(empty: str) -> None:
    store = SqlRecordStore(PostgresDatabase(empty))
    store.put([draft("k", "杭州的早报")], actor=ACTOR)
    program = (
        "import sys; from jiyi.backends.postgres.database import PostgresDatabase;"
        "from jiyi.backends.records.store import SqlRecordStore;"
        "store = SqlRecordStore(PostgresDatabase(sys.argv[1]));"
        "print(store.store_id, store.get(('main',), 'k').content); store.close()"
    )
    answer = subprocess.run([sys.executable, "-c", program, empty], capture_output=True, check=True)
    assert answer.stdout.decode("utf-8").split() == [store.store_id, "杭州的早报"]
    store.close()


def test_a_role_that_may_not_make_tables_works_with_those_that_are_there(postgres_url: str) -> None:
    store = SqlRecordStore(PostgresDatabase(as_app(postgres_url)))
    store.put([draft("k", "x", tags=("tea",))], actor=ACTOR)
    assert store.forget("main", "k", actor=ACTOR)
    assert store.check() == []
    assert not store.describe()["bypasses_row_security"]
    store.close()


def test_a_role_that_may_not_make_tables_is_told_when_there_are_none(empty: str) -> None:
    with pytest.raises(StorageError, match=r"does not let this role do that.*permission denied for schema public"):
        PostgresDatabase(as_app(empty))


def test_a_store_of_a_newer_jiyi_is_left_alone(postgres_url: str) -> None:
    run(postgres_url, "INSERT INTO schema_migrations VALUES (99, 'from the future', now(), '9.9')")
    with pytest.raises(StoreTooNewError, match=r"has schema version 99.*upgrade jiyi"):
        PostgresDatabase(postgres_url)


COLUMNS = (
    "SELECT relname, attname, atttypid, attnotnull FROM pg_attribute JOIN pg_class c ON c.oid = attrelid "
    "WHERE relnamespace = 'public'::regnamespace AND NOT attisdropped ORDER BY 1, 2"
)
INDEXES = "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1"
FENCES = "SELECT tablename, policyname, qual, with_check FROM pg_policies ORDER BY 1, 2"


def shape(connection: psycopg.Connection[Any]) -> list[list[tuple[Any, ...]]]:
    """Columns, indexes and fences of all tables."""
    return [connection.execute(statement).fetchall() for statement in (COLUMNS, INDEXES, FENCES)]


def test_a_store_of_the_version_before_becomes_what_a_new_one_is(postgres_url: str) -> None:
    store = SqlRecordStore(PostgresDatabase(postgres_url))
    store.put([draft("k", "x", tags=("tea",))], actor=ACTOR)
    store.close()
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        new = shape(connection)
        run(
            postgres_url,
            "UPDATE schema_migrations SET version = 6",
            "DROP INDEX ix_memory_records_inactive",
            "CREATE INDEX ix_memory_records_inactive ON memory_records (scope, updated_at)",
            "DROP TABLE runtime_requests",
            "ALTER TABLE memory_records DROP COLUMN more_domains",
        )
        assert shape(connection) != new
        store = SqlRecordStore(PostgresDatabase(postgres_url))
        assert shape(connection) == new
    found = store.get(("main",), "k")
    assert found is not None
    assert (found.content, found.more_domains) == ("x", ())
    assert store.describe()["schema_version"] == MIGRATIONS[-1].version
    assert store.check() == []
    store.close()


def test_tables_of_others_are_no_business_of_ours_and_look_alikes_are_refused(empty: str) -> None:
    run(empty, "CREATE TABLE orders (id int)", "CREATE TABLE schema_migrations (version varchar)")
    with pytest.raises(StoreDamagedError, match=r"holds tables \(schema_migrations\) but is not a jiyi store"):
        PostgresDatabase(empty)
    run(empty, "DROP TABLE schema_migrations")
    PostgresDatabase(empty).close()


def test_two_stores_live_side_by_side_in_two_schemas(empty: str) -> None:
    run(empty, "CREATE SCHEMA one", "CREATE SCHEMA two")
    stores = [
        SqlRecordStore(PostgresDatabase(f"{empty}?options=-csearch_path%3D{schema}")) for schema in ("one", "two")
    ]
    stores[0].put([draft("k", "x")], actor=ACTOR)
    assert stores[0].get(("main",), "k") is not None
    assert stores[1].get(("main",), "k") is None
    assert [store.describe()["schema"] for store in stores] == ["one", "two"]
    for store in stores:
        store.close()
    with pytest.raises(StorageError, match="no schema of the search_path is there"):
        PostgresDatabase(f"{empty}?options=-csearch_path%3Dnowhere")


def test_a_database_that_cannot_hold_every_character_is_refused(postgres_server: PostgresServer) -> None:
    run(postgres_server.url(), "CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0")
    with pytest.raises(StorageError, match="has the encoding LATIN1; make the database with ENCODING 'UTF8'"):
        PostgresDatabase(postgres_server.url("latin"))
    run(postgres_server.url(), "DROP DATABASE latin")


def test_a_server_that_is_not_there_is_told_at_once_and_can_be_tried_again() -> None:
    with pytest.raises(StoreUnavailableError, match=r"the server cannot be reached.*try again") as caught:
        PostgresDatabase(f"postgresql://me:secret@127.0.0.1:{free_port()}/x")
    assert caught.value.retryable
    assert "secret" not in str(caught.value)


def test_a_wrong_name_is_an_error_that_trying_again_does_not_mend(postgres_server: PostgresServer) -> None:
    with pytest.raises(StorageError, match=r'refuses the connection.*"nowhere" does not exist.*check') as caught:
        PostgresDatabase(postgres_server.url("nowhere"))
    assert not caught.value.retryable
    with pytest.raises(StorageError, match='role "nobody" does not exist'):
        PostgresDatabase(postgres_server.url(user="nobody"))


@pytest.mark.parametrize("url", ["mysql://me:secret@host/x", "not a url: secret", "sqlite:///secret"])
def test_other_addresses_are_refused_without_showing_what_they_hold(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        PostgresDatabase(url)
    assert "secret" not in str(caught.value)


def test_statements_need_not_be_prepared_on_the_server(postgres_url: str) -> None:
    store = SqlRecordStore(PostgresDatabase(f"{postgres_url}?prepare_threshold=0"))
    for number in range(8):
        store.put([draft(f"{number}", "x")], actor=ACTOR)
    with store._database.read() as connection:
        assert connection.scalar("SELECT count(*) FROM pg_prepared_statements") == 0
    store.close()
    with pytest.raises(ConfigError, match="prepare_threshold 'often'"):
        PostgresDatabase(f"{postgres_url}?prepare_threshold=often")


def test_every_table_of_a_scope_is_fenced_and_check_says_when_one_is_not(postgres_url: str) -> None:
    database = PostgresDatabase(postgres_url)
    assert database.check() == []
    run(postgres_url, "ALTER TABLE jobs NO FORCE ROW LEVEL SECURITY")
    assert database.check() == ["table jobs has no row-level security; enable and force it again"]
    database.close()


def test_texts_sort_as_everywhere_and_whole_numbers_have_room(postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        columns = connection.execute(
            "SELECT table_name, column_name, data_type, collation_name FROM information_schema.columns "
            "WHERE table_schema = 'public'"
        ).fetchall()
    assert {name for name, *_ in columns} == {table.name for table in TABLES}
    texts = [(table, column) for table, column, kind, collation in columns if kind == "text" and collation != "C"]
    assert texts == []
    kinds = {kind for _, _, kind, _ in columns}
    assert kinds == {"text", "bigint", "double precision", "boolean", "timestamp with time zone"}


def test_the_indexes_are_those_of_sqlite(postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        found: dict[str, str] = dict(
            connection.execute("SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'").fetchall()
        )
    for table in TABLES:
        for index in table.indexes:
            assert index.name in found
            assert (" WHERE " in found[index.name]) == (index.where is not None)


def test_closing_leaves_nothing_open(new_postgres: NewDatabase, caplog: pytest.LogCaptureFixture) -> None:
    url = new_postgres()
    with warnings.catch_warnings(), caplog.at_level(logging.WARNING):
        warnings.simplefilter("error")
        store = SqlRecordStore(PostgresDatabase(url))
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(lambda number: store.put([draft(f"{number}", "x")], actor=ACTOR), range(8)))
        store.close()
    with psycopg.connect(url) as connection:
        others = connection.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        ).fetchone()
    assert others == (0,)
    assert caplog.records == []


def test_a_connection_says_who_it_is(postgres_url: str) -> None:
    database = PostgresDatabase(as_app(postgres_url))
    with database.read() as connection:
        row = connection.row("SELECT current_setting('application_name'), current_setting('TimeZone'), current_user")
    assert row == ("jiyi", "UTC", APP)
    database.close()

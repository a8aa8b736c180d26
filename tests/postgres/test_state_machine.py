"""Anything in any order on PostgreSQL: what holds on the embedded profile, through dropped indexes and connections."""

import psycopg
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import rule, run_state_machine_as_test

from jiyi.sync import AgentMemory
from jiyi.testing.fakes import HashEmbedder
from tests.property.machine import MemoryMachine
from tests.servers.fixtures import NewDatabase
from tests.support import examples

pytestmark = pytest.mark.server

TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'jiyi_search' ORDER BY tablename"


class PostgresMachine(MemoryMachine):
    """One database."""

    def __init__(self, url: str) -> None:
        self._url = url
        super().__init__()

    def _opened(self) -> AgentMemory:
        return AgentMemory.open(self._url, embedder=HashEmbedder(), background_indexing=False)

    @rule()
    def drop_the_indexes(self) -> None:
        with psycopg.connect(self._url, autocommit=True) as connection:
            connection.execute("DROP SCHEMA IF EXISTS jiyi_search CASCADE")

    @rule(which=st.floats(0, 1))
    def a_table_of_an_index_is_emptied_and_repaired(self, which: float) -> None:
        with psycopg.connect(self._url, autocommit=True) as connection:
            tables = [row[0] for row in connection.execute(TABLES)]
            if tables:
                connection.execute(f'TRUNCATE jiyi_search."{tables[round(which * (len(tables) - 1))]}" CASCADE')
        assert all(report.sound for report in self.memory.repair())

    @rule()
    def the_server_ends_every_connection(self) -> None:
        with psycopg.connect(self._url, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )


def test_a_memory_on_postgresql_does_what_a_dictionary_does(new_postgres: NewDatabase) -> None:
    class OnNewDatabase(PostgresMachine):
        def __init__(self) -> None:
            super().__init__(new_postgres())

    run_state_machine_as_test(OnNewDatabase, settings=settings(max_examples=examples(8), stateful_step_count=15))

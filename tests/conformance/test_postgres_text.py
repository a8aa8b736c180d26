"""The text index in PostgreSQL keeps the contract, with pg_search and without."""

from pathlib import Path

import pytest

from jiyi.backends.postgres.database import PostgresDatabase
from jiyi.backends.postgres.text.index import PostgresTextIndex
from jiyi.backends.records.store import SqlRecordStore
from jiyi.ports import RecordStore, TextIndex
from jiyi.testing.conformance import TextIndexConformance
from jiyi.text import Analyzer
from tests.servers.fixtures import OnPostgres

pytestmark = pytest.mark.server


class _PostgresText(OnPostgres, TextIndexConformance):
    as_owner = True
    pg_search: bool
    small_scope = 0

    @pytest.fixture(autouse=True)
    def _keep_stores(self) -> None:
        self._databases: dict[str, PostgresDatabase] = {}

    def make_store(self, folder: Path) -> RecordStore:
        database = self.open_postgres(folder)
        store = SqlRecordStore(database)
        self._databases[store.store_id] = database
        return store

    def make_index(self, folder: Path, store: RecordStore) -> TextIndex:
        del folder
        database = self._databases[store.store_id]
        return PostgresTextIndex(
            database, Analyzer(), store.store_id, pg_search=self.pg_search, small_scope=self.small_scope
        )


# Each way by itself: scopes are read whole in none of them, in all of them, or as it is by default.


class TestWithPgSearch(_PostgresText):
    pg_search = True


class TestWithoutPgSearch(_PostgresText):
    pg_search = False


class TestScopesReadWhole(_PostgresText):
    pg_search = False
    small_scope = 1_000_000

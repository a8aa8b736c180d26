"""The vectors in PostgreSQL keep the contract: compared one by one, and with graphs of their scopes."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from jiyi.backends.postgres_vectors import PostgresVectors
from jiyi.backends.sql.records import SqlRecordStore
from jiyi.ports import Embedder, RecordStore, VectorIndex
from jiyi.testing.conformance import VectorIndexConformance
from tests.servers.fixtures import OnPostgres

pytestmark = pytest.mark.server


class TestPostgresVectors(OnPostgres, VectorIndexConformance):
    @pytest.fixture(autouse=True)
    def _close_databases(self) -> Iterator[None]:
        with ExitStack() as self._opened:
            yield

    def make_store(self, folder: Path) -> RecordStore:
        return SqlRecordStore(self.open_postgres(folder))

    def make_vectors(self, folder: Path, store: RecordStore, embedder: Embedder) -> VectorIndex:
        database = self.open_postgres(folder)
        self._opened.callback(database.close)
        return PostgresVectors(database, embedder, store.store_id)

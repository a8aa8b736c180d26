"""The vectors in PostgreSQL keep the contract: small scopes, and scopes that count as large."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

from jiyi.backends.postgres.database import PostgresDatabase
from jiyi.backends.postgres.vectors.index import PostgresVectors
from jiyi.ports import Embedder, IndexBatch, LogPosition, RecordStore, VectorIndex
from jiyi.testing.conformance import VectorIndexConformance
from jiyi.testing.conformance.examples import entry
from jiyi.testing.fakes import HashEmbedder
from tests.servers.postgres import PostgresServer

pytestmark = pytest.mark.server


@pytest.fixture(scope="module")
def vectors_url(postgres_server: PostgresServer) -> Iterator[str]:
    """One database for the module: what an index has is in a schema of its own, which each test begins without."""
    with psycopg.connect(postgres_server.url(), autocommit=True) as connection:
        connection.execute("CREATE DATABASE jiyi_vectors")
        yield postgres_server.url("jiyi_vectors")
        connection.execute("DROP DATABASE jiyi_vectors WITH (FORCE)")


class TestPostgresVectors(VectorIndexConformance):
    exact_rows = 20_000

    @pytest.fixture(autouse=True)
    def _without_index(self, vectors_url: str) -> Iterator[None]:
        with psycopg.connect(vectors_url, autocommit=True) as connection:
            connection.execute("DROP SCHEMA IF EXISTS jiyi_search CASCADE")
        self._url = vectors_url
        with ExitStack() as self._opened:
            yield

    def make_vectors(self, folder: Path, store: RecordStore, embedder: Embedder) -> VectorIndex:
        database = PostgresDatabase(self._url, pool_size=2)
        self._opened.callback(database.close)
        return PostgresVectors(database, embedder, store.store_id, exact_rows=self.exact_rows)


class TestLargeScopesInPostgres(TestPostgresVectors):
    """Nearly every scope is a large one: the server is asked for what is wanted, and HNSW indexes are built."""

    exact_rows = 3

    def test_a_scan_is_not_disturbed_by_later_changes(self, index: VectorIndex) -> None:
        """Of a large scope the numbers stay, and each question is answered from what is there then."""
        entries = [entry(f"k{i}", f"apple {i}") for i in range(100)]
        index.apply(IndexBatch(entries, (), LogPosition(1, "x")))
        scan = index.scan(HashEmbedder().embed(["apple 3"])[0], ["main"])
        count, mean = scan.count, scan.mean
        index.apply(IndexBatch([], [("main", e.id) for e in entries[:60]], LogPosition(2, "x")))
        assert (scan.count, scan.mean) == (count, mean) == (100, mean)
        assert set(scan.best(100)) == {e.id for e in entries[60:]}

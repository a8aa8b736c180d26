"""The vectors in SQLite keep the contract."""

from pathlib import Path

from jiyi.backends.embedded.vectors.index import SqliteVectors
from jiyi.ports import Embedder, RecordStore, VectorIndex
from jiyi.testing.conformance import VectorIndexConformance


class TestSqliteVectors(VectorIndexConformance):
    def make_vectors(self, folder: Path, store: RecordStore, embedder: Embedder) -> VectorIndex:
        return SqliteVectors(folder / "search_index", embedder, store.store_id, cache_bytes=1 << 20, lock_timeout=30)

"""The vectors in a file of Milvus Lite keep the contract."""

from pathlib import Path

from jiyi.backends.milvus.index import MilvusVectors
from jiyi.file_lock import FileLock
from jiyi.ports import Embedder, RecordStore, VectorIndex
from jiyi.testing.conformance import VectorIndexConformance


class TestMilvusLite(VectorIndexConformance):
    def make_vectors(self, folder: Path, store: RecordStore, embedder: Embedder) -> VectorIndex:
        lock = FileLock(folder / "vectors.lock", timeout=30)
        return MilvusVectors(str(folder / "milvus.db"), embedder, store.store_id, lock=lock)

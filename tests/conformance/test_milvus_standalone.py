"""The vectors on a Milvus server keep the contract."""

from pathlib import Path

import pytest

from jiyi.backends.milvus.index import MilvusVectors
from jiyi.file_lock import FileLock
from jiyi.ports import Embedder, RecordStore, VectorIndex
from jiyi.testing.conformance import VectorIndexConformance
from tests.servers.milvus import MilvusServer


@pytest.mark.server
class TestMilvusStandalone(VectorIndexConformance):
    @pytest.fixture(autouse=True)
    def _keep_server(self, milvus_server: MilvusServer) -> None:
        self._server = milvus_server

    def make_vectors(self, folder: Path, store: RecordStore, embedder: Embedder) -> VectorIndex:
        lock = FileLock(folder / "vectors.lock", timeout=30)
        return MilvusVectors(
            self._server.uri,
            embedder,
            store.store_id,
            token=self._server.token,
            lock=lock,
            # Stores share a name: each has a collection of its own behind it.
            collection="conformance",
            partitions=4,
        )

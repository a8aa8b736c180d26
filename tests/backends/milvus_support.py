"""Vectors in Milvus for tests."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jiyi.backends.milvus.index import MilvusVectors
from jiyi.file_lock import FileLock
from jiyi.testing.fakes import HashEmbedder
from tests.servers.milvus import MilvusServer

if TYPE_CHECKING:
    from jiyi.ports import Embedder, RecordStore, Vectors


class CountingEmbedder(HashEmbedder):
    """Remembers how many texts it was asked for."""

    def __init__(self, dimension: int = 64) -> None:
        super().__init__(dimension)
        self.texts = 0

    def embed(self, texts: Sequence[str]) -> "Vectors":
        self.texts += len(texts)
        return super().embed(texts)


def lite(folder: Path, store: "RecordStore", embedder: "Embedder | None" = None, **settings: Any) -> MilvusVectors:
    """Vectors in a file."""
    lock = FileLock(folder / "vectors.lock", timeout=30)
    return MilvusVectors(str(folder / "milvus.db"), embedder or HashEmbedder(), store.store_id, lock=lock, **settings)


def on_server(
    server: MilvusServer, folder: Path, store: "RecordStore", embedder: "Embedder | None" = None, **settings: Any
) -> MilvusVectors:
    """Vectors on a server."""
    lock = FileLock(folder / "vectors.lock", timeout=30)
    usual = {"token": server.token, "collection": "tests", "partitions": 4, "pause": 0.0}
    return MilvusVectors(server.uri, embedder or HashEmbedder(), store.store_id, lock=lock, **{**usual, **settings})


def vector(text: str) -> "Vectors":
    """Of a question."""
    found: Vectors = HashEmbedder().embed([text])[0]
    return found

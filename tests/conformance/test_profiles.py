"""Every profile passes the same suite."""

from pathlib import Path
from typing import Any, ClassVar

import pytest

from jiyi.sync import AgentMemory
from jiyi.testing.conformance import ProfileConformance
from jiyi.testing.fakes import HashEmbedder
from tests.servers.fixtures import NewDatabase


class TestEmbedded(ProfileConformance):
    def open(self, folder: Path, **settings: Any) -> AgentMemory:
        return AgentMemory.open(folder, **{"embedder": HashEmbedder(), **settings})


class TestEmbeddedWithMilvus(ProfileConformance):
    def open(self, folder: Path, **settings: Any) -> AgentMemory:
        milvus = {"vectors": "milvus", "milvus_uri": str(folder.parent / f"{folder.name}-vectors.db")}
        return AgentMemory.open(folder, **{"embedder": HashEmbedder(), **milvus, **settings})


@pytest.mark.server
class TestPostgres(ProfileConformance):
    settings: ClassVar[dict[str, Any]] = {}

    @pytest.fixture(autouse=True)
    def _keep_databases(self, new_postgres: NewDatabase) -> None:
        self.new_postgres = new_postgres
        self.addresses: dict[Path, str] = {}

    def open(self, folder: Path, **settings: Any) -> AgentMemory:
        if folder not in self.addresses:
            self.addresses[folder] = self.new_postgres()
        given = {"embedder": HashEmbedder(), "storage": self.addresses[folder], **self.settings, **settings}
        return AgentMemory.open(folder, **given)


@pytest.mark.server
class TestPostgresWithoutPgSearch(TestPostgres):
    settings: ClassVar[dict[str, Any]] = {"pg_search": False}


@pytest.mark.server
class TestPostgresWithMilvus(TestPostgres):
    def open(self, folder: Path, **settings: Any) -> AgentMemory:
        milvus = {"vectors": "milvus", "milvus_uri": str(folder.parent / f"{folder.name}-vectors.db")}
        return super().open(folder, **{**milvus, **settings})

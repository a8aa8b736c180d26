"""The runtime that needs no index keeps its contract on PostgreSQL."""

import asyncio
from pathlib import Path

import pytest

from jiyi.backends.sql.postgres_store import PostgresRecordStore
from jiyi.backends.sql.runtime import SqlRuntimeStore
from jiyi.model.limits import Limits
from jiyi.recall.tags import TagMirror
from jiyi.runtime import MemoryRuntime
from jiyi.runtime.base import RuntimeParts
from jiyi.runtime.simple import SimpleMemoryRuntime
from jiyi.testing.conformance import MemoryRuntimeConformance
from jiyi.text import Vocabulary
from tests.servers.fixtures import OnPostgres

pytestmark = pytest.mark.server


class TestSimpleMemoryRuntimeOnPostgres(OnPostgres, MemoryRuntimeConformance):
    store: PostgresRecordStore

    def make_runtime(self, folder: Path) -> MemoryRuntime:
        database = self.open_postgres(folder)
        self.store = PostgresRecordStore(database)
        vocabulary = Vocabulary(self.store.user_words)
        parts = RuntimeParts(self.store, SqlRuntimeStore(database), vocabulary, Limits(), "main", "conformance")
        return SimpleMemoryRuntime(parts, TagMirror(self.store), asyncio.to_thread, lambda: None)

    def close_runtime(self) -> None:
        self.store.close()

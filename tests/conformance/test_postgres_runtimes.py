"""The runtime that needs no index keeps its contract on PostgreSQL."""

import asyncio
from pathlib import Path

import pytest

from jiyi.backends.records.runtime import SqlRuntimeStore
from jiyi.backends.records.store import SqlRecordStore
from jiyi.model.limits import Limits
from jiyi.recall.tags import TagMirror
from jiyi.runtime import MemoryRuntime
from jiyi.runtime.dependencies import RuntimeCalls, RuntimeDeps
from jiyi.runtime.simple_runtime import SimpleMemoryRuntime
from jiyi.testing.conformance import MemoryRuntimeConformance
from jiyi.text import Vocabulary
from tests.servers.fixtures import OnPostgres

pytestmark = pytest.mark.server


class TestSimpleMemoryRuntimeOnPostgres(OnPostgres, MemoryRuntimeConformance):
    store: SqlRecordStore

    def make_runtime(self, folder: Path) -> MemoryRuntime:
        database = self.open_postgres(folder)
        self.store = SqlRecordStore(database)
        vocabulary = Vocabulary(self.store.user_words)
        parts = RuntimeDeps(self.store, SqlRuntimeStore(database), vocabulary, Limits(), "main", "conformance")
        run = asyncio.to_thread
        calls = RuntimeCalls(run, run, run, lambda: None, lambda call, items: call(list(items)))
        return SimpleMemoryRuntime(parts, TagMirror(self.store), calls)

    def close_runtime(self) -> None:
        self.store.close()

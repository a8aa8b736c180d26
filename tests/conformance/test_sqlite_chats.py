"""The chat store on SQLite keeps the contract."""

from pathlib import Path
from typing import cast

from jiyi.backends.embedded.database import SqliteDatabase
from jiyi.backends.records.chat import SqlChatStore
from jiyi.backends.records.store import SqlRecordStore
from jiyi.ports import ChatStore, RecordStore
from jiyi.testing.conformance import ChatStoreConformance


class TestSqliteChats(ChatStoreConformance):
    def make_store(self, folder: Path) -> RecordStore:
        return SqlRecordStore(SqliteDatabase(folder / "memory.db", busy_timeout=30))

    def make_chats(self, store: RecordStore) -> ChatStore:
        return SqlChatStore(cast(SqlRecordStore, store)._database)

"""The chat store on PostgreSQL keeps the contract."""

from pathlib import Path
from typing import cast

import pytest

from jiyi.backends.records.chat import SqlChatStore
from jiyi.backends.records.store import SqlRecordStore
from jiyi.ports import ChatStore, RecordStore
from jiyi.testing.conformance import ChatStoreConformance
from tests.servers.fixtures import OnPostgres

pytestmark = pytest.mark.server


class TestPostgresChats(OnPostgres, ChatStoreConformance):
    def make_store(self, folder: Path) -> RecordStore:
        return SqlRecordStore(self.open_postgres(folder))

    def make_chats(self, store: RecordStore) -> ChatStore:
        return SqlChatStore(cast(SqlRecordStore, store)._database)

"""The record store on SQLite keeps the contract."""

from pathlib import Path

from jiyi.backends.embedded.database import SqliteDatabase
from jiyi.backends.records.store import SqlRecordStore
from jiyi.ports import RecordStore
from jiyi.testing.conformance import RecordStoreConformance


class TestSqliteStore(RecordStoreConformance):
    def make_store(self, folder: Path) -> RecordStore:
        return SqlRecordStore(SqliteDatabase(folder / "memory.db", busy_timeout=30))

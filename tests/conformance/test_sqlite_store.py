"""The record store on SQLite keeps the contract."""

from pathlib import Path

from jiyi.backends.sql.records import SqlRecordStore
from jiyi.backends.sql.sqlite import SqliteDatabase
from jiyi.ports import RecordStore
from jiyi.testing.conformance import RecordStoreConformance


class TestSqliteStore(RecordStoreConformance):
    def make_store(self, folder: Path) -> RecordStore:
        return SqlRecordStore(SqliteDatabase(folder / "memory.db", busy_timeout=30))

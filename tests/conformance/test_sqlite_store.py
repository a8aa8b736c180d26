"""The record store on SQLite keeps the contract, by SQLAlchemy and by the shorter way to the driver."""

from pathlib import Path

from jiyi.backends.sql.records import SqlRecordStore
from jiyi.backends.sql.sqlite import SqliteDatabase
from jiyi.backends.sql.sqlite_store import SqliteRecordStore
from jiyi.ports import RecordStore
from jiyi.testing.conformance import RecordStoreConformance


class TestSqlStore(RecordStoreConformance):
    def make_store(self, folder: Path) -> RecordStore:
        return SqlRecordStore(SqliteDatabase(folder / "memory.db", busy_timeout=30))


class TestSqliteStore(RecordStoreConformance):
    def make_store(self, folder: Path) -> RecordStore:
        return SqliteRecordStore(SqliteDatabase(folder / "memory.db", busy_timeout=30))

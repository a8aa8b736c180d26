"""The job store on SQLite keeps the contract."""

from pathlib import Path
from typing import cast

from jiyi.backends.embedded.database import SqliteDatabase
from jiyi.backends.records.jobs import SqlJobStore
from jiyi.backends.records.store import SqlRecordStore
from jiyi.ports import JobStore, RecordStore
from jiyi.testing.conformance import JobStoreConformance


class TestSqliteJobs(JobStoreConformance):
    def make_store(self, folder: Path) -> RecordStore:
        return SqlRecordStore(SqliteDatabase(folder / "memory.db", busy_timeout=30))

    def make_jobs(self, store: RecordStore) -> JobStore:
        return SqlJobStore(cast(SqlRecordStore, store)._database)

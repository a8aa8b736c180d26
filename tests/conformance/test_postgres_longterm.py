"""The long-term store on PostgreSQL keeps the contract."""

from pathlib import Path
from typing import cast

import pytest

from jiyi.backends.records.jobs import SqlJobStore
from jiyi.backends.records.longterm import SqlLongtermStore
from jiyi.backends.records.store import SqlRecordStore
from jiyi.ports import JobStore, LongtermStore, RecordStore
from jiyi.testing.conformance import LongtermStoreConformance
from tests.servers.fixtures import OnPostgres

pytestmark = pytest.mark.server


class TestPostgresLongterm(OnPostgres, LongtermStoreConformance):
    def make_store(self, folder: Path) -> RecordStore:
        return SqlRecordStore(self.open_postgres(folder))

    def make_longterm(self, store: RecordStore) -> LongtermStore:
        return SqlLongtermStore(cast(SqlRecordStore, store)._database)

    def make_jobs(self, store: RecordStore) -> JobStore:
        return SqlJobStore(cast(SqlRecordStore, store)._database)

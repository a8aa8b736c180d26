"""The job store on PostgreSQL keeps the contract."""

from pathlib import Path
from typing import cast

import pytest

from jiyi.backends.records.jobs import SqlJobStore
from jiyi.backends.records.store import SqlRecordStore
from jiyi.ports import JobStore, RecordStore
from jiyi.testing.conformance import JobStoreConformance
from tests.servers.fixtures import OnPostgres

pytestmark = pytest.mark.server


class TestPostgresJobs(OnPostgres, JobStoreConformance):
    def make_store(self, folder: Path) -> RecordStore:
        return SqlRecordStore(self.open_postgres(folder))

    def make_jobs(self, store: RecordStore) -> JobStore:
        return SqlJobStore(cast(SqlRecordStore, store)._database)

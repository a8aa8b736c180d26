"""The record store on PostgreSQL keeps the contract."""

from pathlib import Path

import pytest

from jiyi.backends.records.store import SqlRecordStore
from jiyi.ports import RecordStore
from jiyi.testing.conformance import RecordStoreConformance
from tests.servers.fixtures import OnPostgres

pytestmark = pytest.mark.server


class TestPostgresStore(OnPostgres, RecordStoreConformance):
    def make_store(self, folder: Path) -> RecordStore:
        return SqlRecordStore(self.open_postgres(folder))

"""Records and an index for tests of indexing."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from jiyi.backends.embedded.database import SqliteDatabase
from jiyi.backends.records.store import SqlRecordStore
from jiyi.indexing import Drainer
from tests.indexing.listed import ListedIndex


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlRecordStore]:
    store = SqlRecordStore(SqliteDatabase(tmp_path / "memory.db", busy_timeout=30))
    yield store
    store.close()


@pytest.fixture
def drainer(store: SqlRecordStore) -> Drainer:
    return Drainer(store)


@pytest.fixture
def index(drainer: Drainer) -> ListedIndex:
    """An index that has been built from empty records."""
    index = ListedIndex()
    drainer.drain(index)
    return index

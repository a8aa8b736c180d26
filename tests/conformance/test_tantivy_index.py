"""The text index on tantivy keeps the contract."""

from pathlib import Path

from jiyi.backends.tantivy_index import TantivyIndex
from jiyi.ports import RecordStore, TextIndex
from jiyi.testing.conformance import TextIndexConformance
from jiyi.text import Analyzer


class TestTantivyIndex(TextIndexConformance):
    def make_index(self, folder: Path, store: RecordStore) -> TextIndex:
        return TantivyIndex(folder / "search_index", Analyzer(), store.store_id, lock_timeout=30)

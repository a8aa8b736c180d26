"""The text index on tantivy keeps the contract."""

from dataclasses import replace
from pathlib import Path

from jiyi.backends.embedded.text.index import TantivyIndex
from jiyi.model.filters import Filters
from jiyi.ports import IndexBatch, LogPosition, RecordStore, TextIndex
from jiyi.testing.conformance import TextIndexConformance
from jiyi.testing.conformance.examples import entry
from jiyi.text import Analyzer


class TestTantivyIndex(TextIndexConformance):
    def make_index(self, folder: Path, store: RecordStore) -> TextIndex:
        return TantivyIndex(folder / "search_index", Analyzer(), store.store_id, lock_timeout=30)

    def test_a_filter_of_many_values_is_like_one_of_few(self, index: TextIndex) -> None:
        fact, said, note = (
            entry("a", "apple pie", memory_type="fact"),
            entry("b", "apple", memory_type="message"),
            entry("c", "an apple and a pie and an apple", memory_type="note"),
        )
        index.apply(IndexBatch([fact, said, note], (), LogPosition(1, "x")))
        others = tuple(f"other-{number}" for number in range(100))
        for few in (
            Filters(("main",)),
            Filters(("main",), memory_types=("fact", "note")),
            Filters(("main",), without_types=("message",)),
        ):
            many = replace(
                few,
                scopes=few.scopes + others,
                memory_types=few.memory_types and few.memory_types + others,
                without_types=few.without_types and few.without_types + others,
            )
            found = self.find(index, "apple pie", few, [])
            assert fact.id in found
            assert (said.id in found) == few.only_scopes
            assert self.find(index, "apple pie", many, []) == found

    def test_rows_that_another_handle_has_written_are_read(self, index: TextIndex, second_handle: TextIndex) -> None:
        before = entry("a", "apple pie")

        def lengths() -> list[int]:
            return [row.length for row in second_handle.windows([before.id], reach=1, scopes=("main",))]

        index.apply(IndexBatch([before], (), LogPosition(1, "x")))
        assert lengths() == lengths() == [2]
        index.apply(IndexBatch([replace(before, content="apple pie with cream")], (), LogPosition(2, "y")))
        assert lengths() == [3]
        index.apply(IndexBatch([], [("main", before.id)], LogPosition(3, "z")))
        assert lengths() == []

"""The conformance suite of vector indexes: exact similarities inside the visible scopes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from jiyi.errors import IndexDamagedError
from jiyi.model.filters import Filters
from jiyi.ports import ComparesEntries, Embedder, IndexBatch, LogPosition, RecordStore, VectorIndex
from jiyi.testing.conformance.examples import ACTOR, NOON, draft, entry, varied_entries
from jiyi.testing.conformance.indexes import MAIN, DerivedIndexConformance
from jiyi.testing.fakes import HashEmbedder

if TYPE_CHECKING:
    from jiyi.ports import Vectors


class VectorIndexConformance(DerivedIndexConformance[VectorIndex]):
    """Everything that jiyi relies on in a vector index. Define `make_vectors(folder, store, embedder)` and run it."""

    tolerance = 2e-3
    """The allowed error of a similarity, because vectors may be quantized."""

    def make_vectors(self, folder: Path, store: RecordStore, embedder: Embedder) -> VectorIndex:
        """An index of this store in this folder, with vectors by this embedder."""
        raise NotImplementedError(f"{type(self).__name__} must say how an index is made: define make_vectors")

    def make_index(self, folder: Path, store: RecordStore) -> VectorIndex:
        return self.make_vectors(folder, store, HashEmbedder())

    def find(
        self, index: VectorIndex, text: str, filters: Filters, admitted: Sequence[str], *, limit: int = 1_000
    ) -> list[str]:
        allowed = None if filters.only_scopes else admitted
        return index.scan(_vector(text), filters.scopes).best(limit, allowed=allowed)

    def test_similarities_are_those_of_the_vectors(self, index: VectorIndex) -> None:
        entries = varied_entries(40)
        index.apply(IndexBatch(entries, (), LogPosition(1, "x")))
        scan = index.scan(_vector("apple number7"), ["main", "public"])
        seen = [e for e in entries if e.scope in {"main", "public"}]
        exact = np.array([float(_vector(e.content) @ _vector("apple number7")) for e in seen])
        assert scan.count == len(seen)
        assert scan.mean == pytest.approx(float(exact.mean()), abs=self.tolerance)
        np.testing.assert_allclose(scan.of([e.id for e in seen]), exact, atol=self.tolerance)
        best = scan.best(len(seen))
        by_id = dict(zip([e.id for e in seen], exact, strict=True))
        assert sorted(best) == sorted(by_id)
        assert [by_id[i] for i in best] == pytest.approx(sorted(exact, reverse=True), abs=self.tolerance)

    def test_entries_that_are_not_written_yet_are_compared_as_they_will_be(self, index: VectorIndex) -> None:
        """Only of an index that can; no index has to."""
        if not isinstance(index, ComparesEntries):
            return
        index.apply(IndexBatch([entry("old", "an apple")], (), LogPosition(1, "x")))
        before = index.log_position()
        entries = [*varied_entries(20), entry("long", "apples and pears. " * 90 + "A train leaves at nine. " * 70)]
        seen = [each for each in entries if each.scope == "main"]
        question = _vector("apple number7 train")
        early = index.similarities(question, seen)
        assert index.log_position() == before
        assert index.similarities(question, []).tolist() == []
        index.apply(IndexBatch(entries, (), LogPosition(2, "x")))
        late = index.scan(question, ["main"]).of([each.id for each in seen])
        assert early.tolist() == late.tolist()

    def test_the_nearest_is_the_text_itself(self, index: VectorIndex) -> None:
        entries = varied_entries(40)
        index.apply(IndexBatch(entries, (), LogPosition(1, "x")))
        for own in entries[::5]:
            assert index.scan(_vector(own.content), [own.scope]).best(1) == [own.id]

    def test_what_has_no_vector_in_the_scope_has_no_similarity(self, index: VectorIndex) -> None:
        mine, foreign = entry("a", "apple"), entry("a", "apple", scope="other")
        index.apply(IndexBatch([mine, foreign], (), LogPosition(1, "x")))
        found = index.scan(_vector("apple"), ["main"]).of([foreign.id, mine.id, "unknown"])
        assert np.isnan(found).tolist() == [True, False, True]

    def test_a_scope_without_vectors_is_an_empty_scan(self, index: VectorIndex) -> None:
        index.apply(IndexBatch([entry("a", "apple")], (), LogPosition(1, "x")))
        scan = index.scan(_vector("apple"), ["nobody"])
        assert (scan.count, scan.best(5)) == (0, [])
        assert np.isnan(scan.of(["x"])).all()

    def test_the_best_can_be_asked_for_among_some_ids(self, index: VectorIndex) -> None:
        entries = [entry(f"k{i}", f"apple {i}") for i in range(20)]
        index.apply(IndexBatch(entries, (), LogPosition(1, "x")))
        scan = index.scan(_vector("apple 3"), ["main"])
        some = [entries[3].id, entries[17].id, "unknown"]
        assert scan.best(10, allowed=some) == [entries[3].id, entries[17].id]
        assert scan.best(1, allowed=some) == [entries[3].id]
        assert scan.best(10, allowed=[]) == []

    def test_the_best_can_be_asked_for_inside_periods(self, index: VectorIndex) -> None:
        entries = [entry(f"k{i}", f"apple {i}", minutes=i) for i in range(20)]
        early = replace(entry("early", "apple early"), occurred_at=NOON - timedelta(days=30))
        index.apply(IndexBatch([*entries, early], (), LogPosition(1, "x")))
        scan = index.scan(_vector("apple"), ["main"])
        around = [(NOON + timedelta(minutes=5), NOON + timedelta(minutes=7))]
        assert set(scan.best(10, periods=around)) == {entries[5].id, entries[6].id}
        month = [*around, (NOON - timedelta(days=31), NOON - timedelta(days=29))]
        assert set(scan.best(10, periods=month)) == {entries[5].id, entries[6].id, early.id}
        assert scan.best(10, periods=month, allowed=[early.id]) == [early.id]

    def test_a_new_text_gets_a_new_vector_in_every_handle(self, index: VectorIndex, second_handle: VectorIndex) -> None:
        old = entry("a", "apple")
        index.apply(IndexBatch([old, entry("b", "apricot")], (), LogPosition(1, "x")))
        assert second_handle.scan(_vector("apple"), ["main"]).of([old.id])[0] == pytest.approx(1, abs=self.tolerance)
        index.apply(IndexBatch([replace(old, content="zebra crossing")], (), LogPosition(2, "x")))
        for handle in (index, second_handle):
            scan = handle.scan(_vector("zebra crossing"), ["main"])
            assert scan.count == 2
            assert scan.of([old.id])[0] == pytest.approx(1, abs=self.tolerance)

    def test_a_scan_is_not_disturbed_by_later_changes(self, index: VectorIndex) -> None:
        entries = [entry(f"k{i}", f"apple {i}") for i in range(100)]
        index.apply(IndexBatch(entries, (), LogPosition(1, "x")))
        scan = index.scan(_vector("apple 3"), ["main"])
        before = scan.best(100)
        index.apply(IndexBatch([entry("n", "apple 3")], [("main", e.id) for e in entries[:60]], LogPosition(2, "x")))
        assert index.scan(_vector("apple 3"), ["main"]).count == 41
        assert scan.best(100) == before

    def test_long_texts_have_one_similarity(self, index: VectorIndex) -> None:
        long = entry("long", "The apple tree stands in the garden. " * 60 + "Nobody knows the zebra. " * 40)
        index.apply(IndexBatch([long, entry("short", "apple")], (), LogPosition(1, "x")))
        scan = index.scan(_vector("zebra"), ["main"])
        assert scan.count == 2
        assert len(scan.best(10)) == 2
        assert [entry_id for entry_id, _ in index.contents()].count(long.id) == 1

    # --- the model ------------------------------------------------------------------------------------------------

    def test_vectors_of_another_model_are_not_trusted(
        self, store: RecordStore, index: VectorIndex, tmp_path: Path
    ) -> None:
        stored = store.put([draft("k", "apple")], actor=ACTOR)
        index.rebuild(store)
        other_model = HashEmbedder(dimension=32)
        other = self.make_vectors(tmp_path / "index", store, other_model)
        assert other.log_position() is None
        with pytest.raises(IndexDamagedError):
            other.scan(other_model.embed(["apple"])[0], ["main"])
        other.rebuild(store)
        assert other.log_position() == store.head()
        assert other.scan(other_model.embed(["apple"])[0], ["main"]).best(1) == [stored[0].id]
        assert index.log_position() is None
        with pytest.raises(IndexDamagedError):
            index.scan(_vector("apple"), ["main"])
        other.close()

    def test_an_embedder_that_fails_changes_nothing(
        self, store: RecordStore, index: VectorIndex, tmp_path: Path
    ) -> None:
        kept = entry("k", "apple")
        index.apply(IndexBatch([kept], (), LogPosition(1, "x")))
        failing = self.make_vectors(tmp_path / "index", store, _FailingEmbedder())
        with pytest.raises(RuntimeError, match="no model"):
            failing.apply(IndexBatch([entry("n", "new")], [("main", kept.id)], LogPosition(2, "x")))
        store.put([draft("r", "record")], actor=ACTOR)
        with pytest.raises(RuntimeError, match="no model"):
            failing.rebuild(store)
        assert index.log_position() == failing.log_position() == LogPosition(1, "x")
        assert self._found(index, "apple", [kept]) == {kept.id}
        failing.close()
        assert index.scan(_vector("apple"), MAIN.scopes).count == 1


class _FailingEmbedder(HashEmbedder):
    def embed(self, texts: Sequence[str]) -> Vectors:
        raise RuntimeError(f"there is no model for {len(texts)} texts")


def _vector(text: str) -> Vectors:
    vector: Vectors = HashEmbedder().embed([text])[0]
    return vector

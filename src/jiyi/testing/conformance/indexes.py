"""The conformance suite that text and vector indexes share."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, Generic, TypeVar

import pytest

from jiyi.errors import IndexDamagedError, StoreBusyError
from jiyi.indexing import Drainer, verify
from jiyi.model.entry import MemoryEntry
from jiyi.model.filters import Filters
from jiyi.ports import DerivedIndex, Draft, IndexBatch, LogPosition, RecordStore
from jiyi.testing.conformance.examples import (
    ACTOR,
    FILTERS,
    LOOK_ALIKE_SCOPES,
    draft,
    entry,
    proposed_by_an_index,
    varied_entries,
)
from jiyi.wiring import build

I = TypeVar("I", bound=DerivedIndex)  # noqa: E741 - the index

MAIN = Filters(scopes=("main",))


def _batch(
    upserts: Sequence[MemoryEntry] = (), removals: Iterable[MemoryEntry] = (), *, place: int = 1, fingerprint: str = "x"
) -> IndexBatch:
    return IndexBatch(upserts, [(gone.scope, gone.id) for gone in removals], LogPosition(place, fingerprint))


class DerivedIndexConformance(Generic[I]):
    """Log positions, batches, rebuilding and isolation. A subclass defines how the index is made and queried."""

    def make_index(self, folder: Path, store: RecordStore) -> I:
        """An index of this store in this folder; the same folder again is another handle on the same index."""
        raise NotImplementedError(f"{type(self).__name__} must say how an index is made: define make_index")

    def find(self, index: I, text: str, filters: Filters, admitted: Sequence[str], *, limit: int = 1_000) -> list[str]:
        """Ids that the index proposes for a text, best first; `admitted` are the ids that the filters admit."""
        raise NotImplementedError

    def make_store(self, folder: Path) -> RecordStore:
        """The records that the index is made from: the embedded store, unless a backend needs its own."""
        return build(folder, embedder="none", background_indexing=False).store

    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[RecordStore]:
        """Empty records."""
        store = self.make_store(tmp_path / "records")
        yield store
        store.close()

    @pytest.fixture
    def index(self, store: RecordStore, tmp_path: Path) -> Iterator[I]:
        """An index that has been built from empty records."""
        index = self.make_index(tmp_path / "index", store)
        index.rebuild(store)
        yield index
        index.close()

    @pytest.fixture
    def second_handle(self, index: I, store: RecordStore, tmp_path: Path) -> Iterator[I]:
        """Another handle on the same index, as another process has one."""
        other = self.make_index(tmp_path / "index", store)
        assert other.log_position() == index.log_position()
        yield other
        other.close()

    def _found(self, index: I, text: str, entries: Iterable[MemoryEntry], filters: Filters = MAIN) -> set[str]:
        return set(self.find(index, text, filters, sorted(proposed_by_an_index(filters, list(entries)))))

    @staticmethod
    def _shown(index: I, entries: Iterable[MemoryEntry]) -> dict[str, str]:
        return {e.id: index.fingerprint(e) for e in entries}

    # --- the mark -------------------------------------------------------------------------------------------------

    def test_an_index_that_was_never_built_has_no_mark(self, store: RecordStore, tmp_path: Path) -> None:
        index = self.make_index(tmp_path / "new", store)
        assert index.log_position() is None
        assert list(index.contents()) == []
        assert index.check() != []
        index.close()

    def test_an_index_that_was_never_built_takes_no_batch(self, store: RecordStore, tmp_path: Path) -> None:
        index = self.make_index(tmp_path / "new", store)
        with pytest.raises(IndexDamagedError):
            index.apply(_batch([entry("k", "apple")]))
        assert index.log_position() is None
        index.close()

    def test_a_built_index_stands_where_the_records_stand(self, store: RecordStore, index: I) -> None:
        stored = store.put([draft(f"k{i}", f"apple {i}") for i in range(3)], actor=ACTOR)
        index.rebuild(store)
        assert index.log_position() == store.head()
        assert dict(index.contents()) == self._shown(index, stored)
        assert index.check() == []

    def test_mark_and_data_outlive_the_handle(self, store: RecordStore, tmp_path: Path) -> None:
        first = self.make_index(tmp_path / "index", store)
        first.rebuild(store)
        kept = entry("k", "apple")
        first.apply(_batch([kept], place=7))
        first.close()
        second = self.make_index(tmp_path / "index", store)
        assert second.log_position() == LogPosition(7, "x")
        assert dict(second.contents()) == self._shown(second, [kept])
        second.close()

    def test_the_index_of_another_store_is_not_trusted(self, index: I, tmp_path: Path) -> None:
        index.apply(_batch([entry("k", "apple")]))
        others = self.make_store(tmp_path / "other records")
        foreign = self.make_index(tmp_path / "index", others)
        assert foreign.log_position() is None
        foreign.rebuild(others)
        assert foreign.log_position() == others.head()
        assert list(foreign.contents()) == []
        foreign.close()
        others.close()

    # --- batches --------------------------------------------------------------------------------------------------

    def test_what_a_batch_brings_is_found_at_once_through_every_handle(self, index: I, second_handle: I) -> None:
        new = entry("k", "apple")
        assert self._found(second_handle, "apple", [new]) == set()
        index.apply(_batch([new], place=3))
        for handle in (index, second_handle):
            assert self._found(handle, "apple", [new]) == {new.id}
            assert handle.log_position() == LogPosition(3, "x")

    def test_an_entry_that_comes_again_is_held_once_in_its_last_state(self, index: I, second_handle: I) -> None:
        old = entry("k", "apple pie")
        new = replace(old, content="banana bread", version=2)
        index.apply(_batch([old]))
        assert self._found(second_handle, "apple", [old]) == {old.id}
        index.apply(_batch([new], place=2))
        assert list(index.contents()) == [(new.id, index.fingerprint(new))]
        assert index.fingerprint(new) != index.fingerprint(old)
        assert self._found(second_handle, "banana", [new]) == {new.id}

    def test_what_a_batch_takes_away_is_gone(self, index: I, second_handle: I) -> None:
        kept, gone = entry("a", "apple"), entry("b", "apple")
        index.apply(_batch([kept, gone]))
        assert self._found(second_handle, "apple", [kept, gone]) == {kept.id, gone.id}
        index.apply(_batch([], [gone], place=2))
        for handle in (index, second_handle):
            assert self._found(handle, "apple", [kept, gone]) == {kept.id}
            assert dict(handle.contents()) == self._shown(handle, [kept])

    def test_what_was_taken_away_can_come_back(self, index: I, second_handle: I) -> None:
        lost = entry("a", "apple")
        index.apply(_batch([lost]))
        index.apply(_batch([], [lost], place=2))
        assert self._found(second_handle, "apple", [lost]) == set()
        index.apply(_batch([lost], place=3))
        assert self._found(second_handle, "apple", [lost]) == {lost.id}

    def test_taking_away_what_is_not_there_does_no_harm(self, index: I) -> None:
        kept = entry("a", "apple")
        index.apply(_batch([kept], [entry("b", "x")]))
        assert dict(index.contents()) == self._shown(index, [kept])

    def test_the_same_batch_twice_is_the_same_as_once(self, index: I) -> None:
        entries, gone = varied_entries(9), entry("gone", "apple")
        index.apply(_batch([gone], place=1))
        for _ in range(2):
            index.apply(_batch(entries, [gone], place=2))
            assert sorted(index.contents()) == sorted(self._shown(index, entries).items())
            assert index.log_position() == LogPosition(2, "x")

    def test_a_batch_without_entries_moves_the_mark(self, index: I, second_handle: I) -> None:
        index.apply(_batch(place=12, fingerprint="y"))
        assert second_handle.log_position() == LogPosition(12, "y")

    def test_a_batch_that_fails_changes_neither_data_nor_mark(self, index: I, second_handle: I) -> None:
        kept = entry("a", "apple")
        index.apply(_batch([kept]))
        with pytest.raises(_Refused):
            index.apply(_batch(_Breaking([entry("b", "banana"), entry("c", "cherry")]), [kept], place=2))
        for handle in (index, second_handle):
            assert handle.log_position() == LogPosition(1, "x")
            assert dict(handle.contents()) == self._shown(handle, [kept])
            assert self._found(handle, "apple", [kept]) == {kept.id}
        index.apply(_batch([entry("d", "damson")], place=2))
        assert second_handle.log_position() == LogPosition(2, "x")

    # --- filters --------------------------------------------------------------------------------------------------

    def test_filters_are_kept_inside_the_index(self, index: I) -> None:
        entries = varied_entries()
        index.apply(_batch(entries))
        for asked, filters in FILTERS.items():
            found = self._found(index, "apple", entries, filters)
            assert found == proposed_by_an_index(filters, entries), asked

    def test_look_alike_scopes_do_not_see_each_other(self, index: I) -> None:
        entries = [entry("k", "apple", scope=scope) for scope in LOOK_ALIKE_SCOPES]
        index.apply(_batch(entries))
        for own in entries:
            assert self._found(index, "apple", entries, Filters(scopes=(own.scope,))) == {own.id}

    def test_a_scope_with_a_thousandth_of_the_entries_gets_its_full_limit(self, index: I) -> None:
        many = [entry(f"m{i}", f"apple {i % 7}", scope=f"crowd {i % 5}") for i in range(9_990)]
        few = [entry(f"f{i}", "one apple of a few", scope="few") for i in range(10)]
        index.apply(_batch([*many[:5_000], *few, *many[5_000:]]))
        filters = Filters(scopes=("few",))
        found = self.find(index, "apple", filters, [e.id for e in few], limit=10)
        assert sorted(found) == sorted(e.id for e in few)

    # --- rebuilding -----------------------------------------------------------------------------------------------

    def test_a_rebuilt_index_holds_the_records_and_nothing_else(self, store: RecordStore, index: I) -> None:
        index.apply(_batch([entry("stray", "apple")]))
        stored = store.put([Draft(e) for e in varied_entries(20)] + [draft("off", "x", is_active=False)], actor=ACTOR)
        store.forget("main", "key 0", actor=ACTOR)
        index.rebuild(store)
        kept = [e for e in stored if e.key not in {"key 0", "off"}]
        assert sorted(index.contents()) == sorted(self._shown(index, kept).items())
        assert index.log_position() == store.head()

    def test_other_handles_go_over_to_the_rebuilt_index(self, store: RecordStore, index: I, second_handle: I) -> None:
        [old] = store.put([draft("k", "apple")], actor=ACTOR)
        index.rebuild(store)
        assert self._found(second_handle, "apple", [old]) == {old.id}
        [new] = store.put([draft("k2", "apple")], actor=ACTOR)
        index.rebuild(store)
        assert self._found(second_handle, "apple", [old, new]) == {old.id, new.id}
        assert second_handle.log_position() == store.head()
        third = entry("k3", "apple")
        second_handle.apply(_batch([third], place=50))
        assert self._found(index, "apple", [third]) == {old.id, new.id, third.id}

    def test_another_handle_can_be_asked_all_the_time_while_the_index_is_rebuilt(
        self, store: RecordStore, index: I, second_handle: I
    ) -> None:
        stored = store.put([draft(f"k{i}", f"apple {i}") for i in range(30)], actor=ACTOR)
        index.rebuild(store)
        everything = {e.id for e in stored}
        finished, asked = threading.Event(), threading.Event()

        def ask() -> list[set[str]]:
            wrong = []
            try:
                while not finished.is_set():
                    found = self._found(second_handle, "apple", stored)
                    if found != everything or second_handle.log_position() != store.head():
                        wrong.append(found)
                    asked.set()
            finally:
                asked.set()
            return wrong

        with ThreadPoolExecutor(1) as thread:
            answers = thread.submit(ask)
            try:
                for _ in range(6):
                    asked.clear()
                    assert answers.done() or asked.wait(60)
                    index.rebuild(store)
            finally:
                finished.set()
        assert answers.result() == []

    def test_a_rebuild_that_fails_leaves_the_old_index_in_use(self, store: RecordStore, index: I) -> None:
        stored = store.put([draft("k", "apple")], actor=ACTOR)
        index.rebuild(store)

        def refuse(_done: int, _total: int | None) -> None:
            raise _Refused

        with pytest.raises(_Refused):
            index.rebuild(store, progress=refuse)
        assert self._found(index, "apple", stored) == {stored[0].id}
        assert index.log_position() == store.head()
        index.rebuild(store)
        assert dict(index.contents()) == self._shown(index, stored)

    def test_a_rebuild_tells_how_far_it_is(self, store: RecordStore, index: I) -> None:
        store.put([draft(f"k{i}", "apple") for i in range(5)], actor=ACTOR)
        told: list[tuple[int, int | None]] = []
        index.rebuild(store, progress=lambda done, total: told.append((done, total)))
        assert told[-1] == (5, None)

    # --- several processes ----------------------------------------------------------------------------------------

    def test_only_one_handle_is_exclusive_at_a_time(self, index: I, second_handle: I) -> None:
        with index.exclusive():
            with pytest.raises(StoreBusyError), second_handle.exclusive(timeout=0.01):
                pass
            with index.exclusive(timeout=0):
                pass
        with second_handle.exclusive(timeout=0):
            pass

    def test_handles_that_drain_at_once_end_with_the_records(
        self, store: RecordStore, index: I, second_handle: I
    ) -> None:
        store.put([draft(f"k{i}", f"apple {i}") for i in range(10)], actor=ACTOR)

        def work(handle: I, name: str) -> None:
            drainer = Drainer(store)
            for i in range(6):
                store.put([draft(f"{name}{i}", f"apple {i}"), draft("shared", f"apple {name}{i}")], actor=ACTOR)
                if i % 2:
                    store.forget("main", f"{name}{i - 1}", actor=ACTOR)
                drainer.drain(handle)

        with ThreadPoolExecutor(2) as threads:
            for future in [threads.submit(work, index, "a"), threads.submit(work, second_handle, "b")]:
                future.result()
        Drainer(store).drain(index)
        for handle in (index, second_handle):
            report = verify(store, Drainer(store), handle)
            assert report.sound, report
            assert report.held == store.count(MAIN) == 17

    # --- upkeep ---------------------------------------------------------------------------------------------------

    def test_its_description_can_be_written_as_json(self, index: I) -> None:
        assert json.loads(json.dumps(index.describe()))["engine"]
        assert index.name
        assert index.batch_size > 0

    def test_closing_twice_is_allowed(self, index: I) -> None:
        index.close()
        index.close()


class _Refused(Exception):  # noqa: N818 - not an error of anything, only of this suite
    """The failure that a suite injects."""


class _Breaking(list[MemoryEntry]):
    """Entries of which the last cannot be read."""

    def __iter__(self) -> Iterator[MemoryEntry]:
        for i in range(len(self)):
            if i == len(self) - 1:
                raise _Refused
            yield self[i]

    def __reversed__(self) -> Any:
        raise _Refused

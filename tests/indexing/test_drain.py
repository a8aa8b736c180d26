"""Changes reach an index in batches, in order, and as often as it takes."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from jiyi.errors import IndexDamagedError, IndexingError
from jiyi.indexing import Drainer, IndexState, verify
from jiyi.model.entry import MemoryEntry
from jiyi.ports import Draft, LogPosition, RecordStore
from jiyi.testing.conformance.examples import draft
from jiyi.testing.faults import Faults
from tests.indexing.listed import ListedIndex


def _put(store: RecordStore, *drafts: Draft) -> list[MemoryEntry]:
    return store.put(drafts, actor="test")


def test_an_index_that_is_not_there_is_built(store: RecordStore, drainer: Drainer) -> None:
    _put(store, *(draft(f"k{i}", "x") for i in range(5)))
    index = ListedIndex()
    assert drainer.state(index) == IndexState("listed", usable=False, behind=5)
    drainer.drain(index)
    assert (index.rebuilt, index.batches) == (1, [])
    assert drainer.state(index) == IndexState("listed", usable=True, behind=0)
    assert verify(store, drainer, index).sound


def test_changes_come_in_batches_with_their_marks(store: RecordStore, drainer: Drainer, index: ListedIndex) -> None:
    stored = _put(store, *(draft(f"k{i}", "x") for i in range(8)))
    assert drainer.drain(index) == 8
    assert [[entry.key for entry in sorted(batch.upserts, key=lambda e: e.id)] for batch in index.batches] == [
        ["k0", "k1", "k2"],
        ["k3", "k4", "k5"],
        ["k6", "k7"],
    ]
    places = [change.log_position for change in store.changes_after(0, limit=10)]
    assert [batch.log_position for batch in index.batches] == [places[2], places[5], places[7]]
    assert index.log_position() == store.head()
    assert len(index.held) == len(stored)


def test_what_is_up_to_date_is_left_alone(store: RecordStore, drainer: Drainer, index: ListedIndex) -> None:
    _put(store, draft("k", "x"))
    assert drainer.drain(index) == 1
    assert drainer.drain(index) == 0
    assert drainer.advance(index) is None
    assert (len(index.batches), index.rebuilt) == (1, 1)


def test_an_entry_that_changed_often_is_taken_in_once_as_it_is_now(
    store: RecordStore, drainer: Drainer, index: ListedIndex
) -> None:
    for i in range(3):
        _put(store, draft("k", f"version {i}"))
    drainer.drain(index)
    assert [[entry.content for entry in batch.upserts] for batch in index.batches] == [["version 2"]]


def test_what_is_gone_by_now_is_taken_out_even_if_it_was_never_in(
    store: RecordStore, drainer: Drainer, index: ListedIndex
) -> None:
    [gone] = _put(store, draft("gone", "x"))
    store.forget("main", "gone", actor="test")
    [hidden] = _put(store, draft("hidden", "x", is_active=False))
    drainer.drain(index)
    assert [(list(batch.upserts), sorted(batch.removals)) for batch in index.batches] == [
        ([], sorted([("main", gone.id), ("main", hidden.id)]))
    ]
    assert index.held == []


def test_a_batch_that_was_interrupted_is_taken_in_again_without_harm(
    store: RecordStore, drainer: Drainer, index: ListedIndex
) -> None:
    _put(store, *(draft(f"k{i}", "x") for i in range(7)))
    faults = Faults()
    failing = faults.wrap(index, "index")
    faults.fail("index.apply", IndexingError("no room"), calls=[2, 4])
    for _ in range(2):
        with pytest.raises(IndexingError, match="no room"):
            drainer.drain(failing)
        assert not verify(store, drainer, index).sound
    drainer.drain(failing)
    assert verify(store, drainer, index).sound
    assert index.rebuilt == 1


def test_the_end_of_a_drain_is_what_was_there_when_it_began(
    store: RecordStore, drainer: Drainer, index: ListedIndex
) -> None:
    _put(store, *(draft(f"k{i}", "x") for i in range(3)))
    faults = Faults()
    watched = faults.wrap(index, "index")
    faults.before(
        "index.apply", lambda: _put(store, *(draft(f"more {faults.calls('index.apply')} {i}", "x") for i in "ab"))
    )
    assert drainer.drain(watched) == 3
    assert faults.calls("index.apply") == 1
    assert drainer.state(index).behind == 2


def test_an_index_that_breaks_while_it_is_written_is_rebuilt(
    store: RecordStore, drainer: Drainer, index: ListedIndex
) -> None:
    _put(store, draft("k", "x"))
    faults = Faults()
    breaking = faults.wrap(index, "index")
    faults.fail("index.apply", IndexDamagedError("a file is gone"))
    drainer.drain(breaking)
    assert index.rebuilt == 2
    assert verify(store, drainer, index).sound


def test_a_rebuild_that_is_disturbed_is_begun_again_once(
    store: RecordStore, drainer: Drainer, index: ListedIndex
) -> None:
    _put(store, draft("k", "x"))
    index.lose()
    faults = Faults()
    disturbed = faults.wrap(index, "index")
    faults.fail("index.rebuild", IndexDamagedError("the folder is gone"))
    drainer.drain(disturbed)
    assert verify(store, drainer, index).sound
    index.lose()
    faults.fail("index.rebuild", IndexDamagedError("the folder is gone"), calls=[1, 2])
    with pytest.raises(IndexDamagedError):
        drainer.drain(disturbed)


def test_a_mark_of_another_history_means_a_rebuild(store: RecordStore, drainer: Drainer, index: ListedIndex) -> None:
    _put(store, draft("k", "x"))
    drainer.drain(index)
    for foreign in (LogPosition(store.head().sequence, "another"), LogPosition(99, store.head().fingerprint)):
        index._log_position = foreign
        assert not drainer.state(index).usable
        drainer.drain(index)
        assert index.log_position() == store.head()
    assert index.rebuilt == 3


# --- what a recall waits for --------------------------------------------------------------------------------------


def test_catching_up_takes_in_what_the_scope_has_written(
    store: RecordStore, drainer: Drainer, index: ListedIndex
) -> None:
    _put(store, *(draft(f"k{i}", "x", scope="crowd") for i in range(10)), draft("mine", "x"))
    assert drainer.catch_up(index, ["main", "public"], seconds=600) == IndexState("listed", usable=True, behind=0)
    assert drainer.state(index) == IndexState("listed", usable=True, behind=0)


def test_catching_up_does_not_wait_for_the_bulk_of_another_scope(
    store: RecordStore, drainer: Drainer, index: ListedIndex
) -> None:
    _put(store, draft("mine", "x"))
    drainer.drain(index)
    _put(store, *(draft(f"k{i}", "x", scope="crowd") for i in range(10)))
    before = len(index.batches)
    assert drainer.catch_up(index, ["main", "public"], seconds=600) == IndexState("listed", usable=True, behind=0)
    assert len(index.batches) == before
    assert drainer.state(index).behind == 10


def test_without_time_to_catch_up_it_is_told_how_far_the_index_is_behind(
    store: RecordStore, drainer: Drainer, index: ListedIndex
) -> None:
    _put(store, draft("a", "x"), draft("b", "x"), draft("c", "x", scope="crowd"))
    assert drainer.catch_up(index, ["main"], seconds=0) == IndexState("listed", usable=True, behind=2)
    index.lose()
    assert drainer.catch_up(index, ["main"], seconds=0) == IndexState("listed", usable=False, behind=2)
    assert (index.batches, index.rebuilt) == ([], 1)


def test_catching_up_does_not_wait_for_ever_for_somebody_else_who_drains(
    store: RecordStore, drainer: Drainer, index: ListedIndex
) -> None:
    _put(store, draft("a", "x"))
    held, let_go = threading.Event(), threading.Event()

    def hold() -> None:
        with index.exclusive(1):
            held.set()
            assert let_go.wait(60)

    with ThreadPoolExecutor(1) as threads:
        holder = threads.submit(hold)
        assert held.wait(60)
        assert drainer.catch_up(index, ["main"], seconds=0.01) == IndexState("listed", usable=True, behind=1)
        let_go.set()
        holder.result()
    assert drainer.catch_up(index, ["main"], seconds=600).behind == 0

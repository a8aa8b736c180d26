"""The background thread keeps indexes up to date, says what fails, and goes on."""

import threading
from collections.abc import Callable, Iterator
from typing import TypeAlias

import pytest

from jiyi.backends.records.chat import SqlChatStore
from jiyi.backends.records.store import SqlRecordStore
from jiyi.errors import IndexingError
from jiyi.indexing import BackgroundIndexer, Drainer, background
from jiyi.indexing.doctor import examine
from jiyi.ports import DerivedIndex, RecordStore
from jiyi.testing.conformance.examples import draft
from jiyi.testing.faults import Faults
from tests.indexing.listed import ListedIndex

PATIENCE = 60
StartIndexer: TypeAlias = Callable[..., BackgroundIndexer]


@pytest.fixture(autouse=True)
def _without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "_QUIET_SECONDS", 0.001)
    monkeypatch.setattr(background, "_GATHER_SECONDS", 0.002)
    monkeypatch.setattr(background, "_RETRY_SECONDS", (0.001,))


@pytest.fixture
def start(store: RecordStore, drainer: Drainer) -> Iterator[StartIndexer]:
    started: list[BackgroundIndexer] = []

    def start(*indexes: DerivedIndex) -> BackgroundIndexer:
        indexer = BackgroundIndexer(store, drainer, indexes)
        indexer.start()
        started.append(indexer)
        return indexer

    yield start
    for indexer in started:
        indexer.stop()


def _failure(indexer: BackgroundIndexer) -> str | None:
    """Asked anew each time: another thread writes it."""
    return indexer.last_error


class _Seen:
    """An event for each time something happens; `wait` for the next one."""

    def __init__(self) -> None:
        self._happened = threading.Semaphore(0)

    def __call__(self) -> None:
        self._happened.release()

    def wait(self) -> None:
        assert self._happened.acquire(timeout=PATIENCE)


def test_what_is_written_is_taken_in(store: RecordStore, index: ListedIndex, start: StartIndexer) -> None:
    faults, applied = Faults(), _Seen()
    faults.after("index.apply", applied)
    indexer = start(faults.wrap(index, "index"))
    for number in range(3):
        store.put([draft(f"k{number}", "x")], actor="test")
        indexer.notify()
        applied.wait()
    assert len(index.held) == 3
    assert indexer.last_error is None


def test_what_was_left_over_is_taken_in_at_the_start(
    store: RecordStore, index: ListedIndex, start: StartIndexer
) -> None:
    store.put([draft("k", "x")], actor="test")
    faults, applied = Faults(), _Seen()
    faults.after("index.apply", applied)
    start(faults.wrap(index, "index"))
    applied.wait()
    assert len(index.held) == 1


@pytest.mark.parametrize(
    "error", [IndexingError("no room left"), OSError("no room left"), RuntimeError("no room left")]
)
def test_a_failure_is_visible_and_tried_again_until_it_works(
    store: SqlRecordStore, drainer: Drainer, index: ListedIndex, start: StartIndexer, error: Exception
) -> None:
    faults, failed, let_go, applied = Faults(), _Seen(), threading.Event(), _Seen()

    def third_time_works() -> None:
        if faults.calls("index.apply") < 3:
            raise error
        failed()
        assert let_go.wait(PATIENCE)

    faults.before("index.apply", third_time_works)
    faults.after("store.maintain", applied)
    watched, store_watched = faults.wrap(index, "index"), faults.wrap(store, "store")
    store.put([draft("k", "x")], actor="test")
    indexer = BackgroundIndexer(store_watched, drainer, [watched])
    indexer.start()
    try:
        failed.wait()
        # Two tries have failed, and the third is under way.
        assert _failure(indexer) == f"{type(error).__name__}: no room left"
        found = examine(store, drainer, [index], indexer, SqlChatStore(store._database))
        assert not found["healthy"]
        assert any("no room left" in advice for advice in found["advice"])
        let_go.set()
        while _failure(indexer) is not None:
            applied.wait()
        assert len(index.held) == 1
        assert examine(store, drainer, [index], indexer, SqlChatStore(store._database))["healthy"]
    finally:
        let_go.set()
        indexer.stop()


def test_an_index_that_fails_does_not_keep_the_others_from_going_on(
    store: RecordStore, drainer: Drainer, index: ListedIndex, start: StartIndexer
) -> None:
    other = ListedIndex("other")
    drainer.drain(other)
    faults, applied = Faults(), _Seen()
    faults.fail("index.apply", IndexingError("broken for good"), calls=range(1, 1_000_000))
    faults.after("other.apply", applied)
    indexer = start(faults.wrap(index, "index"), faults.wrap(other, "other"))
    store.put([draft("k", "x")], actor="test")
    indexer.notify()
    applied.wait()
    assert len(other.held) == 1
    assert index.held == []


def test_stopping_does_not_wait_for_the_next_try(
    store: RecordStore, index: ListedIndex, start: StartIndexer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background, "_RETRY_SECONDS", (3600.0,))
    faults, failed = Faults(), _Seen()

    def fail() -> None:
        failed()
        raise IndexingError("no room left")

    faults.before("index.apply", fail)
    store.put([draft("k", "x")], actor="test")
    indexer = start(faults.wrap(index, "index"))
    failed.wait()
    indexer.stop()
    assert not indexer._thread.is_alive()


def test_stopping_breaks_off_a_rebuild(store: RecordStore, index: ListedIndex, start: StartIndexer) -> None:
    store.put([draft(f"k{i}", "x") for i in range(30)], actor="test")
    index.lose()
    scanned, let_go = _Seen(), threading.Event()

    class Slow(ListedIndex):
        def rebuild(self, store: RecordStore, *, progress: object = None) -> None:
            assert callable(progress)
            progress(1, None)
            scanned()
            assert let_go.wait(PATIENCE)
            progress(2, None)
            raise AssertionError("it went on")

    indexer = start(Slow())
    scanned.wait()
    indexer._stop.set()
    let_go.set()
    indexer.stop()
    assert not indexer._thread.is_alive()
    assert indexer.last_error is None


def test_stopping_twice_and_before_starting_is_allowed(store: RecordStore, drainer: Drainer) -> None:
    indexer = BackgroundIndexer(store, drainer, [])
    indexer.stop()
    indexer.stop()

"""What every record store must do with its change log, and with several writers at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

from jiyi.model.filters import Filters
from jiyi.ports import START, Change, RecordStore
from jiyi.testing.conformance.examples import ACTOR, NOON, draft
from jiyi.testing.conformance.records import MAIN, StoreFixtures

_WRITERS = 4


def _together(*calls: Callable[[], Any]) -> list[Any]:
    """Run calls concurrently, started at a barrier; the first error is raised."""
    start = threading.Barrier(len(calls))

    def run(call: Callable[[], Any]) -> Any:
        start.wait(timeout=60)
        return call()

    with ThreadPoolExecutor(len(calls)) as threads:
        return [future.result() for future in [threads.submit(run, call) for call in calls]]


class ChangeLogConformance(StoreFixtures):
    """The change log that indexes follow."""

    def test_an_empty_log_is_at_its_start(self, store: RecordStore) -> None:
        assert store.head() == START
        assert store.log_position_at(0) == START
        assert store.log_position_at(1) is None
        assert store.changes_after(0, limit=10) == []
        assert store.pending(0) == 0

    def test_every_change_is_in_the_log_once_and_in_order(self, store: RecordStore) -> None:
        [a, b] = store.put([draft("a", "1"), draft("b", "1", scope="other")], actor=ACTOR)
        store.put([draft("a", "2")], actor=ACTOR)
        store.forget("main", "a", actor=ACTOR)
        changes = store.changes_after(0, limit=100)
        assert [(c.entry_id, c.scope, c.version) for c in changes] == [
            (a.id, "main", 1),
            (b.id, "other", 1),
            (a.id, "main", 2),
            (a.id, "main", 3),
        ]
        places = [c.sequence for c in changes]
        assert places == sorted(set(places))
        assert store.head().sequence == places[-1]

    def test_the_log_can_be_read_in_pieces(self, store: RecordStore) -> None:
        store.put([draft(f"k{i}", "x") for i in range(11)], actor=ACTOR)
        read: list[Change] = []
        while piece := store.changes_after(read[-1].sequence if read else 0, limit=4):
            read += piece
        assert read == store.changes_after(0, limit=100)
        assert len(read) == 11

    def test_every_sequence_number_of_the_log_has_one_position(
        self, store: RecordStore, second_handle: RecordStore
    ) -> None:
        store.put([draft("a", "1"), draft("b", "1")], actor=ACTOR)
        store.put([draft("a", "2")], actor=ACTOR)
        changes = store.changes_after(0, limit=100)
        positions = [second_handle.log_position_at(c.sequence) for c in changes]
        assert [c.log_position for c in changes] == positions
        assert positions[-1] == store.head()
        assert len({log_position.fingerprint for log_position in positions if log_position is not None}) == 3
        assert store.log_position_at(changes[-1].sequence + 1) is None

    def test_what_follows_a_place_can_be_counted_by_scope(self, store: RecordStore) -> None:
        store.put([draft("a", "1"), draft("b", "1", scope="other"), draft("c", "1")], actor=ACTOR)
        first = store.changes_after(0, limit=1)[0].sequence
        assert store.pending(0) == 3
        assert store.pending(0, ["main"]) == 2
        assert store.pending(first, ["main"]) == 1
        assert store.pending(first, ["main", "other"]) == 2
        assert store.pending(first, ["nobody"]) == 0
        assert store.pending(store.head().sequence) == 0

    def test_a_place_after_a_restored_backup_is_not_taken_for_the_same_place_before(
        self, store: RecordStore, other_store: RecordStore
    ) -> None:
        store.put([draft("k", "one")], actor=ACTOR)
        other_store.import_rows(list(store.export_rows(None)), actor=ACTOR)
        assert store.head() == other_store.head()
        store.put([draft("k", "two", minutes=1)], actor=ACTOR)
        other_store.put([draft("k", "three", minutes=2)], actor=ACTOR)
        assert store.head().sequence == other_store.head().sequence
        assert store.head() != other_store.head()

    # --- several writers ------------------------------------------------------------------------------------------

    def test_writers_of_one_key_lose_no_version(self, store: RecordStore, second_handle: RecordStore) -> None:
        handles = [store, second_handle] * (_WRITERS // 2)

        def write(writer: int) -> None:
            for i in range(10):
                handles[writer].put([draft("k", f"{writer}:{i}")], actor=f"writer {writer}")

        _together(*[lambda writer=writer: write(writer) for writer in range(_WRITERS)])
        versions = store.versions("main", "k")
        assert [v.version for v in versions] == list(range(1, 10 * _WRITERS + 1))
        written = [v.entry.content for v in versions if v.entry is not None]
        assert sorted(written) == sorted(f"{writer}:{i}" for writer in range(_WRITERS) for i in range(10))
        for writer in range(_WRITERS):
            mine = [content for content in written if content.startswith(f"{writer}:")]
            assert mine == [f"{writer}:{i}" for i in range(10)]

    def test_writers_of_different_keys_lose_no_entry(self, store: RecordStore, second_handle: RecordStore) -> None:
        handles = [store, second_handle] * (_WRITERS // 2)

        def write(writer: int) -> None:
            for i in range(10):
                handles[writer].put([draft(f"{writer}:{i}", "x")], actor=ACTOR)

        _together(*[lambda writer=writer: write(writer) for writer in range(_WRITERS)])
        assert store.count(MAIN) == 10 * _WRITERS
        assert store.pending(0) == 10 * _WRITERS
        assert {c.entry_id for c in store.changes_after(0, limit=1_000)} == set(store.matching_ids(MAIN))

    def test_accesses_counted_at_once_are_all_counted(self, store: RecordStore, second_handle: RecordStore) -> None:
        [entry] = store.put([draft("k", "x")], actor=ACTOR)

        def touch(handle: RecordStore) -> None:
            for i in range(10):
                handle.touch([entry.id], NOON + timedelta(minutes=i))

        _together(lambda: touch(store), lambda: touch(second_handle), lambda: touch(store))
        assert store.fetch([entry.id], None)[entry.id].access_count == 30

    def test_a_reader_never_sees_half_of_a_put(self, store: RecordStore, second_handle: RecordStore) -> None:
        keys = [f"k{i}" for i in range(8)]
        store.put([draft(key, "round 0") for key in keys], actor=ACTOR)
        finished = threading.Event()

        def write() -> None:
            try:
                for i in range(1, 16):
                    store.put([draft(key, f"round {i}") for key in keys], actor=ACTOR)
            finally:
                finished.set()

        def read() -> list[set[str]]:
            seen = []
            while not finished.is_set():
                seen.append({e.content for e in second_handle.page(MAIN, limit=100, offset=0)})
            return seen

        seen = _together(write, read)[1]
        assert all(len(contents) == 1 for contents in seen), seen

    def test_a_reader_that_follows_the_log_misses_nothing(self, store: RecordStore, second_handle: RecordStore) -> None:
        """An index asks again and again for what follows its mark; a change must not appear behind its back."""
        finished = threading.Event()

        def write(writer: int) -> None:
            for i in range(15):
                # Scopes of their own: an engine may write them at the same time.
                written = [draft(f"{i}:{j}", "x", scope=f"writer {writer}") for j in range(3)]
                store.put(written, actor=ACTOR)

        def write_all() -> None:
            try:
                _together(lambda: write(0), lambda: write(1), lambda: write(2))
            finally:
                finished.set()

        def follow() -> list[Change]:
            read: list[Change] = []
            while True:
                last = finished.is_set()
                while piece := second_handle.changes_after(read[-1].sequence if read else 0, limit=7):
                    read += piece
                if last:
                    return read

        followed = _together(write_all, follow)[1]
        assert followed == store.changes_after(0, limit=1_000)
        assert len(followed) == 135
        assert store.count(Filters(scopes=tuple(f"writer {writer}" for writer in range(3)))) == 135

    def test_a_reader_that_follows_the_tags_misses_none(self, store: RecordStore, second_handle: RecordStore) -> None:
        """Writers of different scopes add tags at once, many of them the same; who asks for new ones gets each."""
        finished = threading.Event()

        def write(writer: int) -> None:
            for i in range(12):
                tags = tuple(f"tag {i + j}" for j in ((0, 2, 1), (1, 0, 2), (2, 1, 0))[writer])
                store.put([draft(f"{i}", "x", scope=f"writer {writer}", tags=tags)], actor=ACTOR)

        def write_all() -> None:
            try:
                _together(lambda: write(0), lambda: write(1), lambda: write(2))
            finally:
                finished.set()

        def follow() -> list[tuple[int, str]]:
            seen: list[tuple[int, str]] = []
            page = second_handle.tags_since(None)
            while True:
                last = finished.is_set()
                seen += page.tags
                page = second_handle.tags_since(page.log_position)
                assert not page.whole
                if last:
                    return [*seen, *page.tags]

        followed = _together(write_all, follow)[1]
        assert followed == [(number, name) for number, name in store.tags_since(None).tags]
        assert sorted(name for _, name in followed) == sorted(f"tag {i}" for i in range(14))

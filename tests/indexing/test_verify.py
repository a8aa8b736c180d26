"""Verify tells apart what is wrong in an index and what has only not come there yet."""

from jiyi.indexing import Drainer, repair, verify
from jiyi.ports import RecordStore
from jiyi.testing.conformance.examples import draft
from jiyi.testing.faults import Faults
from tests.indexing.listed import ListedIndex


def test_every_kind_of_disagreement_is_named(store: RecordStore, drainer: Drainer, index: ListedIndex) -> None:
    [fine, missing, stale, twice] = store.put([draft(k, "x") for k in ("a", "b", "c", "d")], actor="test")
    drainer.drain(index)
    index.held = [(fine.id, index.fingerprint(fine)), (stale.id, "old"), ("unknown", "x")]
    index.held += [(twice.id, index.fingerprint(twice))] * 2
    report = verify(store, drainer, index)
    assert (report.missing, report.stale) == ((missing.id,), (stale.id,))
    assert set(report.surplus) == {"unknown", twice.id}
    assert (report.records, report.held, report.behind) == (4, 5, 0)
    assert not report.sound
    assert report.to_dict()["counts"] == {"missing": 1, "stale": 1, "surplus": 2}


def test_verify_changes_nothing(store: RecordStore, drainer: Drainer, index: ListedIndex) -> None:
    store.put([draft("a", "x")], actor="test")
    head = store.head()
    for _ in range(2):
        assert not verify(store, drainer, index).sound
        assert (index.batches, index.rebuilt, store.head()) == ([], 1, head)
    index.lose()
    report = verify(store, drainer, index)
    assert "there is nothing here" in report.problems
    assert (report.sound, index.rebuilt) == (False, 1)


def test_what_is_written_while_verify_runs_is_behind_and_not_missing(
    store: RecordStore, drainer: Drainer, index: ListedIndex
) -> None:
    store.put([draft("kept", "x"), draft("changed", "x"), draft("forgotten", "x")], actor="test")
    drainer.drain(index)
    faults = Faults()
    busy = faults.wrap(index, "index")

    def write() -> None:
        store.put([draft("changed", "y"), draft("new", "x")], actor="test")
        store.forget("main", "forgotten", actor="test")

    faults.before("index.contents", write)
    report = verify(store, drainer, busy)
    assert (report.missing, report.stale, report.surplus, report.behind) == ((), (), (), 3)
    assert report.agrees
    assert not report.sound


def test_repair_rebuilds_what_disagrees_and_only_that(store: RecordStore, drainer: Drainer, index: ListedIndex) -> None:
    other = ListedIndex("other")
    drainer.drain(other)
    store.put([draft(k, "x") for k in "abc"], actor="test")
    drainer.drain(index)
    index.held.pop()
    reports = repair(store, drainer, [index, other])
    assert [report.sound for report in reports] == [True, True]
    assert (index.rebuilt, other.rebuilt, len(other.batches)) == (2, 1, 1)


def test_repair_under_constant_writing_does_not_rebuild_for_that(
    store: RecordStore, drainer: Drainer, index: ListedIndex
) -> None:
    faults = Faults()
    busy = faults.wrap(index, "index")
    faults.before("index.contents", lambda: store.put([draft(None, "x")], actor="test"))
    [report] = repair(store, drainer, [busy])
    assert report.agrees
    assert index.rebuilt == 1

"""Vectors of a list of entries that PostgreSQL has and this process keeps: they follow every change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from jiyi.backends.postgres.database import PostgresDatabase
from jiyi.backends.postgres.vectors import listed as listed_vectors
from jiyi.backends.postgres.vectors.index import PostgresVectors
from jiyi.backends.records.store import SqlRecordStore
from jiyi.model.filters import make_filters
from jiyi.ports import IndexBatch
from jiyi.recall.overlay import ScanOverlay
from jiyi.recall.search import FilteredScan
from jiyi.testing.conformance.examples import ACTOR, draft
from jiyi.testing.fakes import HashEmbedder

if TYPE_CHECKING:
    from jiyi.backends.postgres.vectors.scan import PostgresScan

pytestmark = pytest.mark.server

SCOPES = ("crowd", "public")
LIMIT = 12
EMBEDDER = HashEmbedder()
QUESTION = EMBEDDER.embed(["what does the crowd say of the seven lamps"])[0]
LONG = "a very long text about the seven lamps. " * 60 + "It ends with the gate. " * 60


@dataclass
class House:
    """A large scope, and two processes with the vectors of it."""

    store: SqlRecordStore
    mine: PostgresVectors
    theirs: PostgresVectors

    def put(self, texts: dict[str, str], scope: str = "crowd") -> list[str]:
        """Entries, taken in by the other process."""
        entries = self.store.put([draft(key, text, scope=scope) for key, text in texts.items()], actor=ACTOR)
        self.theirs.apply(IndexBatch(entries, (), self.store.head()))
        return [each.id for each in entries]

    def forget(self, scope: str, key: str, entry_id: str) -> None:
        self.store.forget(scope, key, actor=ACTOR)
        self.theirs.apply(IndexBatch((), [(scope, entry_id)], self.store.head()))

    def scan(self) -> PostgresScan:
        return self.mine.scan(QUESTION, SCOPES)

    def agrees(self, listed: frozenset[str], limit: int = LIMIT) -> bool:
        """Whether the kept vectors give the answer of the server."""
        scan = self.scan()
        found, right = scan.best_listed(limit, listed), scan.best(limit, allowed=sorted(listed))
        assert found is not None
        # Texts that are alike but for the last digit may change places.
        return len(found) == len(set(found)) == len(right) and np.allclose(scan.of(found), scan.of(right), atol=1e-5)


@pytest.fixture
def house(postgres_url: str) -> Iterator[House]:
    with ExitStack() as opened:

        def database() -> PostgresDatabase:
            found = PostgresDatabase(postgres_url, pool_size=2)
            opened.callback(found.close)
            return found

        def vectors(**options: Any) -> PostgresVectors:
            found = PostgresVectors(database(), EMBEDDER, "store", exact_rows=50, **options)
            opened.callback(found.close)
            return found

        house = House(SqlRecordStore(database()), vectors(), vectors())
        house.store.put([draft(f"k{n}", f"the crowd says {n}", scope="crowd") for n in range(120)], actor=ACTOR)
        house.store.put([draft(f"p{n}", f"everybody says {n}", scope="public") for n in range(20)], actor=ACTOR)
        house.theirs.rebuild(house.store)
        yield house


def ids_of(house: House, scopes: Sequence[str] = SCOPES) -> list[str]:
    return sorted(house.store.matching_ids(make_filters(tuple(scopes))))


def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """For how many entries vectors were read, each time that some were."""
    counts: list[int] = []
    read = listed_vectors.ListedVectors._vectors

    def counted(self: Any, scopes: Any, ids: Any) -> Any:
        counts.append(len(ids))
        return read(self, scopes, ids)

    monkeypatch.setattr(listed_vectors.ListedVectors, "_vectors", counted)
    return counts


def test_the_best_of_a_list_are_those_of_an_exact_scan_and_are_read_once(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.put({"long": LONG, "longer": LONG * 2})
    counts = reads(monkeypatch)
    everything = frozenset(ids_of(house))
    third = frozenset(ids_of(house)[::3])
    for _ in range(3):
        for listed in (everything, third):
            assert house.agrees(listed)
            assert house.agrees(listed, limit=500)
    assert counts == [len(everything), len(third)]


def test_a_write_of_another_process_is_seen_and_only_what_has_changed_is_read(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = reads(monkeypatch)
    listed = frozenset(ids_of(house))
    assert house.agrees(listed)
    [first] = house.put({"k0": "what does the crowd say of the seven lamps"})
    assert house.scan().best_listed(1, listed) == [first]
    [new] = house.put({"new": "what does the crowd say of the seven lamps", "strange": "quite"}, "crowd")[:1]
    with_new = listed | {new}
    assert set(house.scan().best_listed(2, with_new) or ()) == {first, new}
    house.forget("crowd", "k0", first)
    assert (house.scan().best_listed(1, with_new) or [""])[0] == new
    assert house.agrees(with_new - {first})
    house.put({"elsewhere": "what does the crowd say of the seven lamps"}, "other")
    assert house.agrees(with_new - {first})
    assert counts[0] == len(listed)
    assert max(counts[1:]) <= 2


def test_vectors_that_were_made_anew_are_read_anew(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = frozenset(ids_of(house))
    assert house.agrees(listed)
    counts = reads(monkeypatch)
    house.theirs.rebuild(house.store)
    assert house.agrees(listed)
    assert counts == [len(listed)]
    monkeypatch.setattr(listed_vectors, "_MAX_CHANGES", 2)
    house.put({f"k{n}": f"another text {n}" for n in range(5)})
    assert house.agrees(listed)
    assert counts == [len(listed)] * 2, "too many changes to be looked up one by one"


def test_a_list_that_takes_too_much_memory_is_left_to_the_index_and_old_lists_are_given_up(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry_bytes = 4 * EMBEDDER.identity.dimension + 200
    monkeypatch.setattr(house.mine._listed, "_cache_bytes", 4 * 50 * entry_bytes)
    counts = reads(monkeypatch)
    ids = ids_of(house, ["crowd"])
    assert house.scan().best_listed(LIMIT, frozenset(ids[:60])) is None
    lists = [frozenset(ids[start : start + 45]) for start in (0, 15, 30, 45, 60, 75)]
    monkeypatch.setattr(listed_vectors, "_MAX_CHANGES", 0)
    for listed in lists:
        assert house.agrees(listed)
    assert counts == [45] * 6
    assert house.agrees(lists[-1])
    assert counts == [45] * 6
    assert house.agrees(lists[0])
    assert counts == [45] * 7


def test_while_another_thread_reads_vectors_the_index_answers(house: House) -> None:
    listed = frozenset(ids_of(house))
    with house.mine._listed._reading:
        assert house.scan().best_listed(LIMIT, listed) is None
    assert house.agrees(listed)


def test_what_the_vectors_lack_is_compared_beside_the_list(house: House) -> None:
    listed = frozenset(ids_of(house))
    assert house.agrees(listed)
    entries = house.store.put(
        [
            draft(key, "what does the crowd say of the seven lamps", scope="crowd")
            for key in ("k1", "new", "not listed")
        ],
        actor=ACTOR,
    )
    changed, new, unlisted = (each.id for each in entries)
    batch = IndexBatch(entries, (), house.store.head())
    scan = ScanOverlay(house.scan(), batch, house.mine.similarities(QUESTION, entries))
    assert set((scan.best_listed(3, listed | {new}) or [])[:2]) == {changed, new}
    assert unlisted not in (scan.best_listed(200, listed | {new}) or [])


def test_a_small_scope_has_no_use_for_it(house: House) -> None:
    house.put({"one": "a", "two": "b"}, "small")
    scan = house.mine.scan(QUESTION, ("small",))
    assert scan.best_listed(LIMIT, frozenset(ids_of(house, ["small"]))) is None


def test_a_filtered_scan_asks_for_the_list_and_leaves_out_what_does_not_pass(house: House) -> None:
    ids = ids_of(house, ["crowd"])
    house.store.forget("crowd", "k3", actor=ACTOR)
    filters = make_filters(SCOPES, where={"color": {"$exists": False}})
    some = frozenset(ids[::2])
    listed = FilteredScan(house.scan(), house.store, replace(filters, superset_ids=some, estimate=len(some)))
    found = listed.best(40)
    admitted = house.store.admitted(ids[::2], filters)
    right = [each for each in house.scan().best(len(ids), allowed=ids[::2]) if each in admitted][:40]
    assert len(found) == 40
    assert np.allclose(listed.of(found), listed.of(right), atol=1e-5)
    assert set(found) <= admitted


@settings(
    max_examples=8,
    deadline=None,
    phases=(Phase.generate,),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    steps=st.lists(
        st.tuples(st.sampled_from(["put", "forget", "list"]), st.integers(0, 30), st.booleans()), min_size=3, max_size=8
    )
)
def test_after_any_changes_the_answer_is_that_of_the_server(house: House, steps: list[tuple[str, int, bool]]) -> None:
    listed = frozenset(ids_of(house)[::2])
    for kind, number, flag in steps:
        if kind == "put":
            [changed] = house.put({f"k{number}": f"{LONG if flag else 'short'} {len(listed)} {number}"})
            listed = listed | {changed}
        elif kind == "forget":
            known = house.store.get(("crowd",), f"k{number}")
            if known is not None:
                house.forget("crowd", f"k{number}", known.id)
                listed = listed - {known.id} if flag else listed
        else:
            listed = frozenset(sorted(listed)[number:]) if flag else frozenset(ids_of(house)[: 60 + number])
        assert house.agrees(listed)

"""What every record store must do with patches, lists, metadata, expiry and namespaces."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from jiyi.model.entry import MemoryEntry
from jiyi.model.filters import Filters, make_filters
from jiyi.model.listing import NEWEST_FIRST, SORTS, Order
from jiyi.ports import RecordStore
from jiyi.testing.conformance.examples import ACTOR, NOON, draft
from jiyi.testing.conformance.records import MAIN, StoreFixtures


class ListingConformance(StoreFixtures):
    """Changing, listing and forgetting entries by conditions."""

    def test_an_update_changes_what_is_given_and_keeps_the_rest(self, store: RecordStore) -> None:
        [keyed, loose] = store.put(
            [draft("k", "old", tags=("a",), metadata={"n": 1}), draft(None, "old", domain="work")], actor=ACTOR
        )
        new = store.update("main", "k", {"content": "new", "tags": ("b",)}, actor=ACTOR)
        assert new is not None
        assert (new.id, new.content, new.tags, new.metadata, new.version) == (keyed.id, "new", ("b",), {"n": 1}, 2)
        assert store.matching_ids(Filters(scopes=("main",), tags=("b",))) == [keyed.id]
        assert store.matching_ids(Filters(scopes=("main",), tags=("a",))) == []
        by_id = store.update("main", loose.id, {"metadata": {"n": 2}}, actor=ACTOR)
        assert by_id is not None
        assert (by_id.content, by_id.domain, by_id.metadata) == ("old", "work", {"n": 2})
        assert store.get(["main"], None, entry_id=loose.id) == by_id
        told = [(v.operation, v.changed) for v in store.versions("main", None, entry_id=loose.id)]
        assert told == [("create", ()), ("update", ("metadata",))]

    def test_an_entry_is_updated_by_its_id_although_another_has_it_as_its_key(self, store: RecordStore) -> None:
        [one] = store.put([draft(None, "old")], actor=ACTOR)
        [other] = store.put([draft(one.id, "other")], actor=ACTOR)
        changed = store.update("main", one.id, {"content": "new"}, actor=ACTOR, by_id=True)
        assert changed is not None
        assert (changed.id, changed.content) == (one.id, "new")
        assert store.update("main", "no id", {"content": "new"}, actor=ACTOR, by_id=True) is None
        by_key = store.update("main", one.id, {"content": "newer"}, actor=ACTOR)
        assert by_key is not None
        assert by_key.id == other.id

    def test_only_entries_of_the_scope_can_be_updated(self, store: RecordStore) -> None:
        [public] = store.put([draft("k", "x", scope="public")], actor=ACTOR)
        head = store.head()
        for unknown in ("k", public.id, "nothing"):
            assert store.update("main", unknown, {"content": "new"}, actor=ACTOR) is None
        assert store.head() == head

    def test_an_entry_without_a_key_is_found_and_forgotten_by_its_id(self, store: RecordStore) -> None:
        [one, other] = store.put([draft(None, "secret"), draft(None, "stays")], actor=ACTOR)
        assert store.get(["main"], None, entry_id=one.id) == one
        assert store.get(["other"], None, entry_id=one.id) is None
        assert not store.forget("other", None, entry_id=one.id, actor=ACTOR)
        assert store.forget("main", None, entry_id=one.id, actor=ACTOR, erase=True)
        assert store.matching_ids(MAIN) == [other.id]
        assert "secret" not in repr(list(store.export_rows(None)))

    def test_many_are_forgotten_in_parts_that_the_filters_choose(self, store: RecordStore) -> None:
        store.put([draft(f"k{i}", "x", metadata={"n": i}) for i in range(10)], actor=ACTOR)
        few = make_filters(("main",), where={"n": {"$gte": 3}})
        assert [store.forget_some(few, actor=ACTOR, limit=5) for _ in range(3)] == [5, 2, 0]
        assert sorted(e.key or "" for e in store.page(MAIN, limit=10)) == ["k0", "k1", "k2"]
        assert len(store.versions("main", "k7")) == 2
        assert store.forget_some(MAIN, actor=ACTOR, limit=5, erase=True) == 3
        assert "before': {" not in repr([row for row in store.export_rows(None) if row.get("key") == "k0"])

    def test_pages_continue_after_a_place_in_every_order(self, store: RecordStore) -> None:
        scopes = ("main", "public")
        made = [
            draft(
                None if i % 5 == 0 else f"k{i * 7 % 23:02}",
                "x",
                scope=scopes[i % 2],
                minutes=i // 4,
                occurred_at=NOON - timedelta(days=i % 3),
            )
            for i in range(23)
        ]
        stored = store.put(made, actor=ACTOR)
        both = Filters(scopes=scopes)
        for order in (Order(sort, descending=down) for sort in SORTS for down in (True, False)):
            known = [e for e in stored if order.sort != "key" or e.key is not None]
            expected = sorted(known, key=order.place_of, reverse=order.descending)
            paged: list[MemoryEntry] = []
            while page := store.page(both, limit=4, order=order, after=order.place_of(paged[-1]) if paged else None):
                paged += page
            assert paged == expected, order

    def test_a_page_continues_whatever_was_stored_or_forgotten_meanwhile(self, store: RecordStore) -> None:
        stored = store.put([draft(f"k{i}", "x", minutes=i) for i in range(6)], actor=ACTOR)
        first = store.page(MAIN, limit=3)
        store.forget("main", "k3", actor=ACTOR)
        store.put([draft("newer", "x", minutes=99)], actor=ACTOR)
        assert store.page(MAIN, limit=3, after=NEWEST_FIRST.place_of(first[-1])) == stored[2::-1]

    def test_namespaces_are_listed_once(self, store: RecordStore) -> None:
        places = [("a",), ("a", "b"), ("a b",), (), ("a", "b"), ("键", "/")]
        store.put([draft(f"k{i}", "x", namespace=place) for i, place in enumerate(places)], actor=ACTOR)
        store.put([draft("gone", "x", namespace=("old",), expires_at=NOON)], actor=ACTOR)
        store.put([draft("other", "x", scope="other", namespace=("foreign",))], actor=ACTOR)
        assert sorted(store.namespaces(["main"], now=NOON)) == [("a",), ("a", "b"), ("a b",), ("键", "/")]
        assert ("old",) in store.namespaces(["main"], now=NOON - timedelta(days=1))

    def test_what_has_expired_is_archived(self, store: RecordStore) -> None:
        later = NOON + timedelta(days=1)
        store.put([draft("a", "x", expires_at=NOON), draft("b", "x", expires_at=later), draft("c", "x")], actor=ACTOR)
        store.put([draft("a", "x", scope="other", expires_at=NOON)], actor=ACTOR)
        assert (store.count_expired(["main"], NOON), store.count_expired(None, NOON)) == (1, 2)
        assert store.archive_expired(["main"], NOON, actor=ACTOR, limit=10) == 1
        assert store.archive_expired(None, NOON, actor=ACTOR, limit=10) == 1
        assert store.count_expired(None, NOON) == 0
        assert [v.changed for v in store.versions("main", "a")] == [(), ("is_active",)]

    def test_an_expired_key_can_be_used_again(self, store: RecordStore) -> None:
        [first] = store.put([draft("k", "old", tags=("a",), expires_at=NOON)], actor=ACTOR)
        keep = frozenset({"expires_at", "tags"})
        [second] = store.put([draft("k", "new", minutes=1, keep=keep)], actor=ACTOR)
        assert (second.id, second.expires_at, second.tags) == (first.id, None, ())
        assert store.get(["main"], "k") == second

    def test_metadata_are_kept_in_every_version_and_in_exports(
        self, store: RecordStore, other_store: RecordStore
    ) -> None:
        first = {"title": "茶", "n": 1.0, "deep": {"list": [None, True, 2**60, -0.5, '\\"\n']}}
        [one] = store.put([draft("k", "old", metadata=first)], actor=ACTOR)
        store.put([draft("k", "new", metadata={"title": "tea"}, namespace=("a", "b"))], actor=ACTOR)
        assert repr(one.metadata) == repr(first)
        told = [(v.changed, v.entry.metadata if v.entry else None) for v in store.versions("main", "k")]
        assert told == [((), first), (("content", "metadata", "namespace"), {"title": "tea"})]
        other_store.import_rows(store.export_rows(None), actor=ACTOR)
        assert other_store.versions("main", "k") == store.versions("main", "k")
        assert other_store.get(["main"], "k") == store.get(["main"], "k")

    def test_an_expired_entry_is_seen_at_earlier_times_only(self, store: RecordStore) -> None:
        [entry] = store.put([draft("k", "x", expires_at=NOON)], actor=ACTOR)
        before = replace(MAIN, alive_at=NOON - timedelta(microseconds=1))
        for filters, seen in ((MAIN, []), (replace(MAIN, alive_at=NOON), []), (before, [entry.id])):
            assert store.matching_ids(filters) == seen
            assert [e.id for e in store.page(filters, limit=10, offset=0)] == seen
            assert list(store.fetch([entry.id], filters)) == seen
            assert store.count(filters) == len(seen)
        assert store.get(["main"], "k") is None

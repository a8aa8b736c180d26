"""The conformance suite of record stores: entries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from jiyi.errors import JiyiError
from jiyi.model.filters import Filters
from jiyi.ports import Draft, RecordStore
from jiyi.testing.conformance.examples import (
    ACTOR,
    LOOK_ALIKE_SCOPES,
    NOON,
    RECORD_FILTERS,
    draft,
    entry,
    full_entry,
    varied_entries,
)

MAIN = Filters(scopes=("main",))


class StoreFixtures:
    """The stores of the suites as fixtures. A subclass defines `make_store`."""

    def make_store(self, folder: Path) -> RecordStore:
        """A store whose data belongs to this folder; the same folder again is another handle on the same data."""
        raise NotImplementedError(f"{type(self).__name__} must say how a store is made: define make_store(folder)")

    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[RecordStore]:
        """An empty store."""
        store = self.make_store(tmp_path / "one")
        yield store
        store.close()

    @pytest.fixture
    def second_handle(self, store: RecordStore, tmp_path: Path) -> Iterator[RecordStore]:
        """Another handle on the data of `store`, as another process has one."""
        assert store.store_id
        other = self.make_store(tmp_path / "one")
        yield other
        other.close()

    @pytest.fixture
    def other_store(self, tmp_path: Path) -> Iterator[RecordStore]:
        """An empty store with other data than `store`."""
        other = self.make_store(tmp_path / "two")
        yield other
        other.close()


class EntryConformance(StoreFixtures):
    """Storing, finding, filtering and forgetting entries."""

    def test_an_entry_comes_back_whole(self, store: RecordStore, second_handle: RecordStore) -> None:
        whole = full_entry()
        assert store.put([Draft(whole)], actor=ACTOR) == [whole]
        assert second_handle.get([whole.scope], "配置 one") == whole
        assert second_handle.fetch([whole.id], None) == {whole.id: whole}

    def test_what_was_put_is_there_after_closing_and_opening(self, tmp_path: Path) -> None:
        first = self.make_store(tmp_path / "one")
        whole = full_entry()
        first.put([Draft(whole)], actor=ACTOR)
        identity, head = first.store_id, first.head()
        first.close()
        again = self.make_store(tmp_path / "one")
        assert (again.store_id, again.head()) == (identity, head)
        assert again.get([whole.scope], "配置 one") == whole
        again.close()

    def test_two_stores_have_different_identities(self, store: RecordStore, other_store: RecordStore) -> None:
        assert store.store_id != other_store.store_id

    def test_a_taken_key_gets_a_new_version_of_the_same_entry(self, store: RecordStore) -> None:
        [first] = store.put([draft("k", "old")], actor=ACTOR)
        [second] = store.put([draft("k", "new", minutes=5, category=first.category)], actor=ACTOR)
        assert second == replace(first, content="new", version=2, updated_at=NOON + timedelta(minutes=5))
        assert store.get(["main"], "k") == second
        assert store.count(MAIN) == 1

    def test_a_new_version_keeps_what_the_caller_said_nothing_about(self, store: RecordStore) -> None:
        [first] = store.put([draft("k", "old", importance_score=0.9, domain="work", tags=("t",))], actor=ACTOR)
        keep = frozenset({"importance_score", "domain"})
        [second] = store.put([draft("k", "new", keep=keep)], actor=ACTOR)
        assert (second.importance_score, second.domain, second.tags) == (0.9, "work", ())
        assert first.tags == ("t",)

    def test_a_new_version_keeps_the_access_counts(self, store: RecordStore) -> None:
        [first] = store.put([draft("k", "old")], actor=ACTOR)
        later = NOON + timedelta(days=1)
        store.touch([first.id], later)
        [second] = store.put([draft("k", "new")], actor=ACTOR)
        assert (second.access_count, second.last_accessed_at) == (1, later)

    def test_the_same_key_twice_in_one_call_is_two_versions(self, store: RecordStore) -> None:
        stored = store.put([draft("k", "one"), draft("x", "x"), draft("k", "two")], actor=ACTOR)
        assert [(e.content, e.version) for e in stored] == [("one", 1), ("x", 1), ("two", 2)]
        assert stored[0].id == stored[2].id
        assert [v.entry.content if v.entry else None for v in store.versions("main", "k")] == ["one", "two"]

    def test_entries_without_a_key_stand_beside_each_other(self, store: RecordStore) -> None:
        stored = store.put([draft(None, "same"), draft(None, "same")], actor=ACTOR)
        assert stored[0].id != stored[1].id
        assert store.count(MAIN) == 2

    def test_nothing_to_put_changes_nothing(self, store: RecordStore) -> None:
        before = store.head()
        assert store.put([], actor=ACTOR) == []
        assert store.head() == before

    def test_a_put_that_fails_changes_nothing(self, store: RecordStore, second_handle: RecordStore) -> None:
        store.put([draft("k", "before", tags=("t",))], actor=ACTOR)
        before = list(store.export_rows(None))[1:]
        twice = entry(None, "the same id twice cannot be stored")
        batch = [draft("k", "after"), draft("new", "new"), Draft(twice), Draft(twice)]
        with pytest.raises(JiyiError):
            store.put(batch, actor=ACTOR)
        assert list(second_handle.export_rows(None))[1:] == before
        [stored] = store.put([draft("new", "works again")], actor=ACTOR)
        assert stored.version == 1

    # --- forgetting -----------------------------------------------------------------------------------------------

    def test_a_forgotten_entry_is_gone_everywhere_but_in_its_versions(self, store: RecordStore) -> None:
        [kept, gone] = store.put([draft("keep", "kept"), draft("k", "gone", tags=("t",))], actor=ACTOR)
        assert store.forget("main", "k", actor=ACTOR)
        assert store.get(["main"], "k") is None
        assert store.fetch([kept.id, gone.id], None) == {kept.id: kept}
        assert store.matching_ids(MAIN) == [kept.id]
        assert store.matching_ids(Filters(scopes=("main",), tags=("t",))) == []
        assert store.count(MAIN) == 1
        assert store.page(MAIN, limit=10, offset=0) == [kept]
        assert store.scan(limit=10) == [kept]
        versions = store.versions("main", "k")
        assert [(v.version, v.operation, v.changed_by) for v in versions] == [
            (1, "create", ACTOR),
            (2, "forget", ACTOR),
        ]
        assert versions[0].entry == gone
        assert versions[1].entry is None

    def test_forgetting_what_is_not_there_is_false_and_changes_nothing(self, store: RecordStore) -> None:
        store.put([draft("k", "x")], actor=ACTOR)
        head = store.head()
        assert not store.forget("main", "unknown", actor=ACTOR)
        assert not store.forget("other", "k", actor=ACTOR)
        assert store.head() == head
        assert store.forget("main", "k", actor=ACTOR)
        assert not store.forget("main", "k", actor=ACTOR)

    def test_a_forgotten_key_can_be_used_again_by_a_new_entry(self, store: RecordStore) -> None:
        [first] = store.put([draft("k", "first life")], actor=ACTOR)
        store.forget("main", "k", actor=ACTOR)
        [second] = store.put([draft("k", "second life")], actor=ACTOR)
        assert second.id != first.id
        assert second.version == 1
        told = [(v.version, v.operation, v.entry.content if v.entry else None) for v in store.versions("main", "k")]
        assert told == [(1, "create", "first life"), (2, "forget", None), (1, "create", "second life")]

    def test_erasing_leaves_no_text_behind(self, store: RecordStore) -> None:
        store.put([draft("k", "secret one"), draft("other", "stays")], actor=ACTOR)
        store.put([draft("k", "secret two")], actor=ACTOR)
        assert store.forget("main", "k", actor=ACTOR, erase=True)
        assert "secret" not in repr(list(store.export_rows(None)))
        assert "secret" not in repr(store.versions("main", "k"))
        assert [v.operation for v in store.versions("main", "k")] == ["create", "update", "erase"]
        assert store.get(["main"], "other") is not None

    def test_what_was_forgotten_before_can_still_be_erased(self, store: RecordStore) -> None:
        store.put([draft("k", "secret")], actor=ACTOR)
        store.forget("main", "k", actor=ACTOR)
        assert "secret" in repr(store.versions("main", "k"))
        assert store.forget("main", "k", actor=ACTOR, erase=True)
        assert "secret" not in repr(list(store.export_rows(None)))

    # --- reading --------------------------------------------------------------------------------------------------

    def test_look_alike_scopes_do_not_see_each_other(self, store: RecordStore) -> None:
        store.put([draft("k", f"of {scope}", scope=scope, tags=("t",)) for scope in LOOK_ALIKE_SCOPES], actor=ACTOR)
        ids = {e.id: e.scope for e in store.scan(limit=100)}
        for scope in LOOK_ALIKE_SCOPES:
            own = Filters(scopes=(scope,))
            found = store.get([scope], "k")
            assert found is not None
            assert found.content == f"of {scope}"
            assert [ids[i] for i in store.matching_ids(own)] == [scope]
            assert [ids[i] for i in store.matching_ids(replace(own, tags=("t",)))] == [scope]
            assert [e.scope for e in store.page(own, limit=100, offset=0)] == [scope]
            assert [e.scope for e in store.fetch(list(ids), own).values()] == [scope]
            assert store.count(own) == 1
            assert len(store.versions(scope, "k")) == 1
            assert store.pending(0, [scope]) == 1
        assert store.forget("a", "k", actor=ACTOR)
        assert store.count(Filters(scopes=LOOK_ALIKE_SCOPES)) == len(LOOK_ALIKE_SCOPES) - 1

    def test_get_looks_into_the_scopes_in_their_order(self, store: RecordStore) -> None:
        store.put([draft("k", "of all", scope="public"), draft("k", "mine", scope="me")], actor=ACTOR)
        mine, public = store.get(["me", "public"], "k"), store.get(["public", "me"], "k")
        assert mine is not None
        assert public is not None
        assert (mine.content, public.content) == ("mine", "of all")
        assert store.get(["you"], "k") is None

    def test_filters_mean_in_the_store_what_they_mean_in_words(self, store: RecordStore) -> None:
        entries = varied_entries()
        store.put([Draft(e) for e in entries], actor=ACTOR)
        for asked, filters in RECORD_FILTERS.items():
            expected = {e.id for e in entries if filters.admits(e)}
            assert set(store.matching_ids(filters)) == expected, asked
            assert store.admitted([e.id for e in entries], filters) == expected, asked
            assert store.count(filters) == len(expected), asked
            assert {e.id for e in store.page(filters, limit=100, offset=0)} == expected, asked
            assert set(store.fetch([e.id for e in entries], filters)) == expected, asked

    def test_an_inactive_entry_is_seen_where_the_filters_name_it(self, store: RecordStore) -> None:
        [hidden, shown] = store.put([draft("k", "x", is_active=False), draft("l", "y")], actor=ACTOR)
        ids = [hidden.id, shown.id]
        for filters, seen in (
            (MAIN, {shown.id}),
            (replace(MAIN, also_active=frozenset({hidden.id})), set(ids)),
            (replace(MAIN, also_active=frozenset({hidden.id}), tags=("none",)), set()),
            (replace(MAIN, scopes=("other",), also_active=frozenset({hidden.id})), set()),
        ):
            assert set(store.matching_ids(filters)) == store.admitted(ids, filters) == set(store.fetch(ids, filters))
            assert store.admitted(ids, filters) == seen
            assert store.count(filters) == len(seen)

    def test_an_inactive_entry_is_only_seen_by_indexers(self, store: RecordStore) -> None:
        [hidden] = store.put([draft("k", "x", is_active=False)], actor=ACTOR)
        assert store.get(["main"], "k") is None
        assert store.fetch([hidden.id], MAIN) == {}
        assert store.matching_ids(MAIN) == []
        assert store.count(MAIN) == 0
        assert store.page(MAIN, limit=10, offset=0) == []
        assert store.scan(limit=10) == []
        assert store.fetch([hidden.id], None) == {hidden.id: hidden}

    def test_pages_go_from_new_to_old_without_gaps(self, store: RecordStore) -> None:
        stored = store.put([draft(f"k{i}", "x", minutes=i % 5) for i in range(23)], actor=ACTOR)
        newest_first = sorted(stored, key=lambda e: (e.created_at, e.id), reverse=True)
        paged = [e for start in range(0, 30, 5) for e in store.page(MAIN, limit=5, offset=start)]
        assert paged == newest_first

    def test_a_scan_meets_every_entry_once_in_the_order_of_ids(self, store: RecordStore) -> None:
        stored = store.put([draft(f"k{i}", "x", scope=f"s{i % 4}") for i in range(23)], actor=ACTOR)
        scanned, after = [], ""
        while page := store.scan(after_id=after, limit=5):
            scanned += page
            after = page[-1].id
        assert scanned == sorted(stored, key=lambda e: e.id)

    def test_many_ids_can_be_fetched_at_once(self, store: RecordStore) -> None:
        stored = store.put([draft(f"k{i}", "x") for i in range(1_200)], actor=ACTOR)
        assert set(store.fetch([e.id for e in stored] + ["unknown"], MAIN)) == {e.id for e in stored}
        assert store.fetch([], MAIN) == {}

    def test_tags_are_told_once_and_all_again_after_a_collection(
        self, store: RecordStore, second_handle: RecordStore
    ) -> None:
        assert store.tags_since(None).tags == []
        store.put([draft("a", "x", tags=("red", "big")), draft("b", "x", tags=("red",))], actor=ACTOR)
        first = second_handle.tags_since(None)
        assert {name for _, name in first.tags} == {"red", "big"}
        assert (first.whole, list(second_handle.tags_since(first.log_position).tags)) == (True, [])
        store.put([draft("c", "x", tags=("blue", "big"))], actor=ACTOR)
        second = second_handle.tags_since(first.log_position)
        assert ([name for _, name in second.tags], second.whole) == (["blue"], False)
        store.forget("main", "c", actor=ACTOR)
        assert list(second_handle.tags_since(second.log_position).tags) == []
        assert (store.collect_tags(), store.collect_tags()) == (1, 0)
        third = second_handle.tags_since(second.log_position)
        assert ({name for _, name in third.tags}, third.whole) == ({"red", "big"}, True)
        store.put([draft("d", "x", tags=("blue",))], actor=ACTOR)
        assert len(second_handle.tags_since(third.log_position).tags) == 1

    def test_erasing_takes_the_tags_along_that_nothing_else_has(self, store: RecordStore) -> None:
        store.put([draft("a", "x", tags=("red", "secret"))], actor=ACTOR)
        store.put([draft("b", "x", tags=("red",))], actor=ACTOR)
        known = store.tags_since(None).log_position
        store.forget("main", "a", actor=ACTOR, erase=True)
        after = store.tags_since(known)
        assert (after.whole, [name for _, name in after.tags]) == (True, ["red"])

    def test_entries_are_found_by_tags_inside_the_filters(self, store: RecordStore) -> None:
        entries = varied_entries()
        store.put([Draft(e) for e in entries], actor=ACTOR)
        ids = {name: tag_id for tag_id, name in store.tags_since(None).tags}
        asked = [ids["red"], ids["big"]]
        for condition, filters in RECORD_FILTERS.items():
            expected = {e.id: len({"red", "big"} & set(e.tags)) for e in entries if filters.admits(e)}
            expected = {entry_id: hits for entry_id, hits in expected.items() if hits}
            answer = store.tagged(asked, filters, limit=100)
            assert {e.id: hits for e, hits in answer.found} == expected, condition
            assert [hits for _, hits in answer.found] == sorted(expected.values(), reverse=True), condition
            assert answer.candidates >= len(expected), condition
        one = store.tagged(asked, MAIN, limit=1)
        assert len(one.found) == 1
        assert one.candidates == len([e for e in entries if e.scope == "main" and {"red", "big"} & set(e.tags)])
        kinds = [e.memory_type for e, _ in store.tagged(asked, MAIN, limit=1, each_type=True).found]
        assert len(kinds) == len(set(kinds)) > 1
        assert store.tagged([], MAIN, limit=10).found == []

    def test_tags_are_counted_inside_the_scopes(self, store: RecordStore) -> None:
        store.put(
            [
                draft("a", "x", tags=("red", "big")),
                draft("b", "x", tags=("red",)),
                draft("c", "x", tags=("red", "secret"), scope="other"),
                draft("d", "x", tags=("hidden",), is_active=False),
            ],
            actor=ACTOR,
        )
        assert store.tag_usage(["main"], limit=10, offset=0) == [("red", 2), ("big", 1)]
        assert store.tag_usage(["main", "other"], limit=1, offset=0) == [("red", 3)]
        assert store.tag_usage(["main"], limit=10, offset=1) == [("big", 1)]

    def test_an_access_is_counted_and_is_no_new_version(self, store: RecordStore) -> None:
        [first, second] = store.put([draft("a", "x"), draft("b", "x")], actor=ACTOR)
        head = store.head()
        later = NOON + timedelta(days=1)
        store.touch([first.id, "unknown"], later)
        store.touch([], later)
        assert store.fetch([first.id, second.id], None) == {
            first.id: replace(first, access_count=1, last_accessed_at=later),
            second.id: second,
        }
        assert store.head() == head

    def test_versions_tell_what_changed_and_by_whom(self, store: RecordStore) -> None:
        store.put([draft("k", "one", tags=("t",))], actor="alice")
        store.put([draft("k", "two", tags=("t",), minutes=1)], actor="bob")
        store.put([draft("k", "two", tags=("u", "t"), minutes=2, domain="work")], actor="carol")
        told = [(v.version, v.operation, v.changed_by, set(v.changed)) for v in store.versions("main", "k")]
        assert told == [
            (1, "create", "alice", set()),
            (2, "update", "bob", {"content"}),
            (3, "update", "carol", {"tags", "domain"}),
        ]
        assert [v.entry.content if v.entry else None for v in store.versions("main", "k")] == ["one", "two", "two"]
        assert [v.changed_at for v in store.versions("main", "k")] == [NOON + timedelta(minutes=i) for i in range(3)]
        assert store.versions("main", "unknown") == []
        assert store.versions("other", "k") == []

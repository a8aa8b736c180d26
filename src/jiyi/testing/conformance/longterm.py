"""The conformance suite of long-term stores: rounds, corrections, reflections and forgetting."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from jiyi.model.entry import MESSAGE_TYPE, MemoryEntry, Source
from jiyi.model.filters import Filters
from jiyi.model.job import Job, JobDraft
from jiyi.model.message import Message
from jiyi.ports import Amendment, Draft, JobStore, LongtermStore, RecordStore
from jiyi.testing.conformance.examples import ACTOR, LOOK_ALIKE_SCOPES, NOON, entry
from jiyi.testing.conformance.records import StoreFixtures

LATER = NOON + timedelta(days=36_500)
ROUND = [Message("user", "我喜欢绿茶"), Message("assistant", "noted")]
MAIN = Filters(scopes=("main",))


def fact(key: str | None, content: str = "likes tea", **fields: Any) -> MemoryEntry:
    """A long-term memory."""
    return entry(key, content, **{"memory_type": "fact", "domain": "user_preferences", **fields})


def put(store: RecordStore, *entries: MemoryEntry) -> list[MemoryEntry]:
    """Store them as they are."""
    return store.put([Draft(one) for one in entries], actor=ACTOR)


def state(store: RecordStore, entry_id: str) -> MemoryEntry | None:
    """The entry as it is now, active or not."""
    return store.fetch([entry_id], None).get(entry_id)


class LongtermStoreConformance(StoreFixtures):
    """Define `make_store(folder)`, `make_longterm(store)` and `make_jobs(store)`, and run it."""

    def make_longterm(self, store: RecordStore) -> LongtermStore:
        """The long-term store over the same data."""
        raise NotImplementedError(f"{type(self).__name__} must define make_longterm(store)")

    def make_jobs(self, store: RecordStore) -> JobStore:
        """The job store over the same data."""
        raise NotImplementedError(f"{type(self).__name__} must define make_jobs(store)")

    @pytest.fixture
    def longterm(self, store: RecordStore) -> LongtermStore:
        """The long-term store of `store`."""
        return self.make_longterm(store)

    @pytest.fixture
    def jobs(self, store: RecordStore) -> JobStore:
        """The job store of `store`."""
        return self.make_jobs(store)

    @pytest.fixture
    def second(self, second_handle: RecordStore) -> LongtermStore:
        """Another handle on the same data, as another process has one."""
        return self.make_longterm(second_handle)

    # --- rounds -----------------------------------------------------------------------------------------------------

    def test_a_round_is_kept_with_the_job_that_is_about_it(
        self, store: RecordStore, longterm: LongtermStore, jobs: JobStore
    ) -> None:
        job = JobDraft("extract", "main", {"n": 1})
        ids = longterm.append_messages("main", "s", ROUND, actor=ACTOR, recallable=True, job=job)
        assert store.load_history("main", "s") == ROUND
        [queued] = jobs.list(states=("queued",), scopes=("main",), limit=9)
        assert (queued.id, queued.payload) == (job.id, {"n": 1, "messages": ids})
        found = longterm.messages("main", [ids[1], "unknown", ids[0]])
        assert [(one, message) for one, message, _ in found] == [(ids[1], ROUND[1]), (ids[0], ROUND[0])]
        assert all(moment.utcoffset() == timedelta(0) for _, _, moment in found)
        assert longterm.messages("other", ids) == []
        assert [one.content for one in store.page(MAIN, limit=9, offset=0)] == ["noted", "我喜欢绿茶"]

    def test_what_is_not_to_be_recalled_is_still_kept(self, store: RecordStore, longterm: LongtermStore) -> None:
        longterm.append_messages("main", "s", ROUND, actor=ACTOR, recallable=False)
        assert store.load_history("main", "s") == ROUND
        assert store.count(MAIN) == 0
        store.save_history("main", "s", [], actor=ACTOR)
        assert store.load_history("main", "s") == []

    # --- writing ----------------------------------------------------------------------------------------------------

    def _running(self, jobs: JobStore) -> Job:
        jobs.add(JobDraft("extract", "main", {}))
        job = jobs.claim("me", now=LATER, lease_until=LATER + timedelta(minutes=1))
        assert job is not None
        return job

    def test_entries_corrections_and_jobs_are_one_change(
        self, store: RecordStore, longterm: LongtermStore, jobs: JobStore
    ) -> None:
        [old] = put(store, fact("old"))
        finished = self._running(jobs)
        new, unrelated = fact("new"), fact(None, "owns a violin")
        correction = Amendment(old.id, {"is_active": False, "superseded_by": new.id}, because=new.id)
        more = JobDraft("reflect", "main", {})
        stored = longterm.commit("main", [new, unrelated], [correction], actor=ACTOR, finished=finished, jobs=[more])
        assert stored == [new, unrelated]
        after = state(store, old.id)
        assert after is not None
        assert (after.is_active, after.superseded_by, after.version) == (False, new.id, 2)
        assert jobs.counts() == {"done": 1, "queued": 1}
        assert [c.entry_id for c in store.changes_after(0, limit=9)] == [old.id, new.id, unrelated.id, old.id]

    def test_whoever_has_lost_the_job_changes_nothing(
        self, store: RecordStore, longterm: LongtermStore, jobs: JobStore
    ) -> None:
        [old] = put(store, fact("old"))
        lost = self._running(jobs)
        head = store.head()
        assert jobs.claim("other", now=LATER + timedelta(hours=1), lease_until=LATER + timedelta(hours=2)) is not None
        gone = Amendment(old.id, {"is_active": False})
        assert longterm.commit("main", [fact("new")], [gone], actor=ACTOR, finished=lost) is None
        assert (store.head(), state(store, old.id)) == (head, old)
        assert store.get(("main",), "new") is None

    def test_an_entry_whose_key_is_taken_is_left_out_and_corrects_nothing(
        self, store: RecordStore, longterm: LongtermStore
    ) -> None:
        taken, old = put(store, fact("taken", "first"), fact("old"))
        late = fact("taken", "second")
        correction = Amendment(old.id, {"is_active": False, "superseded_by": late.id}, because=late.id)
        free = Amendment(taken.id, {"pinned": True})
        assert longterm.commit("main", [late], [correction, free], actor=ACTOR) == []
        assert state(store, old.id) == old
        found = store.get(("main",), "taken")
        assert found is not None
        assert (found.id, found.content, found.pinned) == (taken.id, "first", True)

    def test_only_what_is_as_expected_is_amended(self, store: RecordStore, longterm: LongtermStore) -> None:
        one, two = put(store, fact("one"), fact("two", scope="other"))
        assert longterm.amend("main", [Amendment(two.id, {"pinned": True})], actor=ACTOR) == []
        assert longterm.amend("main", [Amendment("unknown", {"pinned": True})], actor=ACTOR) == []
        stale = Amendment(one.id, {"pinned": True}, version=7)
        assert longterm.amend("main", [stale], actor=ACTOR) == []
        [pinned] = longterm.amend("main", [Amendment(one.id, {"pinned": True}, version=1)], actor="someone")
        assert (pinned.pinned, pinned.version) == (True, 2)
        assert longterm.amend("main", [Amendment(one.id, {"pinned": True})], actor=ACTOR) == [pinned]
        assert state(store, one.id) == pinned
        last = store.versions("main", "one")[-1]
        assert (last.version, last.changed, last.changed_by, last.entry) == (2, ("pinned",), "someone", pinned)

    def test_of_two_who_amend_one_version_one_is_told_that_it_was_late(
        self, store: RecordStore, longterm: LongtermStore, second: LongtermStore
    ) -> None:
        entries = put(store, *(fact(f"k{number}") for number in range(10)))

        def amend(handle: LongtermStore) -> int:
            done = 0
            for one in entries:
                done += len(handle.amend("main", [Amendment(one.id, {"superseded_by": "x"}, version=1)], actor=ACTOR))
            return done

        with ThreadPoolExecutor(2) as threads:
            assert sum(threads.map(amend, (longterm, second))) == len(entries)
        assert all((now := state(store, one.id)) is not None and now.version == 2 for one in entries)

    # --- asking -----------------------------------------------------------------------------------------------------

    def test_entries_are_given_in_the_order_asked_for_active_or_not(
        self, store: RecordStore, longterm: LongtermStore
    ) -> None:
        one, two, other = put(store, fact("one"), fact("two", is_active=False), fact("one", scope="other"))
        assert longterm.by_ids("main", [two.id, "unknown", other.id, one.id]) == [two, one]
        assert longterm.by_keys("main", ["two", "one", "three"]) == {"one": one, "two": two}
        assert longterm.by_keys("nobody", ["one"]) == {}

    def test_scopes_that_look_alike_are_different(self, store: RecordStore, longterm: LongtermStore) -> None:
        entries = put(store, *(fact("k", scope=scope) for scope in LOOK_ALIKE_SCOPES))
        for one in entries:
            assert longterm.by_ids(one.scope, [each.id for each in entries]) == [one]
            assert longterm.unsummarized(one.scope, limit=99) == [one]
            assert [each.id for each in longterm.forgetting_candidates(one.scope, (), after=None, limit=99)] == [one.id]
        assert longterm.scopes() == sorted(LOOK_ALIKE_SCOPES)

    def test_the_newest_facts_that_no_reflection_speaks_for(self, store: RecordStore, longterm: LongtermStore) -> None:
        kept = put(store, *(fact(f"k{number}", minutes=number) for number in range(4)))
        put(
            store,
            fact("pinned", pinned=True),
            fact("spoken for", summarized_by="r"),
            fact("gone", is_active=False),
            fact("for a while", expires_at=LATER),
            fact("reflection", memory_type="reflection", minutes=7),
            fact("older reflection", memory_type="reflection", minutes=6),
            entry("no domain", "x", memory_type="fact"),
        )
        assert longterm.unsummarized("main", limit=99) == kept[::-1]
        assert longterm.unsummarized("main", limit=2) == [kept[3], kept[2]]
        assert longterm.last_reflection("main") == NOON + timedelta(minutes=7)
        assert longterm.last_reflection("other") is None

    def test_the_facts_of_a_profile_are_the_pinned_and_the_most_important_that_hold_now(
        self, store: RecordStore, longterm: LongtermStore
    ) -> None:
        expired = fact("expired", importance_score=1.0, expires_at=NOON)
        gone = fact("gone", importance_score=1.0, is_active=False)
        other = fact("other", importance_score=1.0, scope="other")
        pinned, high, low = (
            fact("pinned", importance_score=0.1, pinned=True, expires_at=LATER),
            fact("high", importance_score=0.9),
            fact("low", importance_score=0.8),
        )
        put(store, low, expired, gone, other, high, pinned, entry("keyed", "likes tea", memory_type="fact"))
        found = longterm.profile_facts("main", NOON, limit=10)
        assert [one.key for one in found] == ["pinned", "high", "low"]
        assert [one.key for one in longterm.profile_facts("main", NOON, limit=2)] == ["pinned", "high"]

    def test_what_is_stored_all_or_nothing_is_not_stored_when_an_entry_has_changed(
        self, store: RecordStore, longterm: LongtermStore, jobs: JobStore
    ) -> None:
        first, second = put(store, fact("first"), fact("second"))
        made = fact("reflection", memory_type="reflection")
        changes = [Amendment(one.id, {"summarized_by": made.id}, version=one.version) for one in (first, second)]
        store.forget("main", "second", actor=ACTOR)
        jobs.add(JobDraft("kind", "main", {}))
        job = jobs.claim("worker", now=LATER, lease_until=LATER)
        assert longterm.commit("main", [made], changes, actor=ACTOR, finished=job, all_or_nothing=True) == []
        assert state(store, first.id) == first
        assert state(store, made.id) is None
        assert [each.state for each in jobs.list(states=("done",), scopes=None, limit=9)] == ["done"]
        assert longterm.commit("main", [made], changes[:1], actor=ACTOR, all_or_nothing=True) == [made]

    def test_what_was_believed_at_a_time_and_corrected_later(self, store: RecordStore, longterm: LongtermStore) -> None:
        new = fact("new", minutes=10)
        old = fact("old", is_active=False, superseded_by=new.id)
        put(store, new, old, fact("kept"))
        [(found, moment)] = longterm.superseded(("main", "public"), NOON + timedelta(minutes=5), limit=9)
        assert (found, moment) == (old, NOON + timedelta(minutes=10))
        assert longterm.superseded(("main",), NOON + timedelta(minutes=15), limit=9) == []
        assert longterm.superseded(("main",), NOON - timedelta(minutes=1), limit=9) == []
        assert longterm.inactive("main", limit=9) == [old]
        assert longterm.inactive("other", limit=9) == []

    @pytest.mark.parametrize("erase", [False, True])
    def test_what_a_withdrawn_fact_took_the_place_of_holds_again(
        self, store: RecordStore, longterm: LongtermStore, *, erase: bool
    ) -> None:
        said = Source("rules", "user", ("m1",))
        new = fact("new", "moved to Bonn")
        old = fact("old", "lives in Rome, has a cat", is_active=False, superseded_by=new.id, source=said)
        left = fact("left", "has a cat", source=said)
        other = fact("other", "has a dog", source=said)
        put(store, new, old, left, other)
        assert store.forget("main", "new", actor=ACTOR, erase=erase)
        assert {one.content for one in longterm.facts("main", limit=9)} == {old.content, other.content}
        back = state(store, old.id)
        assert back is not None
        assert (back.is_active, back.superseded_by, back.version) == (True, None, 2)
        assert [one.id for one in longterm.replaced_by("main", old.id, limit=9)] == [left.id]

    def test_nothing_comes_back_for_a_fact_that_does_not_hold_or_for_many_that_go_at_once(
        self, store: RecordStore, longterm: LongtermStore
    ) -> None:
        now = fact("now", "lives in Oslo")
        between = fact("between", "lives in Bonn", is_active=False, superseded_by=now.id)
        first = fact("first", "lives in Rome", is_active=False, superseded_by=between.id)
        put(store, now, between, first)
        assert store.forget("main", None, entry_id=between.id, actor=ACTOR)
        assert [one.content for one in longterm.facts("main", limit=9)] == [now.content]
        last = fact("last", "likes coffee")
        put(store, last, fact("before", is_active=False, superseded_by=last.id))
        assert store.forget_some(MAIN, actor=ACTOR, limit=9) == 2
        assert longterm.facts("main", limit=9) == []

    def test_a_corrected_fact_of_a_conversation_is_found_with_the_one_that_holds_now(self, store: RecordStore) -> None:
        said, gone = Source("rules", "user", ("m1",)), {"is_active": False}
        now = fact("now", "lives in Oslo")
        between = fact("between", "lives in Bonn", superseded_by=now.id, **gone)
        first = fact("first", "lives in Rome", conversation_id="c", source=said, superseded_by=between.id, **gone)
        forgotten = fact(
            "other", "has a cat", conversation_id="c", superseded_by="0199f3a2-0000-7000-8000-0000000", **gone
        )
        put(store, now, between, first, forgotten, fact("kept", conversation_id="c"))
        assert store.corrections(("main", "public"), ["c"]) == [(first, now)]
        assert store.corrections(("main",), ["another"]) == []
        assert store.corrections(("other",), ["c"]) == []
        store.forget("main", "now", actor=ACTOR)
        assert [(old.id, new.id) for old, new in store.corrections(("main",), ["c"])] == [(first.id, between.id)]

    # --- forgetting -------------------------------------------------------------------------------------------------

    def test_pages_of_what_may_fade_hold_each_once(self, store: RecordStore, longterm: LongtermStore) -> None:
        # Three of a moment: the id decides between them.
        entries = put(store, *(fact(f"k{number}", minutes=number // 3) for number in range(11)))
        put(
            store,
            fact("pinned", pinned=True),
            fact("left out", memory_type="reflection"),
            fact("said", memory_type=MESSAGE_TYPE),
            fact("gone", is_active=False),
        )
        found = []
        place = None
        while page := longterm.forgetting_candidates("main", ("reflection",), after=place, limit=4):
            found += page
            place = page[-1].position
        assert [one.id for one in found] == [e.id for e in sorted(entries, key=lambda e: (e.created_at, e.id))]
        assert (found[0].importance_score, found[0].access_count) == (entries[0].importance_score, 0)

    def test_what_was_touched_or_pinned_meanwhile_is_not_forgotten(
        self, store: RecordStore, longterm: LongtermStore
    ) -> None:
        fades, touched, pinned = put(store, fact("fades"), fact("touched"), fact("pinned"))
        [elsewhere] = put(store, fact("elsewhere", scope="other"))
        page = [
            *longterm.forgetting_candidates("main", (), after=None, limit=9),
            *longterm.forgetting_candidates("other", (), after=None, limit=9),
        ]
        store.touch([touched.id], NOON + timedelta(hours=1))
        longterm.amend("main", [Amendment(pinned.id, {"pinned": True})], actor=ACTOR)
        assert longterm.forget_candidates("main", page, actor=ACTOR) == 1
        assert longterm.forget_candidates("main", page, actor=ACTOR) == 0
        assert store.get(("main",), "fades") is None
        assert [one.id for one in longterm.inactive("main", limit=9)] == [fades.id]
        assert state(store, elsewhere.id) == elsewhere

    def test_a_forgotten_reflection_lets_its_facts_speak_again(
        self, store: RecordStore, longterm: LongtermStore
    ) -> None:
        reflection = fact("reflection", memory_type="reflection")
        [_, told] = put(store, reflection, fact("told", summarized_by=reflection.id))
        assert longterm.unsummarized("main", limit=9) == []
        page = [
            one for one in longterm.forgetting_candidates("main", (), after=None, limit=9) if one.id == reflection.id
        ]
        assert longterm.forget_candidates("main", page, actor=ACTOR) == 1
        assert [one.id for one in longterm.unsummarized("main", limit=9)] == [told.id]

    def test_tags_that_nobody_has_are_dropped(self, store: RecordStore) -> None:
        put(store, fact("k", tags=("tea", "green")), fact("k", scope="other", tags=("green",)))
        put(store, fact("k", tags=()))
        assert store.collect_tags() == 1
        assert store.collect_tags() == 0
        assert store.tag_usage(("other",), limit=9, offset=0) == [("green", 1)]

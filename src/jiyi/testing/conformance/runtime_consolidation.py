"""The conformance suite of runtimes: consolidation, fading and archiving."""

from __future__ import annotations

from typing import Any

import pytest

from jiyi.model import clock
from jiyi.runtime import DecayRules
from jiyi.testing.conformance.runtime_fixtures import ONE_DAY, RuntimeFixtures


class ConsolidationConformance(RuntimeFixtures):
    """Consolidation merges duplicates, and lets unused memories fade."""

    def test_memories_that_say_the_same_become_one(self, runtime: Any) -> None:
        runtime.remember("fact", "小明喜欢吃火锅。", "", ["小明"])
        runtime.remember("fact", "小明很喜欢吃火锅", "", ["小明", "火锅"], strength=2)
        runtime.remember("fact", "The Tea is on the table", "", ["tea"])
        runtime.remember("fact", "the tea is on the table!", "", ["TEA"])
        report = runtime.consolidate_memories()
        assert (report.groups, report.merged) == (2, 4)
        [hotpot] = runtime.recall("火锅")
        assert (hotpot.tags, hotpot.strength) == (("小明", "火锅"), 3)
        assert len(runtime.recall("tea")) == 1
        assert runtime.consolidate_memories().merged == 0

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("小明喜欢吃火锅", "小明不喜欢吃火锅"),
            ("会议在3点", "会议在4点"),
            ("the meeting with Ann is on level 3 of the tower", "the meeting with Ann is on level 4 of the tower"),
            ("the dog bites the man", "the man bites the dog"),
            ("Ann is in the office on Monday", "Ann is not in the office on Monday"),
            ("小明的生日是五月", "小红的生日是五月"),
        ],
    )
    def test_memories_that_say_different_things_stay_apart(self, runtime: Any, one: str, other: str) -> None:
        for text in (one, other):
            runtime.remember("fact", text, "", ["topic"])
        assert runtime.consolidate_memories().merged == 0

    def test_consolidation_never_crosses_scopes_or_types(self, runtime: Any) -> None:
        for scope in ("alice", "bob", "public"):
            runtime.remember("fact", "tea is green", "", ["tea"], memory_scope=scope)
        runtime.remember("event", "tea is green", "", ["tea"], memory_scope="alice")
        report = runtime.consolidate_memories()
        assert (report.scopes, report.merged) == (3, 0)

    def test_a_dry_run_tells_the_same_and_changes_nothing(self, runtime: Any) -> None:
        for _ in range(3):
            runtime.remember("fact", "tea is green", "", ["tea"])
        faded = runtime.remember("fact", "rain is wet", "", ["rain"])
        runtime.remember("fact", "wind is dry", "", ["wind"], is_active=False)
        later = clock.utc_now() + 45 * ONE_DAY
        dry = runtime.consolidate_memories(dry_run=True, now=later)
        assert (len(runtime.recall("tea")), runtime.get(faded).strength) == (3, 1)
        real = runtime.consolidate_memories(now=later)
        assert (dry.dry_run, real.dry_run) == (True, False)
        assert {**dry.to_dict(), "dry_run": False} == real.to_dict()
        assert (real.merged, real.faded, real.deactivated, real.archived) == (3, 1, 1, 1)

    def test_unused_weak_memories_fade_and_useful_ones_do_not(self, runtime: Any) -> None:
        names = ("unused", "ignored", "useful", "strong")
        ids = {n: runtime.remember("fact", f"tea {n}", "", ["tea"], strength=99 if n == "strong" else 5) for n in names}
        runtime.feedback([ids["useful"]], [ids["useful"], ids["ignored"]])
        start = clock.utc_now()

        def strengths(days: int) -> dict[str, int]:
            runtime.consolidate_memories(now=start + days * ONE_DAY)
            return {name: runtime.get(memory_id).strength for name, memory_id in ids.items()}

        assert strengths(9) == {"unused": 5, "ignored": 5, "useful": 6, "strong": 99}
        assert strengths(11) == {"unused": 5, "ignored": 4, "useful": 6, "strong": 99}
        assert strengths(31) == {"unused": 4, "ignored": 2, "useful": 6, "strong": 99}
        assert strengths(31) == {"unused": 4, "ignored": 2, "useful": 6, "strong": 99}
        assert strengths(59) == {"unused": 4, "ignored": 0, "useful": 6, "strong": 99}
        assert runtime.get(ids["ignored"]).is_active is False

    def test_how_often_consolidation_runs_does_not_matter(self, runtime: Any) -> None:
        often = runtime.remember("fact", "tea", "", ["tea"], strength=5, memory_scope="often")
        once = runtime.remember("fact", "tea", "", ["tea"], strength=5, memory_scope="once")
        start = clock.utc_now()
        for day in range(1, 100, 7):
            runtime.consolidate_memories(memory_scope="often", now=start + day * ONE_DAY)
        for scope in ("often", "once"):
            runtime.consolidate_memories(memory_scope=scope, now=start + 100 * ONE_DAY)
        assert runtime.get(often, memory_scope="often").strength == runtime.get(once, memory_scope="once").strength == 2

    def test_what_has_long_been_inactive_is_archived_and_can_come_back(self, runtime: Any) -> None:
        memory_id = runtime.remember("fact", "tea is green", "because", ["tea"])
        start = clock.utc_now()
        rules = DecayRules(idle_days=1, grace_days=5)
        assert runtime.consolidate_memories(now=start + 2 * ONE_DAY, rules=rules).deactivated == 1
        assert runtime.consolidate_memories(now=start + 6 * ONE_DAY, rules=rules).archived == 0
        assert runtime.consolidate_memories(now=start + 8 * ONE_DAY, rules=rules).archived == 1
        assert runtime.get(memory_id) is None
        assert [version.operation for version in runtime.history(memory_id)] == ["create", "update", "archive"]
        assert runtime.restore(memory_id, memory_scope="bob") is None
        back = runtime.restore(memory_id)
        assert (back.judgment, back.reasoning, back.is_active, back.strength) == ("tea is green", "because", True, 1)
        assert [memory.id for memory in runtime.recall("tea")] == [memory_id]

    def test_a_memory_that_was_merged_away_can_be_brought_back(self, runtime: Any) -> None:
        one, two = (runtime.remember("fact", f"tea {name}", "", ["tea"]) for name in ("one", "two"))
        runtime.feedback(merge_groups=[[one, two]])
        back = runtime.restore(one)
        assert (back.is_active, back.superseded_by) == (True, None)
        assert one in [memory.id for memory in runtime.recall("tea one")]

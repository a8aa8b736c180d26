"""What every memory runtime must do, whatever is below it."""

from __future__ import annotations

import asyncio
import functools
import inspect
import logging
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from jiyi.errors import InvalidInputError, InvalidScopeError
from jiyi.model import clock
from jiyi.runtime import BaseMemory, FadingRules, MemoryRuntime
from jiyi.tools import runtime_tools

_DAYS = timedelta(days=1)


class Waiting:
    """A runtime whose methods are waited for, so that a test reads like a story."""

    def __init__(self, target: MemoryRuntime) -> None:
        self.target = target

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.target, name)
        if not inspect.iscoroutinefunction(value):
            return value

        @functools.wraps(value)
        def call(*args: Any, **kwargs: Any) -> Any:
            return asyncio.run(value(*args, **kwargs))

        return call


def _judgments(found: list[BaseMemory]) -> list[str]:
    return [memory.judgment for memory in found]


class MemoryRuntimeConformance:
    """Everything that agents rely on in a memory runtime. Define `make_runtime(folder)` and run it.

    The memories of the suite have their tags in their texts as well, so that any way of finding finds them.
    """

    def make_runtime(self, folder: Path) -> MemoryRuntime:
        """A runtime whose data belongs to this folder; the scope it is opened with is `main`."""
        raise NotImplementedError(f"{type(self).__name__} must say how a runtime is made: define make_runtime(folder)")

    def close_runtime(self) -> None:
        """Let go of what `make_runtime` opened."""

    @pytest.fixture
    def runtime(self, tmp_path: Path) -> Iterator[Any]:
        """An empty runtime."""
        yield Waiting(self.make_runtime(tmp_path / "one"))
        self.close_runtime()

    # --- remembering and recalling --------------------------------------------------------------------------------

    def test_it_is_a_runtime_and_says_which(self, runtime: Any) -> None:
        assert isinstance(runtime.target, MemoryRuntime)
        assert runtime.name == type(runtime.target).__name__

    def test_a_memory_comes_back_with_everything_it_was_given(self, runtime: Any) -> None:
        memory_id = runtime.remember(
            "preference", "小明爱吃火锅", "他自己说的", ["小明", "火锅"], strength=3, memory_scope="alice"
        )
        assert isinstance(memory_id, str)
        [found] = runtime.recall("小明说晚上去吃火锅", memory_scope="alice")
        assert found.id == memory_id
        assert (found.memory_type, found.judgment, found.reasoning) == ("preference", "小明爱吃火锅", "他自己说的")
        assert (found.tags, found.strength, found.is_active) == (("小明", "火锅"), 3, True)
        assert (found.memory_scope, found.link) == ("alice", None)
        assert found.score is not None
        kept = runtime.get(memory_id, memory_scope="alice")
        assert kept.to_dict() == {n: v for n, v in found.to_dict().items() if n not in {"score", "matched"}}

    def test_a_recall_sees_what_was_just_remembered(self, runtime: Any) -> None:
        for number in range(5):
            runtime.remember("fact", f"zebra{number} is striped", "", [f"zebra{number}"])
            assert _judgments(runtime.recall(f"zebra{number}", 1)) == [f"zebra{number} is striped"]

    def test_a_question_about_something_else_finds_nothing(self, runtime: Any) -> None:
        runtime.remember("fact", "小明爱吃火锅", "", ["小明", "火锅"])
        assert list(runtime.recall("quarterly spreadsheet")) == []

    def test_the_limit_and_the_types_are_kept(self, runtime: Any) -> None:
        for number in range(6):
            kind = "event" if number % 2 else "fact"
            runtime.remember(kind, f"tea number {number}", "", ["tea"])
        assert len(runtime.recall("tea", 4)) == 4
        assert {memory.memory_type for memory in runtime.recall("tea", memory_types="event")} == {"event"}
        assert len(runtime.recall("tea", memory_types=["event", "fact"])) == 6

    def test_an_inactive_memory_is_kept_and_not_recalled(self, runtime: Any) -> None:
        memory_id = runtime.remember("fact", "tea is green", "", ["tea"], is_active=False)
        assert list(runtime.recall("tea")) == []
        assert runtime.get(memory_id).is_active is False

    def test_tags_of_one_memory_that_differ_in_case_or_width_are_one_tag(self, runtime: Any) -> None:
        memory_id = runtime.remember("fact", "Tea", "", ["Tea", "ＴＥＡ", "tea", "green"])
        assert runtime.get(memory_id).tags == ("Tea", "green")

    @pytest.mark.parametrize(
        ("arguments", "named"),
        [
            ({"judgment": ""}, "judgment"),
            ({"judgment": 7}, "judgment"),
            ({"memory_type": "two words"}, "memory_type"),
            ({"memory_type": "message"}, "message"),
            ({"tags": "tea"}, "tags"),
            ({"tags": ["\u200b"]}, "nothing visible"),
            ({"strength": -1}, "strength"),
            ({"strength": 1.5}, "strength"),
            ({"is_active": "yes"}, "is_active"),
        ],
    )
    def test_what_is_wrong_is_named_and_nothing_is_kept(
        self, runtime: Any, arguments: dict[str, Any], named: str
    ) -> None:
        with pytest.raises(InvalidInputError, match=named):
            runtime.remember(**{"memory_type": "fact", "judgment": "tea", "tags": ["tea"], **arguments})
        assert list(runtime.recall("tea")) == []

    # --- scopes ---------------------------------------------------------------------------------------------------

    def test_a_scope_sees_itself_and_what_is_public(self, runtime: Any) -> None:
        for scope in ("alice", "bob", "public"):
            runtime.remember("fact", f"tea of {scope}", "", ["tea"], memory_scope=scope)
        for scope, seen in {"alice": {"alice", "public"}, "bob": {"bob", "public"}, "public": {"public"}}.items():
            for ask in (runtime.recall, runtime.comprehensive_recall, runtime.chained_recall):
                assert {memory.memory_scope for memory in ask("tea", memory_scope=scope)} == seen

    def test_without_a_scope_it_is_the_one_of_the_memory(self, runtime: Any) -> None:
        runtime.remember("fact", "tea of nobody in particular", "", ["tea"])
        assert [memory.memory_scope for memory in runtime.recall("tea")] == ["main"]
        assert list(runtime.recall("tea", memory_scope="public")) == []

    def test_a_crowd_elsewhere_pushes_nothing_out_of_a_scope(self, runtime: Any) -> None:
        mine = runtime.remember("fact", "tea at home", "", ["tea"], memory_scope="alice")
        for number in range(40):
            runtime.remember("fact", f"tea tea {number}", "", ["tea"], strength=50, memory_scope="bob")
        assert [memory.id for memory in runtime.recall("tea", 1, memory_scope="alice")] == [mine]

    @pytest.mark.parametrize("scope", ["", " ", "alice ", "a\x00", 7])
    def test_an_empty_or_invalid_scope_is_refused_and_logged(
        self, runtime: Any, scope: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        calls = {
            "remember": ("fact", "tea", "", ["tea"]),
            "recall": ("tea",),
            "comprehensive_recall": ("tea",),
            "chained_recall": ("tea",),
            "feedback": (["x"],),
            "consolidate_memories": (),
            "get": ("x",),
            "history": ("x",),
            "forget": ("x",),
            "restore": ("x",),
            "list_tags": (),
        }
        for name, arguments in calls.items():
            caplog.clear()
            with caplog.at_level(logging.ERROR), pytest.raises(InvalidScopeError):
                getattr(runtime, name)(*arguments, memory_scope=scope)
            assert [record.levelname for record in caplog.records] == ["ERROR"], name

    # --- the two other ways to ask ---------------------------------------------------------------------------------

    def test_every_type_has_its_share_of_a_comprehensive_answer(self, runtime: Any) -> None:
        for number in range(8):
            runtime.remember("fact", f"tea tea tea {number}", "", ["tea"], strength=9)
        runtime.remember("event", "tea with Ann", "", ["tea"])
        runtime.remember("skill", "brewing tea", "", ["tea"])
        found = runtime.comprehensive_recall("tea", 4)
        assert sorted(memory.memory_type for memory in found) == ["event", "fact", "fact", "skill"]
        assert {memory.memory_type for memory in runtime.comprehensive_recall("tea", 3)} == {"event", "fact", "skill"}
        assert len(runtime.comprehensive_recall("tea", 20)) == 10

    def test_a_chained_answer_goes_one_step_further_and_says_how(self, runtime: Any) -> None:
        first = runtime.remember("fact", "小明 likes hotpot", "", ["小明", "hotpot"])
        second = runtime.remember("fact", "the hotpot place is in the arcade", "", ["hotpot", "arcade"])
        runtime.remember("fact", "the arcade closes at ten", "", ["arcade", "closing time"])
        direct = runtime.recall("小明")
        assert [memory.id for memory in direct] == [first]
        chained = runtime.chained_recall("小明")
        assert [memory.id for memory in chained][:1] == [first]
        assert chained[0].link is None
        assert second in [memory.id for memory in chained]
        linked = next(memory for memory in chained if memory.id == second)
        assert linked.link.memory_id == first
        assert linked.link.kind in {"tags", "meaning"}
        assert len(runtime.chained_recall("小明", 1)) == 1

    def test_the_first_step_of_a_chained_answer_is_the_plain_answer(self, runtime: Any) -> None:
        for number in range(6):
            runtime.remember("fact", f"tea and cake number{number}", "", ["tea", f"number{number}"], strength=number)
        plain = [memory.id for memory in runtime.recall("tea", 4)]
        direct = [memory.id for memory in runtime.chained_recall("tea", 4) if memory.link is None]
        assert direct == plain[: len(direct)]
        assert len(direct) >= 2

    # --- feedback -------------------------------------------------------------------------------------------------

    def test_what_was_useful_is_stronger_and_what_was_only_recalled_is_not(self, runtime: Any) -> None:
        useful, shown = (runtime.remember("fact", f"tea {name}", "", ["tea"]) for name in ("one", "two"))
        result = runtime.feedback([useful, useful], [useful, shown])
        assert result.strengthened == (useful,)
        assert (runtime.get(useful).strength, runtime.get(shown).strength) == (2, 1)

    def test_new_memories_are_added(self, runtime: Any) -> None:
        result = runtime.feedback(
            new_memories=[
                {"memory_type": "event", "judgment": "rain on Sunday", "reasoning": "forecast", "tags": ["rain"]},
                {"memory_type": "fact", "judgment": "rain is wet", "tags": ["rain"], "strength": 4},
            ],
            memory_scope="alice",
        )
        assert _judgments(result) == ["rain on Sunday", "rain is wet"]
        assert set(_judgments(runtime.recall("rain", memory_scope="alice"))) == set(_judgments(result))
        assert list(runtime.recall("rain", memory_scope="bob")) == []

    def test_a_merged_memory_unites_its_sources_and_they_stay_readable(self, runtime: Any) -> None:
        weak = runtime.remember("fact", "Ann drinks tea", "seen", ["Ann", "tea"], strength=2)
        strong = runtime.remember("fact", "Ann likes green tea", "told", ["ＴＥＡ", "green"], strength=3)
        result = runtime.feedback(merge_groups=[[weak, strong]])
        [merged] = result
        assert dict(result.merged) == {merged.id: (strong, weak)}
        assert (merged.judgment, merged.strength) == ("Ann likes green tea", 5)
        assert merged.tags == ("ＴＥＡ", "green", "Ann")
        assert merged.merged_from == (strong, weak)
        assert [memory.id for memory in runtime.recall("tea")] == [merged.id]
        for source, text in ((weak, "Ann drinks tea"), (strong, "Ann likes green tea")):
            kept = runtime.get(source)
            assert (kept.is_active, kept.superseded_by, kept.judgment) == (False, merged.id, text)
            versions = runtime.history(source)
            assert [version.operation for version in versions] == ["create", "update"]
            assert {version.entry.content for version in versions} == {text}

    def test_a_merge_can_bring_the_words_of_the_merged_memory(self, runtime: Any) -> None:
        ids = [runtime.remember("fact", f"tea {name}", "", ["tea"]) for name in ("one", "two")]
        group = {"memory_ids": ids, "judgment": "tea one and two", "reasoning": "put together"}
        [merged] = runtime.feedback(merge_groups=[group])
        assert (merged.judgment, merged.reasoning) == ("tea one and two", "put together")

    def test_a_private_scope_wins_over_public(self, runtime: Any) -> None:
        ids = [runtime.remember("fact", f"tea of {s}", "", ["tea"], memory_scope=s) for s in ("public", "alice")]
        [merged] = runtime.feedback(merge_groups=[ids], memory_scope="alice")
        assert merged.memory_scope == "alice"
        assert list(runtime.recall("tea", memory_scope="public")) == []
        assert runtime.get(merged.id, memory_scope="bob") is None

    def test_two_private_scopes_are_never_merged(self, runtime: Any) -> None:
        ids = [runtime.remember("fact", f"tea of {s}", "", ["tea"], memory_scope=s) for s in ("alice", "bob")]
        for scope in ("alice", "bob", "public"):
            result = runtime.feedback(merge_groups=[ids], memory_scope=scope)
            assert (list(result), len(result.refused)) == ([], 1)
            assert result.unknown_ids
        assert runtime.get(ids[0], memory_scope="alice").is_active
        assert runtime.get(ids[1], memory_scope="bob").is_active

    def test_unknown_ids_are_reported_and_the_rest_is_done(self, runtime: Any) -> None:
        one, two = (runtime.remember("fact", f"tea {name}", "", ["tea"]) for name in ("one", "two"))
        foreign = runtime.remember("fact", "tea of bob", "", ["tea"], memory_scope="bob")
        result = runtime.feedback(
            [one, "no such id", foreign],
            ["another"],
            [{"memory_type": "fact", "judgment": "new tea", "tags": ["tea"]}],
            [[one, two, "third"], [one]],
        )
        assert set(result.unknown_ids) == {"no such id", foreign, "another", "third"}
        assert result.strengthened == (one,)
        assert len(result) == 2
        assert len(result.refused) == 1
        assert runtime.get(foreign, memory_scope="bob").strength == 1

    def test_the_same_request_again_changes_nothing(self, runtime: Any) -> None:
        one, two = (runtime.remember("fact", f"tea {name}", "", ["tea"]) for name in ("one", "two"))
        order: dict[str, Any] = {
            "useful_memory_ids": [one],
            "new_memories": [{"memory_type": "fact", "judgment": "new tea", "tags": ["tea"]}],
            "merge_groups": [[one, two]],
            "request_id": "turn 1",
        }
        first, second = runtime.feedback(**order), runtime.feedback(**order)
        assert (first.repeated, second.repeated) == (False, True)
        assert [memory.id for memory in second] == [memory.id for memory in first]
        assert (second.strengthened, second.merged) == (first.strengthened, first.merged)
        assert len(runtime.recall("tea")) == 2
        with pytest.raises(InvalidInputError, match="turn 1"):
            runtime.feedback([two], request_id="turn 1")
        assert not runtime.feedback([two], request_id="turn 1", memory_scope="bob").repeated

    def test_feedback_with_a_mistake_in_it_changes_nothing(self, runtime: Any) -> None:
        one = runtime.remember("fact", "tea one", "", ["tea"])
        bad: list[dict[str, Any]] = [
            {"new_memories": [{"memory_type": "fact", "judgment": "ok"}, {"memory_type": "fact", "judgment": ""}]},
            {"new_memories": [{"memory_type": "fact", "judgment": "x", "color": "red"}]},
            {"new_memories": [{"memory_type": "fact", "judgment": "x", "memory_scope": "bob"}]},
            {"merge_groups": [{"ids": [one]}]},
            {"merge_groups": one},
            {"recalled_memory_ids": [7]},
        ]
        for mistake in bad:
            with pytest.raises(InvalidInputError):
                runtime.feedback([one], **mistake)
        assert runtime.get(one).strength == 1
        assert _judgments(runtime.recall("tea")) == ["tea one"]

    def test_feedback_for_a_memory_that_was_merged_away_reaches_the_merged_one(self, runtime: Any) -> None:
        one, two = (runtime.remember("fact", f"tea {name}", "", ["tea"]) for name in ("one", "two"))
        [merged] = runtime.feedback(merge_groups=[[one, two]])
        assert runtime.feedback([one]).strengthened == (merged.id,)
        assert runtime.get(merged.id).strength == 3

    # --- consolidation --------------------------------------------------------------------------------------------

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
        later = clock.utc_now() + 45 * _DAYS
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
            runtime.consolidate_memories(now=start + days * _DAYS)
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
            runtime.consolidate_memories(memory_scope="often", now=start + day * _DAYS)
        for scope in ("often", "once"):
            runtime.consolidate_memories(memory_scope=scope, now=start + 100 * _DAYS)
        assert runtime.get(often, memory_scope="often").strength == runtime.get(once, memory_scope="once").strength == 2

    def test_what_has_long_been_inactive_is_archived_and_can_come_back(self, runtime: Any) -> None:
        memory_id = runtime.remember("fact", "tea is green", "because", ["tea"])
        start = clock.utc_now()
        rules = FadingRules(idle_days=1, grace_days=5)
        assert runtime.consolidate_memories(now=start + 2 * _DAYS, rules=rules).deactivated == 1
        assert runtime.consolidate_memories(now=start + 6 * _DAYS, rules=rules).archived == 0
        assert runtime.consolidate_memories(now=start + 8 * _DAYS, rules=rules).archived == 1
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

    # --- single memories and tags ---------------------------------------------------------------------------------

    def test_a_forgotten_memory_is_gone_and_its_history_stays_unless_erased(self, runtime: Any) -> None:
        one, two = (runtime.remember("fact", f"tea {name}", "", ["tea"]) for name in ("one", "two"))
        assert runtime.forget(one, memory_scope="bob") is False
        assert runtime.forget(one) is True
        assert runtime.forget(one) is False
        assert [memory.id for memory in runtime.recall("tea")] == [two]
        assert runtime.history(one)[0].entry.content == "tea one"
        assert runtime.forget(one, erase=True) is True
        assert [version.entry for version in runtime.history(one)] == [None, None]
        assert runtime.restore(one) is None

    def test_erasing_a_merged_memory_erases_what_it_was_merged_from(self, runtime: Any) -> None:
        ids = [runtime.remember("fact", f"secret tea {name}", "", ["tea"]) for name in ("one", "two")]
        [merged] = runtime.feedback(merge_groups=[ids])
        assert runtime.forget(merged.id, erase=True) is True
        for memory_id in (*ids, merged.id):
            assert runtime.get(memory_id) is None
            assert {version.entry for version in runtime.history(memory_id)} == {None}

    def test_tags_are_counted_where_they_are_seen_and_collected_when_unused(self, runtime: Any) -> None:
        runtime.remember("fact", "tea", "", ["tea", "green"])
        runtime.remember("fact", "more tea", "", ["tea"])
        foreign = runtime.remember("fact", "secret", "", ["of bob"], memory_scope="bob")
        assert list(runtime.list_tags()) == [("tea", 2), ("green", 1)]
        assert runtime.collect_tags() == 0
        runtime.forget(foreign, memory_scope="bob")
        assert runtime.collect_tags() == 1
        assert list(runtime.list_tags(memory_scope="bob")) == []
        assert len(runtime.recall("tea")) == 2

    # --- tools ----------------------------------------------------------------------------------------------------

    def test_the_tools_work_in_the_scope_of_the_program(self, runtime: Any) -> None:
        def call(name: str, arguments: Any, scope: str) -> Any:
            return asyncio.run(runtime_tools(runtime.target, scope).call(name, arguments))

        made = call("core_memory_remember", '{"judgment": "小明爱吃火锅", "tags": ["小明", "火锅"]}', "alice")
        found = call("core_memory_recall", {"query": "小明说晚上去吃火锅"}, "alice")
        assert [memory["memory_id"] for memory in found["memories"]] == [made["memory_id"]]
        assert call("core_memory_recall", {"query": "小明说晚上去吃火锅"}, "bob") == {"memories": []}
        for tool in runtime_tools(runtime.target).tools:
            with pytest.raises(InvalidInputError, match="memory_scope"):
                call(tool.name, {"query": "x", "judgment": "x", "tags": ["x"], "memory_scope": "alice"}, "bob")

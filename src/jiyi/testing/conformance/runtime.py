"""The conformance suite of memory runtimes."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from jiyi.errors import InvalidInputError, InvalidScopeError
from jiyi.runtime import MemoryRuntime
from jiyi.testing.conformance.runtime_consolidation import ConsolidationConformance
from jiyi.testing.conformance.runtime_feedback import FeedbackConformance
from jiyi.testing.conformance.runtime_fixtures import judgments


class MemoryRuntimeConformance(FeedbackConformance, ConsolidationConformance):
    """Everything that agents rely on in a memory runtime. Define `make_runtime(folder)` and run it.

    The tags of the example memories are also in their texts, so that every kind of search finds them.
    """

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
            assert judgments(runtime.recall(f"zebra{number}", 1)) == [f"zebra{number} is striped"]

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

    # --- comprehensive and chained recall ---------------------------------------------------------------------------

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

"""The conformance suite of runtimes: feedback and merging."""

from __future__ import annotations

from typing import Any

import pytest

from jiyi.errors import InvalidInputError
from jiyi.testing.conformance.runtime_fixtures import RuntimeFixtures, judgments


class FeedbackConformance(RuntimeFixtures):
    """Feedback strengthens, adds and merges memories."""

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
        assert judgments(result) == ["rain on Sunday", "rain is wet"]
        assert set(judgments(runtime.recall("rain", memory_scope="alice"))) == set(judgments(result))
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
        assert judgments(runtime.recall("tea")) == ["tea one"]

    def test_feedback_for_a_memory_that_was_merged_away_reaches_the_merged_one(self, runtime: Any) -> None:
        one, two = (runtime.remember("fact", f"tea {name}", "", ["tea"]) for name in ("one", "two"))
        [merged] = runtime.feedback(merge_groups=[[one, two]])
        assert runtime.feedback([one]).strengthened == (merged.id,)
        assert runtime.get(merged.id).strength == 3

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

    def test_what_a_private_scope_merges_stands_in_front_for_that_scope_alone(self, runtime: Any) -> None:
        ids = [runtime.remember("fact", f"tea of {s}", "", ["tea"], memory_scope=s) for s in ("public", "alice")]
        before = (runtime.get(ids[0], memory_scope="public"), runtime.history(ids[0], memory_scope="public"))
        [merged] = runtime.feedback(merge_groups=[ids], memory_scope="alice")
        assert (merged.memory_scope, merged.strength) == ("alice", 2)
        assert [hit.id for hit in runtime.recall("tea", memory_scope="alice")] == [merged.id]
        hidden = runtime.get(ids[0], memory_scope="alice")
        assert (hidden.is_active, hidden.superseded_by) == (False, merged.id)
        for other in ("public", "bob"):
            assert [hit.id for hit in runtime.recall("tea", memory_scope=other)] == [ids[0]]
        assert runtime.get(merged.id, memory_scope="bob") is None
        assert (runtime.get(ids[0], memory_scope="public"), runtime.history(ids[0], memory_scope="public")) == before
        assert dict(runtime.list_tags(memory_scope="alice")) == {"tea": 1}

    def test_two_public_memories_can_be_merged_for_one_scope(self, runtime: Any) -> None:
        ids = [runtime.remember("fact", f"tea {name}", "", ["tea"], memory_scope="public") for name in ("one", "two")]
        [merged] = runtime.feedback(merge_groups=[{"memory_ids": ids, "judgment": "my tea"}], memory_scope="alice")
        own = runtime.remember("fact", "tea three", "", ["tea"], memory_scope="alice")
        [again] = runtime.feedback(merge_groups=[[ids[1], own]], memory_scope="alice")
        assert set(again.merged_from) == {merged.id, own}
        assert judgments(runtime.recall("tea", memory_scope="alice")) == ["my tea"]
        assert sorted(judgments(runtime.recall("tea", memory_scope="public"))) == ["tea one", "tea two"]
        # Without the memory in front the public ones are there again.
        runtime.forget(again.id, memory_scope="alice", erase=True)
        assert sorted(judgments(runtime.recall("tea", memory_scope="alice"))) == ["tea one", "tea two"]

    def test_a_scope_takes_back_what_it_made_of_a_public_memory(self, runtime: Any) -> None:
        ids = [runtime.remember("fact", f"tea {name}", "", ["tea"], memory_scope="public") for name in ("one", "two")]
        runtime.feedback(merge_groups=[ids], memory_scope="alice")
        assert runtime.restore(ids[0], memory_scope="bob") is None
        assert runtime.restore(ids[0], memory_scope="alice").is_active
        assert ids[0] in [hit.id for hit in runtime.recall("tea", memory_scope="alice")]

    def test_a_private_scope_strengthens_a_public_memory_for_itself_alone(self, runtime: Any) -> None:
        weak, strong = (
            runtime.remember("fact", f"tea {name}", "", ["tea"], strength=strength, memory_scope="public")
            for name, strength in (("weak", 1), ("strong", 2))
        )
        for _ in range(3):
            assert runtime.feedback([weak], [strong], memory_scope="alice").strengthened == (weak,)
        assert [runtime.get(weak, memory_scope=s).strength for s in ("alice", "public", "bob")] == [4, 1, 1]
        assert len(runtime.history(weak, memory_scope="public")) == 1
        if runtime.name == "SimpleMemoryRuntime":
            assert [hit.id for hit in runtime.recall("tea", memory_scope="alice")] == [weak, strong]
            assert [hit.id for hit in runtime.recall("tea", memory_scope="public")] == [strong, weak]

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

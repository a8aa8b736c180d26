"""What the runtime promises beside its design: scopes that are named, answers that say what they lack, updates."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from jiyi.errors import InvalidInputError, InvalidScopeError, VersionConflictError
from jiyi.model import clock
from jiyi.recall.tags import stands_in
from jiyi.runtime.values import RecalledMemories
from jiyi.sync import AgentMemory
from tests.support import QUICK, present

Open = Callable[..., AgentMemory]


@pytest.fixture
def open_one(tmp_path: Path) -> Open:
    def opened(**settings: Any) -> AgentMemory:
        return AgentMemory.open(tmp_path / "data", **{**QUICK, "embedder": "none", **settings})

    return opened


def test_with_strict_scope_a_call_without_a_scope_is_refused(open_one: Open) -> None:
    with open_one(strict_scope=True) as memory:
        with pytest.raises(InvalidScopeError, match="memory_scope is missing"):
            memory.runtime.remember("fact", "tea", "", ["tea"])
        memory_id = memory.runtime.remember("fact", "tea", "", ["tea"], memory_scope="chat-1")
        assert memory.runtime.get(memory_id, memory_scope="chat-1") is not None


def test_with_strict_scope_a_configured_scope_is_named(open_one: Open) -> None:
    with open_one(strict_scope=True, scope="support-desk") as memory:
        memory_id = memory.runtime.remember("fact", "tea", "", ["tea"])
        assert memory.runtime.get(memory_id, memory_scope="support-desk") is not None


def test_vector_mode_without_an_embedder_says_so_in_every_answer(open_one: Open) -> None:
    with open_one() as memory:
        memory.runtime.remember("fact", "green tea", "", ["tea"])
        for ask in (memory.runtime.recall, memory.runtime.comprehensive_recall, memory.runtime.chained_recall):
            found = ask("green tea")
            assert isinstance(found, RecalledMemories)
            assert any("no embedder" in note for note in found.notes)


def test_text_tags_and_strength_can_be_updated_and_the_old_version_stays(open_one: Open) -> None:
    with open_one(enable_simple_memory=True) as memory:
        runtime = memory.runtime
        memory_id = runtime.remember("fact", "小明爱吃火锅", "", ["火锅"])
        changed = present(runtime.update(memory_id, judgment="小明爱吃烤鱼", tags=["烤鱼"], strength=4))
        assert (changed.judgment, changed.tags, changed.strength) == ("小明爱吃烤鱼", ("烤鱼",), 4)
        assert [found.id for found in runtime.recall("去吃烤鱼")] == [memory_id]
        assert runtime.recall("去吃火锅") == []
        assert [version.operation for version in runtime.history(memory_id)] == ["create", "update"]
        assert runtime.update(memory_id, judgment="x", memory_scope="another") is None
        with pytest.raises(InvalidInputError, match="an update needs"):
            runtime.update(memory_id)


def test_a_change_of_another_version_than_is_meant_is_refused(open_one: Open) -> None:
    with open_one(enable_simple_memory=True) as memory:
        runtime = memory.runtime
        memory_id = runtime.remember("fact", "小明爱吃火锅", "", ["火锅"])
        first = present(runtime.get(memory_id))
        second = present(runtime.update(memory_id, strength=4, if_version=first.version))
        assert second.version == first.version + 1
        for change in (
            lambda: runtime.update(memory_id, strength=5, if_version=first.version),
            lambda: runtime.forget(memory_id, if_version=first.version),
            lambda: runtime.forget(memory_id, erase=True, if_version=first.version),
        ):
            with pytest.raises(VersionConflictError, match="changed meanwhile"):
                change()
        assert present(runtime.get(memory_id)).strength == 4
        assert runtime.forget(memory_id, if_version=second.version)


@pytest.mark.parametrize(
    ("tag", "text", "found"),
    [
        *(("ai", "he said so", False), ("ai", "学ai的人", True), ("ai", "ai, of course", True)),
        *(
            ("c++", "c++20", True),
            ("火锅", "老火锅店", True),
            ("3", "30 days", False),
            ("new york", "in new york.", True),
        ),
    ],
)
def test_a_tag_in_latin_letters_is_found_only_as_a_whole_word(tag: str, text: str, found: bool) -> None:
    assert stands_in(tag, text) is found


def test_feedback_gives_a_list(open_one: Open) -> None:
    with open_one(enable_simple_memory=True) as memory:
        assert memory.runtime.feedback() == []
        result = memory.runtime.feedback(new_memories=[{"memory_type": "fact", "judgment": "tea", "tags": ["tea"]}])
        assert result == list(result)
        assert [each.judgment for each in result] == ["tea"]
        assert result.created == (result[0].id,)


def test_maintain_consolidates_and_what_is_recalled_does_not_fade(open_one: Open) -> None:
    with open_one(enable_simple_memory=True) as memory:
        memory.runtime.remember("fact", "tea", "", ["tea"])
        memory.runtime.remember("fact", "tea", "", ["tea"])
        assert memory.maintain(dry_run=True)["consolidated"]["groups"] == 1
        assert memory.maintain()["consolidated"]["merged"] == 2
        (merged,) = memory.runtime.recall("tea")
        later = clock.utc_now() + timedelta(days=20)
        assert memory.runtime.consolidate_memories(now=later).faded == 0
        assert merged.strength == 2

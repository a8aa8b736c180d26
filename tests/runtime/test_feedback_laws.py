"""Whatever feedback comes in whatever order: nothing is lost, nothing is made up, and nobody else is touched."""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from jiyi.model.scope import PUBLIC
from jiyi.runtime import BaseMemory
from jiyi.sync import AgentMemory
from jiyi.text import tag_form
from tests.support import examples

SCOPES = ("alice", "bob", PUBLIC)
places = st.integers(0, 11)


@dataclass(frozen=True)
class Turn:
    """Feedback of one scope; numbers stand for memories in the order in which they were made, 11 for nobody."""

    scope: str
    useful: list[int]
    recalled: list[int]
    merges: list[list[int]]
    new: int


turns = st.builds(
    Turn,
    scope=st.sampled_from(SCOPES),
    useful=st.lists(places, max_size=3),
    recalled=st.lists(places, max_size=3),
    merges=st.lists(st.lists(places, max_size=4), max_size=2),
    new=st.integers(0, 1),
)


class World:
    """All memories of a runtime, as each scope sees its own."""

    def __init__(self, runtime: Any) -> None:
        self.runtime = runtime
        self.scope_of: dict[str, str] = {}

    def remember(self, scope: str, number: int) -> None:
        tags = ["Tea", f"tag {number % 3}", "ＴＥＡ"[: number % 3 + 1]]
        made = self.runtime.remember("fact", f"text {number}", "", tags, strength=number % 4, memory_scope=scope)
        self.scope_of[made] = scope

    def all(self) -> dict[str, BaseMemory]:
        return {each: self.runtime.get(each, memory_scope=scope) for each, scope in self.scope_of.items()}

    def seen(self, viewer: str) -> dict[str, BaseMemory]:
        """What a scope sees, as it sees it."""
        visible = [each for each, scope in self.scope_of.items() if scope in {viewer, PUBLIC}]
        return {each: self.runtime.get(each, memory_scope=viewer) for each in visible}

    def strength(self, viewer: str) -> int:
        return sum(memory.strength for memory in self.seen(viewer).values() if memory.is_active)


@settings(max_examples=examples(5))
@given(first=st.lists(st.sampled_from(SCOPES), min_size=2, max_size=10), story=st.lists(turns, max_size=4))
def test_feedback_loses_nothing_makes_nothing_up_and_touches_nobody_else(first: list[str], story: list[Turn]) -> None:
    with tempfile.TemporaryDirectory() as folder, AgentMemory.open(Path(folder), enable_simple_memory=True) as memory:
        world = World(memory.runtime)
        for number, scope in enumerate(first):
            world.remember(scope, number)
        for number, turn in enumerate(story):
            check(world, turn, number)


def check(world: World, turn: Turn, number: int) -> None:
    known = list(world.scope_of)
    name = [known[place] if place < len(known) else "nobody" for place in range(12)]
    before, strength = world.all(), world.strength(turn.scope)
    new = [{"memory_type": "fact", "judgment": f"new {number}", "tags": ["new"], "strength": 2}] * turn.new
    order: dict[str, Any] = {
        "useful_memory_ids": [name[place] for place in turn.useful],
        "recalled_memory_ids": [name[place] for place in turn.recalled],
        "merge_groups": [[name[place] for place in group] for group in turn.merges],
        "new_memories": new,
        "memory_scope": turn.scope,
        "request_id": f"turn {number}",
    }
    result = world.runtime.feedback(**order)
    world.scope_of |= {made.id: made.memory_scope for made in result}
    everything, after = world.all(), world.seen(turn.scope)
    # Strength comes from what was useful and what is new, and merging only adds up.
    assert world.strength(turn.scope) == strength + len(result.strengthened) + 2 * turn.new
    # Others' memories and public ones are as they were, and others' ids are as unknown as any.
    visible = {turn.scope, PUBLIC}
    for memory_id, was in before.items():
        if was.memory_scope != turn.scope:
            assert everything[memory_id] == was
    asked = {
        *(*order["useful_memory_ids"], *order["recalled_memory_ids"]),
        *(each for ids in order["merge_groups"] for each in ids),
    }
    assert {each for each in asked if world.scope_of.get(each) not in visible} <= set(result.unknown_ids) <= asked
    # What was merged stands for all it was merged from, and their texts are still there.
    for made, sources in result.merged.items():
        assert len(sources) >= 2
        assert {tag_form(tag) for tag in after[made].tags} == {
            tag_form(tag) for source in sources for tag in after[source].tags
        }
        assert after[made].memory_scope == turn.scope
        assert all(after[source].superseded_by == made and not after[source].is_active for source in sources)
    for memory_id, scope in world.scope_of.items():
        texts = [version.entry.content for version in world.runtime.history(memory_id, memory_scope=scope)]
        assert set(texts) == {everything[memory_id].judgment}
    # Once more is as good as once.
    assert world.runtime.feedback(**order).repeated
    assert (world.all(), world.seen(turn.scope)) == (everything, after)

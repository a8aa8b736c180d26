"""A fact that is withdrawn takes back what it did: what it replaced holds again."""

import pytest

from jiyi.sync import AgentMemory
from tests.longterm.conftest import FakeClock


def say(memory: AgentMemory, *messages: str) -> None:
    for number, message in enumerate(messages):
        memory.longterm.extract_and_store_memories_for_round("alice", f"c{number}", message, "OK.")


def facts(memory: AgentMemory) -> list[str]:
    return [entry.content for entry in memory.list(scope="alice", memory_types="fact")]


@pytest.mark.parametrize("how", ["forget", "erase", "session"])
def test_what_a_withdrawn_fact_replaced_is_current_again_and_found(room: AgentMemory, how: str) -> None:
    say(room, "I live in Berlin.", "I moved to Munich.")
    [munich] = room.list(scope="alice", memory_types="fact")
    if how == "session":
        room.forget_session("c1", scope="alice", facts=True)
    else:
        assert room.forget(id=munich.id, scope="alice", erase=how == "erase")
    assert facts(room) == ["I live in Berlin."]
    assert room.longterm.superseded("alice") == []
    assert room.recall("Where do I live?", scope="alice", memory_types="fact")[0].content == "I live in Berlin."


def test_what_the_curve_forgets_brings_nothing_back(room: AgentMemory, clock: FakeClock) -> None:
    say(room, "My favourite band is Blur.", "My favourite band is Pulp now.")
    assert facts(room) == ["My favourite band is Pulp now."]
    clock.advance(days=400)
    assert room.longterm.cleanup_forgotten_memories("alice") == 1
    assert facts(room) == []

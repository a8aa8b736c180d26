"""Simple mode has no index: facts are kept, compared and forgotten on the records, and what needs an index says so."""

import pytest

from jiyi.errors import SimpleModeError
from jiyi.recall import simple_comparison
from jiyi.sync import AgentMemory
from tests.longterm.answers import fact, model
from tests.longterm.conftest import FakeClock, OpenMemory
from tests.longterm.test_rounds import DIFFERENT, SAME, tell
from tests.support import present


@pytest.fixture
def simple(open_room: OpenMemory) -> AgentMemory:
    """A memory in simple mode without a model."""
    return open_room(enable_simple_memory=True)


@pytest.mark.parametrize(("first", "second"), SAME)
def test_what_is_known_is_not_stored_again(open_room: OpenMemory, first: str, second: str) -> None:
    memory = open_room(enable_simple_memory=True, llm=model())
    assert len(tell(memory, first)) == 1
    assert tell(memory, second) == []


@pytest.mark.parametrize(("first", "second"), DIFFERENT)
def test_a_difference_that_matters_is_a_new_fact(open_room: OpenMemory, first: str, second: str) -> None:
    memory = open_room(enable_simple_memory=True, llm=model())
    assert len(tell(memory, first)) == len(tell(memory, second)) == 1


@pytest.mark.parametrize(
    ("first", "second"), [("我住在北京", "我搬到上海了"), ("I live in Berlin", "I moved to Munich")]
)
def test_the_same_attribute_is_corrected_also_among_many_other_facts(
    simple: AgentMemory, clock: FakeClock, first: str, second: str
) -> None:
    (old,) = tell(simple, first)
    # More than one page of them, and a page is newest first.
    others = [
        {"key": f"k{number}", "content": f"matter {number}", "scope": "alice"}
        for number in range(simple_comparison._PAGE + 20)
    ]
    simple.store_many(others)
    clock.advance(hours=1)
    (new,) = tell(simple, second)
    assert present(simple.longterm.explain("alice", old))["superseded_by"][0]["id"] == new.id


def test_a_fact_of_another_user_is_not_known(simple: AgentMemory) -> None:
    assert tell(simple, "我对青霉素过敏")
    assert tell(simple, "我对青霉素过敏", user="bob")


def test_a_model_is_shown_the_facts_that_are_most_alike(open_room: OpenMemory) -> None:
    shown: list[list[str]] = []

    def look(data: dict[str, object]) -> list[dict[str, object]]:
        known = data["known"]
        assert isinstance(known, list)
        shown.append([str(each) for each in known])
        return [fact(str(data["user"]))]

    memory = open_room(enable_simple_memory=True, llm=model(look))
    tell(memory, "the launch is planned for spring")
    tell(memory, "我对花生过敏")
    tell(memory, "the launch is planned for autumn")
    assert [len(known) for known in shown] == [0, 0, 1]
    assert "spring" in shown[2][0]


def test_asking_is_refused_clearly_before_a_model_is_asked(open_room: OpenMemory) -> None:
    asked = model()
    memory = open_room(enable_simple_memory=True, llm=asked)
    for ask in (memory.longterm.retrieve_relevant_memories, memory.longterm.get_memory_context_for_prompt):
        with pytest.raises(SimpleModeError, match="recall of long-term memories is off in simple mode"):
            ask("alice", "which medicine may I take")
    assert asked.calls == []


def test_background_work_reflection_forgetting_and_upkeep_go_on(simple: AgentMemory, clock: FakeClock) -> None:
    simple.longterm.schedule_round("alice", "c", "I play the cello every week", "noted")
    assert simple.run_jobs() == 1
    tell(simple, "I work at a bank")
    assert simple.longterm.try_generate_reflection("alice", None, 1.0, 0) is not None
    assert simple.longterm.get_intent_domains("which food is safe for me?")
    assert simple.longterm.compress_memories(["I am allergic to nuts"]) != ""
    assert simple.longterm.pin("alice", simple.list(scope="alice", memory_types="fact")[0])
    clock.advance(days=3_650)
    assert simple.maintain()["forgotten"] == {"alice": 1}
    assert len(simple.longterm.restore("alice")) == 1


def test_what_was_kept_in_simple_mode_is_recalled_with_indexes(open_room: OpenMemory) -> None:
    with open_room(enable_simple_memory=True) as memory:
        tell(memory, "我对青霉素过敏")
    found = open_room().longterm.retrieve_relevant_memories("alice", "我对什么过敏")
    assert [hit.content for hit in found] == ["我对青霉素过敏"]

"""The law of reflections: no question that found a fact before a reflection misses it afterwards."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jiyi.errors import InvalidInputError
from jiyi.longterm import reflection
from jiyi.longterm.conflicts import OpenConflicts
from jiyi.longterm.context import build_context
from jiyi.model.claim import Claim
from jiyi.model.entry import MemoryEntry
from jiyi.sync import AgentMemory
from jiyi.testing.models import ModelCall, ScriptedModel
from jiyi.text.token_count import EstimatedTokens
from tests.longterm.answers import data_of, fact, scored, task_of
from tests.longterm.conftest import FakeClock, OpenMemory
from tests.support import present

DOMAIN = "lifestyle_and_interests"
WORDS = ["dentist", "Kelly", "landlord", "allergic", "nuts", "bread", "cello", "Tuesday", "my", "is", "not"]
CHARACTERS = ["我", "对", "花生", "过敏", "牙医", "姓", "王", "不", "住在", "南京"]
TEXTS = st.one_of(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join),
    st.lists(st.sampled_from(CHARACTERS), min_size=1, max_size=5).map("".join),
)


def thinker(text: Callable[[], str]) -> ScriptedModel:
    """Keeps what the user says and reflects in the words of `text`."""

    def answer(call: ModelCall) -> str:
        match task_of(call):
            case "scorer":
                return scored(fact(data_of(call)["user"], domain=DOMAIN))
            case "router":
                return json.dumps({"domains": [DOMAIN]})
            case "reflection":
                return json.dumps({"reflection": text()}, ensure_ascii=False)
            case _:
                return json.dumps({"summary": "a summary"})

    return ScriptedModel(answer, name="thinker")


def keep(memory: AgentMemory, scope: str, *facts: str) -> list[str]:
    ids = []
    for number, text in enumerate(facts):
        memory.store(f"k{number}", text, scope=scope, memory_type="fact", domain=DOMAIN, importance=0.9)
        ids.append(present(memory.get(f"k{number}", scope=scope)).id)
    return ids


def reflect(memory: AgentMemory, scope: str) -> list[MemoryEntry]:
    """As many reflections as there can be."""
    made: list[MemoryEntry] = []
    while (one := memory.longterm.try_generate_reflection(scope, "c", 0.1, 0)) is not None:
        made.append(one)
    return made


def told_by(hits: list[MemoryEntry]) -> set[str]:
    """The ids of what the hits tell: each itself, and what a reflection says word for word."""
    return {hit.id for hit in hits} | {
        each.id for hit in hits for each in hit.context if reflection.says(hit.content, each.content)
    }


def answers(memory: AgentMemory, scope: str, question: str, limit: int) -> dict[str, set[str]]:
    """What each entrance to recall tells."""
    room = memory.longterm
    everything = {
        "similar": room.retrieve_relevant_memories(scope, question, top_k_final=limit, touch=False),
        "few candidates": room.retrieve_relevant_memories(
            scope, question, top_k_semantic=2, top_k_final=limit, touch=False
        ),
        "fused": room.retrieve_relevant_memories(scope, question, top_k_final=limit, fused=True, touch=False),
        "recall": memory.recall(question, limit, scope=scope),
        "weighed": memory.recall(question, limit, scope=scope, weights=(0.5, 0.2, 0.3)),
        "keyword": memory.recall(question, limit, scope=scope, mode="keyword"),
        "semantic": memory.recall(question, limit, scope=scope, mode="semantic"),
    }
    assert all(len(hits) <= limit for hits in everything.values())
    told = {name: told_by(list(hits)) for name, hits in everything.items()}
    runtime = memory.runtime
    for ask in (runtime.recall, runtime.comprehensive_recall):
        told[ask.__name__] = {hit.id for hit in ask(question, limit, memory_scope=scope)}
    return told


@pytest.fixture
def speech() -> list[str]:
    """What the model says next."""
    return []


@pytest.fixture
def spoken(open_room: OpenMemory, speech: list[str]) -> AgentMemory:
    """A memory whose model reflects in the words of `speech`."""
    return open_room(llm=thinker(lambda: speech.pop(0)))


@pytest.fixture
def scopes() -> Iterator[str]:
    return (f"user{number}" for number in count())


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    facts=st.lists(TEXTS, min_size=2, max_size=7, unique=True),
    reflections=st.lists(st.one_of(TEXTS, st.none()), min_size=1, max_size=4),
    size=st.integers(2, 4),
    questions=st.lists(TEXTS, min_size=1, max_size=2),
    limit=st.integers(1, 4),
)
def test_whatever_was_found_before_a_reflection_is_found_or_said_word_for_word_afterwards(
    spoken: AgentMemory,
    speech: list[str],
    scopes: Iterator[str],
    monkeypatch: pytest.MonkeyPatch,
    facts: list[str],
    reflections: list[str | None],
    size: int,
    questions: list[str],
    limit: int,
) -> None:
    speech[:] = [text or "; ".join(facts) for text in reflections * len(facts)]
    scope = next(scopes)
    ids = set(keep(spoken, scope, *facts))
    before = {question: answers(spoken, scope, question, limit) for question in questions}
    monkeypatch.setattr(reflection, "MAX_FACTS", size)
    assert reflect(spoken, scope)
    for question in questions:
        after = answers(spoken, scope, question, limit)
        for entrance, found in before[question].items():
            assert found & ids <= after[entrance], (entrance, question)


def test_a_vague_reflection_by_a_model_leaves_the_fact_that_was_asked_for_in_the_prompt(open_room: OpenMemory) -> None:
    memory = open_room(llm=thinker(lambda: "keeps good relations with a landlord and a dentist nearby"))
    keep(memory, "alice", "My landlord is called Mr Owusu", "My dentist is Dr Kelly on Bridge Street")
    assert reflect(memory, "alice")
    assert "Dr Kelly" in memory.longterm.get_memory_context_for_prompt("alice", "Who is my dentist?")


@pytest.mark.parametrize(
    ("text", "fact", "said"),
    [
        ("Life: I like tea; I live in Leeds", "I like tea.", True),
        ("生活：我对花生过敏；我住南京", "我对花生过敏", True),
        ("Nobody thinks that I like tea", "I like tea", False),
        ("I like tea, but not in the morning", "I like tea", False),
        ("The user likes tea", "I like tea", False),
    ],
)
def test_a_text_says_a_fact_only_where_the_fact_is_a_sentence_of_it(text: str, fact: str, said: bool) -> None:
    assert reflection.says(text, fact) is said


def test_eight_equal_reflections_near_the_question_push_out_nothing(
    open_room: OpenMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "What the user must avoid eating: the foods that I must avoid."
    memory = open_room(llm=thinker(lambda: text))
    foods = ["Foods with dairy give me cramps", "I must avoid walnuts", "I avoid foods with shellfish", "I avoid pork"]
    keep(memory, "alice", *foods, *(f"I keep {thing} at home" for thing in "abcdefghijkl"))

    def found(limit: int) -> list[str]:
        hits = memory.longterm.retrieve_relevant_memories("alice", "Which foods must I avoid?", top_k_final=limit)
        return [hit.content for hit in hits]

    before = {limit: found(limit) for limit in (2, 4, 6)}
    monkeypatch.setattr(reflection, "MAX_FACTS", 2)
    assert len(reflect(memory, "alice")) == 8
    assert {limit: found(limit) for limit in before} == before


def test_a_profile_takes_no_place_in_recall_by_any_entrance(room: AgentMemory) -> None:
    facts = [
        "我对花生过敏",
        "我对青霉素过敏",
        "我对猫毛过敏",
        "我开一辆红色的比亚迪",
        "我弟弟住在青岛",
        "我在乐队里拉大提琴",
    ]
    keep(room, "alice", *facts)
    question = "我对什么过敏？"

    def found() -> list[list[str]]:
        tool = room.tools(scope="alice").call("recall", {"query": question, "limit": 3})
        return [
            [hit.content for hit in room.recall(question, 3, scope="alice")],
            [hit.judgment for hit in room.runtime.recall(question, 3, memory_scope="alice")],
            [hit["content"] for hit in tool["memories"]],
        ]

    before = found()
    assert reflect(room, "alice")
    assert found() == before


def test_a_reflection_stands_in_for_no_fact_with_an_open_conflict_and_bears_its_mark(
    room: AgentMemory, open_room: OpenMemory
) -> None:
    for text in ("I live in Leeds", "I moved to Bristol last month"):
        room.longterm.extract_and_store_memories_for_round("alice", "c", text, "noted")
    room.longterm.restore("alice", room.longterm.superseded("alice")[0].entry)
    memory = open_room(llm=thinker(lambda: "I live in Leeds; I moved to Bristol last month"))
    (made,) = reflect(memory, "alice")
    hits = memory.longterm.retrieve_relevant_memories("alice", "Do I live in Leeds or Bristol?")
    assert sorted(hit.content for hit in hits) == ["I live in Leeds", "I moved to Bristol last month"]
    (conflict,) = memory.longterm.conflicts("alice")
    conflicts = OpenConflicts.among([conflict.newer]).with_reflections([made])
    assert made.id in conflicts
    assert [each.id for each in conflicts.newer_first([made])] == [conflict.newer.id, made.id]


def test_restoring_a_superseded_fact_links_it_with_what_replaced_it(room: AgentMemory) -> None:
    for text in ("I live in Leeds", "I moved to Bristol last month"):
        room.longterm.extract_and_store_memories_for_round("alice", "c", text, "noted")
    (gone,) = room.longterm.superseded("alice")
    assert room.longterm.restore("alice", gone.entry.id)
    (conflict,) = room.longterm.conflicts("alice")
    assert (conflict.newer.content, conflict.older.content) == ("I moved to Bristol last month", "I live in Leeds")
    block = room.longterm.get_memory_context_for_prompt("alice", "Where do I live?")
    assert "may be outdated] I live in Leeds" in block


def test_what_was_left_of_a_fact_goes_when_the_whole_is_restored_and_comes_back_when_that_is_settled(
    room: AgentMemory, clock: FakeClock
) -> None:
    for text in ("The dentist is on Monday at 3 pm, it costs 80 pounds", "The dentist is on Thursday now"):
        room.longterm.extract_and_store_memories_for_round("alice", "c", text, "noted")
        clock.advance(hours=1)

    def current() -> set[str]:
        return {entry.content for entry in room.list(scope="alice", memory_types="fact")}

    before = current()
    (gone,) = room.longterm.superseded("alice")
    (rest,) = before - {"The dentist is on Thursday now"}
    assert room.longterm.restore("alice", gone.entry.id)
    assert current() == {"The dentist is on Thursday now", gone.entry.content}
    assert [each.entry.content for each in room.longterm.superseded("alice")] == [rest]
    (conflict,) = room.longterm.conflicts("alice")
    assert room.longterm.settle_conflict("alice", conflict.newer, conflict.older)
    assert current() == before


def test_an_imported_fact_says_who_said_it_and_whom_it_is_about(room: AgentMemory) -> None:
    room.longterm.extract_and_store_memories_for_round("alice", "c", 'my boss said: "I am allergic to nuts"', "noted")
    (said,) = room.list(scope="alice", memory_types="fact")
    imported = replace(said, source=replace(said.source, trust="import"))
    about = replace(
        imported, source=replace(imported.source, claim=Claim(subject="mother", said_by="user")), content="Allergic"
    )

    def line(hit: MemoryEntry) -> str:
        block = build_context(
            [hit],
            "who is allergic?",
            scope="alice",
            budget=1_000,
            counter=EstimatedTokens(),
            compress=lambda _texts, _most: ("", ""),
            zone=UTC,
        )
        return block.splitlines()[-2]

    assert "imported · told by the user in the words of: boss]" in line(imported)
    assert "imported · said by the user · about: mother]" in line(about)


@pytest.mark.parametrize("simple", [False, True])
def test_the_prompt_block_and_the_runtime_take_days_as_those_of_a_time_zone(
    open_room: OpenMemory, simple: bool
) -> None:
    evening = FakeClock(datetime(2026, 3, 9, 23, 30, tzinfo=UTC))
    memory = open_room(clock=evening, enable_simple_memory=simple)
    with pytest.raises(InvalidInputError, match="Nowhere"):
        memory.runtime.recall("tea", memory_scope="alice", time_zone="Nowhere/Land")
    assert memory.runtime.recall("tea", memory_scope="alice", time_zone="Asia/Shanghai") == []
    if not simple:
        memory.longterm.extract_and_store_memories_for_round("alice", "c", "I am allergic to nuts", "noted")
        block = memory.longterm.get_memory_context_for_prompt("alice", "allergic?", time_zone="Asia/Shanghai")
        assert "[2026-03-10" in block

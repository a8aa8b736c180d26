"""Reflections: when they are due, whom they speak for, and that nothing becomes unfindable."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from jiyi.sync import AgentMemory
from jiyi.testing.models import ModelCall, ScriptedModel
from tests.longterm.answers import model
from tests.longterm.conftest import FakeClock, OpenMemory
from tests.support import contents_of, present

THINGS = ["nuts", "milk", "wheat", "soy", "fish", "eggs", "sesame"]


def tell(memory: AgentMemory, *things: str) -> list[str]:
    """Stored facts, by id."""
    return [
        entry.id
        for thing in things
        for entry in memory.longterm.extract_and_store_memories_for_round(
            "alice", "conversation", f"I am allergic to {thing}", "noted"
        )
    ]


def reflections(memory: AgentMemory) -> list[str]:
    return [entry.id for entry in memory.list(scope="alice", memory_types="reflection")]


@pytest.mark.embedded
def test_maintain_mends_an_index_that_was_made_without_the_vectors_of_summarised_facts(
    room: AgentMemory, tmp_path: Path
) -> None:
    tell(room, "nuts", "milk")
    (fact, *_) = room.list(scope="alice", memory_types="fact")
    assert room.longterm.try_generate_reflection("alice", "c", 1.0, 0) is not None
    room.drain()
    # So an earlier version left it.
    (file,) = (tmp_path / "data").rglob("vectors*.db")
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("DELETE FROM memory_vectors WHERE entry_id = ?", [fact.id])
    assert room.maintain(dry_run=True)["indexes_mended"] == ["vectors"]
    assert room.maintain(scope="alice")["indexes_mended"] == []
    assert room.maintain()["indexes_mended"] == ["vectors"]
    assert all(report.sound for report in room.verify())
    assert fact.id in {hit.id for hit in room.recall(fact.content, scope="alice", mode="semantic")}
    assert room.maintain()["indexes_mended"] == []


def test_it_needs_importance_two_facts_and_patience(room: AgentMemory, clock: FakeClock) -> None:
    attempt = room.longterm.try_generate_reflection
    assert attempt("alice", "c") is None
    tell(room, "nuts")
    assert attempt("alice", "c", importance_threshold=0.1, cooldown_hours=0) is None
    tell(room, "milk")
    assert attempt("alice", "c") is None
    assert attempt("alice", "c", importance_threshold=1.0) is not None
    tell(room, "wheat", "soy")
    assert attempt("alice", "c", importance_threshold=1.0) is None
    clock.advance(minutes=61)
    assert attempt("alice", "c", importance_threshold=1.0) is not None
    assert attempt("alice", "c", importance_threshold=0, cooldown_hours=0) is None


def test_it_is_made_in_the_background_after_the_fact_that_made_it_due(room: AgentMemory) -> None:
    tell(room, *THINGS[:4])
    assert room.run_jobs() == 0
    tell(room, THINGS[4])
    assert [job.kind for job in room.jobs(scope="alice", states="queued")] == ["longterm.reflection"]
    assert room.run_jobs() == 1
    assert len(reflections(room)) == 1


def test_facts_are_reflected_on_once(room: AgentMemory, clock: FakeClock) -> None:
    first = tell(room, *THINGS[:5])
    room.run_jobs()
    second: list[str] = []
    for thing in ["peanuts", "lupins", "celery", "mustard", "molluscs"]:
        clock.advance(hours=2)
        second += tell(room, thing)
        room.run_jobs()
    sources = [set(entry.source.references) for entry in room.list(scope="alice", memory_types="reflection")]
    assert sorted(sources, key=min) == [set(first), set(second)]


def test_summarised_facts_are_found_as_before(room: AgentMemory) -> None:
    tell(room, "nuts", "milk")
    facts = room.list(scope="alice", memory_types="fact")
    reflection = present(room.longterm.try_generate_reflection("alice", "c", 1.0, 0))
    room.drain()
    assert all(report.sound for report in room.verify())
    meaning = room.recall("allergic to nuts", scope="alice", mode="semantic")
    assert {hit.id for hit in meaning if hit.memory_type != "message"} == {reflection.id, *(fact.id for fact in facts)}
    by_words = room.recall("allergic to nuts", scope="alice", mode="keyword", memory_types="fact")
    assert {hit.content for hit in by_words} >= {"I am allergic to nuts"}
    hybrid = room.longterm.retrieve_relevant_memories("alice", "allergic to nuts")
    assert {hit.content for hit in hybrid} == {fact.content for fact in facts}, "and nothing is said twice"
    for fact in facts:
        assert present(room.get(fact.key, scope="alice")).summarized_by == reflection.id
        explained = present(room.longterm.explain("alice", fact.id))
        assert explained["summarized_by"][0]["id"] == reflection.id
    told = present(room.longterm.explain("alice", reflection))
    assert {each["id"] for each in told["facts"]} == {fact.id for fact in facts}
    room.rebuild()
    assert all(report.sound for report in room.verify())


def test_a_reflection_is_found_in_every_domain_of_its_facts(open_room: OpenMemory) -> None:
    memory = open_room(llm=model())
    domains = ["user_preferences", "lifestyle_and_interests", "tasks_and_schedules"]
    for number, domain in enumerate(domains):
        memory.store(f"k{number}", f"fact number {number}", scope="alice", domain=domain, importance=0.9)
    reflection = present(memory.longterm.try_generate_reflection("alice", "c", 1.0, 0))
    assert set(reflection.domains) == set(domains)
    for mode in ("hybrid", "keyword", "semantic"):
        for domain in domains:
            hits = memory.recall("fact number", scope="alice", mode=mode, domains=domain, memory_types="reflection")
            assert [hit.id for hit in hits] == [reflection.id], (mode, domain)
        assert memory.recall("fact number", scope="alice", mode=mode, domains="social_and_relationships") == []
    for domain in domains:
        (hit,) = memory.longterm.retrieve_relevant_memories("alice", "fact number", domains=[domain])
        assert hit.domain == domain, "the reflection stands in only where all of its facts would be shown"


@pytest.mark.parametrize("first", ["forgotten", "corrected", "forgotten itself"])
def test_an_erased_fact_is_in_no_reflection_that_was_removed_before(room: AgentMemory, first: str) -> None:
    for name in ("quince", "xylophone"):
        room.store(name, f"I like the {name}", scope="alice", memory_type="fact", domain="user_preferences")
    assert room.longterm.try_generate_reflection("alice", "c", 0.1, 0) is not None
    if first == "forgotten":
        room.forget("quince", scope="alice")
    elif first == "corrected":
        room.update("quince", content="I like the pear", scope="alice")
    else:
        room.forget("xylophone", scope="alice")
    assert reflections(room) == []
    assert "xylophone" in str(contents_of(room))
    assert room.forget("xylophone", scope="alice", erase=True)
    assert "I like the xylophone" not in str(contents_of(room))


def test_a_fact_that_is_changed_by_hand_takes_the_reflection_with_it(room: AgentMemory) -> None:
    tell(room, "nuts", "milk")
    nuts, milk = sorted(room.list(scope="alice", memory_types="fact"), key=lambda entry: "milk" in entry.content)
    soon = datetime.now(UTC) + timedelta(days=1)
    changes: list[Callable[[], object]] = [
        lambda: room.update(present(nuts.key), content="I am allergic to hazelnuts", scope="alice"),
        lambda: room.store(present(nuts.key), "I am allergic to walnuts", scope="alice", domain="user_preferences"),
        lambda: room.update(present(milk.key), expires_at=soon, scope="alice"),
    ]
    for change in changes:
        assert room.longterm.try_generate_reflection("alice", "c", 0.1, 0) is not None
        room.update(present(nuts.key), tags=["health"], scope="alice")
        assert len(reflections(room)) == 1, "its text is the same"
        change()
        assert reflections(room) == []
        left = room.list(scope="alice", memory_types=("fact", "core"))
        assert all(entry.summarized_by is None for entry in left)


def test_what_expires_is_not_reflected_on(room: AgentMemory) -> None:
    soon = datetime.now(UTC) + timedelta(days=1)
    for number in range(3):
        room.store(f"k{number}", f"code {number}", scope="alice", memory_type="fact", domain="user_preferences")
        room.update(f"k{number}", expires_at=soon, importance=0.9, scope="alice")
    assert room.longterm.try_generate_reflection("alice", "c", 0.1, 0) is None


@pytest.mark.parametrize("erase", [False, True])
def test_what_is_forgotten_while_a_model_reflects_on_it_is_not_in_the_reflection(
    open_room: OpenMemory, erase: bool
) -> None:
    other = open_room()
    tell(other, "nuts", "milk", "wheat")
    nuts = next(entry for entry in other.list(scope="alice", memory_types="fact") if "nuts" in entry.content)

    def reflect(_: ModelCall) -> str:
        other.forget(nuts.key, scope="alice", erase=erase)
        return json.dumps({"reflection": "The user must not eat nuts."})

    room = open_room(llm=ScriptedModel(reflect))
    assert room.longterm.try_generate_reflection("alice", "c", 1.0, 0) is None
    assert reflections(room) == []
    made = present(room.longterm.try_generate_reflection("alice", "c", 1.0, 0))
    assert nuts.id not in made.source.references


@pytest.mark.parametrize("erase", [False, True])
def test_forgetting_a_fact_takes_the_reflection_with_it(room: AgentMemory, erase: bool) -> None:
    tell(room, "nuts", "milk")
    reflection = present(room.longterm.try_generate_reflection("alice", "c", 1.0, 0))
    nuts = next(entry for entry in room.list(scope="alice", memory_types="fact") if "nuts" in entry.content)
    assert room.forget(nuts.key, scope="alice", erase=erase)
    (left,) = room.list(scope="alice")
    assert left.summarized_by is None
    assert "milk" in left.content
    versions = room.history(reflection.key, scope="alice")
    assert versions[-1].operation == ("erase" if erase else "forget")
    assert all(version.entry is None for version in versions) is erase
    meaning = room.recall("allergic to milk", scope="alice", mode="semantic", memory_types="fact")
    assert [hit.id for hit in meaning] == [left.id]


def test_forgetting_a_reflection_lets_its_facts_speak_again(room: AgentMemory) -> None:
    tell(room, "nuts", "milk")
    reflection = present(room.longterm.try_generate_reflection("alice", "c", 1.0, 0))
    assert room.forget(reflection.key, scope="alice")
    assert {entry.summarized_by for entry in room.list(scope="alice")} == {None}


def test_it_is_kept_across_export_and_import(room: AgentMemory, open_room: OpenMemory, tmp_path: object) -> None:
    from pathlib import Path

    tell(room, "nuts", "milk")
    room.longterm.try_generate_reflection("alice", "c", 1.0, 0)
    file = Path(str(tmp_path)) / "export.jsonl"
    room.export_jsonl(file)
    other = open_room("other")
    other.import_jsonl(file)
    before, after = ({e.id: e for e in memory.list(scope="alice")} for memory in (room, other))
    assert before == after


def test_with_a_model_the_reflection_says_who_made_it(open_room: OpenMemory) -> None:
    memory = open_room(llm=model(name="thinker"))
    tell(memory, "nuts", "milk")
    reflection = present(memory.longterm.try_generate_reflection("alice", "c", 1.0, 0))
    assert reflection.source.kind == "model:thinker"
    assert reflection.conversation_id == "c"
    assert reflection.content.startswith("总结")


def test_a_reflection_by_a_model_stands_in_where_all_of_its_facts_would_be_shown(open_room: OpenMemory) -> None:
    memory = open_room(llm=model())
    for number in range(3):
        memory.store(f"k{number}", f"tea number {number}", scope="alice", domain="user_preferences", importance=0.9)
    reflection = present(memory.longterm.try_generate_reflection("alice", "c", 1.0, 0))
    (hit,) = memory.longterm.retrieve_relevant_memories("alice", "tea number", domains=["user_preferences"])
    assert hit.id == reflection.id
    assert {fact.key for fact in hit.context} == {"k0", "k1", "k2"}
    few = memory.longterm.retrieve_relevant_memories("alice", "tea number", domains=["user_preferences"], top_k_final=2)
    assert {hit.memory_type for hit in few} == {"fact"}


def test_no_question_that_found_a_fact_misses_it_after_a_reflection(room: AgentMemory) -> None:
    subjects = ["nuts", "milk", "pollen", "wasps", "penicillin", "gluten"]
    tell(room, *subjects)

    def found() -> dict[str, set[str]]:
        questions = [*(f"am I allergic to {subject}" for subject in subjects), "which allergies do I have", "food"]
        return {
            question: {
                hit.content for hit in room.longterm.retrieve_relevant_memories("alice", question, top_k_final=3)
            }
            for question in questions
        }

    before = found()
    assert room.longterm.try_generate_reflection("alice", "c", 1.0, 0) is not None
    room.drain()
    after = found()
    assert all(before[question] <= after[question] for question in before)


def test_without_a_model_a_reflection_is_a_profile_of_the_facts_word_for_word(room: AgentMemory) -> None:
    room.store("a", "我对花生过敏", scope="alice", domain="lifestyle_and_interests", importance=0.9)
    room.store("b", "我在银行工作", scope="alice", domain="professional_and_academic", importance=0.9)
    reflection = present(room.longterm.try_generate_reflection("alice", "c", 1.0, 0))
    assert reflection.content == "生活与兴趣：我对花生过敏\n工作与学习：我在银行工作"


@pytest.mark.date_sensitive
def test_a_question_of_a_time_finds_what_was_said_then_and_no_reflection_made_then(
    room: AgentMemory, clock: FakeClock
) -> None:
    tell(room, "nuts", "milk")
    assert room.longterm.try_generate_reflection("alice", "c", 1.0, 0) is not None
    clock.advance(hours=24)
    asked = "What did I say yesterday?"
    assert "reflection" not in {hit.memory_type for hit in room.recall(asked, 50, scope="alice", now=clock())}
    dated = room.recall("allergic to nuts yesterday", 50, scope="alice", now=clock())
    assert "reflection" in {hit.memory_type for hit in dated}

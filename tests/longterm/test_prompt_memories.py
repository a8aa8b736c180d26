"""What stands in the block for a prompt: facts in the place of reflections, every question, and what fits."""

import json

import pytest

from jiyi.sync import AgentMemory
from jiyi.testing.models import ModelCall, ScriptedModel
from jiyi.text.question_parts import question_parts
from jiyi.text.token_count import EstimatedTokens
from tests.longterm.answers import data_of, fact, scored, task_of
from tests.longterm.conftest import OpenMemory
from tests.support import present


def say(memory: AgentMemory, *texts: str) -> None:
    for text in texts:
        assert memory.longterm.extract_and_store_memories_for_round("alice", "c", text, "OK.")


def lines(block: str) -> list[str]:
    return [line for line in block.splitlines() if line.startswith("- [")]


def test_a_reflection_by_rules_gives_way_to_its_facts_with_whom_each_is_about(open_room: OpenMemory) -> None:
    room = open_room(embedder="bundled")
    say(room, "我住在北京，对虾过敏。", "我姐在苏州当老师。", "我儿子今年七岁，对花生过敏。", "我喜欢爵士乐。")
    made = present(room.longterm.try_generate_reflection("alice", cooldown_hours=0, importance_threshold=0))
    shown = lines(room.longterm.get_memory_context_for_prompt("alice", "说说我姐姐和儿子"))
    assert made.content not in "\n".join(shown)
    assert not any("归纳" in line for line in shown)
    assert [line for line in shown if "关于姐姐" in line and "苏州" in line]
    assert len([line for line in shown if "关于儿子" in line]) == 2
    assert "姐" in shown[0], "what the question is about comes first"


@pytest.mark.parametrize("named", [False, True])
def test_a_reflection_by_a_model_stands_alone_unless_people_with_names_told_its_facts(
    open_room: OpenMemory, named: bool
) -> None:
    def answer(call: ModelCall) -> str:
        match task_of(call):
            case "scorer":
                return scored(fact(data_of(call)["user"], domain="lifestyle_and_interests"))
            case "router":
                return json.dumps({"domains": ["lifestyle_and_interests"]})
            case _:
                return json.dumps({"reflection": "Somebody loves the quiet mountains of Norway"})

    memory = open_room(llm=ScriptedModel(answer, name="thinker"), embedder="none")
    for number, text in enumerate(("I ski every winter", "I sleep in huts")):
        more = {"name": f"person{number}"} if named else {}
        memory.longterm.schedule_conversation("alice", "c", [{"role": "user", "content": text, **more}])
    memory.run_jobs()
    assert memory.longterm.try_generate_reflection("alice", cooldown_hours=0, importance_threshold=0) is not None
    shown = lines(memory.longterm.get_memory_context_for_prompt("alice", "Norway quiet mountains"))
    if named:
        assert sorted(line.split("said by: ")[1] for line in shown) == [
            "person0] I ski every winter",
            "person1] I sleep in huts",
        ]
    else:
        assert [line.split("] ")[1] for line in shown] == ["Somebody loves the quiet mountains of Norway"]


@pytest.mark.parametrize(
    ("facts", "question", "expected"),
    [
        (
            ["I live in Leeds.", "My son is 7.", "My sister Kate teaches in Hull."],
            "How old is my son and where do I live?",
            {"I live in Leeds.", "My son is 7."},
        ),
        (["我住在北京。", "我儿子今年七岁。"], "我住哪儿？我儿子多大？", {"我住在北京。", "我儿子今年七岁。"}),
        (["我住在北京。", "我儿子今年七岁。"], "我儿子多大，我住在哪里", {"我住在北京。", "我儿子今年七岁。"}),
    ],
)
def test_each_question_of_a_message_brings_its_memories(
    room: AgentMemory, facts: list[str], question: str, expected: set[str]
) -> None:
    say(room, *facts)
    block = room.longterm.get_memory_context_for_prompt("alice", question)
    assert expected <= {line.split("] ", 1)[1] for line in lines(block)}


@pytest.mark.parametrize(
    ("message", "parts"),
    [
        ("Where do I live? How old is my son?", ["Where do I live?", "How old is my son?"]),
        ("What do I like, and is my son allergic to nuts?", ["What do I like", "is my son allergic to nuts?"]),
        ("我住在哪里，还有我姐做什么工作？", ["我住在哪里", "我姐做什么工作？"]),
        ("What do I eat and how?", []),
        ("I moved to Bath. What should I buy?", []),
        ("I know who they are and what they do", []),
        ("我下周去北京，要带什么？", []),
        ("房车卖了，要交税吗？", []),
        ("", []),
        ("Where do I live? " * 40, []),
    ],
)
def test_a_message_with_several_questions_has_parts(message: str, parts: list[str]) -> None:
    assert question_parts(message) == parts


LONG = (
    "I am allergic to penicillin and I avoid ibuprofen because of my stomach ulcers.",
    "I had an allergic reaction to latex gloves at the hospital in 2019.",
)
QUESTION = "what medicines and materials am I allergic to?"


@pytest.mark.parametrize("budget", [80, 90, 100, 110, 130, 160])
def test_a_small_budget_shows_what_fits_whole_or_says_that_it_is_shortened(room: AgentMemory, budget: int) -> None:
    say(room, *LONG)
    block = room.longterm.get_memory_context_for_prompt("alice", QUESTION, token_budget=budget)
    assert EstimatedTokens().count(block) <= budget
    shown = lines(block)
    assert shown
    assert "summary of" not in block
    whole = [line for line in shown if any(line.endswith(text) for text in LONG)]
    assert all("shortened" in line or "left out" in line for line in shown if line not in whole)
    assert budget < 100 or whole
    assert len(shown) == len(LONG) or "2 memories" in block, "the other one is at least counted"


def test_unknown_memories_and_conflicts_are_answered_as_documented(room: AgentMemory) -> None:
    say(room, "I like jazz.")
    lt = room.longterm
    assert lt.settle_conflict("alice", "nothing", "nobody") is False
    assert lt.restore("alice", ["nothing"]) == []
    assert lt.feedback("alice", ["nothing"]) == []
    assert lt.explain("alice", "nothing") is None
    assert lt.try_generate_reflection("alice") is None
    plan = lt.cleanup_forgotten_memories("alice", dry_run=True)
    assert (plan.count, [memory.goes for memory in plan.memories]) == (0, [False])

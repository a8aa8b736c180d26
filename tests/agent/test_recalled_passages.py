"""What a turn recalls: not its own question, and no reflection that repeats or is outdated."""

import pytest

from jiyi.model.entry import MemoryEntry
from jiyi.recall.engine import RecallEngine
from jiyi.recall.request import Request
from jiyi.sync import AgentMemory

QUESTIONS = ("What is the team password?", "Which password does the team use?")


def test_the_question_of_a_turn_under_way_is_no_hit(memory: AgentMemory) -> None:
    memory.store("team", "The team password is hunter2")
    turn = memory.agent("s").begin(QUESTIONS[0])
    assert [hit.content for hit in memory.recall(QUESTIONS[0], limit=1)] == ["The team password is hunter2"]
    assert QUESTIONS[0] not in memory.tools().answer("recall", {"query": QUESTIONS[0]}).text
    turn.finish("hunter2")
    assert QUESTIONS[0] in [hit.content for hit in memory.recall(QUESTIONS[0])]


def test_a_statement_of_a_turn_under_way_is_found(memory: AgentMemory) -> None:
    turn = memory.agent("s").begin("The boiler is in the cellar")
    assert "The boiler is in the cellar" in [hit.content for hit in memory.recall("Where is the boiler?")]
    turn.finish("ok")


def test_asking_again_does_not_make_the_answer_disappear(memory: AgentMemory) -> None:
    memory.store("team", "The team password is hunter2")
    for number in range(3):
        for question in QUESTIONS:
            turn = memory.agent(f"s{number}{question[:5]}").begin(question)
            assert "hunter2" in turn.messages[0].text, (number, question)
            turn.finish("I do not know.")


def test_a_reflection_does_not_repeat_facts_that_are_shown_and_has_no_key_as_label(memory: AgentMemory) -> None:
    said = ("I play the violin in the town orchestra", "I practise the violin every evening")
    for text in said:
        assert memory.longterm.extract_and_store_memories_for_round("main", "before", text, "ok")
    assert memory.longterm.try_generate_reflection("main", importance_threshold=0.1, cooldown_hours=0) is not None
    prompt = memory.agent("s").begin("Which instrument do I play, the violin?").messages[0].text
    assert "ltr" not in prompt
    assert all(prompt.count(text) == 1 for text in said)


def test_open_questions_of_others_cost_a_recall_nothing(memory: AgentMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[int] = []
    answer = RecallEngine.answer

    def counted(engine: RecallEngine, request: Request) -> list[MemoryEntry]:
        limits.append(request.limit)
        return answer(engine, request)

    monkeypatch.setattr(RecallEngine, "answer", counted)
    turns = [memory.agent("s", user=user).begin("Where do I live?") for user in ("alice", "bob", "bob", "public")]
    assert memory.recall("Where do I live?", 5, scope="alice") == []
    # Its own open question, and the public one, which it sees.
    assert limits[-1] == 7
    assert len(turns) == 4

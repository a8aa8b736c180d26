"""What a turn recalls: not its own question, and no reflection that repeats or is outdated."""

from dataclasses import replace
from pathlib import Path

import pytest

from jiyi.agent.outdated_passages import _may_change, _tells_change
from jiyi.agent.passages import _source
from jiyi.agent.prompt import _whole_messages
from jiyi.model.entry import MemoryEntry
from jiyi.recall.engine import RecallEngine
from jiyi.recall.request import Request
from jiyi.sync import AgentMemory
from tests.agent.conftest import OpenMemory
from tests.support import present

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
    left_out: list[int] = []
    answer = RecallEngine.answer

    def counted(engine: RecallEngine, request: Request) -> list[MemoryEntry]:
        left_out.append(len(request.left_out))
        return answer(engine, request)

    monkeypatch.setattr(RecallEngine, "answer", counted)
    turns = [memory.agent("s", user=user).begin("Where do I live?") for user in ("alice", "bob", "bob", "public")]
    assert memory.recall("Where do I live?", 5, scope="alice") == []
    # Its own open question, and the public one, which it sees.
    assert left_out[-1] == 2
    assert len(turns) == 4


def test_the_question_of_a_turn_does_not_lower_what_its_prompt_finds(memory: AgentMemory) -> None:
    texts = (
        "原来那套租出去了，一个月2900",
        "新单位远，打算买个二手车",
        "许诺在学小提琴",
        "周末去了南京",
        "搬完了，累死",
    )
    for number, text in enumerate(texts):
        memory.chat(f"c{number}").put({"role": "user", "content": text})
    question = "我名下那套空房子每个月能收多少"
    best = memory.recall(question, 1)[0]
    turn = memory.agent("s").begin(question)
    [shown] = [shown for shown in turn.memories if "2900" in shown.content]
    assert present(shown.score) >= 0.9 * present(best.relevance_score)


def test_a_message_is_shown_whole_where_a_fact_of_it_says_less(memory: AgentMemory) -> None:
    said = "Rory isn't allergic to kiwi after all, the allergist tested him. It's cashews!"
    memory.agent("before").begin(said).finish("Okay.")
    memory.run_jobs()
    prompt = memory.agent("s").begin("What is Rory allergic to, is it kiwi?").messages[0].text
    assert "It's cashews!" in prompt


@pytest.mark.parametrize(
    ("said", "question"),
    [
        ("My sister Mia is a vet in Bonn. She hates fireworks.", "What does Mia do?"),
        ("My brother Paul has a boat. He keeps it in Hamburg.", "Where is Paul's boat?"),
        ("我妹妹小雨是兽医。她怕打雷。", "我妹妹小雨怕什么？她是兽医吗？"),
    ],
)
def test_a_message_all_of_whose_facts_are_shown_is_not_said_again(
    memory: AgentMemory, said: str, question: str
) -> None:
    memory.longterm.extract_and_store_memories_for_round("main", "before", said, "OK.")
    prompt = memory.agent("s").begin(question).messages[0].text
    for sentence in said.replace("。", ".").rstrip(".").split("."):
        assert prompt.count(sentence.strip().rstrip("。")) == 1


def test_a_message_that_says_more_than_its_shown_facts_is_shown(memory: AgentMemory) -> None:
    said = "My sister Mia is a vet in Bonn. Guess what happened at work, a parrot bit her!"
    memory.longterm.extract_and_store_memories_for_round("main", "before", said, "OK.")
    assert "a parrot bit her" in memory.agent("s").begin("What does my sister Mia do?").messages[0].text


@pytest.mark.parametrize(
    ("asked", "fact", "question"),
    [
        (
            "Please remember: the boat licence expires on 3 March.",
            "the boat licence expires",
            "When does the boat licence expire?",
        ),
        ("请记住：船证三月三日到期。", "船证三月三日到期", "船证什么时候到期？"),
    ],
)
def test_a_message_that_asks_to_remember_what_a_note_says_is_not_said_again(
    open_memory: OpenMemory, workspace: Path, asked: str, fact: str, question: str
) -> None:
    memory = open_memory(workspace=workspace)
    memory.notes.init_workspace()
    memory.chat("before").put({"role": "user", "content": asked})
    assert memory.agent("s").begin(question).messages[0].text.count(fact) == 1
    memory.notes.memory_append(asked.partition(":")[2].strip() or asked.partition("：")[2])
    assert memory.agent("t").begin(question).messages[0].text.count(fact) == 1


def test_what_is_public_is_not_marked_as_said_by_the_user(memory: AgentMemory) -> None:
    said = "The office wifi is called BlueFish, and I own the router."
    memory.chat("desk", scope="public").put({"role": "user", "content": said})
    memory.store("holiday", "Everyone gets Friday off in July", scope="public")
    for question, source in (
        ("What is the office wifi called?", "public, session desk"),
        ("办公室的 wifi 叫 BlueFish 吗？", "公共资料，会话 desk"),
    ):
        turn = memory.agent(f"about {source}", user="ann").begin(question)
        assert f" · {source}] " in turn.messages[0].text
    assert _source(present(memory.get("holiday", scope="ann")), "ann") == "public · holiday"
    own = memory.agent("own", user="public").begin("What is the office wifi called?").messages[0].text
    assert " · user, session desk] " in own


def test_a_reply_does_not_stand_in_the_place_of_what_the_user_said(memory: AgentMemory) -> None:
    memory.agent("before").begin("I'm allergic to cashews.").finish("Cashews are nuts, so avoid nuts.")
    memory.run_jobs()
    [fact] = memory.list(memory_types="fact")
    said, reply = sorted(memory.list(memory_types="message"), key=lambda entry: entry.position or 0)
    assert {said.id, reply.id} == set(fact.source.references)
    assert _whole_messages([fact, said, reply]) == [said, reply]
    assert _whole_messages([fact, reply]) == [fact, reply]


def test_a_fact_of_an_imported_conversation_is_what_the_user_said(memory: AgentMemory) -> None:
    memory.agent("before").begin("I'm allergic to cashews.").finish("Cashews are nuts, so avoid nuts.")
    memory.run_jobs()
    fact, said, reply = (
        replace(entry, source=replace(entry.source, trust="import", role=entry.role))
        for entry in (
            *memory.list(memory_types="fact"),
            *sorted(memory.list(memory_types="message"), key=lambda entry: entry.position or 0),
        )
    )
    assert _whole_messages([fact, reply, said]) == [said, reply]
    assert _source(fact, "main") == "user, imported, session before"


@pytest.mark.parametrize(
    ("said", "then", "question"),
    [
        ("The dentist is on the 8th at half past nine", "Scrap that, the 13th at three", "When is the dentist?"),
        ("许诺在学小提琴，周三上课", "算了不逼她了，琴停了，改学画画", "许诺在学什么？"),
    ],
)
def test_what_was_said_next_is_shown_where_it_may_have_changed_it(
    memory: AgentMemory, said: str, then: str, question: str
) -> None:
    agent = memory.agent("before")
    for text in (said, then, "The weather is lovely"):
        agent.begin(text).finish("Okay.")
    turn = memory.agent("s").begin(question)
    shown = [memory.content for memory in turn.memories]
    assert then in shown
    assert "The weather is lovely" not in shown


def test_what_was_said_next_and_forgotten_is_not_shown(memory: AgentMemory) -> None:
    agent = memory.agent("before")
    for text in ("The dentist is on the 8th at half past nine", "Scrap that, the 13th at three"):
        agent.begin(text).finish("Okay.")
    entry = next(entry for entry in memory.list(memory_types="message") if "Scrap" in entry.content)
    memory.forget(id=entry.id)
    assert "Scrap that" not in memory.agent("s").begin("When is the dentist?").messages[0].text


def _marked(memory: AgentMemory, said: list[str], question: str) -> dict[str, bool]:
    """The lines of recalled passages, and whether each has a mark."""
    for number, text in enumerate(said):
        memory.agent(f"before {number}").begin(text).finish("好的。")
        memory.run_jobs()
    lines = present(memory.agent("s").begin(question).messages[0].text).partition("recalled-")[2].splitlines()
    marks = ("可能已过时", "后来已更正", "may be outdated", "corrected later")
    return {line: any(mark in line for mark in marks) for line in lines if line.startswith("- ")}


@pytest.mark.parametrize(
    ("said", "question", "older"),
    [
        (
            [
                "我妈血压高，她下个月要来深圳住一阵子。",
                "忘了说，妈妈到了，住我们书房。",
                "我妈回老家了，她说住不惯高楼。",
            ],
            "我妈现在住哪？",
            "住我们书房",
        ),
        (
            ["五一想带许诺去南京，红山动物园", "五一志强要出车，南京挪到5月16号那个周末吧"],
            "南京定在什么时候去",
            "红山动物园",
        ),
    ],
)
def test_a_passage_that_something_later_has_changed_is_marked(
    memory: AgentMemory, said: list[str], question: str, older: str
) -> None:
    lines = _marked(memory, said, question)
    assert all(mark for line, mark in lines.items() if f"] {older}" in line or older in line.partition("（")[0])


@pytest.mark.parametrize(
    ("older", "newer", "marked"),
    [
        ("周三在湖东小学上书法课", "湖东小学的书法课改到周五了", True),
        (
            "Running a sock class on Tuesday evenings at the shop",
            "The sock class at the shop has moved to Wednesdays",
            True,
        ),
        ("Dennis has his date for the new knee", "Dennis has moved his trains", False),
        ("Dennis plays the cello in the town orchestra", "The town orchestra plays cello pieces on Sunday", False),
        ("I've got one girl working for me, Tilly", "Sold the old Berlingo to a lad from Todmorden", False),
    ],
)
def test_only_what_tells_of_a_change_in_the_same_thing_marks_an_older_message(
    memory: AgentMemory, *, older: str, newer: str, marked: bool
) -> None:
    for number, text in enumerate((older, newer)):
        memory.chat(f"s{number}").put({"role": "user", "content": text})
    [first] = [hit for hit in memory.list(memory_types="message") if hit.content == older]
    [second] = [hit for hit in memory.list(memory_types="message") if hit.content == newer]
    assert (_tells_change(second) and _may_change(second, first, 2)) == marked
    assert not _may_change(first, second, 2)

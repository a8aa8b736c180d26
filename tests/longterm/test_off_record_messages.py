"""What somebody asks not to keep is in their conversation, and in no answer, prompt, fact or candidate."""

import json
from collections.abc import Callable

import pytest

from jiyi.sync import AgentMemory
from jiyi.testing.models import ModelCall, ScriptedModel

SECRETS = [
    ("这个不要记：我偷偷存了三万块私房钱。", "好的，私房钱的事我不会记。", "我藏了多少私房钱？", "私房钱"),
    (
        "My savings are 31,415 euros, but please don't store that.",
        "Your 31,415 euros stay private.",
        "savings",
        "31,415",
    ),
]


def prompt_of(memory: AgentMemory, question: str) -> str:
    blocks = memory.agent("next", user="alice").begin(question).messages[0]
    return blocks.text


@pytest.mark.parametrize(("said", "reply", "question", "secret"), SECRETS, ids=["zh", "en"])
def test_it_is_quoted_in_no_later_session(room: AgentMemory, said: str, reply: str, question: str, secret: str) -> None:
    room.agent("talk", user="alice").begin(said).finish(reply)
    room.run_jobs()
    assert secret not in prompt_of(room, question)
    assert not [hit for hit in room.recall(question, scope="alice") if secret in hit.content]
    assert [message.text for message in room.load_conversation_history("talk", scope="alice")] == [said, reply]


@pytest.mark.parametrize("extracted", [True, False], ids=["after it was learned", "before it is learned"])
@pytest.mark.parametrize(
    ("said", "request_", "question", "secret"),
    [
        ("我对青霉素过敏。", "刚才说的不要记。", "我对什么过敏？", "青霉素"),
        ("I am allergic to penicillin.", "Actually, please don't store that.", "allergic", "penicillin"),
    ],
    ids=["zh", "en"],
)
def test_a_request_alone_means_what_was_said_before(
    room: AgentMemory, said: str, request_: str, question: str, secret: str, extracted: bool
) -> None:
    agent = room.agent("talk", user="alice")
    agent.begin("I live in Hangzhou.").finish("A fine place.")
    agent.begin(said).finish(f"OK: {secret}.")
    if extracted:
        room.run_jobs()
        assert [fact for fact in room.list(scope="alice", memory_types="fact") if secret in fact.content]
    agent.begin(request_).finish(f"OK, nothing about {secret} is kept.")
    room.run_jobs()
    assert [fact.content for fact in room.list(scope="alice", memory_types="fact")] == ["I live in Hangzhou."]
    assert secret not in prompt_of(room, question)
    assert not [hit for hit in room.recall(f"{question} {secret}", scope="alice") if secret in hit.content]
    # Saved as a whole or imported elsewhere it is the same.
    history = room.load_conversation_history("talk", scope="alice")
    room.save_conversation_history("copy", history, scope="alice")
    assert not [hit for hit in room.recall(f"{question} {secret}", scope="alice") if secret in hit.content]


def test_others_of_a_group_are_not_meant(room: AgentMemory) -> None:
    agent = room.agent("family", kind="group")
    agent.begin("I am allergic to bees.", name="anna").finish("OK.")
    agent.begin("I am allergic to nuts.", name="bob").finish("OK.")
    agent.begin("Don't store that.", name="anna").finish("OK.")
    room.run_jobs()
    assert [fact.content for fact in room.list(scope="group:family", memory_types="fact")] == ["I am allergic to nuts."]
    hits = room.recall("allergic bees nuts", scope="group:family", memory_types="message")
    texts = [hit.content for hit in hits if "allergic" in hit.content]
    assert texts == ["bob: I am allergic to nuts."]


def test_nothing_is_learned_of_it_where_messages_are_not_recalled(open_room: Callable[..., AgentMemory]) -> None:
    memory = open_room(recall_messages=False)
    agent = memory.agent("talk", user="alice")
    agent.begin("I am allergic to penicillin.").finish("OK.")
    agent.begin("Don't store that.").finish("OK.")
    memory.run_jobs()
    assert memory.list(scope="alice", memory_types="fact") == []


def test_a_model_that_looks_for_candidates_does_not_see_it(open_room: Callable[..., AgentMemory]) -> None:
    shown: list[str] = []

    def answer(call: ModelCall) -> str:
        shown.append(call.text)
        return json.dumps({"candidates": []})

    memory = open_room(llm=ScriptedModel(answer))
    chat = memory.chat("talk")
    chat.put({"role": "user", "content": "I like tea. My PIN is 998877, don't store that."})
    chat.put({"role": "assistant", "content": "998877 is safe with me."})
    chat.flush()
    assert "I like tea" in "".join(shown)
    assert "998877" not in "".join(shown)


@pytest.mark.parametrize("alone", [False, True], ids=["in the message", "in the next one"])
def test_a_model_cannot_keep_it_with_a_tool(room: AgentMemory, alone: bool) -> None:
    agent = room.agent("talk", user="alice")
    if alone:
        agent.begin("我偷偷存了三万块私房钱。").finish("OK.")
    turn = agent.begin("刚才说的不要记。" if alone else "这个不要记：我偷偷存了三万块私房钱。我喜欢绿茶。")
    arguments = {"content": "用户有三万块私房钱", "tags": ["私房钱"]}
    assert "nothing was stored" in turn.call({"id": "1", "name": "remember", "arguments": json.dumps(arguments)})
    assert "Remembered" in turn.call({"id": "2", "name": "remember", "arguments": '{"content": "用户喜欢绿茶"}'})
    turn.finish("好的。")
    assert not [entry for entry in room.list(scope="alice") if "私房钱" in entry.content]

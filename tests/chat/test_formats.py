"""Windows in the forms of OpenAI and Anthropic: the clients take them, and no server would refuse them."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jiyi.chat import ChatWindow
from jiyi.errors import InvalidInputError
from jiyi.model.message import Message
from jiyi.sync import AgentMemory
from jiyi.testing.model_server import ModelServer
from tests.chat.support import call, check_whole, result, said

PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}}
CONVERSATION: list[dict[str, Any]] = [
    {"role": "system", "content": "You are kind."},
    {"role": "user", "content": [{"type": "text", "text": "看"}, PICTURE], "name": "小 明", "timestamp": 1_700_000_000},
    {"role": "assistant", "content": None, "tool_calls": call("add", "c1", "c2")["tool_calls"], "reasoning": "hm"},
    result("c1", "3"),
    result("c2", "4"),
    {"role": "assistant", "content": "7"},
    {"role": "narrator", "content": "Night falls."},
]


def window(messages: list[dict[str, Any]]) -> ChatWindow:
    return ChatWindow([Message.from_dict(message) for message in messages])


def test_the_client_of_openai_sends_what_a_window_gives(memory: AgentMemory) -> None:
    chat = memory.chat("s", token_limit=900)
    chat.put_many(CONVERSATION)
    chat.put_many([said(number) for number in range(60)])
    shown = chat.get()
    assert shown.summary is not None
    with ModelServer() as server, openai.OpenAI(base_url=server.base_url, api_key="none") as client:
        server.reply("hello")
        answer = client.chat.completions.create(model="any", messages=shown.to_openai())  # type: ignore[arg-type]
        assert answer.choices[0].message.content == "hello"
        assert server.requests[-1]["messages"] == shown.to_openai()
    assert shown.to_openai()[-1] == said(59)


def test_openai_gets_only_fields_that_it_knows() -> None:
    system, user, calls, first, second, answer, story = window(CONVERSATION).to_openai()
    assert system == {"role": "system", "content": "You are kind."}
    assert user == {"role": "user", "content": [{"type": "text", "text": "看"}, PICTURE], "name": "小_明"}
    assert set(calls) == {"role", "content", "tool_calls"}
    assert calls["content"] is None
    assert first == {"role": "tool", "tool_call_id": "c1", "content": "3"}
    assert second["tool_call_id"] == "c2"
    assert answer == {"role": "assistant", "content": "7"}
    assert story == {"role": "user", "content": "Night falls.", "name": "narrator"}


def test_anthropic_gets_prompts_apart_and_results_as_blocks_of_the_user() -> None:
    arguments = window(CONVERSATION).to_anthropic()
    assert arguments["system"] == "You are kind."
    user, calls, results, answer, story = arguments["messages"]
    assert [block["type"] for block in user["content"]] == ["text", "image"]
    assert user["content"][1]["source"] == {"type": "base64", "media_type": "image/png", "data": "QUJD"}
    assert calls["content"][0] == {"type": "tool_use", "id": "c1", "name": "add", "input": {}}
    assert results["role"] == "user"
    assert [block["tool_use_id"] for block in results["content"]] == ["c1", "c2"]
    assert answer["content"] == [{"type": "text", "text": "7"}]
    assert story["content"] == [{"type": "text", "text": "narrator: Night falls."}]


def test_a_message_in_one_form_can_be_sent_in_the_other() -> None:
    there = window(CONVERSATION).to_anthropic()["messages"]
    back = window(there).to_openai()
    assert [message["role"] for message in back] == ["user", "assistant", "tool", "tool", "assistant", "user"]
    assert back[1]["tool_calls"] == window(CONVERSATION).to_openai()[2]["tool_calls"]
    assert back[0]["content"][1] == PICTURE


def test_a_call_without_a_result_and_a_result_without_a_call_are_made_whole() -> None:
    broken = [result("gone", "9"), call("add", "c1"), {"role": "user", "content": "never mind"}, call("add", "c2")]
    assert [message["role"] for message in window(broken).to_openai()] == [
        "user",
        "assistant",
        "tool",
        "user",
        "assistant",
    ]
    first = window(broken[1:]).to_anthropic()["messages"][0]
    assert first["role"] == "user"


def test_items_without_a_role_are_kept_and_sent(memory: AgentMemory) -> None:
    items: list[dict[str, Any]] = [
        {"role": "user", "content": "What is 1 + 2?"},
        {"type": "reasoning", "id": "r1", "summary": []},
        {"type": "function_call", "call_id": "c1", "name": "add", "arguments": '{"a": 1}', "id": "f1"},
        {"type": "function_call_output", "call_id": "c1", "output": "3"},
        {"role": "assistant", "content": "3"},
    ]
    chat = memory.chat("s", token_limit=300)
    chat.put_many(items)
    assert [message.to_dict() for message in chat.get_all()] == items
    sent = chat.get().to_openai()
    assert [message["role"] for message in sent] == ["user", "assistant", "tool", "assistant"]
    assert sent[1]["tool_calls"][0]["function"] == {"name": "add", "arguments": '{"a": 1}'}
    assert sent[2] == {"role": "tool", "tool_call_id": "c1", "content": "3"}
    memory.save_conversation_history("t", items)
    assert [message.to_dict() for message in memory.load_conversation_history("t")] == items
    for number in range(60):
        chat.put(said(number))
        check_whole(chat, chat.get())
    with pytest.raises(InvalidInputError, match="no role"):
        chat.put({"rol": "user", "content": "x"})


_texts = st.text(max_size=10)
_parts = st.one_of(
    st.builds(lambda text: {"type": "text", "text": text}, _texts),
    st.builds(lambda i: {"type": "tool_use", "id": i, "name": "f", "input": {}}, st.sampled_from("ab")),
    st.builds(lambda i: {"type": "tool_result", "tool_use_id": i, "content": "r"}, st.sampled_from("ab")),
)
_messages = st.builds(
    lambda role, content, calls, answers: Message(role, content, tool_calls=calls, tool_call_id=answers),
    st.sampled_from(["system", "user", "assistant", "tool", "function", "human", "narrator"]),
    st.one_of(st.none(), _texts, st.lists(_parts, max_size=3)),
    st.one_of(st.none(), st.just([{"id": "a"}]), st.just([{"id": "a"}, {"tool_call_id": "b", "tool_name": "g"}])),
    st.one_of(st.none(), st.sampled_from("ab")),
)


@given(st.lists(_messages, max_size=8))
def test_every_result_follows_its_call_whatever_was_said(messages: list[Message]) -> None:
    sent = ChatWindow(messages).to_openai()
    waiting: set[str] = set()
    for message in sent:
        if message["role"] == "tool":
            assert message["tool_call_id"] in waiting
            waiting.remove(message["tool_call_id"])
        else:
            assert not waiting
            waiting = {each["id"] for each in message.get("tool_calls", ())}
    said_there = ChatWindow(messages).to_anthropic()["messages"]
    assert all(one["role"] != two["role"] for one, two in pairwise(said_there))
    assert not said_there or said_there[0]["role"] == "user"
    assert all(block.get("text", "x").strip() for message in said_there for block in message["content"])
    assert json.dumps([sent, said_there])

"""The same turn from several sides: requests that come twice, replies that come twice, calls that never end."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from jiyi import AgentMemory as AsyncMemory
from jiyi.errors import InvalidInputError, RequestReusedError
from jiyi.sync import AgentMemory
from jiyi.tools import Tool
from tests.agent.conftest import Talk
from tests.support import QUICK

OpenMemory = Callable[..., AgentMemory]


def stored(memory: AgentMemory, session: str = "s") -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in memory.chat(session).get_all()]


def left_behind(memory: AgentMemory, text: str) -> None:
    """A turn whose process has ended an hour ago."""
    question = {"role": "user", "content": text, "turn": "t-1", "request_id": "m-1"}
    memory.chat("s").put(question, created_at=datetime.now(UTC) - timedelta(hours=1))


def test_a_message_that_is_delivered_twice_at_the_same_time_is_stored_once(tmp_path: Path) -> None:
    async def run() -> tuple[set[str], list[str]]:
        async with AsyncMemory.open(tmp_path, **QUICK) as memory:
            turns = await asyncio.gather(*(memory.agent("s").begin("hello", request_id="m-1") for _ in range(4)))
            return {turn.id for turn in turns}, [message.text for message in await memory.chat("s").get_all()]

    ids, texts = asyncio.run(run())
    assert len(ids) == 1
    assert texts == ["hello"]


def test_a_request_id_that_was_used_for_another_message_is_refused_and_nothing_is_lost(memory: AgentMemory) -> None:
    memory.agent("s").begin("My name is Anna", request_id="m-1").finish("hi")
    for agent in (memory.agent("s"), memory.agent("s")):
        with pytest.raises(RequestReusedError, match="m-1"):
            agent.begin("I moved to Leeds", request_id="m-1")
    memory.agent("s").reset()
    with pytest.raises(RequestReusedError, match="m-1"):
        memory.agent("s").begin("I moved to Leeds", request_id="m-1")
    assert memory.agent("s").begin("My name is Anna", request_id="m-1").reply == "hi"
    assert memory.agent("other").begin("I moved to Leeds", request_id="m-1").reply is None


@pytest.mark.parametrize("odd", ["a\0b", "\ud800", "消息 1", "x" * 200])
def test_any_text_may_name_a_request(memory: AgentMemory, odd: str) -> None:
    assert memory.agent("s").begin("hello", request_id=odd).id == memory.agent("s").begin("hello", request_id=odd).id
    assert stored(memory) == [("user", "hello")]


def test_two_memories_of_one_store_take_a_request_once(open_memory: OpenMemory) -> None:
    one, other = open_memory(), open_memory()
    first, second = one.agent("s").begin("hello", request_id="m-1"), other.agent("s").begin("hello", request_id="m-1")
    assert first.id == second.id
    first.finish("hi")
    with pytest.raises(InvalidInputError, match="this turn is finished"):
        second.finish("hi there")
    assert second.reply == "hi"
    assert stored(other) == [("user", "hello"), ("assistant", "hi")]


def test_a_request_is_known_after_the_conversation_was_reset_in_its_middle(memory: AgentMemory) -> None:
    turn = memory.agent("s").begin("hello", request_id="m-1")
    memory.agent("s").reset()
    turn.finish("hi")
    assert memory.agent("s").begin("hello", request_id="m-1").reply == "hi"
    assert stored(memory) == [("assistant", "hi")]


def test_a_request_whose_session_was_forgotten_is_a_new_one(memory: AgentMemory) -> None:
    memory.agent("s").begin("hello", request_id="m-1").finish("hi")
    memory.forget_session("s")
    again = memory.agent("s").begin("hello", request_id="m-1")
    assert again.reply is None
    assert stored(memory) == [("user", "hello")]


def test_a_reply_that_is_finished_twice_at_the_same_time_is_stored_once(tmp_path: Path) -> None:
    async def run() -> tuple[tuple[Any, ...], list[str]]:
        async with AsyncMemory.open(tmp_path, **QUICK) as memory:
            turn = await memory.agent("s").begin("hello")
            done = await asyncio.gather(turn.finish("hi"), turn.finish("hi"), return_exceptions=True)
            return done, [message.text for message in await memory.chat("s").get_all()]

    done, texts = asyncio.run(run())
    assert sorted(type(each).__name__ for each in done) == ["FinishedTurn", "InvalidInputError"]
    assert texts == ["hello", "hi"]


def test_a_request_that_comes_again_long_after_a_crash_is_answered(open_memory: OpenMemory, talk: Talk) -> None:
    memory = open_memory(llm=talk.model())
    left_behind(memory, "What is my name?")
    talk.answers = ["You are Anna."]
    for _ in range(2):
        pieces = memory.agent("s").reply("What is my name?", request_id="m-1")
        assert "".join(pieces) == "You are Anna."
    assert stored(memory) == [("user", "What is my name?"), ("assistant", "You are Anna.")]


def test_a_request_that_others_took_for_abandoned_is_answered_when_it_comes_again(
    open_memory: OpenMemory, talk: Talk
) -> None:
    memory = open_memory(llm=talk.model())
    left_behind(memory, "What is my name?")
    talk.answers = ["Hello.", "You are Anna."]
    assert "".join(memory.agent("s").reply("hello")) == "Hello."
    assert memory.agent("s").unfinished() == []
    for _ in range(2):
        assert "".join(memory.agent("s").reply("What is my name?", request_id="m-1")) == "You are Anna."
    assert len(talk.asked) == 2


def test_a_turn_is_resumed_also_long_after_its_process_has_ended(open_memory: OpenMemory) -> None:
    one, other = open_memory(), open_memory()
    left_behind(one, "What is my name?")
    opened, resumed = one.agent("s").open_turn("t-1"), other.agent("s").resume()
    assert opened is not None
    assert opened.reply is None
    assert resumed is not None
    resumed.finish("You are Anna.")
    assert stored(one) == [("user", "What is my name?"), ("assistant", "You are Anna.")]


def answered_calls(messages: list[dict[str, Any]]) -> tuple[list[str], list[str]]:
    """The ids of the calls in a prompt, and those of the results."""
    asked = [call["id"] for message in messages for call in message.get("tool_calls", ())]
    return asked, [message["tool_call_id"] for message in messages if message["role"] == "tool"]


def test_a_call_that_is_cancelled_has_a_result_for_the_model(tmp_path: Path) -> None:
    async def run() -> list[dict[str, Any]]:
        async def wait(_given: dict[str, Any]) -> str:
            began.set()
            await asyncio.Event().wait()
            return ""

        began = asyncio.Event()
        async with AsyncMemory.open(tmp_path, **QUICK) as memory:
            turn = await memory.agent("s", own_tools=[(Tool("wait", "Waits.", {}, ()), wait)]).begin("hello")
            calls = [{"id": "a", "name": "list"}, {"id": "b", "name": "wait"}, {"id": "c", "name": "list"}]
            task = asyncio.create_task(turn.call_all(calls))
            await began.wait()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await turn.call({"id": "d", "name": "list"})
            return turn.to_openai()

    messages = asyncio.run(run())
    assert answered_calls(messages) == (["a", "b", "c", "d"], ["a", "b", "c", "d"])
    assert [("interrupted" in message["content"]) for message in messages if message["role"] == "tool"] == [
        *(False, True, True, False),
    ]


def test_a_tool_of_the_program_that_raises_leaves_no_call_without_a_result(memory: AgentMemory) -> None:
    def broken(_given: dict[str, Any]) -> str:
        raise ZeroDivisionError("a bug of the program")

    turn = memory.agent("s", own_tools=[(Tool("broken", "Fails.", {}, ()), broken)]).begin("hello")
    with pytest.raises(ZeroDivisionError, match="a bug of the program"):
        turn.call({"id": "a", "name": "broken"})
    turn.call({"id": "b", "name": "list"})
    assert answered_calls(turn.to_openai()) == (["a", "b"], ["a", "b"])

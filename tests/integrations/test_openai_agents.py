"""A real Runner of OpenAI's Agents SDK with a fake model: its sessions and tools on a memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage
from agents.items import TResponseInputItem
from agents.memory import Session, SessionSettings, SQLiteSession
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

import jiyi
from jiyi.errors import InvalidInputError
from jiyi.integrations.openai_agents import JiyiSession, memory_tools
from jiyi.sync import AgentMemory
from tests.support import QUICK

ITEMS: list[Any] = [
    {"role": "user", "content": "Where is the ferry?"},
    {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "look"}]},
    {"type": "function_call", "call_id": "c1", "name": "find", "arguments": '{"q": "ferry"}', "id": "fc_1"},
    {"type": "function_call_output", "call_id": "c1", "output": "at nine"},
    {
        "type": "message",
        "role": "assistant",
        "id": "msg_1",
        "status": "completed",
        "content": [{"type": "output_text", "text": "At nine. 九点。", "annotations": []}],
    },
    {"role": "user", "content": [{"type": "input_text", "text": "谢谢"}, {"type": "input_image", "image_url": "x"}]},
    {"type": "item_reference", "id": "ref"},
    {"role": "user"},
    {"role": "user", "content": "x", "name": None},
    {"type": "computer_call_output", "call_id": "c", "output": {"type": "computer_screenshot", "image_url": "x"}},
]


class FakeModel(Model):
    """Answers with fixed outputs, and keeps what it was asked."""

    def __init__(self, *outputs: Any) -> None:
        self.outputs = list(outputs)
        self.inputs: list[Any] = []

    async def get_response(self, system_instructions: Any, input: Any, *args: Any, **kwargs: Any) -> ModelResponse:  # noqa: A002
        self.inputs.append(input)
        return ModelResponse(output=[self.outputs.pop(0)], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        raise NotImplementedError


def said(text: str) -> ResponseOutputMessage:
    part = ResponseOutputText(type="output_text", text=text, annotations=[])
    return ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[part])


def run(agent: Agent[Any], text: str, session: Session) -> str:
    done = asyncio.run(Runner.run(agent, text, session=session, run_config=RunConfig(tracing_disabled=True)))
    return str(done.final_output)


@pytest.fixture(params=["openai", "jiyi"])
def session(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """The SDK's own session first: what holds for ours must hold for it."""
    if request.param == "openai":
        made = SQLiteSession("s", tmp_path / "own.db")
        yield made
        made.close()
    else:
        yield JiyiSession("s", request.getfixturevalue("memory"))


def test_items_come_back_exactly_and_in_order(session: Any) -> None:
    async def use() -> None:
        await session.add_items([])
        await session.add_items(ITEMS[:4])
        await session.add_items(ITEMS[4:])
        assert await session.get_items() == ITEMS
        assert await session.get_items(limit=3) == ITEMS[-3:]
        assert await session.get_items(limit=0) == []
        assert await session.get_items(limit=99) == ITEMS
        assert await session.pop_item() == ITEMS[-1]
        assert await session.get_items() == ITEMS[:-1]
        await session.clear_session()
        assert await session.get_items() == []
        assert await session.pop_item() is None

    asyncio.run(use())


def test_it_is_a_session_and_its_settings_limit_what_is_given(memory: AgentMemory) -> None:
    session = JiyiSession("s", memory, session_settings=SessionSettings(limit=2))
    assert isinstance(session, Session)
    asyncio.run(session.add_items(ITEMS))
    assert asyncio.run(session.get_items()) == ITEMS[-2:]
    assert asyncio.run(session.get_items(limit=4)) == ITEMS[-4:]


def test_a_run_continues_the_conversation_and_another_session_does_not_see_it(memory: AgentMemory) -> None:
    model = FakeModel(said("I will"), said("4711"), said("I do not know"))
    agent = Agent(name="a", model=model)
    assert run(agent, "My locker is 4711", JiyiSession("one", memory)) == "I will"
    assert run(agent, "Which locker?", JiyiSession("one", memory)) == "4711"
    assert [item.get("content") for item in model.inputs[1] if item.get("role") == "user"] == [
        "My locker is 4711",
        "Which locker?",
    ]
    run(agent, "Which locker?", JiyiSession("two", memory))
    assert len(model.inputs[2]) == 1
    assert "My locker is 4711" in {hit.content for hit in memory.recall("Which locker is mine?")}
    assert [message.text for message in memory.chat("one").get_all()] == [
        "My locker is 4711",
        "I will",
        "Which locker?",
        "4711",
    ]


def test_the_memory_may_be_asynchronous(tmp_path: Path) -> None:
    async def use() -> list[TResponseInputItem]:
        async with jiyi.AgentMemory.open(tmp_path / "data", **QUICK) as memory:
            agent = Agent(name="a", model=FakeModel(said("hello")), tools=list(memory_tools(memory)))
            session = JiyiSession("s", memory, scope="alice")
            await Runner.run(agent, "hi", session=session, run_config=RunConfig(tracing_disabled=True))
            return await session.get_items()

    assert len(asyncio.run(use())) == 2


def test_clearing_deletes_nothing_for_good(memory: AgentMemory) -> None:
    session = JiyiSession("s", memory)
    asyncio.run(session.add_items(ITEMS[:1]))
    asyncio.run(session.clear_session())
    assert [message.content for message in memory.chat("s").get_all(epoch=1)] == ["Where is the ferry?"]


def test_the_model_remembers_and_recalls_through_the_tools(memory: AgentMemory) -> None:
    tools = memory_tools(memory, scope="alice")
    assert [tool.name for tool in tools] == list(memory.tools(scope="alice").names)
    schema = next(tool.params_json_schema for tool in tools if tool.name == "remember")
    assert schema["required"] == list(schema["properties"])

    def call(name: str, arguments: str) -> ResponseFunctionToolCall:
        return ResponseFunctionToolCall(
            type="function_call", call_id=f"{name}{arguments}", name=name, arguments=arguments
        )

    model = FakeModel(
        call("remember", "{}"),
        call("remember", '{"content": "Paula is allergic to penicillin", "tags": null}'),
        call("recall", '{"query": "What is Paula allergic to?"}'),
        said("penicillin"),
    )
    agent: Agent[Any] = Agent(name="a", model=model, tools=list(tools))
    assert run(agent, "remember it", JiyiSession("s", memory, scope="alice")) == "penicillin"
    outputs = [item["output"] for item in model.inputs[-1] if item.get("type") == "function_call_output"]
    assert outputs[0] == "Error: remember needs content"
    assert "Paula is allergic to penicillin" in outputs[2]
    assert memory.count(scope="alice") == 1
    assert memory.count(scope="bob") == 0


def test_what_is_no_memory_or_no_item_is_refused(memory: AgentMemory) -> None:
    with pytest.raises(InvalidInputError, match="open AgentMemory"):
        JiyiSession("s", "data")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match=r"items\[0\]"):
        asyncio.run(JiyiSession("s", memory).add_items(["text"]))  # type: ignore[list-item]

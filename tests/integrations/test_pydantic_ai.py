"""Pydantic AI agents with a fake model: histories and tools on a memory."""

from __future__ import annotations

import asyncio
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from jiyi.integrations.pydantic_ai import JiyiMessageHistory, memory_tools
from jiyi.sync import AgentMemory


def scripted(*parts: Any) -> tuple[FunctionModel, list[list[ModelMessage]]]:
    """A model with fixed answers, and what it was given."""
    left, seen = list(parts), []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append(list(messages))
        return ModelResponse(parts=[left.pop(0)])

    return FunctionModel(answer), seen


def test_a_run_continues_the_conversation_with_every_part_of_it(memory: AgentMemory) -> None:
    model, seen = scripted(
        ToolCallPart("remember", {"content": "Paula is allergic to penicillin"}, tool_call_id="1"),
        TextPart("noted"),
        TextPart("penicillin"),
    )
    agent = Agent(model, tools=memory_tools(memory, scope="ann"))

    async def use() -> list[ModelMessage]:
        history = JiyiMessageHistory("s", memory, scope="ann")
        first = await agent.run("Paula is allergic to penicillin", message_history=await history.load())
        await history.add(first.new_messages())
        second = await agent.run("What is it?", message_history=await history.load())
        await history.add(second.new_messages())
        assert await history.load() == second.all_messages()
        await history.add([])
        return await JiyiMessageHistory("s", memory, scope="bob").load()

    assert asyncio.run(use()) == []
    assert len(seen[2]) == 5
    assert [message.text for message in memory.chat("s", scope="ann").get_all() if message.text] == [
        "Paula is allergic to penicillin",
        "noted",
        "What is it?",
        "penicillin",
    ]
    assert [entry.content for entry in memory.list(scope="ann")] == ["Paula is allergic to penicillin"]


def test_a_mistake_of_the_model_is_an_answer_to_it(memory: AgentMemory) -> None:
    model, seen = scripted(ToolCallPart("remember", {}, tool_call_id="1"), TextPart("sorry"))
    assert asyncio.run(Agent(model, tools=memory_tools(memory)).run("x")).output == "sorry"
    returned = [part for message in seen[1] for part in message.parts if isinstance(part, ToolReturnPart)]
    assert returned[0].content == "Error: remember needs content"


def test_what_was_said_elsewhere_is_read_and_clearing_begins_anew(memory: AgentMemory) -> None:
    memory.chat("s").put_many([{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}])
    history = JiyiMessageHistory("s", memory)
    first, second = asyncio.run(history.load())
    assert (first.parts[0].content, second.parts[0].content) == ("hello", "hi")  # type: ignore[union-attr]
    asyncio.run(history.clear())
    assert asyncio.run(history.load()) == []

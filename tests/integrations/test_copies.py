"""Every object of an integration can be copied; pickling works or says what to do instead."""

from __future__ import annotations

import asyncio
import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from llama_index.core.base.llms.types import ChatMessage

from jiyi.compat.mem0 import AsyncMemory, Memory
from jiyi.integrations.ag2 import JiyiKnowledgeStore
from jiyi.integrations.anthropic import AsyncJiyiMemoryTool, JiyiMemoryTool
from jiyi.integrations.langchain import JiyiChatMessageHistory, JiyiRetriever
from jiyi.integrations.langgraph import JiyiStore
from jiyi.integrations.llama_index import JiyiChatStore, JiyiMemoryBlock
from jiyi.integrations.openai_agents import JiyiSession, memory_tools
from jiyi.integrations.pydantic_ai import JiyiMessageHistory
from jiyi.integrations.pydantic_ai import memory_tools as pydantic_tools
from jiyi.sync import AgentMemory


def use_langgraph(store: JiyiStore) -> None:
    store.put(("a",), "k", {"text": "ferry"})
    store.close()


def use_anthropic(tool: JiyiMemoryTool) -> None:
    tool.call({"command": "create", "path": "/memories/a.md", "file_text": "ferry"})


def use_anthropic_async(tool: AsyncJiyiMemoryTool) -> None:
    asyncio.run(tool.call({"command": "create", "path": "/memories/a.md", "file_text": "ferry"}))


def use_session(session: JiyiSession) -> None:
    asyncio.run(session.add_items([{"role": "user", "content": "ferry"}]))


def use_retriever(retriever: JiyiRetriever) -> None:
    retriever.memory.store("k", "ferry")
    assert [document.page_content for document in retriever.invoke("ferry")] == ["ferry"]


def use_chat_store(store: JiyiChatStore) -> None:
    store.add_message("a", ChatMessage("ferry", role="user"))
    store.close()


OBJECTS: dict[str, tuple[Callable[[AgentMemory], Any], Callable[[Any], Any]]] = {
    "langgraph store": (JiyiStore, use_langgraph),
    "openai session": (lambda memory: JiyiSession("s", memory), use_session),
    "anthropic tool": (JiyiMemoryTool, use_anthropic),
    "anthropic tool with async": (AsyncJiyiMemoryTool, use_anthropic_async),
    "langchain history": (
        lambda memory: JiyiChatMessageHistory("s", memory),
        lambda history: history.add_messages([HumanMessage("ferry")]),
    ),
    "langchain retriever": (lambda memory: JiyiRetriever(memory=memory), use_retriever),
    "pydantic history": (lambda memory: JiyiMessageHistory("s", memory), lambda history: asyncio.run(history.load())),
    "llama index block": (
        lambda memory: JiyiMemoryBlock(memory=memory),
        lambda block: asyncio.run(block._aput([ChatMessage("ferry", role="user")])),
    ),
    "llama index store": (lambda memory: JiyiChatStore(memory=memory), use_chat_store),
    "ag2 store": (JiyiKnowledgeStore, lambda store: asyncio.run(store.write("/a", "ferry"))),
    "mem0 with async": (
        AsyncMemory,
        lambda memory: asyncio.run(memory.add("ferry", user_id="main", infer=False)),
    ),
    "mem0": (Memory, lambda memory: memory.add("ferry", user_id="main", infer=False)),
}
"""How each is made, and how it is used."""
KEEPS_NOTHING = {"pydantic history"}


@pytest.mark.parametrize("name", OBJECTS)
@pytest.mark.parametrize("copier", [copy.copy, copy.deepcopy])
def test_a_copy_works_on_the_same_open_memory_and_leaves_it_open(memory: AgentMemory, name: str, copier: Any) -> None:
    make, use = OBJECTS[name]
    use(copier(make(memory)))
    found = {hit.content for hit in memory.recall("ferry")}
    assert name in KEEPS_NOTHING or any("ferry" in content for content in found)


@pytest.mark.parametrize("name", OBJECTS)
def test_pickling_an_object_on_an_open_memory_says_what_to_do(memory: AgentMemory, name: str) -> None:
    make, _ = OBJECTS[name]
    with pytest.raises(Exception, match=r"by its path|was made with an open memory") as told:
        pickle.loads(pickle.dumps(make(memory)))
    assert isinstance(told.value, TypeError | ValueError)


def test_tools_are_copied_too(memory: AgentMemory) -> None:
    for tools in (memory_tools(memory), pydantic_tools(memory)):
        assert [tool.name for tool in copy.deepcopy(tools)] == [tool.name for tool in tools]


def test_a_copy_of_what_opened_a_memory_does_not_close_it(tmp_path: Path) -> None:
    for number, make in enumerate((JiyiStore, JiyiChatStore, Memory)):
        original: Any = make(tmp_path / str(number))
        copy.deepcopy(original).close()
        copy.copy(original).close()
        inside: AgentMemory = original.memory
        inside.store("k", "still open")
        original.close()

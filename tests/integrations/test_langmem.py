"""The tools of LangMem on JiyiStore: alone, without blocking, and inside a graph."""

from __future__ import annotations

import asyncio
import json
import re
import warnings
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from jiyi.integrations.langgraph import JiyiStore
from jiyi.sync import AgentMemory

with warnings.catch_warnings():
    # It imports names of LangGraph from where they used to be.
    warnings.simplefilter("ignore", DeprecationWarning)
    from langmem import create_manage_memory_tool, create_search_memory_tool

NAMESPACE = ("memories", "{user_id}")


def of_user(name: str) -> RunnableConfig:
    return {"configurable": {"user_id": name}}


@pytest.fixture(params=["langgraph", "jiyi"])
def store(request: pytest.FixtureRequest) -> BaseStore:
    return InMemoryStore() if request.param == "langgraph" else JiyiStore(request.getfixturevalue("memory"))


def found(answer: str) -> list[str]:
    return [item["value"]["content"] for item in json.loads(answer)]


def test_memories_are_made_changed_and_deleted_by_the_tool(store: BaseStore) -> None:
    manage = create_manage_memory_tool(NAMESPACE, store=store)
    search = create_search_memory_tool(NAMESPACE, store=store)
    ann, bob = of_user("ann"), of_user("bob")
    said = manage.invoke({"content": "Paula is allergic to penicillin"}, config=ann)
    (identity,) = re.findall(r"created memory (\S+)", said)
    assert found(search.invoke({"query": "What is Paula allergic to?"}, config=ann)) == [
        "Paula is allergic to penicillin"
    ]
    assert found(search.invoke({"query": "Paula"}, config=bob)) == []
    manage.invoke({"action": "update", "id": identity, "content": "Paula is allergic to peanuts"}, config=ann)
    assert found(search.invoke({"query": "Paula allergic"}, config=ann)) == ["Paula is allergic to peanuts"]
    manage.invoke({"action": "delete", "id": identity}, config=ann)
    assert found(search.invoke({"query": "Paula"}, config=ann)) == []


def test_the_tools_work_without_blocking_and_find_chinese(store: BaseStore) -> None:
    async def use() -> list[str]:
        manage = create_manage_memory_tool(NAMESPACE, store=store)
        search = create_search_memory_tool(NAMESPACE, store=store)
        await manage.ainvoke({"content": "小宋对青霉素过敏"}, config=of_user("ann"))
        return found(await search.ainvoke({"query": "小宋对什么过敏？", "limit": 1}, config=of_user("ann")))

    assert asyncio.run(use()) == ["小宋对青霉素过敏"]


def test_only_what_fits_is_found_best_first_with_its_score(memory: AgentMemory) -> None:
    store = JiyiStore(memory)
    manage = create_manage_memory_tool(NAMESPACE, store=store)
    search = create_search_memory_tool(NAMESPACE, store=store)
    for text in ("The ferry leaves at nine", "The bank closes at five", "Paula likes the ferry"):
        manage.invoke({"content": text}, config=of_user("ann"))
    answer = json.loads(search.invoke({"query": "When does the ferry leave?"}, config=of_user("ann")))
    assert answer[0]["value"]["content"] == "The ferry leaves at nine"
    assert "The bank closes at five" not in [item["value"]["content"] for item in answer]
    assert all(0 < item["score"] <= 1 for item in answer)


def test_a_graph_hands_its_store_to_the_tools(memory: AgentMemory) -> None:
    store = JiyiStore(memory)
    tools = [create_manage_memory_tool(NAMESPACE), create_search_memory_tool(NAMESPACE)]
    builder = StateGraph(MessagesState)
    builder.add_node("tools", ToolNode(tools))
    builder.add_edge(START, "tools")
    builder.add_edge("tools", END)
    graph = builder.compile(store=store)

    def call(name: str, arguments: dict[str, Any]) -> str:
        asked = AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": "1"}])
        return str(graph.invoke({"messages": [asked]}, of_user("ann"))["messages"][-1].content)

    assert call("manage_memory", {"content": "The ferry leaves at nine"}).startswith("created memory ")
    assert found(call("search_memory", {"query": "ferry"})) == ["The ferry leaves at nine"]
    assert [hit.metadata["langgraph"]["value"]["content"] for hit in memory.recall("ferry")] == [
        "The ferry leaves at nine"
    ]

"""A real LangGraph graph whose agent remembers through JiyiStore; the model is a fake one with fixed answers."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import InjectedStore, ToolNode
from langgraph.store.base import BaseStore

from jiyi.integrations.langgraph import JiyiStore
from jiyi.sync import AgentMemory


@tool
def save_memory(text: str, store: Annotated[BaseStore, InjectedStore()], config: RunnableConfig) -> str:
    """Keep something that the user wants to be remembered."""
    user = config["configurable"]["user_id"]
    store.put((user, "memories"), str(len(text)), {"text": text})
    return f"saved: {text}"


def agent_graph(store: BaseStore, *answers: AIMessage) -> Any:
    """Model → tools → model, as a ReAct agent; before each call of the model memories are looked up."""
    model = GenericFakeChatModel(messages=iter(answers))
    seen: list[list[BaseMessage]] = []

    def call_model(state: MessagesState, config: RunnableConfig, *, store: BaseStore) -> dict[str, Any]:
        asked = [message for message in state["messages"] if isinstance(message, HumanMessage)][-1]
        found = store.search((config["configurable"]["user_id"], "memories"), query=str(asked.content), limit=3)
        known = SystemMessage("Known: " + "; ".join(item.value["text"] for item in found))
        said: list[BaseMessage] = [known, *state["messages"]]
        seen.append(said)
        return {"messages": [model.invoke(said)]}

    def next_step(state: MessagesState) -> str:
        last = state["messages"][-1]
        return "tools" if isinstance(last, AIMessage) and last.tool_calls else END

    builder = StateGraph(MessagesState)
    builder.add_node("model", call_model)
    builder.add_node("tools", ToolNode([save_memory]))
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", next_step)
    builder.add_edge("tools", "model")
    graph = builder.compile(store=store)
    return graph, seen


def call(text: str) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": "save_memory", "args": {"text": text}, "id": "1"}])


def test_an_agent_saves_a_memory_by_a_tool_and_is_given_it_in_another_conversation(memory: AgentMemory) -> None:
    store = JiyiStore(memory)
    alice: RunnableConfig = {"configurable": {"user_id": "alice"}}
    graph, _ = agent_graph(store, call("小宋对青霉素过敏"), AIMessage("记住了"))
    result = graph.invoke({"messages": [HumanMessage("请记住：小宋对青霉素过敏")]}, alice)
    assert [type(message) for message in result["messages"]] == [HumanMessage, AIMessage, ToolMessage, AIMessage]

    graph, seen = agent_graph(store, AIMessage("青霉素"), AIMessage("?"))
    graph.invoke({"messages": [HumanMessage("小宋对什么过敏？")]}, alice)
    assert seen[0][0].content == "Known: 小宋对青霉素过敏"
    graph.invoke({"messages": [HumanMessage("小宋对什么过敏？")]}, {"configurable": {"user_id": "bob"}})
    assert seen[1][0].content == "Known: "


def test_the_same_in_an_event_loop(memory: AgentMemory) -> None:
    store = JiyiStore(memory)
    graph, _ = agent_graph(store, call("My locker number is 4711"), AIMessage("saved"))
    config: RunnableConfig = {"configurable": {"user_id": "alice"}}
    asyncio.run(graph.ainvoke({"messages": [HumanMessage("My locker number is 4711")]}, config))
    assert [item.value["text"] for item in store.search(("alice",))] == ["My locker number is 4711"]

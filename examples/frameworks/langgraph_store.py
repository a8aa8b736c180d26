"""A LangGraph graph that remembers between conversations. The model is a fake one; put your own in its place.

Needs: pip install 'jiyi[langgraph]'
"""

import tempfile
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.store.base import BaseStore

from jiyi.integrations.langgraph import JiyiStore


def remember(state: MessagesState, config: RunnableConfig, *, store: BaseStore) -> dict[str, Any]:
    """Keep what the user says, under the namespace of the user."""
    said = state["messages"][-1]
    user = config["configurable"]["user_id"]
    store.put((user, "said"), str(said.id or len(said.content)), {"text": said.content})
    return {}


def answer(state: MessagesState, config: RunnableConfig, *, store: BaseStore) -> dict[str, Any]:
    """Where a model would be called: with what the store finds for the question."""
    question = str(state["messages"][-1].content)
    user = config["configurable"]["user_id"]
    found = [item.value["text"] for item in store.search((user,), query=question, limit=3)]
    known = [text for text in found if text != question]
    return {"messages": [AIMessage(f"I remember: {known[0]}" if known else "I will remember that.")]}


def main() -> None:
    """Two conversations of one user."""
    with tempfile.TemporaryDirectory() as folder, JiyiStore(folder) as store:
        builder = StateGraph(MessagesState)
        builder.add_node("answer", answer)
        builder.add_node("remember", remember)
        builder.add_edge(START, "remember")
        builder.add_edge("remember", "answer")
        builder.add_edge("answer", END)
        graph = builder.compile(store=store)
        config: RunnableConfig = {"configurable": {"user_id": "ann"}}
        for text in ("My sister Paula is allergic to penicillin", "What is Paula allergic to?"):
            result = graph.invoke({"messages": [HumanMessage(text)]}, config)
            print(result["messages"][-1].content)


if __name__ == "__main__":
    main()

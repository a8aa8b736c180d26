"""LangChain's message history and retriever on a memory."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain_core.chat_history import BaseChatMessageHistory, InMemoryChatMessageHistory
from langchain_core.messages import AIMessage, BaseMessage, ChatMessage, HumanMessage, SystemMessage, ToolMessage

from jiyi.errors import InvalidInputError
from jiyi.integrations.langchain import JiyiChatMessageHistory, JiyiRetriever
from jiyi.sync import AgentMemory

SAID: list[BaseMessage] = [
    SystemMessage("Be kind"),
    HumanMessage("小宋对青霉素过敏", name="ann", id="h1"),
    HumanMessage([{"type": "text", "text": "and this"}, {"type": "image_url", "image_url": {"url": "x"}}]),
    AIMessage("", tool_calls=[{"name": "find", "args": {"q": "x"}, "id": "1"}]),
    ToolMessage("found", tool_call_id="1", artifact={"rows": [1]}),
    AIMessage("done", response_metadata={"model": "m"}, usage_metadata=None),
    ChatMessage(content="hm", role="critic"),
    HumanMessage("plain"),
]


# LangChain advises against its own history for new programs; the interface stays.
pytestmark = pytest.mark.filterwarnings("ignore::langchain_core._api.deprecation.LangChainDeprecationWarning")


@pytest.fixture(params=["langchain", "jiyi"])
def history(request: pytest.FixtureRequest) -> BaseChatMessageHistory:
    """LangChain's own first: what holds for ours must hold for it."""
    if request.param == "langchain":
        return InMemoryChatMessageHistory()
    return JiyiChatMessageHistory("s", request.getfixturevalue("memory"))


def test_messages_come_back_equal_and_in_order(history: BaseChatMessageHistory) -> None:
    history.add_messages([])
    history.add_messages(SAID[:3])
    for message in SAID[3:]:
        history.add_message(message)
    assert history.messages == SAID
    asyncio.run(history.aadd_messages([AIMessage("later")]))
    assert asyncio.run(history.aget_messages())[-1] == AIMessage("later")
    history.clear()
    assert history.messages == []


def test_the_conversation_is_that_of_the_chat_room(memory: AgentMemory) -> None:
    JiyiChatMessageHistory("s", memory, scope="ann").add_messages([HumanMessage("hello"), AIMessage("hi")])
    chat = memory.chat("s", scope="ann")
    assert [message.to_dict() for message in chat.get_all()] == [
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": "hi"},
    ]
    chat.put({"role": "tool", "content": "x", "tool_call_id": "1"})
    found = JiyiChatMessageHistory("s", memory, scope="ann").messages
    assert found[-1] == ToolMessage("x", tool_call_id="1")
    assert JiyiChatMessageHistory("s", memory, scope="bob").messages == []


def test_the_retriever_gives_documents_with_scores(memory: AgentMemory) -> None:
    memory.store("allergy", "小宋对青霉素过敏", metadata={"kind": "health"}, scope="ann")
    memory.store("tea", "Green tea", metadata={"kind": "food"}, scope="ann")
    retriever = JiyiRetriever(memory=memory, scope="ann", limit=2)
    first: Any = retriever.invoke("小宋对什么过敏？")[0]
    assert first.page_content == "小宋对青霉素过敏"
    assert first.metadata["kind"] == "health"
    assert 0 < first.metadata["relevance_score"] <= 1
    found = asyncio.run(JiyiRetriever(memory=memory, scope="ann", where={"kind": "food"}).ainvoke("tea"))
    assert [document.metadata["key"] for document in found] == ["tea"]
    assert JiyiRetriever(memory=memory, scope="bob").invoke("tea") == []
    with pytest.raises(ValueError, match=r"jiyi\.sync"):
        JiyiRetriever(memory="data")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match=r"jiyi\.sync"):
        JiyiChatMessageHistory("s", "data")  # type: ignore[arg-type]


def test_the_retriever_leaves_out_what_does_not_fit_and_says_who_said_it(memory: AgentMemory) -> None:
    history = JiyiChatMessageHistory("s", memory, scope="ann")
    history.add_messages([HumanMessage("My locker is 4711"), AIMessage("The bank closes at five")])
    found = JiyiRetriever(memory=memory, scope="ann").invoke("Which locker is mine?")
    assert all(document.metadata["relevance_score"] >= 0.02 for document in found)
    (best,) = JiyiRetriever(memory=memory, scope="ann", min_relevance=0.3).invoke("Which locker is mine?")
    assert best == found[0]
    assert best.page_content == "My locker is 4711"
    assert (best.metadata["role"], best.metadata["trust"]) == ("user", "user")

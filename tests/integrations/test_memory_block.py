"""A jiyi memory as a block of LlamaIndex's Memory."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import InsertMethod, Memory
from llama_index.core.storage.chat_store.base_db import MessageStatus

from jiyi.errors import InvalidInputError
from jiyi.integrations.llama_index import JiyiMemoryBlock
from jiyi.sync import AgentMemory

pytestmark = [
    pytest.mark.usefixtures("llama_index_leaks"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[AgentMemory]:
    with AgentMemory.open(tmp_path / "data") as memory:
        yield memory


def said(count: int) -> list[ChatMessage]:
    return [
        ChatMessage(role=("user", "assistant")[n % 2], content=f"{n}: " + "the ferry was late " * 8)
        for n in range(count)
    ]


def test_what_fits_the_question_is_put_before_the_conversation(kept: AgentMemory) -> None:
    kept.store("allergy", "Paula is allergic to penicillin")
    memory = Memory.from_defaults(session_id="s", memory_blocks=[JiyiMemoryBlock(memory=kept)])
    memory.put(ChatMessage(role="user", content="What is Paula allergic to?"))
    first, question = memory.get()
    assert first.role == "system"
    assert "> Paula is allergic to penicillin" in str(first.content)
    assert "not instructions" in str(first.content)
    assert question.content == "What is Paula allergic to?"


def test_it_can_be_put_into_the_message_of_the_user(kept: AgentMemory) -> None:
    kept.store("allergy", "小宋对青霉素过敏")
    block = JiyiMemoryBlock(memory=kept)
    memory = Memory.from_defaults(session_id="s", memory_blocks=[block], insert_method=InsertMethod.USER)
    memory.put(ChatMessage(role="user", content="小宋对什么过敏？"))
    (only,) = memory.get()
    assert only.role == "user"
    assert "> 小宋对青霉素过敏" in str(only.content)
    assert "不是指令" in str(only.content)


def test_messages_that_leave_the_short_term_memory_are_kept_and_recalled(kept: AgentMemory) -> None:
    memory = Memory.from_defaults(
        session_id="trip", memory_blocks=[JiyiMemoryBlock(memory=kept)], token_limit=600, token_flush_size=200
    )
    memory.put(ChatMessage(role="user", content="Please remember that my locker number is 4711"))
    memory.put_messages(said(40))
    history = kept.load_conversation_history("trip")
    assert history[0].to_dict() == {"role": "user", "content": "Please remember that my locker number is 4711"}
    assert len(history) + len(memory.get_all(status=MessageStatus.ACTIVE)) == 41
    memory.put(ChatMessage(role="user", content="What is my locker number?"))
    assert "4711" in str(memory.get()[0].content)


def test_scopes_do_not_see_each_other(kept: AgentMemory) -> None:
    kept.store("locker", "the locker number is 4711", scope="alice")
    for scope, seen in (("alice", True), ("bob", False)):
        memory = Memory.from_defaults(session_id=scope, memory_blocks=[JiyiMemoryBlock(memory=kept, scope=scope)])
        memory.put(ChatMessage(role="user", content="Which locker number?"))
        assert any("4711" in str(message.content) for message in memory.get()) is seen


def test_nothing_is_inserted_when_nothing_is_known(kept: AgentMemory) -> None:
    memory = Memory.from_defaults(session_id="s", memory_blocks=[JiyiMemoryBlock(memory=kept)])
    memory.put(ChatMessage(role="user", content="What is Paula allergic to?"))
    assert [message.content for message in memory.get()] == ["What is Paula allergic to?"]


def test_a_block_that_is_too_long_loses_its_last_memories_first(kept: AgentMemory) -> None:
    block = JiyiMemoryBlock(memory=kept)
    content = "Memories:\n> one two three\n> four five six"
    assert asyncio.run(block.atruncate(content, 1)) == "Memories:\n> one two three"
    assert asyncio.run(block.atruncate(content, 1_000)) is None


def test_wrong_arguments_are_refused(kept: AgentMemory) -> None:
    with pytest.raises((InvalidInputError, ValueError), match=r"jiyi\.sync"):
        JiyiMemoryBlock(memory=object())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="scop"):
        JiyiMemoryBlock(memory=kept, scop="alice")  # type: ignore[call-arg]

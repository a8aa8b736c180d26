"""Chat stores for LlamaIndex behave as LlamaIndex's own, and lose nothing."""

from __future__ import annotations

import asyncio
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock, ToolCallBlock
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.storage.chat_store import BaseChatStore

from jiyi import sync
from jiyi.errors import ConfigError, HistoryUnreadableError, InvalidInputError, InvalidScopeError, StorageError
from jiyi.integrations.llama_index import JiyiChatStore, chat_store_from_config
from jiyi.integrations.llama_index.messages import to_chat_message, to_message
from jiyi.integrations.llama_index.redis_store import RedisChatStore
from jiyi.model.message import Message, decode_message, encode_message

HELLO = ChatMessage(role="user", content="hello")
WORLD = ChatMessage(role="assistant", content="世界")


def test_messages_come_back_by_key_in_their_order(store: BaseChatStore) -> None:
    store.add_message("one", HELLO)
    store.add_message("one", WORLD)
    store.add_message("two", WORLD)
    assert store.get_messages("one") == [HELLO, WORLD]
    assert store.get_messages("two") == [WORLD]
    assert store.get_messages("nobody") == []
    assert store.get_keys() == ["one", "two"]


def test_a_message_can_be_put_at_a_place(store: Any) -> None:
    store.set_messages("one", [HELLO, HELLO])
    store.add_message("one", WORLD, idx=1)
    store.add_message("one", WORLD, idx=99)
    assert store.get_messages("one") == [HELLO, WORLD, HELLO, WORLD]
    store.add_message("one", WORLD, idx=0)
    assert store.get_messages("one") == [WORLD, HELLO, WORLD, HELLO, WORLD]


@pytest.mark.parametrize("kind", ["jiyi", "redis"])
def test_messages_that_are_put_while_others_are_inserted_and_deleted_do_not_vanish(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    stores = [_made(kind, tmp_path, request) for _ in range(3)]
    stores[0].set_messages("one", [HELLO] * 20)

    def put(number: int) -> None:
        for place in range(15):
            message = ChatMessage(role="user", content=f"{number}/{place}")
            if number == 0:
                stores[number].add_message("one", message, idx=1)  # type: ignore[call-arg]
                stores[number].delete_message("one", 0)
            else:
                stores[number].add_message("one", message)

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(put, range(3)))
    contents = [message.content for message in stores[0].get_messages("one")]
    assert len(contents) == 20 + 2 * 15
    for number in (1, 2):
        kept = [content for content in contents if content and content.startswith(f"{number}/")]
        assert kept == [f"{number}/{place}" for place in range(15)]


def test_setting_replaces_the_whole_conversation(store: BaseChatStore) -> None:
    store.set_messages("one", [HELLO, WORLD, HELLO])
    store.set_messages("one", [WORLD])
    assert store.get_messages("one") == [WORLD]
    store.set_messages("one", [])
    assert store.get_messages("one") == []


def test_deleting_all_messages_returns_them_and_leaves_other_keys_alone(store: BaseChatStore) -> None:
    store.set_messages("one", [HELLO, WORLD])
    store.set_messages("two", [HELLO])
    assert store.delete_messages("one") == [HELLO, WORLD]
    assert store.delete_messages("nobody") is None
    assert store.get_messages("one") == []
    assert store.get_keys() == ["two"]


def test_deleting_one_message_returns_it(store: BaseChatStore) -> None:
    store.set_messages("one", [HELLO, WORLD, HELLO])
    assert store.delete_message("one", 1) == WORLD
    assert store.delete_message("one", 7) is None
    assert store.get_messages("one") == [HELLO, HELLO]
    assert store.delete_last_message("one") == HELLO
    assert store.delete_last_message("one") == HELLO
    assert store.delete_last_message("nobody") is None


@pytest.mark.parametrize("kind", ["jiyi", "redis"])
def test_deleting_from_an_empty_conversation_or_at_no_place_is_nothing(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    # Some versions of LlamaIndex's own store raise here.
    made = _made(kind, tmp_path, request)
    made.add_message("one", HELLO)
    assert made.delete_message("one", -2) is None
    assert made.delete_last_message("one") == HELLO
    assert made.delete_last_message("one") is None


def test_a_memory_of_llama_index_persists_in_every_store(store: BaseChatStore) -> None:
    memory = ChatMemoryBuffer.from_defaults(chat_store=store, chat_store_key="engine", token_limit=1000)
    memory.put(HELLO)
    again = ChatMemoryBuffer.from_defaults(chat_store=store, chat_store_key="engine", token_limit=1000)
    assert again.get_all() == [HELLO]


def test_the_plain_buffer_of_llama_index_limits_and_resets_over_every_store(store: BaseChatStore) -> None:
    first = ChatMessage(role="user", content="first message")
    memory = ChatMemoryBuffer.from_defaults(chat_history=[first], chat_store=store, token_limit=5)
    memory.put(first)
    assert memory.get() == [first, first]
    memory.put(first)
    last = ChatMessage(role="user", content="test message2")
    memory.put(last)
    assert memory.get()[-1] == last
    assert len(memory.get()) <= 2
    assert memory.get_all() == [first, first, first, last]
    with pytest.raises(ValueError, match="Initial token count exceeds token limit"):
        memory.get(initial_token_count=6)
    memory.set([last])
    assert memory.get() == [last]
    memory.reset()
    assert memory.get() == []
    assert memory.get_all() == []


def test_the_async_names_of_a_store_do_the_same(store: BaseChatStore) -> None:
    async def use() -> None:
        await store.aset_messages("one", [HELLO])
        await store.async_add_message("one", WORLD)
        assert await store.aget_messages("one") == [HELLO, WORLD]
        assert await store.adelete_message("one", 0) == HELLO
        assert await store.adelete_last_message("one") == WORLD
        await store.async_add_message("two", HELLO)
        assert await store.adelete_messages("two") == [HELLO]
        assert "two" not in await store.aget_keys()

    asyncio.run(use())


def test_what_was_said_before_a_deletion_stays_in_the_history(tmp_path: Path) -> None:
    with JiyiChatStore(tmp_path) as store:
        store.set_messages("one", [HELLO, WORLD])
        store.delete_messages("one")
        store.add_message("one", WORLD)
        chat = store.memory.chat("one")
        assert [message.content for message in chat.get_all(epoch=1)] == ["hello", "世界"]
        assert [message.content for message in chat.get_all()] == ["世界"]


def test_redis_keeps_what_was_said_before_a_deletion_until_it_is_deleted_on_purpose(
    redis_url: str, tmp_path: Path
) -> None:
    store = RedisChatStore(redis_url, prefix=tmp_path.name)
    store.set_messages("one", [HELLO, WORLD])
    store.delete_messages("one")
    assert store.epoch("one", 1) == [HELLO, WORLD]
    assert store.delete_epoch("one", 1)
    assert store.epoch("one", 1) == []
    store.close()


def test_conversations_written_here_are_recalled_by_the_memory(tmp_path: Path) -> None:
    with sync.AgentMemory.open(tmp_path) as memory:
        store = JiyiChatStore(memory=memory)
        store.add_message("one", ChatMessage(role="user", content="我对青霉素过敏"))
        store.close()  # not its own: stays open
        assert memory.recall("过敏")[0].content == "我对青霉素过敏"


@pytest.mark.parametrize("kind", ["jiyi", "redis"])
def test_look_alike_scopes_and_keys_do_not_see_each_other(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    places = [("a", "x"), ("a", "x:1"), ("a:x", "1"), ("A", "x"), ("a1", "x"), ("a", "%3A"), ("a", ":")]
    stores = {scope: _made(kind, tmp_path, request, scope=scope) for scope, _ in places}
    for scope, key in places:
        stores[scope].add_message(key, ChatMessage(role="user", content=f"{scope}/{key}"))
    for scope, key in places:
        assert [message.content for message in stores[scope].get_messages(key)] == [f"{scope}/{key}"]


def test_a_store_is_opened_again_from_what_was_saved_or_pickled(tmp_path: Path, redis_url: str) -> None:
    with JiyiChatStore(tmp_path) as store:
        store.add_message("one", HELLO)
        saved, pickled = store.to_dict(), pickle.dumps(store)
    with JiyiChatStore.from_dict(saved) as again:
        assert again.get_messages("one") == [HELLO]
    with pickle.loads(pickled) as again:
        assert again.get_messages("one") == [HELLO]
    first = RedisChatStore(redis_url, prefix=tmp_path.name)
    first.add_message("one", HELLO)
    for second in (RedisChatStore.from_dict(first.to_dict()), pickle.loads(pickle.dumps(first))):
        assert second.get_messages("one") == [HELLO]
        second.close()
    first.close()


def test_the_settings_file_names_the_store(tmp_path: Path, redis_url: str) -> None:
    assert chat_store_from_config({}) is None
    assert chat_store_from_config({"persistence": {"enabled": False, "backend": "redis"}}) is None
    kept = chat_store_from_config({"path": tmp_path, "persistence": {"enabled": True}})
    assert isinstance(kept, JiyiChatStore)
    kept.close()
    there = chat_store_from_config(
        {"persistence": {"enabled": True, "backend": "redis", "connection_string": redis_url}}
    )
    assert isinstance(there, RedisChatStore)
    there.close()
    with pytest.raises(ConfigError, match="mongo"):
        chat_store_from_config({"persistence": {"enabled": True, "backend": "mongo"}})


def test_wrong_arguments_are_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"jiyi\.sync"):
        JiyiChatStore(memory=object())  # type: ignore[arg-type]
    with pytest.raises(InvalidScopeError):
        RedisChatStore("redis://127.0.0.1:1", scope=" ")
    with pytest.raises(InvalidInputError, match="connection_string"):
        RedisChatStore("nonsense")
    with pytest.raises(InvalidInputError, match="key"):
        RedisChatStore("redis://127.0.0.1:1").get_messages(" ")
    with JiyiChatStore(tmp_path) as store, pytest.raises(InvalidInputError):
        store.add_message("", HELLO)


def test_a_misspelt_scope_is_refused_with_the_right_name(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"'scop'.*did you mean scope"):
        JiyiChatStore(tmp_path, scop="alice")
    with pytest.raises(InvalidInputError, match=r"'user'.*it takes"):
        RedisChatStore("redis://127.0.0.1:1", user="alice")
    with pytest.raises(InvalidInputError, match="did you mean backend"):
        chat_store_from_config({"persistence": {"enabled": True, "backends": "redis"}})
    assert not (tmp_path / "memory.db").exists()


def test_a_server_that_is_not_there_is_an_error_and_not_an_empty_conversation() -> None:
    store = RedisChatStore("redis://:secret-word@127.0.0.1:1/0")
    with pytest.raises(StorageError, match="ConnectionError") as caught:
        store.get_messages("one")
    assert "secret-word" not in f"{caught.value} {store!r}"


def test_a_row_in_redis_that_cannot_be_read_is_reported_with_the_others(redis_url: str, tmp_path: Path) -> None:
    store = RedisChatStore(redis_url, prefix=tmp_path.name)
    store.add_message("one", HELLO)
    store._client.rpush(store._name("one"), "not a message")
    with pytest.raises(HistoryUnreadableError) as caught:
        store.get_messages("one")
    assert [message.content for _, message in caught.value.readable] == ["hello"]
    store.close()


_texts = st.text(max_size=40)
_blocks = st.one_of(
    st.builds(TextBlock, text=_texts),
    st.builds(
        ToolCallBlock,
        tool_call_id=st.one_of(st.none(), _texts),
        tool_name=_texts,
        tool_kwargs=st.dictionaries(_texts, st.one_of(_texts, st.integers(), st.booleans()), max_size=3),
    ),
)
_messages = st.builds(
    lambda role, blocks, extra: ChatMessage(role=role, blocks=blocks, additional_kwargs=extra),
    st.sampled_from(list(MessageRole)),
    st.lists(_blocks, max_size=3),
    st.dictionaries(
        _texts.filter(lambda name: name != "images"), st.one_of(_texts, st.integers(), st.lists(_texts)), max_size=3
    ),
)


@settings(max_examples=150)
@given(_messages)
def test_any_message_of_llama_index_comes_back_unchanged(message: ChatMessage) -> None:
    stored = decode_message(encode_message(to_message(message)))
    assert to_chat_message(stored) == message


def test_a_message_that_came_from_elsewhere_is_readable_in_llama_index() -> None:
    parts = [
        {"type": "text", "text": "看"},
        {"type": "image_url", "image_url": {"url": "x"}},
        {"type": "text", "text": "b"},
    ]
    found = to_chat_message(Message("user", parts))
    assert found.content == "看\nb"
    call = [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    asked = to_chat_message(Message("assistant", None, tool_calls=call))
    assert asked.additional_kwargs == {"tool_calls": call}
    assert to_chat_message(Message("tool", "42", tool_call_id="1")).additional_kwargs == {"tool_call_id": "1"}
    assert to_chat_message(Message("narrator", "once")).role == MessageRole.USER


def _made(kind: str, folder: Path, request: pytest.FixtureRequest, *, scope: str | None = None) -> BaseChatStore:
    if kind == "redis":
        made: BaseChatStore = RedisChatStore(request.getfixturevalue("redis_url"), prefix=folder.name, scope=scope)
    else:
        made = JiyiChatStore(folder / "data", scope=scope)
    request.addfinalizer(made.close)  # type: ignore[attr-defined]
    return made

"""Chat stores for LlamaIndex: over the history of a jiyi memory, and the choice that memory.yaml makes."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol, Self, runtime_checkable

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.bridge.pydantic import Field, PrivateAttr
from llama_index.core.storage.chat_store import BaseChatStore
from llama_index.core.storage.chat_store.loading import RECOGNIZED_CHAT_STORES, load_chat_store

from jiyi.chat.overrides import SummarizeFunction
from jiyi.compat.memory_owner import ClosesOwnMemory
from jiyi.errors import ConfigError, InvalidInputError
from jiyi.integrations.llama_index.messages import to_chat_message, to_message
from jiyi.integrations.llama_index.window import MemoryWindow
from jiyi.model.message import Message
from jiyi.sync import AgentMemory

_PERSISTENCE = ("enabled", "backend", "connection_string")


@runtime_checkable
class KeepsSummaries(Protocol):
    """A chat store that also keeps how far a conversation is summarised, and what was said before a reset."""

    def load_summary(self, key: str) -> dict[str, Any] | None:
        """What `save_summary` has kept last."""
        ...

    def save_summary(self, key: str, expected: int, state: Mapping[str, Any]) -> bool:
        """Keep a state unless the stored generation is no longer the expected one; whether it was kept."""
        ...


def refuse_unknown(owner: str, unknown: Collection[str], known: Sequence[str]) -> None:
    """Refuse arguments that are not read: a misspelt scope would put conversations where others see them."""
    if not unknown:
        return
    name = min(unknown)
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {close[0]}?" if close else f"it takes {', '.join(known)}"
    raise InvalidInputError(f"{owner} has no argument {name!r}; {hint}")


class JiyiChatStore(ClosesOwnMemory, BaseChatStore):
    """Conversations in a jiyi memory: durable, recallable, the same that `memory.chat` and the command line show.

    Any memory class of LlamaIndex can persist here. Deleting the messages of a key begins a new epoch; what was said
    stays in the history until it is deleted there on purpose (`memory.chat(key).delete_epoch(…)`).
    """

    path: str | None = Field(default=None)
    """The data directory, if the store opens the memory itself."""
    scope: str | None = Field(default=None)

    _memory: AgentMemory = PrivateAttr()
    _owned: bool = PrivateAttr(default=False)

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        memory: AgentMemory | None = None,
        scope: str | None = None,
        **unknown: Any,
    ) -> None:
        """Open the memory at `path`, or use a `jiyi.sync.AgentMemory` that is open already."""
        refuse_unknown("JiyiChatStore", unknown, ("path", "memory", "scope"))
        if memory is not None and path is not None:
            raise InvalidInputError("give JiyiChatStore a path or an open memory, not both")
        if memory is not None and not isinstance(memory, AgentMemory):
            raise InvalidInputError(
                f"JiyiChatStore needs a memory of jiyi.sync, not {type(memory).__module__}.{type(memory).__name__}; "
                "open it with jiyi.sync.AgentMemory.open(path)"
            )
        fields: dict[str, Any] = {"path": None if path is None else os.fspath(path), "scope": scope}
        super().__init__(**fields)
        self._owned = memory is None
        # A store with a scope is one of several: what asks the memory itself has to name one too.
        self._memory = AgentMemory.open(path, strict_scope=scope is not None) if memory is None else memory

    @classmethod
    def class_name(cls) -> str:
        """The name under which LlamaIndex finds it when it loads a saved memory."""
        return "JiyiChatStore"

    @classmethod
    def from_dict(cls, data: dict[str, Any], **kwargs: Any) -> Self:
        """Open again what `to_dict` has named; a memory that was given has to be given again (`memory=`)."""
        if data.get("path") is None and "memory" not in kwargs:
            raise InvalidInputError(
                "this JiyiChatStore was made with an open memory; load it with from_dict(data, memory=…)"
            )
        return cls(data.get("path"), scope=data.get("scope"), **kwargs)

    def __getstate__(self) -> dict[str, Any]:
        """Where it is, not the open files."""
        return {"path": self.path, "scope": self.scope}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Open it again."""
        if state.get("path") is None:
            raise InvalidInputError("this JiyiChatStore was made with an open memory, which cannot be pickled")
        self.__init__(state["path"], scope=state["scope"])  # type: ignore[misc]

    def __copy__(self) -> Self:
        """As `__deepcopy__`."""
        copied = super().__copy__()
        copied._owned = False  # noqa: SLF001 - it is one of these
        return copied

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        """A store over the same open memory, which stays the original's to close."""
        copied = super().__deepcopy__(memo)
        copied._owned = False  # noqa: SLF001 - it is one of these
        return copied

    @property
    def memory(self) -> AgentMemory:
        """The memory that keeps the conversations."""
        return self._memory

    # --- BaseChatStore ----------------------------------------------------------------------------------------------

    def set_messages(self, key: str, messages: list[ChatMessage]) -> None:
        """Make these the conversation of the key."""
        self._save(key, [to_message(message) for message in messages])

    def get_messages(self, key: str) -> list[ChatMessage]:
        """The conversation of the key; empty when there is none."""
        return [to_chat_message(message) for message in self._load(key)]

    def add_message(self, key: str, message: ChatMessage, idx: int | None = None) -> None:
        """Add a message at the end, or before the one at `idx`, in one transaction."""
        if idx is None:
            self._chat(key).put(to_message(message))
        else:
            self._chat(key).insert_message(idx, to_message(message))

    def delete_messages(self, key: str) -> list[ChatMessage] | None:
        """Begin the conversation of the key anew; what was said is returned, and stays in the history."""
        said = self._load(key)
        if not said:
            return None
        self._chat(key).reset(flush=False)
        return [to_chat_message(message) for message in said]

    def delete_message(self, key: str, idx: int) -> ChatMessage | None:
        """Take one message out of the conversation, in one transaction; `None` when there is no such place."""
        taken = self._chat(key).delete_message(idx)
        return None if taken is None else to_chat_message(taken)

    def delete_last_message(self, key: str) -> ChatMessage | None:
        """Take the last message out of the conversation; `None` when there is none."""
        return self.delete_message(key, -1)

    def get_keys(self) -> list[str]:
        """The conversations that are not empty, the oldest first."""
        sessions = self._memory.list_sessions(scope=self.scope)
        return [key for key in reversed(sessions) if not self.is_empty(key)]

    # --- for ChatMemory ---------------------------------------------------------------------------------------------

    def is_empty(self, key: str) -> bool:
        """Whether nothing was said since the last reset."""
        return bool(self._chat(key).status().is_empty)

    def window(
        self,
        key: str,
        *,
        token_limit: int,
        initial_tokens: int,
        summarizer: SummarizeFunction | None,
        count_tokens: Callable[[str], int],
    ) -> MemoryWindow:
        """The window of the chat room, with this summarizer and this count of tokens."""
        chat = self._memory.chat(
            key, scope=self.scope, token_limit=token_limit, summarizer=summarizer, count_tokens=count_tokens
        )
        return MemoryWindow.of(chat.get(initial_tokens=initial_tokens))

    def _chat(self, key: str) -> Any:
        return self._memory.chat(key, scope=self.scope)

    def _load(self, key: str) -> list[Message]:
        return list(self._memory.load_conversation_history(key, scope=self.scope))

    def _save(self, key: str, messages: Sequence[Message]) -> None:
        self._memory.save_conversation_history(key, messages, scope=self.scope)


def loaded_store(data: BaseChatStore | dict[str, Any]) -> BaseChatStore:
    """A chat store from what `to_dict` of a memory has written."""
    return data if isinstance(data, BaseChatStore) else load_chat_store(data)


def chat_store_from_config(config: Mapping[str, Any], *, scope: str | None = None) -> BaseChatStore | None:
    """The chat store that the `persistence` of a `load_memory_config` names; `None` when it is not enabled."""
    persistence = config.get("persistence") or {}
    refuse_unknown("persistence", set(persistence).difference(_PERSISTENCE), _PERSISTENCE)
    if not persistence.get("enabled", False):
        return None
    backend = persistence.get("backend", "sqlite")
    if backend == "redis":
        from jiyi.integrations.llama_index.redis_store import RedisChatStore

        return RedisChatStore(str(persistence["connection_string"]), scope=scope)
    if backend == "sqlite":
        return JiyiChatStore(persistence.get("connection_string") or config.get("path"), scope=scope)
    raise ConfigError(f"persistence.backend {backend!r} is unknown; use sqlite or redis")


# So that every memory class of LlamaIndex can load what it has saved with our store.
RECOGNIZED_CHAT_STORES[JiyiChatStore.class_name()] = JiyiChatStore  # type: ignore[assignment]

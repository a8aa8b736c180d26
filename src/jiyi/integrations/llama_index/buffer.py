"""ChatMemory: LlamaIndex's summary buffer with the window of the chat room under it, and nothing destroyed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Self, cast

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.bridge.pydantic import ConfigDict, Field, PrivateAttr, field_serializer
from llama_index.core.llms.llm import LLM
from llama_index.core.memory import ChatSummaryMemoryBuffer
from llama_index.core.storage.chat_store import BaseChatStore, SimpleChatStore

import jiyi
from jiyi.chat import SessionLocks, TokenCounts, make_budget
from jiyi.chat.background import BackgroundCompactions
from jiyi.chat.overrides import CallerCounter, CallerSummarizer
from jiyi.chat.rule_summarizer import RuleSummarizer
from jiyi.chat.session_window import SessionWindow, WindowDeps
from jiyi.integrations.llama_index.list_store import ListChatStore, SummaryState
from jiyi.integrations.llama_index.stores import JiyiChatStore, KeepsSummaries, chat_store_from_config, loaded_store
from jiyi.integrations.llama_index.summarizer import LlamaIndexSummarizer
from jiyi.integrations.llama_index.window import MemoryWindow
from jiyi.model.limits import DEFAULT_TOKEN_LIMIT
from jiyi.text.token_count import count_message

_SOFT_THRESHOLD = 1.0
# One lock for each conversation, so that two threads do not ask for the same summary.
_locks = SessionLocks()
_background = BackgroundCompactions()


class ChatMemory(ChatSummaryMemoryBuffer):
    """A `ChatSummaryMemoryBuffer` that keeps every message.

    `get()` gives the summary and the most recent messages, as the chat room does: with every chat store the same
    window, portions, quotation and backoff. `get_all()` gives every message since the last `reset()`. The differences
    from LlamaIndex's buffer are listed in docs/guides/llamaindex.md.
    """

    model_config = ConfigDict(extra="forbid")

    state: SummaryState = Field(default_factory=SummaryState)
    """How far the conversation is summarised, for stores that do not keep it themselves."""
    past: list[list[ChatMessage]] = Field(default_factory=list)
    """What was said before each `reset()`, for stores that do not keep it themselves."""

    _now: Callable[[], float] = PrivateAttr(default=time.time)

    @field_serializer("chat_store")
    def serialize_courses_in_order(self, chat_store: BaseChatStore) -> dict[str, Any]:
        """The store with its class name; its own serializer does not work with every version of pydantic."""
        if isinstance(chat_store, SimpleChatStore):
            store = {key: [one.model_dump() for one in said] for key, said in chat_store.store.items()}
            return {"store": store, "class_name": chat_store.class_name()}
        return {**chat_store.model_dump(), "class_name": chat_store.class_name()}

    @classmethod
    def from_defaults(cls, *args: Any, **kwargs: Any) -> Self:
        """As LlamaIndex's, with the same arguments."""
        return cast(Self, super().from_defaults(*args, **kwargs))

    @classmethod
    def from_dict(cls, data: dict[str, Any], **kwargs: Any) -> Self:
        """Read what `to_dict` has written; the model has to be given again (`llm=`)."""
        values = dict(data)
        if "chat_history" in values:
            return cast(Self, super().from_dict(values, **kwargs))
        if "chat_store" in values:
            values["chat_store"] = loaded_store(values["chat_store"])
        for name in ("llm", "class_name"):
            values.pop(name, None)
        return cls(**{**values, **kwargs})

    # --- what was said ----------------------------------------------------------------------------------------------

    def get_all(self) -> list[ChatMessage]:
        """Every message since the last reset."""
        return list(super().get_all())

    def set(self, messages: list[ChatMessage]) -> None:
        """Make these the conversation."""
        super().set(list(messages))

    def reset(self) -> None:
        """Begin a new conversation. What was said is kept: in the store if it is one of jiyi's, otherwise in `past`."""
        if not isinstance(self.chat_store, KeepsSummaries):
            said = self.get_all()
            if said:
                self.past.append(said)
        super().reset()
        self.state = SummaryState(generation=self.state.generation)

    # --- the window -------------------------------------------------------------------------------------------------

    def get(
        self,
        input: str | None = None,  # noqa: A002, ARG002
        initial_token_count: int = 0,
        **kwargs: Any,  # noqa: ARG002
    ) -> MemoryWindow:
        """The system messages, the summary of what is older, and the most recent messages, within the token limit."""
        initial = initial_token_count if self.count_initial_tokens else 0
        if isinstance(self.chat_store, JiyiChatStore):
            if self.chat_store.is_empty(self.chat_store_key):
                return MemoryWindow()
            self._check_initial(initial)
            return self.chat_store.window(
                self.chat_store_key,
                token_limit=self.token_limit,
                initial_tokens=initial,
                summarizer=self._summarizer(),
                count_tokens=self._count,
            )
        if not self.get_all():
            return MemoryWindow()
        self._check_initial(initial)
        return MemoryWindow.of(self._session_window().get(initial, max_wait=None))

    def _session_window(self) -> SessionWindow:
        counter = CallerCounter(self._count)
        own = self._summarizer()
        return SessionWindow(
            ListChatStore(self.get_all, self._load_state, self._save_state),
            str(id(self.chat_store)),
            self.chat_store_key,
            deps=WindowDeps(
                counts=TokenCounts(lambda message: count_message(message, counter)),
                now=lambda: datetime.fromtimestamp(self._now(), UTC),
                locks=_locks,
                background=_background,
            ),
            budget=make_budget(self.token_limit, _SOFT_THRESHOLD, None),
            summarizer=RuleSummarizer(counter) if own is None else CallerSummarizer(counter, own),
        )

    def _check_initial(self, initial: int) -> None:
        if initial > self.token_limit:
            raise ValueError("Initial token count exceeds token limit")

    def _summarizer(self) -> LlamaIndexSummarizer | None:
        if self.llm is None:
            return None
        return LlamaIndexSummarizer(
            self.llm, prompt=self.summarize_prompt, token_limit=self.token_limit, count_tokens=self._count
        )

    def _count(self, text: str) -> int:
        return len(self.tokenizer_fn(text)) if text else 0

    def _load_state(self) -> SummaryState:
        if not isinstance(self.chat_store, KeepsSummaries):
            return self.state
        kept = self.chat_store.load_summary(self.chat_store_key)
        return SummaryState() if kept is None else SummaryState.model_validate(kept)

    def _save_state(self, expected: int, state: SummaryState) -> bool:
        """Keep the state, unless another process has changed it since it was read; whether it was kept."""
        if isinstance(self.chat_store, KeepsSummaries):
            return self.chat_store.save_summary(self.chat_store_key, expected, state.model_dump())
        if self.state.generation != expected:
            return False
        self.state = state
        return True


def chat_memory_from_config(
    config: Mapping[str, Any] | str | os.PathLike[str] = "configs/memory.yaml",
    llm: LLM | None = None,
    *,
    chat_store_key: str = "default",
    scope: str | None = None,
) -> ChatMemory:
    """The chat memory that a `memory.yaml` describes: its token limit, its prompt, and where conversations are kept.

    `config` is a file, or what `load_memory_config` has made of one. Without `persistence` the conversation lives in
    this object.
    """
    settings = config if isinstance(config, Mapping) else jiyi.load_memory_config(config)
    return build_chat_memory(
        llm,
        token_limit=settings.get("token_limit", DEFAULT_TOKEN_LIMIT),
        summarize_prompt=settings.get("summarize_prompt"),
        chat_store=chat_store_from_config(settings, scope=scope),
        chat_store_key=chat_store_key,
    )


def build_chat_memory(
    llm: LLM | None,
    token_limit: int = DEFAULT_TOKEN_LIMIT,
    summarize_prompt: str | None = None,
    chat_store: BaseChatStore | None = None,
    chat_store_key: str = "default",
) -> ChatMemory:
    """A chat memory for LlamaIndex's engines: `as_chat_engine(memory=…)`.

    Without a `chat_store` the conversation lives in this object; a `JiyiChatStore` keeps it on disk, with summaries
    and candidates, and `chat_store_from_config` makes the store that `memory.yaml` names.
    """
    return ChatMemory.from_defaults(
        llm=llm,
        token_limit=token_limit,
        summarize_prompt=summarize_prompt,
        chat_store=chat_store,
        chat_store_key=chat_store_key,
    )

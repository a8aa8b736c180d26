"""ChatMemory: LlamaIndex's summary buffer, with nothing destroyed."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any, Self, cast

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.bridge.pydantic import BaseModel, Field, PrivateAttr, field_serializer
from llama_index.core.llms.llm import LLM
from llama_index.core.memory import ChatSummaryMemoryBuffer
from llama_index.core.storage.chat_store import BaseChatStore, SimpleChatStore

from jiyi.integrations.llama_index.messages import calls_tools, to_message
from jiyi.integrations.llama_index.stores import JiyiChatStore, KeepsSummaries, loaded_store
from jiyi.integrations.llama_index.window import MIN_STRICT_LIMIT, MemoryWindow, is_prompt, split
from jiyi.model.message import encode_message

_log = logging.getLogger("jiyi.llama_index")

DEFAULT_TOKEN_LIMIT = 64_000
_FIRST_WAIT, _LONGEST_WAIT = 2.0, 300.0
_RACES = 3


class SummaryState(BaseModel):
    """How far a conversation is summarised. The messages themselves stay in the chat store."""

    generation: int = 0
    summary: str | None = None
    covered: int = 0
    """How many of the stored messages, from the first one on, the summary stands for."""
    digest: str = ""
    """Of those messages: if they were changed, the summary no longer stands for them."""
    failures: int = 0
    trouble: str | None = None
    next_attempt_at: float = 0.0


class ChatMemory(ChatSummaryMemoryBuffer):
    """A `ChatSummaryMemoryBuffer` that keeps every message.

    `get()` gives the summary and the most recent messages; `get_all()` everything since the last `reset()`. Differences
    from the buffer it stands in for, all because nothing may be lost: `get()` never rewrites the stored messages; the
    newest message is not summarised away, and neither is a system prompt; the summary is counted in the limit (from 128
    tokens on); a model that fails or answers nothing leaves everything as it was.
    """

    state: SummaryState = Field(default_factory=SummaryState)
    past: list[list[ChatMessage]] = Field(default_factory=list)
    """What was said before each `reset()`, for stores that do not keep it themselves."""

    _now: Callable[[], float] = PrivateAttr(default=time.time)

    @field_serializer("chat_store")
    def serialize_courses_in_order(self, chat_store: BaseChatStore) -> dict[str, Any]:
        """The store with its class; its own way to write messages does not work with every version of pydantic."""
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
        """Begin anew. What was said is kept: in the store if it is one of jiyi's, otherwise in `past`."""
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
        """The prompts, the summary of what is older, and the most recent messages, within the token limit."""
        initial = initial_token_count if self.count_initial_tokens else 0
        if isinstance(self.chat_store, JiyiChatStore):
            if self.chat_store.is_empty(self.chat_store_key):
                return MemoryWindow()
            self._check_initial(initial)
            return self.chat_store.window(
                self.chat_store_key,
                token_limit=self.token_limit,
                initial_tokens=initial,
                llm=self.llm,
                summarize_prompt=self.summarize_prompt,
                tokenizer=self.tokenizer_fn,
            )
        window = MemoryWindow()
        for _ in range(_RACES):
            said = self.get_all()
            if not said:
                return MemoryWindow()
            self._check_initial(initial)
            made = self._window(said, self.token_limit - initial)
            if made is not None:
                return made
            window = MemoryWindow(said)
        # Others compact this conversation all the time: the newest messages are right in any case.
        return self._cut(
            list(window), self.token_limit - initial, None, "the conversation is being compacted elsewhere"
        )

    def _check_initial(self, initial: int) -> None:
        if initial > self.token_limit:
            raise ValueError("Initial token count exceeds token limit")

    def _window(self, said: Sequence[ChatMessage], room: int) -> MemoryWindow | None:
        """The window; `None` when another process has changed the summary meanwhile."""
        state = self._load_state(said)
        prompts = [message for message in said[: state.covered] if is_prompt(message)]
        rest = said[state.covered :]
        strict = self.token_limit >= MIN_STRICT_LIMIT
        summary_tokens = self._text_tokens(state.summary) if strict and state.summary else 0
        if sum(map(self._tokens, [*prompts, *rest])) + summary_tokens <= room:
            return _shown(prompts, state.summary, rest)
        if self.llm is None and not strict:
            return self._cut(said, room, state, None)
        if self._now() < state.next_attempt_at:
            return self._cut(said, room, state, state.trouble)
        return self._compacted(said, state, room, strict=strict)

    def _compacted(
        self, said: Sequence[ChatMessage], state: SummaryState, room: int, *, strict: bool
    ) -> MemoryWindow | None:
        prompts = [message for message in said if is_prompt(message)]
        rest = [message for message in said[state.covered :] if not is_prompt(message)]
        free = room - sum(map(self._tokens, prompts))
        share = max(free // 4, 0) if strict else 0
        parts = split(rest, free - share, self._tokens)
        if not parts.leaving:
            return self._cut(said, room, state, None)
        try:
            summary = self._summary(state.summary, parts.leaving, share)
        except Exception as error:  # noqa: BLE001 - any model of any maker: whatever it raises is reported, nothing is lost
            return self._failed(said, state, room, f"{type(error).__name__}: {error}")
        if not summary.strip():
            return self._failed(said, state, room, "the model returned an empty summary")
        if strict and self._text_tokens(summary) > free // 2:
            return self._failed(said, state, room, f"the summary has {self._text_tokens(summary)} tokens of {room}")
        covered = _covered(said, parts.staying)
        done = SummaryState(
            generation=state.generation + 1, summary=summary, covered=covered, digest=_digest(said[:covered])
        )
        if not self._save_state(state.generation, done):
            return None
        return self._cut(said, room, done, None)

    def _failed(self, said: Sequence[ChatMessage], state: SummaryState, room: int, reason: str) -> MemoryWindow | None:
        """Nothing has changed but that we know of it and wait a little before the next attempt."""
        failures = state.failures + 1
        wait = min(_LONGEST_WAIT, _FIRST_WAIT * 2 ** (failures - 1))
        _log.warning("the conversation was not summarised (attempt %d): %s", failures, reason)
        noted = state.model_copy(
            update={
                "generation": state.generation + 1,
                "failures": failures,
                "trouble": reason,
                "next_attempt_at": self._now() + wait,
            }
        )
        if not self._save_state(state.generation, noted):
            return None
        return self._cut(said, room, noted, reason)

    def _cut(
        self, said: Sequence[ChatMessage], room: int, state: SummaryState | None, trouble: str | None
    ) -> MemoryWindow:
        """What fits, for this answer only."""
        covered = state.covered if state is not None else 0
        summary = state.summary if state is not None else None
        prompts = [message for message in said if is_prompt(message)]
        strict = self.token_limit >= MIN_STRICT_LIMIT
        free = room - sum(map(self._tokens, prompts))
        if summary is not None and strict:
            free -= self._text_tokens(summary)
        rest = [message for message in said[covered:] if not is_prompt(message)]
        if sum(map(self._tokens, rest)) <= free:
            return _shown(prompts, summary, rest, trouble=trouble)
        parts = split(rest, free, self._tokens)
        return _shown(
            prompts, summary, parts.staying, left_out=len(parts.leaving), over_limit=parts.over_limit, trouble=trouble
        )

    # --- summaries --------------------------------------------------------------------------------------------------

    def _summary(self, before: str | None, leaving: Sequence[ChatMessage], max_tokens: int) -> str:
        if self.llm is None:
            from jiyi.text.extractive import summarize

            texts = [message.content for message in leaving if message.content]
            counter = _Counter(self._text_tokens)
            return summarize(texts, max_tokens=max(1, max_tokens), counter=counter, previous=before)
        source = [ChatMessage(role=MessageRole.SYSTEM, content=before)] if before else []
        prompt = self.summarize_prompt or ""
        if max_tokens:
            prompt = f"{prompt}\n\n(At most {max(10, max_tokens // 2)} words. 不超过 {max(10, max_tokens // 2)} 字。)"
        asked = [
            ChatMessage(role=MessageRole.SYSTEM, content=prompt),
            ChatMessage(role=MessageRole.USER, content=self._get_prompt_to_summarize([*source, *leaving])),
        ]
        return self.llm.chat(asked).message.content or ""

    def _get_prompt_to_summarize(self, chat_history_to_be_summarized: list[ChatMessage]) -> str:
        """The transcript; calls of tools stand in it although they have no text."""
        lines = []
        for message in chat_history_to_be_summarized:
            text = message.content or ""
            if calls_tools(message):
                text = f"{text}\n{json.dumps(to_message(message).tool_calls, ensure_ascii=False)}".strip()
            lines.append(f"{message.role.value}: {text}")
        return "Transcript so far:\n\n" + "\n\n".join(lines)

    def _load_state(self, said: Sequence[ChatMessage]) -> SummaryState:
        state = self.state
        if isinstance(self.chat_store, KeepsSummaries):
            kept = self.chat_store.load_summary(self.chat_store_key)
            state = SummaryState.model_validate(kept) if kept is not None else SummaryState()
        if state.covered > len(said) or (state.covered and _digest(said[: state.covered]) != state.digest):
            # Somebody has set other messages: there is nothing that this summary stands for.
            return SummaryState(generation=state.generation)
        return state

    def _save_state(self, expected: int, state: SummaryState) -> bool:
        """Put the state down; whether it was not changed by somebody else since it was read."""
        if isinstance(self.chat_store, KeepsSummaries):
            return self.chat_store.save_summary(self.chat_store_key, expected, state.model_dump())
        self.state = state
        return True

    # --- tokens -----------------------------------------------------------------------------------------------------

    def _tokens(self, message: ChatMessage) -> int:
        text = message.content or ""
        if calls_tools(message):
            text += json.dumps(to_message(message).tool_calls, ensure_ascii=False)
        return self._text_tokens(text)

    def _text_tokens(self, text: str) -> int:
        return len(self.tokenizer_fn(text)) if text else 0


class _Counter:
    """A tokenizer of LlamaIndex as a counter of ours."""

    name = "llama-index tokenizer"

    def __init__(self, count: Callable[[str], int]) -> None:
        self.count = count


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


def _shown(
    prompts: Sequence[ChatMessage],
    summary: str | None,
    rest: Sequence[ChatMessage],
    *,
    left_out: int = 0,
    over_limit: bool = False,
    trouble: str | None = None,
) -> MemoryWindow:
    stated = [ChatMessage(role=MessageRole.SYSTEM, content=summary)] if summary else []
    messages = [*prompts, *stated, *rest]
    return MemoryWindow(messages, summary=summary, left_out=left_out, over_limit=over_limit, trouble=trouble)


def _covered(said: Sequence[ChatMessage], staying: Sequence[ChatMessage]) -> int:
    """How many messages stand before the first that stays. Prompts among those that stay are not counted."""
    left = len(staying)
    place = len(said)
    while left:
        place -= 1
        if not is_prompt(said[place]):
            left -= 1
    return place


def _digest(messages: Sequence[ChatMessage]) -> str:
    found = blake2b(digest_size=16)
    for message in messages:
        found.update(encode_message(to_message(message)).encode())
        found.update(b"\n")
    return found.hexdigest()

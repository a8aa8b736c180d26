"""A model of LlamaIndex that makes the summaries of the chat room."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from llama_index.core.llms.llm import LLM
from llama_index.core.memory.chat_summary_memory_buffer import SUMMARIZE_PROMPT

from jiyi.chat import make_budget
from jiyi.chat.model_summarizer import ModelSummarizer
from jiyi.chat.overrides import CallerCounter
from jiyi.errors import ContextOverflowError
from jiyi.integrations.llama_index.messages import to_chat_message
from jiyi.model.message import Message

_OVERFLOW = re.compile(
    r"context.{0,20}(?:length|window|size|limit)|prompt is too long|too many (?:input )?tokens|maximum.{0,20}tokens",
    re.IGNORECASE | re.DOTALL,
)


class LlamaIndexModel:
    """An LLM of LlamaIndex as a chat model of jiyi."""

    def __init__(self, llm: LLM) -> None:
        self._llm = llm
        self.name = f"llama-index:{llm.metadata.model_name or type(llm).__name__}"

    def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int | None = None,  # noqa: ARG002 - not every LLM of LlamaIndex takes it; the prompt says it too
        schema: Mapping[str, Any] | None = None,  # noqa: ARG002 - of the protocol
        timeout: float | None = None,  # noqa: ARG002 - the LLM has its own
    ) -> str:
        """The reply of the LLM."""
        try:
            reply = self._llm.chat([to_chat_message(message) for message in messages])
        except Exception as error:
            # Each maker has errors of its own; what they have in common is the wording.
            if _OVERFLOW.search(str(error)):
                raise ContextOverflowError(str(error)) from error
            raise
        return reply.message.content or ""

    def stream(self, messages: Sequence[Message], *, max_tokens: int | None = None) -> Iterator[str]:
        """The reply in one piece."""
        yield self.complete(messages, max_tokens=max_tokens)


class LlamaIndexSummarizer:
    """Summaries by an LLM of LlamaIndex, asked as the chat room asks its own model."""

    def __init__(self, llm: LLM, *, prompt: str | None, token_limit: int, count_tokens: Callable[[str], int]) -> None:
        model = LlamaIndexModel(llm)
        self.name = model.name
        # LlamaIndex's default says neither in which language nor how long the summary should be.
        own = None if prompt == SUMMARIZE_PROMPT else prompt
        portion = make_budget(token_limit, 1, None).portion
        self._summarizer = ModelSummarizer(model, CallerCounter(count_tokens), prompt=own, max_input=portion)

    def __call__(self, previous: str | None, messages: Sequence[Message], max_tokens: int) -> str:
        """The next summary: of the previous one, and of the messages that leave the window."""
        return self._summarizer.summary_of(previous, messages, max_tokens)

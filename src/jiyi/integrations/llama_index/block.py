"""JiyiMemoryBlock: a jiyi memory as a block of LlamaIndex's `Memory`."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.bridge.pydantic import ConfigDict, Field, field_validator
from llama_index.core.memory import BaseMemoryBlock

from jiyi.integrations.llama_index.messages import to_message
from jiyi.integrations.opened import check_memory
from jiyi.integrations.quoting import quoted
from jiyi.model.relevance import MIN_RELEVANCE
from jiyi.sync import AgentMemory
from jiyi.text.token_count import ESTIMATE

_SESSION = "session_id"


class JiyiMemoryBlock(BaseMemoryBlock[str]):
    """Recalls what fits the last message of the user, and keeps the messages that leave the short-term memory.

    The kept messages are conversations of the memory, by session, and can be recalled like everything else there.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    name: str = Field(default="jiyi")
    memory: AgentMemory = Field(exclude=True)
    """A memory of `jiyi.sync` that is open; it is not closed here."""
    scope: str | None = Field(default=None)
    limit: int = Field(default=5, ge=1)
    """How many memories are recalled at most."""
    min_relevance: float = Field(default=MIN_RELEVANCE, ge=0.0, le=1.0)
    """How likely each has to fit the message."""

    @field_validator("memory", mode="before")
    @classmethod
    def _check_memory(cls, value: object) -> object:
        return check_memory("JiyiMemoryBlock", value)

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:  # noqa: ARG002
        """Memories for the last message of the user, the best first, quoted; empty when nothing fits."""
        asked = [one.content for one in messages or () if one.role == MessageRole.USER and (one.content or "").strip()]
        if not asked or asked[-1] is None:
            return ""
        hits = await asyncio.to_thread(
            self.memory.recall, asked[-1], self.limit, scope=self.scope, min_relevance=self.min_relevance
        )
        shown = {str(one.content) for one in messages or ()}
        lines = [hit.content for hit in hits if hit.content not in shown]
        return quoted(lines) if lines else ""

    async def _aput(self, messages: list[ChatMessage]) -> None:
        """Keep messages that have left the short-term memory."""
        by_session: dict[str | None, list[ChatMessage]] = defaultdict(list)
        for message in messages:
            session = message.additional_kwargs.get(_SESSION)
            kept = {name: value for name, value in message.additional_kwargs.items() if name != _SESSION}
            by_session[session].append(message.model_copy(update={"additional_kwargs": kept}))
        for session, said in by_session.items():
            chat = self.memory.chat(session, scope=self.scope)
            await asyncio.to_thread(chat.put_many, [to_message(message) for message in said])

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """Without as many of the last memories as have these tokens; `None` when nothing would be left."""
        lines = content.splitlines()
        removed = 0
        while len(lines) > 1 and removed < tokens_to_truncate:
            removed += ESTIMATE.count(lines.pop()) + 1
        return "\n".join(lines) if len(lines) > 1 else None

"""MemoryWindow: what `ChatMemory.get` returns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llama_index.core.base.llms.types import ChatMessage

from jiyi.chat import ChatWindow
from jiyi.integrations.llama_index.messages import to_chat_message
from jiyi.model.chat import Backlog


class MemoryWindow(list[ChatMessage]):
    """A list of messages that also says how it came about: a `ChatWindow` with the messages of LlamaIndex."""

    def __init__(
        self,
        messages: Sequence[ChatMessage] = (),
        *,
        summary: str | None = None,
        tokens: int = 0,
        left_out: int = 0,
        over_limit: bool = False,
        trouble: str | None = None,
        pending: Backlog | None = None,
    ) -> None:
        super().__init__(messages)
        self.summary = summary
        """The summary in force; it is in the list as a message of the user, quoted."""
        self.tokens = tokens
        """All of it together, the summary included."""
        self.left_out = left_out
        """How many messages are missing from this answer only, because no summary covers them yet."""
        self.over_limit = over_limit
        """The newest message with the system messages is larger than the limit by itself, and is shown nevertheless."""
        self.trouble = trouble
        """Why a compaction that was due has not happened, in words."""
        self.pending = pending
        """What is missing in this answer because it is not summarised yet, and how far that work is; or `None`."""

    @classmethod
    def of(cls, window: ChatWindow) -> MemoryWindow:
        """A window of the chat room."""
        return cls(
            [to_chat_message(message) for message in window],
            summary=None if window.summary is None else window.summary.content,
            tokens=window.tokens,
            left_out=window.left_out,
            over_limit=window.over_limit,
            trouble=window.trouble,
            pending=window.pending,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return (list, (list(self),))

"""What a compaction asks for: a summary, and what is worth keeping. Made by rules or by a model; never by both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from jiyi.chat.groups import calls_of
from jiyi.model.chat import StoredMessage
from jiyi.model.message import Message
from jiyi.model.storable import storable


@dataclass(frozen=True, slots=True)
class Proposal:
    """Something worth keeping, and the messages in which it was said."""

    content: str
    kind: str
    confidence: float
    first: StoredMessage
    last: StoredMessage
    domain: str | None = None
    importance: float | None = None


class Summarizer(Protocol):
    """Makes both products of a compaction. May be slow, and may fail with any error."""

    @property
    def made_by(self) -> str:
        """What is written down as the maker: `rules`, or the name of a model."""
        ...

    def summarize(self, previous: str | None, messages: Sequence[StoredMessage], *, max_tokens: int) -> str:
        """A summary of the messages that takes up the summary of what came before them."""
        ...

    def propose(self, messages: Sequence[StoredMessage]) -> list[Proposal]:
        """What in these messages is worth keeping."""
        ...


def readable(message: Message) -> str:
    """All that a message says: its words, and the calls it makes."""
    parts = [message.text] if message.text.strip() else []
    for call in message.tool_calls or ():
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            parts.append(f"{function.get('name', '?')}({function.get('arguments', '')})")
    if not parts and calls_of(message):
        parts.append("tool call")
    return storable("\n".join(parts)).strip()

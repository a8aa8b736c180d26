"""What a compaction needs: a summary, and candidates. Both come from rules, from a model, or from the caller."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from jiyi.chat.groups import tool_call_ids
from jiyi.model.chat import StoredMessage, Summary
from jiyi.model.message import Message
from jiyi.model.storable import storable
from jiyi.model.thinking import strip_thinking
from jiyi.text.statements.keeping.off_record import MessageText, keepable_texts


@dataclass(frozen=True, slots=True)
class Proposal:
    """A statement worth keeping, and the messages in which it was said."""

    content: str
    kind: str
    confidence: float
    first: StoredMessage
    last: StoredMessage
    domain: str | None = None
    importance: float | None = None


class EarlierSummaries:
    """The summaries so far."""

    def __init__(self, last: Summary | None = None, read_all: Callable[[], Sequence[Summary]] = lambda: ()) -> None:
        self.last = last
        self._read_all = read_all

    @property
    def text(self) -> str | None:
        """The summary in force, which contains the others."""
        return self.last.content if self.last is not None else None

    def all(self) -> Sequence[Summary]:
        """All of them, oldest first; they are read only when this is called."""
        return self._read_all() if self.last is not None else ()


class Summarizer(Protocol):
    """Makes both products of a compaction. May be slow, and may raise any error."""

    @property
    def made_by(self) -> str:
        """What is recorded as `made_by`: `rules`, or the name of a model."""
        ...

    def summarize(self, earlier: EarlierSummaries, messages: Sequence[StoredMessage], *, max_tokens: int) -> str:
        """A summary of the messages and of the last earlier summary together."""
        ...

    def propose(self, messages: Sequence[StoredMessage]) -> list[Proposal]:
        """What in these messages is worth keeping."""
        ...


def keepable_messages(messages: Sequence[StoredMessage]) -> list[StoredMessage]:
    """The messages without what the user asks not to keep."""
    said = [MessageText(one.message.role, one.message.name, one.message.text) for one in messages]
    return [
        one if text == spoken.text else replace(one, message=replace(one.message, content=text))
        for one, spoken, text in zip(messages, said, keepable_texts(said), strict=True)
    ]


def transcript_text(message: Message) -> str:
    """What a message says, as summarizers read it: its words without reasoning, and its tool calls."""
    lines = [said] if (said := spoken_text(message)).strip() else []
    for call in message.tool_calls or ():
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            lines.append(f"{function.get('name', '?')}({function.get('arguments', '')})")
    if message.item_type == "function_call":
        lines.append(f"{message.name or '?'}({message.extra.get('arguments', '')})")
    elif message.item_type == "function_call_output":
        lines.append(str(message.extra.get("output", "")))
    if not lines and tool_call_ids(message):
        lines.append("tool call")
    return storable("\n".join(lines)).strip()


def spoken_text(message: Message) -> str:
    """The words of a message; those of an assistant without the reasoning that models write in tags."""
    return strip_thinking(message.text) if message.role == "assistant" else message.text

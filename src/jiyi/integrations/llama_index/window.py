"""Which messages stay in a window and which leave it. Pure: no store and no model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole

from jiyi.integrations.llama_index.messages import calls_tools

MIN_STRICT_LIMIT = 128
"""Below this a limit cannot hold a summary beside messages: it is taken as LlamaIndex takes it, for full messages."""

_PROMPTS = (MessageRole.SYSTEM, MessageRole.DEVELOPER)
_ANSWERS = (MessageRole.ASSISTANT, MessageRole.TOOL, MessageRole.FUNCTION, MessageRole.CHATBOT, MessageRole.MODEL)
_RESULTS = (MessageRole.TOOL, MessageRole.FUNCTION)


class MemoryWindow(list[ChatMessage]):
    """What `ChatMemory.get` returns: a list of messages that also says how it came about."""

    def __init__(
        self,
        messages: Sequence[ChatMessage] = (),
        *,
        summary: str | None = None,
        left_out: int = 0,
        over_limit: bool = False,
        trouble: str | None = None,
    ) -> None:
        super().__init__(messages)
        self.summary = summary
        """The summary in force; it stands in the list as a system message."""
        self.left_out = left_out
        """How many messages were left out of this answer only, because they could not be summarised."""
        self.over_limit = over_limit
        """Whether the prompts and the newest message alone are more than the limit."""
        self.trouble = trouble
        """Why there is no newer summary."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (list, (list(self),))


@dataclass(frozen=True, slots=True)
class Split:
    """A conversation behind the last summary, cut in two."""

    leaving: list[ChatMessage]
    """What goes under the next summary, oldest first."""
    staying: list[ChatMessage]
    over_limit: bool


def is_prompt(message: ChatMessage) -> bool:
    """System messages instruct the model: they are never summarised."""
    return message.role in _PROMPTS


def split(messages: Sequence[ChatMessage], room: int, count: Callable[[ChatMessage], int]) -> Split:
    """Keep the newest messages that fit into `room` tokens; none of these messages is a prompt.

    A window does not begin with an answer, a tool call stays with its results, and the newest message always stays.
    """
    first, total = len(messages), 0
    while first > 0 and total + count(messages[first - 1]) <= room:
        first -= 1
        total += count(messages[first])
    while 0 < first < len(messages) and messages[first].role in _ANSWERS:
        first += 1
    newest = _newest_group(messages)
    first = min(first, newest)
    staying = list(messages[first:])
    return Split(list(messages[:first]), staying, over_limit=sum(map(count, staying)) > room)


def _newest_group(messages: Sequence[ChatMessage]) -> int:
    """Where the newest message begins: results of tools go with the call that asked for them."""
    if not messages:
        return 0
    first = len(messages) - 1
    while first > 0 and messages[first].role in _RESULTS:
        first -= 1
    return first if first == len(messages) - 1 or calls_tools(messages[first]) else first + 1

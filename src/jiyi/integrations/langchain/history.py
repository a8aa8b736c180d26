"""JiyiChatMessageHistory: the messages of a LangChain conversation in the chat room of a memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    message_to_dict,
    messages_from_dict,
)

from jiyi.integrations.opened import check_memory
from jiyi.model.message import Message
from jiyi.sync import AgentMemory

_OWN: Final = "langchain"
"""Under this name a stored message keeps what only LangChain knows of it."""
_ROLES: Final = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool"}
_CLASSES: Final[dict[str, type[BaseMessage]]] = {
    "user": HumanMessage,
    "assistant": AIMessage,
    "system": SystemMessage,
}


class JiyiChatMessageHistory(BaseChatMessageHistory):
    """The messages of one conversation: durable, recalled by `memory.recall`, the same that `memory.chat` shows.

    `clear` begins the conversation anew; what was said before stays until `memory.forget_session` deletes it.
    """

    def __init__(self, session_id: str, memory: AgentMemory, *, scope: str | None = None) -> None:
        """`memory` is a `jiyi.sync.AgentMemory` that is open; it is not closed here."""
        self.session_id = session_id
        self._chat = check_memory("JiyiChatMessageHistory", memory).chat(session_id, scope=scope)

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override] # an attribute there
        """Every message since the last `clear`, exactly as it was added."""
        return [_from_stored(message) for message in self._chat.get_all()]

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Add messages in one transaction."""
        if messages:
            self._chat.put_many([_to_stored(message) for message in messages])

    def clear(self) -> None:
        """Begin the conversation anew."""
        self._chat.reset()


def _to_stored(message: BaseMessage) -> Message:
    role = _ROLES.get(message.type, message.type)
    content: Any = message.content
    plain = _CLASSES.get(role)
    if plain is not None and isinstance(content, str) and plain(content=content) == message:
        return Message(role=role, content=content)
    data = message_to_dict(message)
    calls = getattr(message, "tool_calls", None)
    return Message(
        role=role,
        content=message.text if isinstance(message.text, str) else str(content),
        tool_calls=[dict(call) for call in calls] if calls else None,
        tool_call_id=message.tool_call_id if isinstance(message, ToolMessage) else None,
        extra={_OWN: data},
    )


def _from_stored(message: Message) -> BaseMessage:
    own = message.extra.get(_OWN)
    if isinstance(own, dict):
        return messages_from_dict([own])[0]
    if message.role == "tool":
        return ToolMessage(content=message.text, tool_call_id=message.tool_call_id or "")
    # A role that LangChain does not know is who said it.
    return _CLASSES.get(message.role, HumanMessage)(content=message.text)

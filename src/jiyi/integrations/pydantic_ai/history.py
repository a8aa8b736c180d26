"""JiyiMessageHistory: the messages of a Pydantic AI conversation in the chat room of a memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    UserPromptPart,
)

from jiyi.integrations.opened import AnyMemory, check_any_memory, finished
from jiyi.model.message import Message

_OWN: Final = "pydantic_ai"
"""Under this name a stored message keeps the whole message of Pydantic AI."""


class JiyiMessageHistory:
    """The messages of one conversation: durable, recalled by `memory.recall`, the same that `memory.chat` shows."""

    def __init__(self, session_id: str, memory: AnyMemory, *, scope: str | None = None) -> None:
        """`memory` is open, with async or without; it is not closed here."""
        self.session_id = session_id
        self._chat = check_any_memory("JiyiMessageHistory", memory).chat(session_id, scope=scope)

    async def load(self) -> list[ModelMessage]:
        """The messages for `message_history=` of a run, exactly as they were added."""
        return [_from_stored(message) for message in await finished(self._chat.get_all)]

    async def add(self, messages: Sequence[ModelMessage]) -> None:
        """Add the new messages of a run (`result.new_messages()`), in one transaction."""
        if messages:
            data = ModelMessagesTypeAdapter.dump_python(list(messages), mode="json")
            stored = [_to_stored(message, one) for message, one in zip(messages, data, strict=True)]
            await finished(self._chat.put_many, stored)

    async def clear(self) -> None:
        """Begin the conversation anew; what was said before stays in its history."""
        await finished(self._chat.reset)


def _to_stored(message: ModelMessage, data: dict[str, Any]) -> Message:
    role = "assistant" if isinstance(message, ModelResponse) else "user"
    if isinstance(message, ModelRequest) and not any(isinstance(part, UserPromptPart) for part in message.parts):
        role = "tool"
    texts = [
        part.content
        for part in message.parts
        if isinstance(part, TextPart | UserPromptPart) and isinstance(part.content, str)
    ]
    return Message(role=role, content="\n".join(texts) or None, extra={_OWN: data})


def _from_stored(message: Message) -> ModelMessage:
    own = message.extra.get(_OWN)
    if isinstance(own, dict):
        found: ModelMessage = ModelMessagesTypeAdapter.validate_python([own])[0]
        return found
    if message.role == "assistant":
        return ModelResponse(parts=[TextPart(message.text)])
    return ModelRequest(parts=[UserPromptPart(message.text)])

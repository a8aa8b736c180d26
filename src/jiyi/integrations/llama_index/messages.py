"""Between LlamaIndex's messages and ours, without loss."""

from __future__ import annotations

from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock, ToolCallBlock

from jiyi.model.message import Message

_OWN = "llama_index"
"""Under this name a stored message keeps what only LlamaIndex knows of it."""


def to_message(message: ChatMessage) -> Message:
    """A message as jiyi stores it. A plain text stays a plain text that every reader of the history understands."""
    role = message.role.value
    text = message.content
    if not message.additional_kwargs and _is_plain(message):
        return Message(role=role, content=text)
    data = message.model_dump(mode="json")
    return Message(
        role=role,
        content=text,
        tool_calls=_tool_calls(message, data),
        tool_call_id=_text_or_none(data["additional_kwargs"].get("tool_call_id")),
        extra={_OWN: {"blocks": data["blocks"], "additional_kwargs": data["additional_kwargs"]}},
    )


def to_chat_message(message: Message) -> ChatMessage:
    """The inverse of `to_message`; a message that came from elsewhere is put into LlamaIndex's form."""
    own = message.extra.get(_OWN)
    if isinstance(own, dict):
        return ChatMessage.model_validate({"role": message.role, **own})
    extra: dict[str, Any] = {}
    if message.tool_calls is not None:
        extra["tool_calls"] = message.tool_calls
    if message.tool_call_id is not None:
        extra["tool_call_id"] = message.tool_call_id
    if message.name is not None:
        extra["name"] = message.name
    role = _role(message.role)
    if isinstance(message.content, list):
        parts = [part.get("text") for part in message.content if isinstance(part, dict)]
        blocks = [TextBlock(text=part) for part in parts if isinstance(part, str)]
        return ChatMessage(role=role, blocks=blocks, additional_kwargs=extra)
    return ChatMessage(role=role, content=message.content, additional_kwargs=extra)


def _is_plain(message: ChatMessage) -> bool:
    if not message.blocks:
        return True
    only = message.blocks[0]
    return len(message.blocks) == 1 and isinstance(only, TextBlock) and only == TextBlock(text=only.text)


def _role(role: str) -> MessageRole:
    try:
        return MessageRole(role)
    except ValueError:
        # LlamaIndex has a closed list of roles; the role of another program becomes the user.
        return MessageRole.USER


def _tool_calls(message: ChatMessage, data: dict[str, Any]) -> list[Any] | None:
    calls = data["additional_kwargs"].get("tool_calls")
    if isinstance(calls, list) and calls:
        return calls
    blocks = [block.model_dump(mode="json") for block in message.blocks if isinstance(block, ToolCallBlock)]
    return blocks or None


def _text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) else None

"""JiyiSession: a `Session` of OpenAI's Agents SDK on the chat room of a memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from agents.items import TResponseInputItem
from agents.memory import SessionSettings

from jiyi.errors import InvalidInputError
from jiyi.integrations.opened import AnyMemory, check_any_memory, finished
from jiyi.model.message import Message

_OWN: Final = "openai_agents_item"
"""Under this name a stored message keeps an item that it could not give back exactly otherwise."""


class JiyiSession:
    """The items of one conversation: durable, recalled by `memory.recall`, and the same that `memory.chat` shows.

    `clear_session` begins the conversation anew; what was said before stays in its history until
    `memory.forget_session` deletes it.
    """

    session_id: str
    session_settings: SessionSettings | None

    def __init__(
        self,
        session_id: str,
        memory: AnyMemory,
        *,
        scope: str | None = None,
        session_settings: SessionSettings | None = None,
    ) -> None:
        """`memory` is open, with async or without; it is not closed here."""
        self._memory = check_any_memory("JiyiSession", memory)
        self._chat = self._memory.chat(session_id, scope=scope)
        self.session_id = session_id
        self.session_settings = session_settings

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The items of the conversation in their order; with a limit the last ones."""
        max_items = limit if limit is not None or self.session_settings is None else self.session_settings.limit
        if max_items is not None and max_items <= 0:
            return []
        said = await finished(self._chat.get_all)
        return [_item(message) for message in (said if max_items is None else said[-max_items:])]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Add items; all of them are on disk when this returns, or none."""
        if items:
            await finished(self._chat.put_many, [_message(item, index) for index, item in enumerate(items)])

    async def pop_item(self) -> TResponseInputItem | None:
        """Take the last item out."""
        taken = await finished(self._chat.pop_message)
        return None if taken is None else _item(taken)

    async def clear_session(self) -> None:
        """Begin the conversation anew."""
        await finished(self._chat.reset)

    def __repr__(self) -> str:
        return f"<JiyiSession {self.session_id!r} scope={self._chat.scope!r}>"


def _message(item: object, index: int) -> Message:
    if not isinstance(item, Mapping):
        raise InvalidInputError(f"items[{index}] is a {type(item).__name__}; pass a dict with a role or a type")
    message = Message.from_dict(item)
    if (message.role or message.item_type) and message.to_dict() == item:
        return message
    role = item.get("role") if isinstance(item.get("role"), str) and item.get("role") else "assistant"
    return Message(role=str(role), content=message.text or None, extra={_OWN: dict(item)})


def _item(message: Message) -> TResponseInputItem:
    own = message.extra.get(_OWN)
    data: dict[str, Any] = own if isinstance(own, dict) else message.to_dict()
    return cast(TResponseInputItem, data)

"""Message: one turn of a conversation, kept exactly as it was given."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeAlias

from jiyi.errors import InvalidInputError
from jiyi.model.storable import LONE_SURROGATE, is_storable

MessageLike: TypeAlias = "Message | Mapping[str, Any]"
_FIELDS = frozenset({"role", "content", "tool_calls", "tool_call_id", "name"})
IMPORTED_FROM = "imported_from"
"""The field of a message that was said elsewhere: the name of the program that it was imported from."""
_TIME_FIELDS = ("created_at", "timestamp", "create_time", "date")
_ISO_DATE = re.compile(r"\d{4}-?\d\d-?\d\d(?:\Z|[T ])")
# From 1990 to 2100: other numbers are counters, not times.
_FIRST_SECOND, _LAST_SECOND = 631_152_000, 4_102_444_800
_options: dict[str, Any] = {"allow_nan": False, "separators": (",", ":")}
_readable_encoder = json.JSONEncoder(ensure_ascii=False, **_options)
_ascii_encoder = json.JSONEncoder(ensure_ascii=True, **_options)


@dataclass(frozen=True, slots=True)
class Message:
    """A message in the OpenAI form; `extra` keeps every other field it came with.

    An item of OpenAI's Responses form without a role, such as a `function_call`, is a message with an empty role and
    its `type` in `extra`.
    """

    role: str
    content: str | list[Any] | None = None
    tool_calls: list[Any] | None = None
    tool_call_id: str | None = None
    name: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The OpenAI-style dictionary; what was `None` is left out, except the `content` of a message with a role."""
        data: dict[str, Any] = {"role": self.role, "content": self.content} if self.role else {}
        if not self.role and self.content is not None:
            data["content"] = self.content
        for name in ("tool_calls", "tool_call_id", "name"):
            value = getattr(self, name)
            if value is not None:
                data[name] = value
        data.update(self.extra)
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Message:
        """Read an OpenAI-style dictionary; unknown fields are kept in `extra`."""
        return cls(
            role=data.get("role", ""),
            content=data.get("content"),
            tool_calls=data.get("tool_calls"),
            tool_call_id=data.get("tool_call_id"),
            name=data.get("name"),
            extra={} if _FIELDS.issuperset(data) else {n: value for n, value in data.items() if n not in _FIELDS},
        )

    @property
    def item_type(self) -> str | None:
        """The type of an item without a role; `None` for every other message."""
        if self.role:
            return None
        kind = self.extra.get("type")
        return kind if isinstance(kind, str) and kind else None

    @property
    def text(self) -> str:
        """The words of the message: its content, or the text parts of structured content."""
        if isinstance(self.content, str):
            return self.content
        if isinstance(self.content, list):
            parts = [part.get("text") for part in self.content if isinstance(part, Mapping)]
            return "\n".join(part for part in parts if isinstance(part, str))
        return ""


def imported_from(message: Message) -> str | None:
    """The program from which a message was imported; `None` for one that was said here."""
    name = message.extra.get(IMPORTED_FROM)
    return name if isinstance(name, str) and name else None


def time_of_message(message: Message) -> datetime | None:
    """When a message says that it was said: a field of a common name that is plainly a time; otherwise `None`."""
    for name in _TIME_FIELDS:
        found = _plain_time(message.extra.get(name))
        if found is not None:
            return found
    return None


def _plain_time(value: object) -> datetime | None:
    """Seconds or milliseconds since 1970, or a date in ISO 8601; a text without a zone is in UTC."""
    if isinstance(value, str) and _ISO_DATE.match(value):
        try:
            found = datetime.fromisoformat(value)
        except ValueError:
            return None
        found = found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        seconds = value / 1000 if value >= _LAST_SECOND else value
        if not _FIRST_SECOND <= seconds < _LAST_SECOND:
            return None
        found = datetime.fromtimestamp(seconds, UTC)
    else:
        return None
    return found if _FIRST_SECOND <= found.timestamp() < _LAST_SECOND else None


def encode_message(message: Message) -> str:
    """JSON that people can read in the database; escaped where a lone surrogate would not survive it."""
    data = message.to_dict()
    text = _readable_encoder.encode(data)
    return _ascii_encoder.encode(data) if LONE_SURROGATE.search(text) else text


def decode_message(text: str) -> Message:
    """The inverse of `encode_message`; raises `ValueError` when the text is not a message."""
    data = json.loads(text)
    message = Message.from_dict(data) if isinstance(data, dict) else None
    if message is None or not isinstance(message.role, str) or not (message.role or message.item_type):
        raise ValueError("not a message: an object with a role, or an item with a type, is needed")
    return message


def check_messages(messages: object) -> list[Message]:
    """Messages and dictionaries as `Message` values; the first wrong one is named and nothing is taken."""
    if isinstance(messages, str | bytes | Mapping | Message) or not isinstance(messages, Sequence):
        raise InvalidInputError(f"messages must be a list of messages, not {type(messages).__name__}")
    return [check_message(message, f"messages[{index}]") for index, message in enumerate(messages)]


def check_message(value: object, where: str) -> Message:
    """One message, checked to survive a round trip unchanged."""
    if isinstance(value, Mapping):
        if not all(isinstance(name, str) for name in value):
            raise InvalidInputError(f"{where} has a field name that is not text")
        message = Message.from_dict(value)
    elif isinstance(value, Message):
        message = value
    else:
        raise InvalidInputError(f"{where} is a {type(value).__name__}; pass a Message or a dict with role and content")
    if not isinstance(message.role, str) or not (message.role.strip() or message.item_type):
        raise InvalidInputError(
            f"{where} has no role; use 'user', 'assistant', 'system' or 'tool' (an item without a role needs a type)"
        )
    if not is_storable(message.role):
        raise InvalidInputError(f"{where} has a role with a lone surrogate or NUL: {message.role!a}; remove it")
    if not isinstance(message.content, str | list | None):
        raise InvalidInputError(
            f"{where}.content is a {type(message.content).__name__}; use text, a list of parts or None"
        )
    if _is_plain(message):
        return message
    try:
        survives = decode_message(encode_message(message)) == message
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInputError(f"{where} cannot be written as JSON: {error}") from None
    if not survives:
        raise InvalidInputError(
            f"{where} would not come back unchanged; use only JSON types (lists, not tuples; text keys)"
        )
    return message


def _is_plain(message: Message) -> bool:
    """Whether it consists of texts without lone surrogates, as most messages do: such a message needs no round trip."""
    return (
        message.extra == {}
        and message.tool_calls is None
        and all(
            value is None or (type(value) is str and (value.isascii() or not LONE_SURROGATE.search(value)))
            for value in (message.role, message.content, message.tool_call_id, message.name)
        )
    )

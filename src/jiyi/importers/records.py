"""What importers produce: entries, conversations, and what they leave out."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias

from jiyi.model.storable import storable

MAX_TEXT: Final = 48 * 1024
"""How many bytes of text one entry holds; longer texts are split."""
_MAX_KEY: Final = 512
_MAX_TAGS: Final = 64
_MAX_TAG: Final = 200
_MAX_ORIGIN: Final = 500


@dataclass(frozen=True, slots=True)
class ImportedEntry:
    """A memory of another program."""

    key: str
    content: str
    scope: str | None = None
    """Whose it was there; the scope of the import decides first."""
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    namespace: tuple[str, ...] = ()
    memory_type: str | None = None
    occurred_at: datetime | None = None
    expires_at: datetime | None = None

    @property
    def stored_key(self) -> str:
        """The key, shortened where it is too long."""
        return storable_name(self.key)

    def arguments(self, scope: str | None) -> dict[str, Any]:
        """The arguments of `store`."""
        given = {
            "tags": _storable_tags(self.tags),
            "metadata": dict(self.metadata),
            "namespace": self.namespace,
            "memory_type": self.memory_type,
            "occurred_at": self.occurred_at,
            "expires_at": self.expires_at,
        }
        return {
            "key": self.stored_key,
            "content": self.content,
            "scope": scope,
            **{name: value for name, value in given.items() if value},
        }


@dataclass(frozen=True, slots=True)
class ImportedConversation:
    """A conversation of another program; each message has an `id` and, where it is known, `created_at`."""

    conversation_id: str
    messages: tuple[Mapping[str, Any], ...]
    title: str = ""
    scope: str | None = None

    @property
    def session_id(self) -> str:
        """The id of the session, shortened where it is too long."""
        return storable_name(self.conversation_id)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something that is not imported, and why."""

    reason: str


Imported: TypeAlias = ImportedEntry | ImportedConversation | LeftOut
Stream: TypeAlias = Iterator[Imported]


def origin(name: str, **about: Any) -> dict[str, Any]:
    """Where a memory comes from, for its metadata. Whatever the file has there is a short text."""
    shown = {key: storable(str(value))[:_MAX_ORIGIN] for key, value in about.items() if value not in (None, "")}
    return {"import": {"from": name, **shown}}


def storable_name(name: str) -> str:
    """A name without what cannot be stored; a digest stands for what is too long or was left out."""
    kept = storable(name)
    return name if kept == name and name.strip() and len(name) <= _MAX_KEY else f"{kept[:64]}#{digest(name)}"


def _storable_tags(tags: Iterable[str]) -> tuple[str, ...]:
    cleaned = dict.fromkeys(storable(tag).strip() for tag in tags)
    return tuple(tag for tag in cleaned if tag and len(tag) <= _MAX_TAG)[:_MAX_TAGS]


def digest(*parts: str) -> str:
    """A short name for a text that has no id."""
    return hashlib.sha256("\x1f".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:24]


def time_of(value: object) -> datetime | None:
    """A time as programs write it: seconds since 1970, or ISO 8601 (UTC where no zone is given); else `None`."""
    if isinstance(value, bool) or value is None:
        return None
    try:
        if isinstance(value, int | float):
            return datetime.fromtimestamp(value / 1000 if value > 1e11 else value, UTC)
        found = datetime.fromisoformat(str(value).strip())
    except (ValueError, OverflowError, OSError):
        return None
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)


def imported_message(role: str, content: str, message_id: str, when: datetime | None) -> dict[str, Any]:
    """A message of an imported conversation, with the time at which it was said if that is known."""
    message = {"role": role, "content": storable(content), "id": message_id}
    return message if when is None else {**message, "created_at": when.isoformat()}


def pieces(text: str, max_bytes: int = MAX_TEXT) -> Iterator[str]:
    """A text in pieces of at most `max_bytes` bytes, split between paragraphs, lines or at worst characters."""
    data = text.encode("utf-8")
    start = 0
    while len(data) - start > max_bytes:
        part = data[start : start + max_bytes].decode("utf-8", "ignore")
        for mark in ("\n\n", "\n", "。", ". ", " "):
            place = part.rfind(mark)
            if place > len(part) // 2:
                part = part[: place + len(mark)]
                break
        yield part
        start += len(part.encode("utf-8"))
    yield data[start:].decode("utf-8")


def entries_of_text(key: str, text: str, **fields: Any) -> Iterator[ImportedEntry]:
    """One entry for a text, or several when it is too long for one."""
    parts = [part for part in pieces(storable(text)) if part.strip()]
    for number, part in enumerate(parts):
        yield ImportedEntry(key if len(parts) == 1 else f"{key}#{number + 1}", part.strip(), **fields)

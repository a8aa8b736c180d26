"""Memories and conversations as Markdown that people read."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from jiyi.model.chat import StoredMessage
    from jiyi.model.entry import MemoryEntry

_UNSAFE: Final = re.compile(r"[^\w.@+-]+")
_MAX_NAME: Final = 80


def file_name(name: str) -> str:
    """A name for a file: readable, and never the same for two names, also where a file system ignores case."""
    plain = _UNSAFE.sub("_", name).strip("._") or "_"
    if plain == name == unicodedata.normalize("NFC", name.lower()) and len(plain) <= _MAX_NAME:
        return plain
    return f"{plain[:_MAX_NAME]}-{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def entry_text(entry: MemoryEntry) -> str:
    """One memory: a heading with its day, its text, and what else is known of it."""
    heading = f"## {entry.event_time.date().isoformat()} {entry.key or entry.id}".replace("\n", " ")
    about = [f"- {name}: {value}" for name, value in _facts(entry)]
    return "\n".join([heading, "", entry.content.strip(), *(["", *about] if about else [])]) + "\n"


def _facts(entry: MemoryEntry) -> list[tuple[str, str]]:
    found = [
        ("tags", ", ".join(entry.tags)),
        ("namespace", " / ".join(entry.namespace)),
        ("expires", "" if entry.expires_at is None else entry.expires_at.isoformat()),
        ("id", entry.id if entry.key else ""),
    ]
    return [(name, value) for name, value in found if value]


def conversation_text(session: str, said: Sequence[StoredMessage]) -> str:
    """One conversation: who said what, when."""
    lines = [f"# {session}".replace("\n", " ")]
    for stored in said:
        when = "" if stored.created_at is None else f" ({stored.created_at.isoformat(timespec='seconds')})"
        who = stored.message.role or stored.message.item_type or "item"
        lines += ["", f"**{who}**{when}", "", stored.message.text.strip() or "(no text)"]
    return "\n".join(lines) + "\n"

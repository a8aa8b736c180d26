"""The addresses of pages about one thing: written once, because ids of conversations may be any text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from jiyi.apps.server.console.request_context import local_address
from jiyi.apps.server.logins import CONSOLE
from jiyi.model.entry import NOTE_TYPE, REFLECTION_TYPE
from jiyi.model.note import note_place

if TYPE_CHECKING:
    from jiyi.model.entry import MemoryEntry

_ID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_NOTE_LINES: Final = re.compile(r"(.+\.md):(\d+)(?:-\d+)?", re.DOTALL)


def entry(entry_id: str, more: str = "") -> str:
    """The page of an entry, or of something to do with it."""
    return local_address(f"{CONSOLE}/entries/{entry_id}{more}")


def conversation(session_id: str = "", more: str = "", **query: str) -> str:
    """The page of a conversation, or of something to do with it; without an id that of all."""
    if not session_id:
        return f"{CONSOLE}/conversations"
    return local_address(f"{CONSOLE}/conversation{more}", id=session_id, **query)


def message(session_id: str, message_id: str) -> str:
    """The place of a message in its conversation."""
    return f"{conversation(session_id, message=message_id)}#m-{message_id}"


def note_file(path: str) -> str:
    """The page of a note."""
    return local_address(f"{CONSOLE}/notes/files/{path}")


def note(path: str, line: int | str = 1) -> str:
    """The place of a line in a note."""
    return f"{note_file(path)}?line={line}#line-{line}"


def of_entry(found: MemoryEntry) -> str:
    """The page of an entry; a piece of a note is shown in its file."""
    if found.memory_type == NOTE_TYPE and found.source.references:
        path, first, _ = note_place(found.source.references)
        return note(path, first)
    return entry(found.id)


def of_reference(text: str, found: MemoryEntry) -> str:
    """Where a reference of an entry's source leads: a message, a line of a note or another entry; empty if nowhere."""
    if _ID.fullmatch(text):
        if found.conversation_id is not None and found.memory_type != REFLECTION_TYPE:
            return message(found.conversation_id, text)
        return entry(text)
    lines = _NOTE_LINES.fullmatch(text)
    return note(lines[1], lines[2]) if lines else ""

"""How an entry is shown in a console and in a notebook."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

from jiyi.model import clock

if TYPE_CHECKING:
    from jiyi.model.entry import MemoryEntry

MAX_CONTENT: Final = 60


def one_line(entry: MemoryEntry) -> str:
    """The entry in one line, its content shortened."""
    content = entry.content if len(entry.content) <= MAX_CONTENT else entry.content[: MAX_CONTENT - 1] + "…"
    name = f"key={entry.key!r}" if entry.key is not None else f"id={entry.id!r}"
    parts = [name, f"content={content!r}", f"category={str(entry.category)!r}", f"scope={entry.scope!r}"]
    if entry.relevance_score is not None:
        parts.append(f"relevance_score={entry.relevance_score:.3f}")
    return f"<MemoryEntry {' '.join(parts)}>"


def html(entry: MemoryEntry) -> str:
    """The entry as a table for notebooks; fields that say nothing are left out."""
    shown = {
        "key": entry.key,
        "content": entry.content,
        "category": str(entry.category),
        "type": entry.memory_type,
        "domain": ", ".join(entry.domains),
        "tags": ", ".join(entry.tags),
        "scope": entry.scope,
        "session": entry.conversation_id,
        "said by": " ".join(filter(None, (entry.role, entry.name))),
        "when": clock.to_text(entry.event_time),
        "version": str(entry.version),
        "relevance": None if entry.relevance_score is None else f"{entry.relevance_score:.3f}",
        "id": entry.id,
    }
    rows = "".join(
        f"<tr><th style='text-align:left'>{name}</th><td style='text-align:left'>{escape(value)}</td></tr>"
        for name, value in shown.items()
        if value
    )
    return f"<table>{rows}</table>"

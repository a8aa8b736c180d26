"""What the notes room is made of: its settings, and what it needs of the rest of the memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import tzinfo
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jiyi.model.limits import Limits
    from jiyi.model.recalled import RecalledEntries
    from jiyi.ports import ChatModel, ChatStore, RecordStore, TokenCounter
    from jiyi.recall.request import Request


@dataclass(frozen=True, slots=True)
class AppendLimits:
    """The greatest sizes that are accepted."""

    entry_bytes: int
    day_bytes: int
    file_bytes: int


@dataclass(frozen=True, slots=True)
class NotesSettings:
    """The settings of the notes room, as plain values."""

    workspace: Path
    data: Path
    """The data directory of the memory."""
    scope: str
    actor: str
    zone: tzinfo
    """Of the days of notes. That of the machine, too, has for each moment the offset that it had then."""
    limits: Limits
    append: AppendLimits
    lock_timeout: float
    """Seconds to wait for another process that changes files."""
    context_file_tokens: int
    long_term_tokens: int
    daily_tokens: int
    model: ChatModel | None = None
    """Curates; without a model, rules do."""
    take_candidates: bool = True
    """Whether candidates of chats are written into notes without being asked for."""
    counter: TokenCounter | None = None
    """Counts tokens; without a counter they are estimated from above."""


@dataclass(frozen=True, slots=True)
class NotesDeps:
    """The stores and functions that the notes room works with."""

    records: RecordStore
    chats: ChatStore
    """Where conversations leave candidates to keep."""
    recall: Callable[[Request], RecalledEntries]
    written: Callable[[], None]
    """Called after rows have changed, so that the indexes follow."""

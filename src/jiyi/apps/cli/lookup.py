"""Finding a memory by what a user types: its key, or the beginning of its id."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from jiyi.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jiyi.memory import AgentMemory
    from jiyi.model.entry import EntryVersion, MemoryEntry

_ID_PREFIX = re.compile(r"[0-9a-f]{8}[0-9a-f-]{0,28}")


async def by_key_or_id(memory: AgentMemory, name: str) -> MemoryEntry | None:
    """The memory with this key, or else the one whose id begins so. Raises `InvalidInputError` if several do."""
    found = await memory.get(name)
    if found is not None or not _ID_PREFIX.fullmatch(name):
        return found
    entries = await memory.entries_by_id(name)
    if len(entries) > 1:
        listed = ", ".join(entry.id for entry in entries[:5])
        raise InvalidInputError(f"several ids begin with {name}: {listed}; give more of the one that is meant")
    return entries[0] if entries else None


async def versions_by_key_or_id(memory: AgentMemory, name: str) -> Sequence[EntryVersion]:
    """The versions of the memory with this key, or else of the one whose id begins so.

    One that was forgotten is found by its key or its whole id.
    """
    found = await memory.history(name)
    if found or not _ID_PREFIX.fullmatch(name):
        return found
    entry = await by_key_or_id(memory, name)
    return await memory.history(id=name if entry is None else entry.id)


async def forget_by_key_or_id(memory: AgentMemory, name: str, *, erase: bool) -> MemoryEntry | bool:
    """Forget the memory of the scope with this key, or else the one whose id begins so; returns it, or `False`."""
    if await memory.forget(name, erase=erase):
        return True
    entry = await by_key_or_id(memory, name)
    if entry is None or not await memory.forget(id=entry.id, erase=erase):
        return False
    return entry

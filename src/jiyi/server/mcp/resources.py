"""Resources: single memories, the newest ones, and notes as files."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, unquote

from jiyi.errors import InvalidInputError, NotesError
from jiyi.server.access import Access

if TYPE_CHECKING:
    from jiyi.memory import AgentMemory
    from jiyi.model.entry import MemoryEntry

RECENT: Final = "memory://recent"
ENTRY: Final = "memory://entries/"
NOTE: Final = "memory://notes/"
_RECENT_COUNT: Final = 50
_LISTED: Final = 100
_MAX_NOTE: Final = 200_000


class Resources:
    """What a caller may read by address. Every address is looked up in the caller's own scope."""

    def __init__(self, memory: AgentMemory) -> None:
        self._memory = memory

    def has_notes(self, access: Access) -> bool:
        """Whether there is a workspace that this caller may see."""
        settings = self._memory.settings
        if settings.workspace is None or settings.enable_simple_memory:
            return False
        return access.may_see_notes(settings.scope)

    async def listed(self, access: Access) -> list[tuple[str, str, str]]:
        """Address, name and media type of what can be read: the newest memories, and the notes."""
        found = [(RECENT, "The newest memories", "application/json")]
        if self.has_notes(access) and access.kind != "group":
            files = await self._memory.notes.list_files()
            found += [(note_address(file.path), file.path, "text/markdown") for file in files[:_LISTED]]
        return found

    async def read(self, address: str, access: Access) -> tuple[str, str]:
        """Media type and text; `InvalidInputError` for an address that leads nowhere in this scope."""
        if address == RECENT:
            page = await self._memory.list(scope=access.scope, limit=_RECENT_COUNT)
            return "application/json", as_json({"memories": [shown(entry) for entry in page]})
        if address.startswith(ENTRY):
            entry = await self._memory.get(id=unquote(address[len(ENTRY) :]), scope=access.scope)
            if entry is not None:
                return "application/json", as_json(shown(entry))
        elif address.startswith(NOTE) and self.has_notes(access):
            path = unquote(address[len(NOTE) :])
            with suppress(InvalidInputError, NotesError):
                found = await self._memory.notes.memory_get(path, kind=access.kind)
                return "text/markdown", found.text[:_MAX_NOTE]
        raise InvalidInputError(f"there is no resource {ascii(address)[:200]}")

    async def completed(self, template: str, beginning: str, access: Access) -> list[str]:
        """Values of the variable of a template that begin so."""
        if template.startswith(ENTRY):
            if not beginning:
                page = await self._memory.list(scope=access.scope, limit=20)
                return [entry.id for entry in page]
            entries = await self._memory.entries_by_id(beginning, scope=access.scope, limit=20)
            return [entry.id for entry in entries if entry.is_active]
        if template.startswith(NOTE) and self.has_notes(access) and access.kind != "group":
            files = await self._memory.notes.list_files()
            return [file.path for file in files if file.path.startswith(beginning)][:_LISTED]
        return []


def note_address(path: str) -> str:
    """The address of a note."""
    return NOTE + quote(path)


def shown(entry: MemoryEntry) -> dict[str, Any]:
    """An entry for a reader outside."""
    return entry.to_dict()


def as_json(value: object) -> str:
    """Compact JSON in readable characters."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)

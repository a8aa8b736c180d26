"""Resources: single memories, the newest ones, and notes as files."""

from __future__ import annotations

import base64
import binascii
import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import quote, unquote

from jiyi.apps.server.access import Access
from jiyi.errors import InvalidInputError, NotesError

if TYPE_CHECKING:
    from jiyi.memory import AgentMemory
    from jiyi.model.entry import MemoryEntry

RECENT: Final = "memory://recent"
ENTRY: Final = "memory://entries/"
NOTE: Final = "memory://notes/"
_RECENT_COUNT: Final = 50
_LISTED: Final = 100
_MAX_NOTE: Final = 200_000
_MAX_RECENT: Final = 200_000
"""Characters of an answer."""


class ListedResource(NamedTuple):
    """A line of the list of resources."""

    uri: str
    name: str
    media: str
    size: int | None = None


class Resources:
    """What a caller may read by address. Every address is looked up in the caller's own scope."""

    def __init__(self, memory: AgentMemory, *, page: int = _LISTED) -> None:
        self._memory = memory
        self._page = page

    def has_notes(self, access: Access) -> bool:
        """Whether there is a workspace that this caller may see."""
        settings = self._memory.settings
        if not settings.has_notes:
            return False
        return access.may_see_notes(settings.scope)

    def lists_notes(self, access: Access) -> bool:
        """Whether the notes are in this caller's list: a group reads single notes, and sees no list of them."""
        return self.has_notes(access) and access.kind != "group"

    async def listed(self, access: Access, cursor: str | None) -> tuple[list[ListedResource], str | None]:
        """A page of what can be read: the newest memories, and the notes in their order; and where the next begins."""
        found = [ListedResource(RECENT, "The newest memories", "application/json")] if cursor is None else []
        if not self.lists_notes(access):
            return found, None
        after = "" if cursor is None else _path_of(cursor)
        files = [file for file in await self._memory.notes.list_files() if file.path > after]
        page = files[: self._page]
        found += [ListedResource(note_address(file.path), file.path, "text/markdown", file.stamp.size) for file in page]
        return found, _cursor_of(page[-1].path) if len(files) > len(page) else None

    async def note_digests(self) -> dict[str, str]:
        """What the notes hold now, by their addresses."""
        return {note_address(file.path): file.digest for file in await self._memory.notes.list_files()}

    async def read(self, address: str, access: Access) -> tuple[str, str]:
        """Media type and text; `InvalidInputError` for an address that leads nowhere in this scope."""
        if address == RECENT:
            page = await self._memory.list(scope=access.scope, limit=_RECENT_COUNT)
            return "application/json", _newest([as_json(shown(entry)) for entry in page])
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
        if template.startswith(NOTE) and self.lists_notes(access):
            files = await self._memory.notes.list_files()
            return [file.path for file in files if file.path.startswith(beginning)][:_LISTED]
        return []


def _cursor_of(path: str) -> str:
    """A place in the list. Clients give it back as it is."""
    return base64.urlsafe_b64encode(path.encode()).decode()


def _path_of(cursor: str) -> str:
    try:
        return base64.b64decode(cursor.encode(), altchars=b"-_", validate=True).decode()
    except (binascii.Error, UnicodeError):
        raise InvalidInputError(
            f"cursor {ascii(cursor)[:80]} was not given by this server; begin without one"
        ) from None


def _newest(entries: list[str]) -> str:
    """As many whole entries as fit, the newest first; what is missing is counted."""
    kept: list[str] = []
    for entry in entries:
        if sum(map(len, kept)) + len(entry) > _MAX_RECENT:
            break
        kept.append(entry)
    return f'{{"memories":[{",".join(kept)}],"left_out":{len(entries) - len(kept)}}}'


def note_address(path: str) -> str:
    """The address of a note."""
    return NOTE + quote(path)


def shown(entry: MemoryEntry) -> dict[str, Any]:
    """An entry for a reader outside."""
    return entry.to_dict()


def as_json(value: object) -> str:
    """Compact JSON in readable characters."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)

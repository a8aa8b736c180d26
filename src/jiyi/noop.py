"""NoopMemory: the same calls, nothing kept. For tests, and for agents that must not remember."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self

from jiyi.model import clock
from jiyi.model.category import MemoryCategory
from jiyi.model.entry import DEFAULT_IMPORTANCE, DEFAULT_MEMORY_TYPE, EntryVersion, MemoryEntry
from jiyi.model.identity import new_id
from jiyi.model.message import Message, MessageLike

if TYPE_CHECKING:
    from jiyi.runtime import MemoryRuntime


class NoopMemory:
    """Drops what is stored and finds nothing."""

    @property
    def runtime(self) -> MemoryRuntime:
        """A runtime that keeps nothing either."""
        from jiyi.runtime.noop import NoopRuntime

        return NoopRuntime()

    async def store(
        self,
        key: str,
        content: str,
        category: str = MemoryCategory.CORE,
        *,
        scope: str | None = None,
        tags: Iterable[str] = (),
        importance: float | None = None,
        memory_type: str | None = None,
        domain: str | None = None,
        conversation_id: str | None = None,
        occurred_at: datetime | None = None,
        position: int | None = None,
    ) -> MemoryEntry:
        """Drop it; the entry that would have been stored is returned."""
        now = clock.utc_now()
        return MemoryEntry(
            id=new_id(),
            scope="main" if scope is None else scope,
            key=key,
            content=content,
            category=MemoryCategory(category),
            memory_type=DEFAULT_MEMORY_TYPE if memory_type is None else memory_type,
            domain=domain,
            importance_score=DEFAULT_IMPORTANCE if importance is None else importance,
            tags=tuple(dict.fromkeys(tags)),
            conversation_id=conversation_id,
            occurred_at=occurred_at,
            position=position,
            created_at=now,
            updated_at=now,
            last_accessed_at=now,
        )

    async def store_many(self, entries: Iterable[Mapping[str, Any]], progress: Any = None) -> Sequence[MemoryEntry]:
        """Drop them all."""
        return [await self.store(**entry) for entry in entries]

    async def recall(self, query: str, limit: int = 10, **_: Any) -> Sequence[MemoryEntry]:
        """Nothing."""
        return []

    async def get(self, key: str, **_: Any) -> MemoryEntry | None:
        """Nothing."""
        return None

    async def forget(self, key: str, **_: Any) -> bool:
        """There was nothing to forget."""
        return False

    async def count(self, **_: Any) -> int:
        """Always 0."""
        return 0

    async def list(self, **_: Any) -> Sequence[MemoryEntry]:
        """Nothing."""
        return []

    async def history(self, key: str, **_: Any) -> Sequence[EntryVersion]:
        """Nothing."""
        return []

    async def save_conversation_history(self, session_id: str | None, messages: Sequence[MessageLike], **_: Any) -> str:
        """Drop it."""
        return session_id or ""

    async def load_conversation_history(self, session_id: str | None = None, **_: Any) -> Sequence[Message]:
        """Nothing."""
        return []

    async def list_sessions(self, **_: Any) -> Sequence[str]:
        """Nothing."""
        return []

    async def close(self) -> None:
        """Nothing to close."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

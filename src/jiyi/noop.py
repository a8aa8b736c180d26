"""NoopMemory: the same calls, nothing kept. For tests, and for agents that must not remember."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Self

from jiyi.model import clock
from jiyi.model.category import MemoryCategory
from jiyi.model.domain import GENERAL_CHAT
from jiyi.model.entry import DEFAULT_IMPORTANCE, DEFAULT_MEMORY_TYPE, EntryVersion, MemoryEntry
from jiyi.model.identity import new_id
from jiyi.model.message import Message, MessageLike


class NoopLongterm:
    """The long-term room of a memory that keeps nothing."""

    asynchronous = True

    async def extract_and_store_memories_for_round(
        self, user_id: str, conversation_id: str, user_content: str, assistant_content: str
    ) -> Sequence[MemoryEntry]:
        """Nothing is kept."""
        return []

    async def schedule_round(
        self, user_id: str, conversation_id: str, user_content: str, assistant_content: str
    ) -> str:
        """Drop it; an id that no job has."""
        return new_id()

    async def get_intent_domains(self, query: str) -> Sequence[str]:
        """There is nothing to look for."""
        return [GENERAL_CHAT]

    async def retrieve_relevant_memories(self, user_id: str, query: str, *_: Any, **__: Any) -> Sequence[MemoryEntry]:
        """Nothing."""
        return []

    async def get_memory_context_for_prompt(self, user_id: str, query: str, **_: Any) -> str:
        """No block."""
        return ""

    async def compress_memories(self, memories: Iterable[Any], max_chars: int = 500) -> str:
        """Nothing to tell."""
        return ""

    async def cleanup_forgotten_memories(self, user_id: str, *_: Any, **__: Any) -> int:
        """There was nothing to forget."""
        return 0

    async def restore(self, user_id: str, memories: Any = None) -> Sequence[MemoryEntry]:
        """Nothing."""
        return []

    async def pin(self, user_id: str, memory: Any, pinned: bool = True) -> bool:  # noqa: FBT001, FBT002
        """There is nothing to pin."""
        return False

    async def try_generate_reflection(
        self, user_id: str, conversation_id: str | None = None, *_: Any, **__: Any
    ) -> MemoryEntry | None:
        """Nothing."""
        return None

    async def explain(self, user_id: str, memory: Any) -> dict[str, Any] | None:
        """Nothing."""
        return None


class NoopMemory:
    """Drops what is stored and finds nothing."""

    longterm = NoopLongterm()

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

    async def jobs(self, **_: Any) -> Sequence[Any]:
        """Nothing."""
        return []

    async def retry_job(self, job_id: str, **_: Any) -> bool:
        """There is no such job."""
        return False

    async def run_jobs(self, limit: int = 1_000) -> int:
        """Nothing to do."""
        return 0

    async def close(self) -> None:
        """Nothing to close."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

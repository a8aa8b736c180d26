"""The call forms of chat bot plugins (AstrBot and its like) on the runtime room.

A plugin of such a host calls `recall(memory_type, query, limit)` and `chained_recall(entities=…)`; the runtime room has
`recall(query, limit, memory_types=…)`. This is an adapter without logic of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from jiyi.errors import InvalidInputError

if TYPE_CHECKING:
    from jiyi.memory import AgentMemory
    from jiyi.runtime.values import RecalledMemories


class PluginMemoryRuntime:
    """`memory.runtime` with the arguments of a plugin. What is not named here is that of the runtime itself."""

    def __init__(self, memory: AgentMemory, *, memory_scope: str | None = None) -> None:
        """`memory_scope` is used where a call names none: who is talking, as the host knows it."""
        self._runtime = memory.runtime
        self._scope = memory_scope

    async def recall(
        self,
        memory_type: str | None = None,
        query: str | None = None,
        limit: int = 10,
        *,
        memory_scope: str | None = None,
    ) -> RecalledMemories:
        """Memories of one type, or with `None` or "" of every type; a single text is the query."""
        if query is None:
            memory_type, query = None, memory_type
        if query is None:
            raise InvalidInputError("recall needs a query: recall(memory_type, query, limit)")
        return await self._runtime.recall(
            query, limit, memory_scope=memory_scope or self._scope, memory_types=memory_type or None
        )

    async def comprehensive_recall(
        self, query: str, limit: int = 10, *, memory_scope: str | None = None
    ) -> RecalledMemories:
        """As that of the runtime."""
        return await self._runtime.comprehensive_recall(query, limit, memory_scope=memory_scope or self._scope)

    async def chained_recall(
        self,
        query: str = "",
        limit: int = 10,
        *,
        entities: Iterable[str] = (),
        memory_scope: str | None = None,
    ) -> RecalledMemories:
        """Memories of the entities and of what leads on from them; the entities may stand alone or beside a query."""
        if isinstance(entities, str):
            raise InvalidInputError(f"entities must be a list of names, not the text {ascii(entities)[:80]}")
        words = " ".join([query, *entities]).strip()
        if not words:
            raise InvalidInputError("chained_recall needs entities or a query")
        return await self._runtime.chained_recall(words, limit, memory_scope=memory_scope or self._scope)

    async def remember(self, memory_type: str, judgment: str, *args: Any, **kwargs: Any) -> str:
        """As that of the runtime."""
        return await self._runtime.remember(memory_type, judgment, *args, **self._with_scope(kwargs))

    async def feedback(self, *args: Any, **kwargs: Any) -> Any:
        """As that of the runtime."""
        return await self._runtime.feedback(*args, **self._with_scope(kwargs))

    async def consolidate_memories(self, **kwargs: Any) -> Any:
        """As that of the runtime."""
        return await self._runtime.consolidate_memories(**self._with_scope(kwargs))

    def _with_scope(self, given: dict[str, Any]) -> dict[str, Any]:
        return given if given.get("memory_scope") or self._scope is None else {**given, "memory_scope": self._scope}

"""The runtime room of a memory behind a server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import tzinfo
from typing import TYPE_CHECKING, Any

from jiyi.client.connection import Connection, body_of, listed, part, plain, version_header
from jiyi.client.decoding import known, with_times

if TYPE_CHECKING:
    from jiyi.runtime import BaseMemory, ConsolidationReport, FeedbackResult
    from jiyi.runtime.values import RecalledMemories


class ClientRuntime:
    """The runtime room on the server."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def remember(
        self,
        memory_type: str,
        judgment: str,
        reasoning: str = "",
        tags: Iterable[str] = (),
        *,
        strength: int = 1,
        is_active: bool = True,
        memory_scope: str | None = None,
    ) -> str:
        """Keep a judgment; on disk when this returns. Returns the id of the memory."""
        await self._connection.own(memory_scope)
        body = {
            "memory_type": memory_type,
            "judgment": judgment,
            "reasoning": reasoning,
            "tags": list(tags),
            "strength": strength,
            "is_active": is_active,
        }
        return str((await self._connection.create("/v1/runtime/memories", body))["ids"][0])

    async def recall(
        self,
        query: str,
        limit: int = 10,
        *,
        memory_scope: str | None = None,
        memory_types: str | Iterable[str] | None = None,
        min_relevance: float = 0.0,
        touch: bool = True,
        time_zone: str | tzinfo | None = None,
    ) -> RecalledMemories:
        """The memories that answer the query best, best first."""
        types = listed(memory_types)
        return await self._recall(
            query, limit, "plain", memory_scope, min_relevance, types, touch=touch, time_zone=time_zone
        )

    async def comprehensive_recall(
        self,
        query: str,
        limit: int = 10,
        *,
        memory_scope: str | None = None,
        min_relevance: float = 0.0,
        touch: bool = True,
        time_zone: str | tzinfo | None = None,
    ) -> RecalledMemories:
        """The same with a fair share for every memory type."""
        return await self._recall(
            query, limit, "comprehensive", memory_scope, min_relevance, touch=touch, time_zone=time_zone
        )

    async def chained_recall(
        self,
        query: str,
        limit: int = 10,
        *,
        memory_scope: str | None = None,
        min_relevance: float = 0.0,
        touch: bool = True,
        time_zone: str | tzinfo | None = None,
    ) -> RecalledMemories:
        """The memories that answer the query, then those one step further on."""
        return await self._recall(
            query, limit, "chained", memory_scope, min_relevance, touch=touch, time_zone=time_zone
        )

    async def _recall(
        self,
        query: str,
        limit: int,
        how: str,
        memory_scope: str | None,
        min_relevance: float,
        memory_types: list[str] | None = None,
        *,
        touch: bool,
        time_zone: str | tzinfo | None,
    ) -> RecalledMemories:
        from jiyi.runtime.values import RecalledMemories

        await self._connection.own(memory_scope)
        asked = {
            "query": query,
            "limit": limit,
            "how": how,
            "memory_types": memory_types,
            "min_relevance": min_relevance,
            "touch": touch,
            "time_zone": time_zone,
        }
        found = await self._connection.ask("/v1/runtime/recall", body_of(asked))
        return RecalledMemories((_memory(each) for each in found["memories"]), notes=tuple(found["notes"]))

    async def feedback(
        self,
        useful_memory_ids: Iterable[str] = (),
        recalled_memory_ids: Iterable[str] = (),
        new_memories: Iterable[Mapping[str, Any]] = (),
        merge_groups: Iterable[Any] = (),
        *,
        memory_scope: str | None = None,
    ) -> FeedbackResult:
        """Strengthen what was useful, note what was recalled for nothing, add, and merge: in one transaction."""
        from jiyi.runtime import FeedbackResult

        await self._connection.own(memory_scope)
        body = {
            "useful_memory_ids": list(useful_memory_ids),
            "recalled_memory_ids": list(recalled_memory_ids),
            "new_memories": [plain(each) for each in new_memories],
            "merge_groups": [plain(each) for each in merge_groups],
        }
        done = await self._connection.create("/v1/runtime/feedback", body)
        return FeedbackResult(
            [_memory(each) for each in done["memories"]],
            strengthened=tuple(done["strengthened"]),
            created=tuple(done["created"]),
            merged={new: tuple(sources) for new, sources in done["merged"].items()},
            unknown_ids=tuple(done["unknown_ids"]),
            refused=tuple((tuple(each["memory_ids"]), each["reason"]) for each in done["refused"]),
            repeated=done["repeated"],
        )

    async def consolidate_memories(
        self, *, memory_scope: str | None = None, dry_run: bool = False
    ) -> ConsolidationReport:
        """Merge near-duplicates, let unused weak memories fade, archive what has long been inactive."""
        from jiyi.runtime import ConsolidationReport

        await self._connection.own(memory_scope)
        done = await self._connection.call("POST", "/v1/runtime/consolidation", body={"dry_run": dry_run}, timeout=300)
        examples = {name: tuple(map(tuple, found)) for name, found in done["examples"].items()}
        return ConsolidationReport(**{**known(ConsolidationReport, done), "examples": examples})

    async def get(self, memory_id: str, *, memory_scope: str | None = None) -> BaseMemory | None:
        """One memory by its id, active or not."""
        await self._connection.own(memory_scope)
        found = await self._connection.get(f"/v1/runtime/memories/{part(memory_id)}", missing=True)
        return None if found is None else _memory(found)

    async def update(
        self, memory_id: str, *, if_version: int | None = None, memory_scope: str | None = None, **changes: Any
    ) -> BaseMemory | None:
        """Change one of the scope's own memories; what is not given stays."""
        await self._connection.own(memory_scope)
        path = f"/v1/runtime/memories/{part(memory_id)}"
        meant = version_header(if_version)
        done = await self._connection.call("PATCH", path, body=body_of(changes), headers=meant, missing=True)
        return None if done is None else _memory(done)

    async def forget(
        self,
        memory_id: str,
        *,
        memory_scope: str | None = None,
        erase: bool = False,
        if_version: int | None = None,
    ) -> bool:
        """Remove one of the scope's own memories."""
        await self._connection.own(memory_scope)
        path = f"/v1/runtime/memories/{part(memory_id)}"
        meant = version_header(if_version)
        done = await self._connection.call("DELETE", path, query={"erase": erase}, headers=meant, missing=True)
        return done is not None

    async def restore(self, memory_id: str, *, memory_scope: str | None = None) -> BaseMemory | None:
        """Bring one of the scope's own memories back."""
        await self._connection.own(memory_scope)
        path = f"/v1/runtime/memories/{part(memory_id)}/restore"
        done = await self._connection.call("POST", path, missing=True)
        return None if done is None else _memory(done)

    async def list_tags(
        self, limit: int = 100, offset: int = 0, *, memory_scope: str | None = None
    ) -> Sequence[tuple[str, int]]:
        """The tags, with how many active memories have each; the most used first."""
        await self._connection.own(memory_scope)
        found = (await self._connection.get("/v1/runtime/tags", limit=limit, offset=offset))["tags"]
        return [(each["tag"], each["count"]) for each in found]


def _memory(data: Mapping[str, Any]) -> BaseMemory:
    from jiyi.runtime import BaseMemory, MemoryLink

    told = known(BaseMemory, with_times(data, "created_at", "updated_at"))
    link = told.get("link")
    if link is not None:
        told["link"] = MemoryLink(link["memory_id"], link["kind"], tuple(link["tags"]))
    return BaseMemory(**told)

"""VectorMemoryRuntime: memories are found by words, meaning and dates, with the hybrid recall."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import tzinfo

from jiyi.model.entry import MemoryEntry
from jiyi.model.filters import Filters
from jiyi.recall.engine import RecallEngine
from jiyi.recall.request import Request
from jiyi.runtime.api import Runtime
from jiyi.runtime.dependencies import RuntimeCalls, RuntimeDeps
from jiyi.runtime.service import RankedMemories, RuntimeService
from jiyi.runtime.values import MemoryLink

_MAX_NEIGHBOURS = 10


class VectorMemoryRuntime(Runtime):
    """Finds what `AgentMemory.recall` finds, without what was said in conversations."""

    def __init__(self, deps: RuntimeDeps, engine: RecallEngine, calls: RuntimeCalls) -> None:
        super().__init__(VectorRuntimeService(deps, engine), calls)


class VectorRuntimeService(RuntimeService):
    """How VectorMemoryRuntime finds memories."""

    def __init__(self, deps: RuntimeDeps, engine: RecallEngine) -> None:
        super().__init__(deps)
        self._engine = engine

    def warn_unfindable(self, entries: Sequence[MemoryEntry]) -> None:
        """Whatever has a text can be found."""

    def find(
        self, query: str, filters: Filters, limit: int, min_relevance: float = 0.0, zone: tzinfo | None = None
    ) -> RankedMemories:
        """The best ones for the query."""
        return self._find(query, filters, limit, min_relevance, zone)

    def _find(
        self,
        query: str,
        filters: Filters,
        limit: int,
        min_relevance: float,
        zone: tzinfo | None,
        *,
        rerank: bool = True,
    ) -> RankedMemories:
        # Two memories that say the same are two memories: consolidation merges them, recall does not hide one.
        request = Request(
            query=query,
            filters=filters,
            limit=limit,
            duplicates=True,
            min_relevance=min_relevance,
            rerank=rerank,
            zone=zone,
        )
        found = self._engine.answer_counted(request)
        return RankedMemories(found.hits, found.candidates, found.coverage)

    def find_each_type(
        self, query: str, filters: Filters, limit: int, min_relevance: float = 0.0, zone: tzinfo | None = None
    ) -> RankedMemories:
        """Every type is asked by itself: the types the runtime has used, and those of the best answers of all."""
        best = self.find(query, filters, limit, min_relevance, zone)
        candidates = best.candidates
        found = {hit.id: hit for hit in best.hits}
        types = {*self.deps.store.memory_types(filters.scopes), *(hit.memory_type for hit in found.values())}
        if len(types) > 1:
            more: list[tuple[int, MemoryEntry]] = []
            for kind in sorted(types):
                only = replace(filters, memory_types=(kind,), without_types=())
                # A reranker has ordered the best of all; each type once more would be a wait each.
                of_type = self._find(query, only, limit, min_relevance, zone, rerank=False)
                candidates += of_type.candidates
                more += enumerate(of_type.hits)
            # What is among the best of all stands as it stands there; the rest follows, by its place in its own type.
            more.sort(key=lambda placed: (placed[0], -_score(placed[1])))
            found.update({hit.id: hit for _, hit in more if hit.id not in found})
        return RankedMemories(list(found.values()), candidates, best.coverage)

    def find_linked(
        self, first: Sequence[MemoryEntry], filters: Filters, limit: int
    ) -> list[tuple[MemoryEntry, MemoryLink]]:
        """Memories whose meaning is near one of the first ones."""
        found: dict[str, tuple[MemoryEntry, MemoryLink]] = {}
        for hit in first:
            # The judgment is the question now, cut to what a question may have.
            query = hit.content[: self.deps.limits.max_query_characters]
            # Not reranked: that would be a call, and perhaps a wait, for each of the first ones.
            request = Request(query=query, filters=filters, limit=min(limit, _MAX_NEIGHBOURS), rerank=False)
            near = self._engine.answer(request)
            for entry in near:
                known = found.get(entry.id)
                if entry.id != hit.id and (known is None or _score(known[0]) < _score(entry)):
                    found[entry.id] = (entry, MemoryLink(hit.id, "meaning"))
        return sorted(found.values(), key=lambda pair: -_score(pair[0]))


def _score(entry: MemoryEntry) -> float:
    return entry.relevance_score or 0.0

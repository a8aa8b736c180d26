"""SimpleMemoryRuntime: records and tags, and nothing else. No embedder, no vectors, no text index."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo

from jiyi.model.entry import MemoryEntry
from jiyi.model.filters import Filters
from jiyi.recall.tags import TagMirror, recall_by_tags
from jiyi.runtime.api import Runtime
from jiyi.runtime.dependencies import RuntimeCalls, RuntimeDeps
from jiyi.runtime.service import RankedMemories, RuntimeService, log
from jiyi.runtime.values import MemoryLink
from jiyi.text import tag_form

_MAX_LINKS = 256


class SimpleMemoryRuntime(Runtime):
    """Finds a memory when one of its tags stands in the query: most tags, newest day, strongest, newest first."""

    def __init__(self, deps: RuntimeDeps, mirror: TagMirror, calls: RuntimeCalls) -> None:
        super().__init__(SimpleRuntimeService(deps, mirror), calls)


class SimpleRuntimeService(RuntimeService):
    """How SimpleMemoryRuntime finds memories."""

    def __init__(self, deps: RuntimeDeps, mirror: TagMirror) -> None:
        super().__init__(deps)
        self._mirror = mirror

    def warn_unfindable(self, entries: Sequence[MemoryEntry]) -> None:
        """Memories without tags are found by no recall here."""
        for entry in entries:
            if not entry.tags:
                log.warning("runtime=%s memory %s has no tags: no recall of this runtime finds it", self.name, entry.id)

    def find(
        self, query: str, filters: Filters, limit: int, min_relevance: float = 0.0, zone: tzinfo | None = None
    ) -> RankedMemories:
        """The best ones for the query. A memory whose tag stands in it is relevant."""
        del min_relevance
        found = recall_by_tags(
            self.deps.records, self._mirror, query, filters, limit, day_shift=self.deps.day_shift(zone)
        )
        return RankedMemories(found.hits, found.candidates)

    def find_each_type(
        self, query: str, filters: Filters, limit: int, min_relevance: float = 0.0, zone: tzinfo | None = None
    ) -> RankedMemories:
        """The best ones of every memory type."""
        del min_relevance
        found = recall_by_tags(
            self.deps.records, self._mirror, query, filters, limit, each_type=True, day_shift=self.deps.day_shift(zone)
        )
        return RankedMemories(found.hits, found.candidates)

    def find_linked(
        self, first: Sequence[MemoryEntry], filters: Filters, limit: int
    ) -> list[tuple[MemoryEntry, MemoryLink]]:
        """Memories that share tags with the first ones."""
        # The tags by which the first ones were found lead back to where we are.
        asked = {tag_form(tag) for hit in first if hit.explanation for tag in hit.explanation.matched_terms}
        onward = dict.fromkeys(tag for hit in first for tag in hit.tags if tag_form(tag) not in asked)
        tag_ids = self._mirror.ids_of(list(onward)[:_MAX_LINKS])
        if not tag_ids:
            return []
        found = []
        for entry, _hits in self.deps.records.tagged(tag_ids, filters, limit=limit).found:
            link = _best_link(entry, first, asked)
            if link is not None:
                found.append((entry, link))
        return found


def _best_link(entry: MemoryEntry, first: Sequence[MemoryEntry], asked: set[str]) -> MemoryLink | None:
    """From the one of the first that shares the most tags; of several the better answer."""
    best: MemoryLink | None = None
    for hit in first:
        forms = {tag_form(tag) for tag in hit.tags} - asked
        shared = tuple(tag for tag in entry.tags if tag_form(tag) in forms)
        if len(shared) > (len(best.tags) if best is not None else 0):
            best = MemoryLink(hit.id, "tags", shared)
    return best

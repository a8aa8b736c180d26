"""The entries around a hit in its conversation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from jiyi.model.entry import Explanation, IndexCoverage, MemoryEntry
from jiyi.model.filters import Filters
from jiyi.ports import CONVERSATION

if TYPE_CHECKING:
    from jiyi.ports import RecordStore, TextIndex
    from jiyi.recall.freshness import Freshness
    from jiyi.recall.request import Request


def add_context(
    hits: list[MemoryEntry], request: Request, text: TextIndex, store: RecordStore, freshness: Freshness
) -> list[MemoryEntry]:
    """Each hit with `request.context` entries before and after it; the text index knows the order."""
    scopes = request.filters.scopes
    coverage, source = freshness.text(text, scopes, store.head())
    if not coverage.answered:
        return [_covered(hit, coverage) for hit in hits]
    rows = source.windows([hit.id for hit in hits], reach=request.context)
    place_of = {row.entry_id: place for place, row in enumerate(rows)}
    entries = store.fetch(list(place_of), Filters(scopes))
    found = []
    for hit in hits:
        place = place_of.get(hit.id)
        near: Sequence[MemoryEntry] = ()
        if place is not None and hit.conversation_id is not None:
            thread = (hit.scope, CONVERSATION + hit.conversation_id)
            around = range(max(0, place - request.context), min(len(rows), place + request.context + 1))
            same = [rows[other] for other in around if other != place and rows[other][:2] == thread]
            near = [entry for row in same if (entry := entries.get(row.entry_id)) is not None and _was_said(entry)]
        found.append(replace(hit, context=tuple(near)))
    return found


def _was_said(entry: MemoryEntry) -> bool:
    """Facts that were extracted from a conversation are not part of what was said in it."""
    return entry.domain is None or entry.position is not None


def _covered(hit: MemoryEntry, coverage: IndexCoverage) -> MemoryEntry:
    """The hit with the coverage of an index, unless it has that already."""
    explanation = hit.explanation or Explanation()
    if any(part.index == coverage.index for part in explanation.coverage):
        return hit
    return replace(hit, explanation=replace(explanation, coverage=(*explanation.coverage, coverage)))

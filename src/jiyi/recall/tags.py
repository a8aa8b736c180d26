"""Recall by tags: every tag that stands in the question brings its entries."""

from __future__ import annotations

from jiyi.model.entry import Explanation, MemoryEntry
from jiyi.model.filters import Filters
from jiyi.ports import RecordStore
from jiyi.text import fold


def recall_by_tags(store: RecordStore, query: str, filters: Filters, limit: int) -> list[MemoryEntry]:
    """Most tags first; then the newer day, the greater strength, the newer entry. Case and width do not matter."""
    folded = fold(query)
    matched = [name for name in store.tag_names(filters.scopes) if fold(name) in folded]
    if not matched:
        return []
    hits = []
    for entry, count in store.tagged(matched, filters, limit=limit):
        names = tuple(tag for tag in entry.tags if tag in matched)
        parts = {"tags": count / len(matched)}
        hits.append(entry.as_hit(parts["tags"], Explanation(parts, matched_terms=names)))
    return hits

"""Reflections among the hits: they are found beside the entries that they were made of, and take the place of none.

Whatever is asked, the other entries are proposed, scored and cut off as if there were no reflections. These fill what
is left.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from jiyi.model.entry import REFLECTION_TYPE
from jiyi.text.normalize import fold

if TYPE_CHECKING:
    from jiyi.model.entry import MemoryEntry


def first_beside(fetch: Callable[[int], list[str]], limit: int, reflections: Collection[str]) -> list[str]:
    """The first `limit` ids that are no reflections, and the reflections among them; `fetch` gives the best ones."""
    found = fetch(limit)
    if not any(each in reflections for each in found):
        return found
    kept: list[str] = []
    others = 0
    for each in fetch(limit + len(reflections)):
        others += each not in reflections
        if others > limit:
            break
        kept.append(each)
    return kept


def split(hits: Sequence[MemoryEntry]) -> tuple[list[MemoryEntry], list[MemoryEntry]]:
    """The hits that are no reflections, and the reflections of which each says something else; both in their order."""
    others = [hit for hit in hits if hit.memory_type != REFLECTION_TYPE]
    by_text: dict[str, MemoryEntry] = {}
    for hit in hits:
        if hit.memory_type == REFLECTION_TYPE:
            by_text.setdefault(fold(hit.content), hit)
    return others, list(by_text.values())


def in_free_places(hits: Sequence[MemoryEntry], reflections: Sequence[MemoryEntry], limit: int) -> list[MemoryEntry]:
    """The hits, and as many reflections as there is room for, each behind the hits with a higher score."""
    found = list(hits)
    for reflection in reflections[: max(0, limit - len(found))]:
        place = len(found)
        while place and _score(found[place - 1]) < _score(reflection):
            place -= 1
        found.insert(place, reflection)
    return found


def _score(hit: MemoryEntry) -> float:
    """What the hits of one answer are put in order by."""
    parts = hit.score_parts
    return parts.get("final", parts.get("score", hit.relevance_score or 0.0))

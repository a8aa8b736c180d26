"""The map: the memories of the scope placed by similarity, for browsing."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from starlette.responses import JSONResponse, Response

from jiyi.apps.server.console.filters import excerpt
from jiyi.apps.server.console.page import Page
from jiyi.apps.server.console.projection import Group, Projection, landmarks, project
from jiyi.apps.server.console.request_context import RequestContext
from jiyi.errors import InvalidInputError, SimpleModeError

if TYPE_CHECKING:
    from jiyi.memory import AgentMemory
    from jiyi.model.entry import MemoryEntry

MAX_POINTS: Final = 20_000
_PAGE: Final = 1_000
_LANDMARK_CHARACTERS: Final = 500
_LABEL: Final = 60
_SHOWN: Final = 12
"""Memories of a group in the list."""
_KEPT_MAPS: Final = 8
_SCALE: Final = 1_000
"""Places are sent as whole numbers from -1000 to 1000."""


@dataclass(frozen=True, slots=True)
class MemoryMap:
    """The places of the newest memories of a scope."""

    ids: tuple[str, ...]
    labels: tuple[str, ...]
    projection: Projection
    complete: bool
    """Whether all memories are on it."""

    def name_of(self, group: Group) -> str:
        """The words of a group; where it has none, the memory in its middle."""
        return " · ".join(group.words) or self.labels[group.members[0]]

    def to_dict(self) -> dict[str, Any]:
        """What the script draws."""
        points = (self.projection.points * _SCALE).astype(int)
        return {
            "points": [
                [x, y, group] for (x, y), group in zip(points.tolist(), self.projection.group_of.tolist(), strict=True)
            ],
            "ids": self.ids,
            "labels": self.labels,
            "groups": [self.name_of(group) for group in self.projection.groups],
        }


async def make_map(memory: AgentMemory, scope: str) -> MemoryMap:
    """Read the newest memories, compare them with the landmarks, and lay them out."""
    entries, complete = await _newest(memory, scope)
    texts = [entry.content for entry in entries]
    chosen = landmarks(len(entries))
    similarities: Sequence[Sequence[float]] = []
    if chosen:
        near = [texts[place][:_LANDMARK_CHARACTERS] for place in chosen]
        similarities = await memory.similarities(near, ids=[entry.id for entry in entries], scope=scope)
    projection = await asyncio.to_thread(project, similarities, texts)
    labels = tuple(excerpt(entry.key or entry.content, _LABEL) for entry in entries)
    return MemoryMap(tuple(entry.id for entry in entries), labels, projection, complete)


async def _newest(memory: AgentMemory, scope: str) -> tuple[list[MemoryEntry], bool]:
    found: list[MemoryEntry] = []
    cursor = None
    step = min(_PAGE, memory.settings.limits.max_results)
    while len(found) < MAX_POINTS:
        page = await memory.list(scope=scope, limit=step, cursor=cursor)
        found += page
        cursor = page.next_cursor
        if cursor is None:
            return found, True
    return found[:MAX_POINTS], False


async def _kept(context: RequestContext) -> Any:
    memory, scope = context.memory, context.scope
    return await context.console.cached("map", _KEPT_MAPS).get(scope, lambda: make_map(memory, scope))


async def show(context: RequestContext) -> Response:
    """The page: the groups with their memories as a list; the script draws the rest."""
    try:
        kept = await _kept(context)
    except (InvalidInputError, SimpleModeError):
        return context.page("map.html", state="no_vectors", made=None, shown=_SHOWN, current=True, at=None)
    state = "drawing" if kept is None else "drawn" if kept.value.ids else "empty"
    return context.page(
        "map.html",
        state=state,
        made=None if kept is None else kept.value,
        current=kept is None or kept.current,
        at=None if kept is None else kept.at,
        shown=_SHOWN,
    )


async def points(context: RequestContext) -> Response:
    """What the script draws, as JSON."""
    kept = await _kept(context)
    if kept is None:
        return JSONResponse({"points": [], "ids": [], "labels": [], "groups": []}, 503, {"Retry-After": "2"})
    return JSONResponse(kept.value.to_dict())


PAGES: Final = (Page("/map", show), Page("/map/points", points))

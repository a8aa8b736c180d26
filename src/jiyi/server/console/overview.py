"""The first page: what the scope holds, how it has grown, what has changed last, and whether all is well."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from starlette.responses import Response, StreamingResponse

from jiyi.errors import JiyiError
from jiyi.model.domain import DOMAINS
from jiyi.server.access import ADMIN
from jiyi.server.console.counts import KeptByPosition
from jiyi.server.console.page import Page
from jiyi.server.console.visit import Visit
from jiyi.server.problems import ProblemError

if TYPE_CHECKING:
    from jiyi.memory import AgentMemory
    from jiyi.model.change import MemoryChange

_RECENT: Final = 20
_LOOK_BACK: Final = 400
"""How many positions of the feed, of all scopes, are searched for the last changes of one."""
_BUCKETS: Final = 24
_POLL: Final = 1.0
_ALIVE_EVERY: Final = 15.0
_STREAM_SECONDS: Final = 600.0
_MAX_STREAMS: Final = 64


@dataclass(frozen=True, slots=True)
class Counts:
    """How much there is in the rooms of a scope."""

    memories: int
    messages: int
    reflections: int
    conversations: int
    domains: dict[str, int] = field(default_factory=dict)
    growth: tuple[tuple[datetime, int], ...] = ()
    """Moments, and how many memories there were from before them."""


async def show(visit: Visit) -> Response:
    """The whole page."""
    counted = await counts_of(visit)
    return visit.page(
        "overview.html",
        counts=counted.value,
        counted_at=None if counted.current else counted.at,
        changes=await recent_changes(visit),
        health=await _health(visit),
    )


async def show_changes(visit: Visit) -> Response:
    """The last changes only: loaded again when something has changed."""
    return visit.page("changes.html", changes=await recent_changes(visit))


async def counts_of(visit: Visit) -> Any:
    """The counts of the scope, kept until something has changed."""
    memory, scope = visit.memory, visit.scope
    cache = visit.console.caches.setdefault("counts", KeptByPosition(memory.last_position))
    return await cache.get(scope, lambda: _count(memory, scope))


async def _count(memory: AgentMemory, scope: str) -> Counts:
    by_domain = {domain: await memory.count(scope=scope, domains=domain) for domain in DOMAINS}
    return Counts(
        memories=await memory.count(scope=scope),
        messages=await memory.count(scope=scope, memory_types="message"),
        reflections=await memory.count(scope=scope, memory_types="reflection"),
        conversations=len(await memory.list_sessions(scope=scope)),
        domains={domain: number for domain, number in by_domain.items() if number},
        growth=await _growth(memory, scope),
    )


async def _growth(memory: AgentMemory, scope: str) -> tuple[tuple[datetime, int], ...]:
    first = await memory.list(scope=scope, sort="event", descending=False, limit=1)
    last = await memory.list(scope=scope, sort="event", descending=True, limit=1)
    if not first or not last:
        return ()
    begin, end = first[0].event_time, last[0].event_time
    step = max((end - begin) / _BUCKETS, timedelta(minutes=1))
    total, found, moment = 0, [(begin, 0)], begin
    while moment <= end:
        following = moment + step
        total += await memory.count(scope=scope, since=moment, until=following)
        found.append((following, total))
        moment = following
    return tuple(found)


async def recent_changes(visit: Visit) -> Sequence[MemoryChange]:
    """The last changes of the scope, newest first."""
    last = await visit.memory.last_position()
    window = _LOOK_BACK
    while True:
        after = max(0, last - window)
        found = await visit.memory.changes(after=after, scopes=visit.scope, limit=1_000)
        if len(found) >= _RECENT or after == 0 or window > 20 * _LOOK_BACK:
            return list(reversed(found))[:_RECENT]
        window *= 4


async def _health(visit: Visit) -> dict[str, Any] | None:
    """What `doctor` says, for administrators; it tells of every scope."""
    if not visit.access.may(ADMIN):
        return None
    cache = visit.console.caches.setdefault("doctor", KeptByPosition(visit.memory.last_position))
    kept = await cache.get("", visit.memory.doctor)
    report: dict[str, Any] = kept.value
    return {"healthy": report["healthy"], "advice": report["advice"], "at": kept.at}


# --- live -----------------------------------------------------------------------------------------------------------


async def events(visit: Visit) -> Response:
    """Tells when something in the scope has changed, as server-sent events. What has changed is loaded as HTML."""
    streams = visit.console.caches.setdefault("streams", [0])
    if streams[0] >= _MAX_STREAMS:
        raise ProblemError(503, "too_many_streams", "too many pages are open", {"Retry-After": "60"})
    position = await visit.memory.last_position()
    return StreamingResponse(_changed(visit, position, streams), media_type="text/event-stream")


async def _changed(visit: Visit, position: int, streams: list[int]) -> AsyncIterator[str]:
    streams[0] += 1
    loop = asyncio.get_running_loop()
    begun = told = loop.time()
    logged_in = visit.cookie in visit.console.sessions
    try:
        yield "retry: 5000\n\n"
        while loop.time() - begun < _STREAM_SECONDS and not await visit.request.is_disconnected():
            # The login may have ended meanwhile.
            if logged_in and await visit.console.sessions.access_of(visit.request.scope, touch=False) is None:
                return
            try:
                found = await visit.memory.changes(after=position, scopes=visit.scope, limit=1_000)
            except JiyiError:
                return
            if found:
                position, told = found[-1].position, loop.time()
                yield f"id: {position}\nevent: changed\ndata: {len(found)}\n\n"
            elif loop.time() - told > _ALIVE_EVERY:
                told = loop.time()
                yield ": nothing new\n\n"
            await asyncio.sleep(_POLL)
    finally:
        streams[0] -= 1


PAGES: Final = (
    Page("", show),
    Page("/changes", show_changes),
    Page("/changes/events", events),
)

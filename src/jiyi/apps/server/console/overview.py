"""The first page: what the scope holds, how it has grown, what has changed last, and whether all is well."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from starlette.responses import Response, StreamingResponse

from jiyi.apps.server.access import ADMIN
from jiyi.apps.server.console.page import Page
from jiyi.apps.server.console.request_context import RequestContext
from jiyi.apps.server.problems import ProblemError
from jiyi.errors import JiyiError

if TYPE_CHECKING:
    from jiyi.model.change import MemoryChange
    from jiyi.model.entry import MemoryEntry
    from jiyi.model.scope_report import ScopeStatistics

_RECENT: Final = 20
_LOOK_BACK: Final = 500
"""How many positions of the feed, of all scopes, are searched at once for the last changes of one."""
_LOOKS: Final = 20
_POINTS: Final = 200
_POLL: Final = 1.0
_ALIVE_EVERY: Final = 15.0
_STREAM_SECONDS: Final = 600.0
_MAX_STREAMS: Final = 64


async def show(context: RequestContext) -> Response:
    """The whole page."""
    return context.page(
        "overview.html",
        **await _numbers(context),
        changes=await _changes(context),
        **await _health(context),
    )


async def show_numbers(context: RequestContext) -> Response:
    """The counts only: loaded when they were still being computed."""
    return context.page("numbers.html", **await _numbers(context))


async def show_health(context: RequestContext) -> Response:
    """The health only: loaded when it was still being examined."""
    return context.page("health.html", **await _health(context))


async def show_changes(context: RequestContext) -> Response:
    """The last changes only: loaded again when something has changed."""
    return context.page("changes.html", changes=await _changes(context))


async def _numbers(context: RequestContext) -> dict[str, Any]:
    memory, scope = context.memory, context.scope
    kept = await context.console.cached("statistics").get(scope, lambda: memory.statistics(scope=scope))
    statistics: ScopeStatistics | None = None if kept is None else kept.value
    return {
        "counts": statistics,
        "counted_at": None if kept is None or kept.current else kept.at,
        "growth": () if statistics is None else growth(statistics.days),
    }


def growth(days: Mapping[str, int]) -> list[tuple[datetime, int]]:
    """Moments, and how many of the entries of now were there before them; not more points than a chart can show."""
    if not days:
        return []
    step = max(1, math.ceil(len(days) / _POINTS))
    total, found = 0, [(_midnight(min(days)), 0)]
    for place, (day, count) in enumerate(sorted(days.items()), 1):
        total += count
        if place % step == 0 or place == len(days):
            found.append((_midnight(day) + timedelta(days=1), total))
    return found


def _midnight(day: str) -> datetime:
    return datetime.fromisoformat(day).replace(tzinfo=UTC)


async def _changes(context: RequestContext) -> list[tuple[MemoryChange, MemoryEntry | None]]:
    """The last changes, each with the entry as it is now; without one that is gone."""
    changes = await recent_changes(context)
    ids = list(dict.fromkeys(change.entry_id for change in changes))
    entries = await asyncio.gather(*(context.memory.get(id=each, scope=context.scope) for each in ids))
    known = dict(zip(ids, entries, strict=True))
    return [(change, known[change.entry_id]) for change in changes]


async def recent_changes(context: RequestContext) -> list[MemoryChange]:
    """The last changes of the scope, newest first. Of a scope that is seldom written to, only some time is searched."""
    end = await context.memory.last_position()
    found: list[MemoryChange] = []
    for _ in range(_LOOKS):
        start = max(0, end - _LOOK_BACK)
        some = await context.memory.changes(after=start, scopes=context.scope, limit=_LOOK_BACK)
        found += reversed([change for change in some if change.entry_id and change.position <= end])
        if len(found) >= _RECENT or start == 0:
            break
        end = start
    return found[:_RECENT]


async def _health(context: RequestContext) -> dict[str, Any]:
    """What `doctor` says, for administrators; it tells of every scope."""
    if not context.access.may(ADMIN):
        return {"may_diagnose": False, "health": None}
    kept = await context.console.cached("doctor").get("", context.memory.doctor)
    return {"may_diagnose": True, "health": None if kept is None else kept.value}


# --- live -----------------------------------------------------------------------------------------------------------


async def events(context: RequestContext) -> Response:
    """Tells when something in the scope has changed, as server-sent events. What has changed is loaded as HTML."""
    if context.console.streams >= _MAX_STREAMS:
        raise ProblemError(503, "too_many_streams", "too many pages are open", {"Retry-After": "60"})
    position = await context.memory.last_position()
    return StreamingResponse(_changed(context, position), media_type="text/event-stream")


async def _changed(context: RequestContext, position: int) -> AsyncIterator[str]:
    context.console.streams += 1
    loop = asyncio.get_running_loop()
    begun = last_sent = loop.time()
    logged_in = context.cookie in context.console.logins
    try:
        yield "retry: 5000\n\n"
        while loop.time() - begun < _STREAM_SECONDS and not await context.request.is_disconnected():
            # The login may have ended meanwhile.
            if logged_in and await context.console.logins.access_of(context.request.scope, touch=False) is None:
                return
            try:
                found = await context.memory.changes(after=position, scopes=context.scope, limit=1_000)
            except JiyiError:
                return
            if found:
                position, last_sent = found[-1].position, loop.time()
                yield f"id: {position}\nevent: changed\ndata: {len(found)}\n\n"
            elif loop.time() - last_sent > _ALIVE_EVERY:
                last_sent = loop.time()
                yield ": nothing new\n\n"
            await asyncio.sleep(_POLL)
    finally:
        context.console.streams -= 1


PAGES: Final = (
    Page("", show),
    Page("/numbers", show_numbers),
    Page("/health", show_health),
    Page("/changes", show_changes),
    Page("/changes/events", events),
)

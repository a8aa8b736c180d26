"""The timeline: how much was learned when, by month, week or day, with the memories of a period."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, tzinfo
from typing import TYPE_CHECKING, Any, Final

from starlette.responses import Response

from jiyi.apps.server.console.page import Page
from jiyi.apps.server.console.request_context import RequestContext
from jiyi.errors import InvalidInputError
from jiyi.model.domain import DOMAINS
from jiyi.model.entry import FACT_TYPE, MESSAGE_TYPE, REFLECTION_TYPE

if TYPE_CHECKING:
    from jiyi.memory import AgentMemory

STEPS: Final = {"month": 24, "week": 26, "day": 31}
"""How many periods are shown at once."""
FINER: Final = {"month": "week", "week": "day"}
ROOMS: Final = (FACT_TYPE, REFLECTION_TYPE, MESSAGE_TYPE)
_PER_PAGE: Final = 50
_FIRST: Final = date(1, 2, 1)
_LAST: Final = date(9998, 11, 30)


@dataclass(frozen=True, slots=True)
class Period:
    """Some days, and how many memories are from them."""

    first: date
    last: date
    """Included."""
    count: int = 0

    @property
    def label(self) -> str:
        """The days, short."""
        if self.first == self.last:
            return self.first.isoformat()
        if self.first.day == 1 and self.first.month == self.last.month and self.last.day >= 28:
            return self.first.isoformat()[:7]
        return f"{self.first.isoformat()} – {self.last.isoformat()[5:]}"

    def bounds(self, zone: tzinfo) -> tuple[datetime, datetime]:
        """From the first midnight to the one after the last day, there."""
        return _midnight(self.first, zone), _midnight(self.last + timedelta(days=1), zone)


def period_of(day: date, step: str) -> Period:
    """The month, week or day that a day is in."""
    if step == "month":
        first = day.replace(day=1)
        return Period(first, (first + timedelta(days=32)).replace(day=1) - timedelta(days=1))
    if step == "week":
        first = day - timedelta(days=day.weekday())
        return Period(first, first + timedelta(days=6))
    return Period(day, day)


def periods_until(end: date, step: str, most: int) -> list[Period]:
    """So many periods, the last one with this day in it, newest first."""
    found = [period_of(end, step)]
    while len(found) < most and found[-1].first > _FIRST + timedelta(days=31):
        found.append(period_of(found[-1].first - timedelta(days=1), step))
    return found


async def show(context: RequestContext) -> Response:
    """The periods, and the memories of the one that was chosen."""
    zone = context.memory.settings.zone
    step = context.query("by") or "month"
    if step not in STEPS:
        raise InvalidInputError(f"by {step[:40]!a} must be one of {', '.join(STEPS)}")
    filters: dict[str, Any] = {
        "memory_types": _one_of(context, "room", ROOMS) or None,
        "domains": _one_of(context, "domain", DOMAINS) or None,
    }
    first, last = [await _edge(context, filters, zone, descending=descending) for descending in (False, True)]
    chosen = _day(context, "from")
    end = _day(context, "end") or chosen or last
    kept = None
    if end is not None and first is not None:
        day, begin = end, first
        name = f"{context.scope} {step} {end} {filters}"
        cache = context.console.cached("timeline")
        kept = await cache.get(name, lambda: _counted(context.memory, context.scope, day, step, filters, zone, begin))
    periods: list[Period] = [] if kept is None else kept.value
    shown: Any = []
    selected = None if chosen is None else period_of(chosen, step)
    if selected is not None:
        since, until = selected.bounds(zone)
        shown = await context.memory.list(
            scope=context.scope,
            since=since,
            until=until,
            sort="event",
            limit=_PER_PAGE,
            cursor=context.query("cursor") or None,
            **filters,
        )
    return context.page(
        "timeline.html",
        steps=tuple(STEPS),
        step=step,
        finer=FINER.get(step),
        rooms=ROOMS,
        domains=DOMAINS,
        room=context.query("room"),
        domain=context.query("domain"),
        counting=kept is None and end is not None and first is not None,
        counted_at=None if kept is None or kept.current else kept.at,
        periods=periods,
        most=max((period.count for period in periods), default=0),
        earlier=_before(periods, first),
        later=_after(periods, last, step),
        selected=selected,
        entries=shown,
        cursor=context.query("cursor"),
        next_cursor=getattr(shown, "next_cursor", None),
        zone=context.memory.settings.time_zone or f"{datetime.now(zone):UTC%z}",
    )


async def _counted(
    memory: AgentMemory, scope: str, end: date, step: str, filters: dict[str, Any], zone: tzinfo, first: date
) -> list[Period]:
    """The periods with their counts, newest first, and none before the first memory."""
    found = []
    for period in periods_until(end, step, STEPS[step]):
        if period.last < first:
            break
        since, until = period.bounds(zone)
        count = await memory.count(scope=scope, since=since, until=until, **filters)
        found.append(Period(period.first, period.last, count))
    return found


async def _edge(context: RequestContext, filters: dict[str, Any], zone: tzinfo, *, descending: bool) -> date | None:
    """The day of the first or last memory."""
    found = await context.memory.list(scope=context.scope, sort="event", descending=descending, limit=1, **filters)
    return found[0].event_time.astimezone(zone).date() if found else None


def _before(periods: list[Period], first: date | None) -> str | None:
    if not periods or first is None or periods[-1].first <= first:
        return None
    return (periods[-1].first - timedelta(days=1)).isoformat()


def _after(periods: list[Period], last: date | None, step: str) -> str | None:
    if not periods or last is None or periods[0].last >= last:
        return None
    day = periods[0].last
    for _ in range(STEPS[step]):
        day = period_of(day + timedelta(days=1), step).last
    return min(day, last).isoformat()


def _day(context: RequestContext, name: str) -> date | None:
    given = context.query(name)
    if not given:
        return None
    try:
        found = date.fromisoformat(given)
    except ValueError:
        raise InvalidInputError(f"{name} {given[:40]!a} must be a date such as 2026-01-31") from None
    if not _FIRST < found < _LAST:
        raise InvalidInputError(f"{name} {given[:40]!a} must be between the years 1 and 9998")
    return found


def _one_of(context: RequestContext, name: str, known: tuple[str, ...]) -> str:
    given = context.query(name)
    if given and given not in known:
        raise InvalidInputError(f"{name} {given[:40]!a} must be one of {', '.join(known)}")
    return given


def _midnight(day: date, zone: tzinfo) -> datetime:
    return datetime.combine(day, time.min, zone)


PAGES: Final = (Page("/timeline", show),)

"""The long-term room: facts by domain, conflicts to settle, corrections, reflections, and the plan of forgetting."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final, cast

from starlette.responses import Response

from jiyi.apps.server.console.page import Page, form_page
from jiyi.apps.server.console.request_context import RequestContext
from jiyi.apps.server.logins import CONSOLE
from jiyi.apps.server.problems import ProblemError
from jiyi.errors import InvalidInputError
from jiyi.model.domain import DOMAINS
from jiyi.model.entry import REFLECTION_TYPE
from jiyi.model.forgetting_curve import DEFAULT_THRESHOLD

if TYPE_CHECKING:
    from jiyi.longterm.conflicts import Winner
    from jiyi.longterm.forgetting import ForgettingPlan
    from jiyi.model.entry import MemoryEntry

_PER_PAGE: Final = 50
_REFLECTIONS: Final = 20
_FACTS_SHOWN: Final = 10
_CONFLICTS: Final = 50
_REPLACED: Final = 50
_PLANNED: Final = 100
_WINNERS: Final = ("newer", "older", "both")
_BASE: Final = f"{CONSOLE}/longterm"


async def show(context: RequestContext) -> Response:
    """Facts by domain, newest first."""
    domain = context.query("domain")
    if domain and domain not in DOMAINS:
        raise InvalidInputError(f"domain {domain[:40]!a} is unknown; the domains are {', '.join(DOMAINS)}")
    page = await context.memory.list(
        scope=context.scope,
        domains=domain or DOMAINS,
        limit=_PER_PAGE,
        cursor=context.query("cursor") or None,
    )
    return context.page(
        "longterm.html",
        entries=page,
        domain=domain,
        domains=DOMAINS,
        next_cursor=page.next_cursor,
        cursor=context.query("cursor"),
    )


async def show_conflicts(context: RequestContext) -> Response:
    """Pairs of facts that may contradict each other, side by side."""
    kept = await context.console.cached("conflicts").get(
        context.scope, lambda: context.memory.longterm.conflicts(context.scope, limit=_CONFLICTS)
    )
    return context.page("conflicts.html", conflicts=None if kept is None else kept.value)


async def settle(context: RequestContext) -> Response:
    """Say which of two facts holds."""
    keep = context.form("keep")
    if keep not in _WINNERS:
        raise InvalidInputError(f"keep {keep[:40]!a} must be one of {', '.join(_WINNERS)}")
    settled = await context.memory.longterm.settle_conflict(
        context.scope, context.path("newer_id"), context.form("older"), keep=cast("Winner", keep)
    )
    if not settled:
        raise ProblemError(409, "conflict_settled", "there is no such conflict any more")
    return context.go(f"{_BASE}/conflicts", "settled")


async def show_replaced(context: RequestContext) -> Response:
    """Facts that were replaced, each with the one that took its place."""
    found = await context.memory.longterm.superseded(context.scope, limit=_REPLACED)
    return context.page("replaced.html", replaced=found)


async def show_reflections(context: RequestContext) -> Response:
    """Reflections with the facts that they were made from."""
    cursor = context.query("cursor")
    # Where there are few among many memories, finding them takes long.
    kept = await context.console.cached("reflections").get(
        f"{context.scope}\0{cursor}", lambda: _reflections(context, cursor)
    )
    found, next_cursor = (None, None) if kept is None else kept.value
    return context.page("reflections.html", reflections=found, next_cursor=next_cursor, cursor=cursor)


async def _reflections(
    context: RequestContext, cursor: str
) -> tuple[list[tuple[MemoryEntry, list[MemoryEntry]]], str | None]:
    page = await context.memory.list(
        scope=context.scope, domains=DOMAINS, memory_types=REFLECTION_TYPE, limit=_REFLECTIONS, cursor=cursor or None
    )
    facts = await asyncio.gather(*(_facts(context, each) for each in page))
    return list(zip(page, facts, strict=True)), page.next_cursor


async def _facts(context: RequestContext, reflection: MemoryEntry) -> list[MemoryEntry]:
    ids = reflection.source.references[:_FACTS_SHOWN]
    found = await asyncio.gather(*(context.memory.get(id=each, scope=context.scope) for each in ids))
    return [entry for entry in found if entry is not None]


# --- forgetting -----------------------------------------------------------------------------------------------------


async def show_forgetting(context: RequestContext) -> Response:
    """What would be forgotten now, and what is next; nothing is changed."""
    kept = await context.console.cached("forgetting").get(context.scope, lambda: _plan(context))
    return context.page(
        "forgetting.html",
        plan=None if kept is None else kept.value,
        planned_at=None if kept is None else kept.at,
        threshold=DEFAULT_THRESHOLD,
    )


async def _plan(context: RequestContext) -> dict[str, Any]:
    plan: ForgettingPlan = await context.memory.longterm.cleanup_forgotten_memories(context.scope, dry_run=True)
    return {
        "count": plan.count,
        "considered": plan.considered,
        "exempt": dict(plan.exempt),
        "memories": plan.memories[:_PLANNED],
    }


async def forget(context: RequestContext) -> Response:
    """Take out of recall what has faded. It can be brought back."""
    count = await context.memory.longterm.cleanup_forgotten_memories(context.scope)
    return context.go(f"{_BASE}/forgetting", "faded" if count else "faded_none")


async def undo(context: RequestContext) -> Response:
    """Bring back all that the curve has taken."""
    restored = await context.memory.longterm.restore(context.scope)
    return context.go(f"{_BASE}/forgetting", "unfaded" if restored else "unfaded_none")


PAGES: Final = (
    Page("/longterm", show),
    Page("/longterm/conflicts", show_conflicts),
    form_page("/longterm/conflicts/{newer_id}", settle),
    Page("/longterm/replaced", show_replaced),
    Page("/longterm/reflections", show_reflections),
    Page("/longterm/forgetting", show_forgetting),
    form_page("/longterm/forgetting", forget),
    form_page("/longterm/forgetting/undo", undo),
)

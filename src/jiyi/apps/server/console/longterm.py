"""The long-term room: facts by domain, conflicts to settle, corrections, reflections, and the plan of forgetting."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final, cast

from starlette.responses import Response

from jiyi.apps.server.console.page import Page, form_page
from jiyi.apps.server.console.visit import Visit
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


async def show(visit: Visit) -> Response:
    """Facts by domain, newest first."""
    domain = visit.query("domain")
    if domain and domain not in DOMAINS:
        raise InvalidInputError(f"domain {domain[:40]!a} is unknown; the domains are {', '.join(DOMAINS)}")
    page = await visit.memory.list(
        scope=visit.scope,
        domains=domain or DOMAINS,
        limit=_PER_PAGE,
        cursor=visit.query("cursor") or None,
    )
    return visit.page(
        "longterm.html",
        entries=page,
        domain=domain,
        domains=DOMAINS,
        next_cursor=page.next_cursor,
        cursor=visit.query("cursor"),
    )


async def show_conflicts(visit: Visit) -> Response:
    """Pairs of facts that may contradict each other, side by side."""
    kept = await visit.console.cached("conflicts").get(
        visit.scope, lambda: visit.memory.longterm.conflicts(visit.scope, limit=_CONFLICTS)
    )
    return visit.page("conflicts.html", conflicts=None if kept is None else kept.value)


async def settle(visit: Visit) -> Response:
    """Say which of two facts holds."""
    keep = visit.form("keep")
    if keep not in _WINNERS:
        raise InvalidInputError(f"keep {keep[:40]!a} must be one of {', '.join(_WINNERS)}")
    settled = await visit.memory.longterm.settle_conflict(
        visit.scope, visit.path("newer_id"), visit.form("older"), keep=cast("Winner", keep)
    )
    if not settled:
        raise ProblemError(409, "conflict_settled", "there is no such conflict any more")
    return visit.go(f"{_BASE}/conflicts", "settled")


async def show_replaced(visit: Visit) -> Response:
    """Facts that were replaced, each with the one that took its place."""
    found = await visit.memory.longterm.superseded(visit.scope, limit=_REPLACED)
    return visit.page("replaced.html", replaced=found)


async def show_reflections(visit: Visit) -> Response:
    """Reflections with the facts that they were made from."""
    cursor = visit.query("cursor")
    # Where there are few among many memories, finding them takes long.
    kept = await visit.console.cached("reflections").get(
        f"{visit.scope}\0{cursor}", lambda: _reflections(visit, cursor)
    )
    found, next_cursor = (None, None) if kept is None else kept.value
    return visit.page("reflections.html", reflections=found, next_cursor=next_cursor, cursor=cursor)


async def _reflections(visit: Visit, cursor: str) -> tuple[list[tuple[MemoryEntry, list[MemoryEntry]]], str | None]:
    page = await visit.memory.list(
        scope=visit.scope, domains=DOMAINS, memory_types=REFLECTION_TYPE, limit=_REFLECTIONS, cursor=cursor or None
    )
    facts = await asyncio.gather(*(_facts(visit, each) for each in page))
    return list(zip(page, facts, strict=True)), page.next_cursor


async def _facts(visit: Visit, reflection: MemoryEntry) -> list[MemoryEntry]:
    ids = reflection.source.references[:_FACTS_SHOWN]
    found = await asyncio.gather(*(visit.memory.get(id=each, scope=visit.scope) for each in ids))
    return [entry for entry in found if entry is not None]


# --- forgetting -----------------------------------------------------------------------------------------------------


async def show_forgetting(visit: Visit) -> Response:
    """What would be forgotten now, and what is next; nothing is changed."""
    kept = await visit.console.cached("forgetting").get(visit.scope, lambda: _plan(visit))
    return visit.page(
        "forgetting.html",
        plan=None if kept is None else kept.value,
        planned_at=None if kept is None else kept.at,
        threshold=DEFAULT_THRESHOLD,
    )


async def _plan(visit: Visit) -> dict[str, Any]:
    plan: ForgettingPlan = await visit.memory.longterm.cleanup_forgotten_memories(visit.scope, dry_run=True)
    return {
        "count": plan.count,
        "considered": plan.considered,
        "exempt": dict(plan.exempt),
        "memories": plan.memories[:_PLANNED],
    }


async def forget(visit: Visit) -> Response:
    """Take out of recall what has faded. It can be brought back."""
    count = await visit.memory.longterm.cleanup_forgotten_memories(visit.scope)
    return visit.go(f"{_BASE}/forgetting", "faded" if count else "faded_none")


async def undo(visit: Visit) -> Response:
    """Bring back all that the curve has taken."""
    restored = await visit.memory.longterm.restore(visit.scope)
    return visit.go(f"{_BASE}/forgetting", "unfaded" if restored else "unfaded_none")


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

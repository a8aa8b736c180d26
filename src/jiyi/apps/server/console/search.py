"""Search: every mode of recall, with the reasons for each hit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from starlette.responses import Response

from jiyi.apps.server.console.page import Page
from jiyi.apps.server.console.request_context import RequestContext
from jiyi.apps.server.problems import status_of
from jiyi.errors import JiyiError
from jiyi.model.domain import DOMAINS
from jiyi.model.relevance import MIN_RELEVANCE
from jiyi.recall.request import MODES

if TYPE_CHECKING:
    from jiyi.model.entry import MemoryEntry

LONGTERM: Final = "longterm"
"""The search of the long-term room: relevance, age and importance weighed."""
_LIMITS: Final = (10, 20, 50, 100)


async def show(context: RequestContext) -> Response:
    """The form, and the hits of the question in the address."""
    asked = context.query
    values: dict[str, Any] = {
        "question": asked("q"),
        "mode": asked("mode") or "hybrid",
        "modes": (*MODES, LONGTERM),
        "domains": DOMAINS,
        "limits": _LIMITS,
        "chosen": {name: asked(name) for name in ("type", "category", "domain", "tags", "since", "until", "limit")},
        "hits": None,
        "fitting": (),
        "others": (),
        "coverage": (),
        "scale": 1.0,
        "telling": (),
        "problem": "",
    }
    if not asked("q"):
        return context.page("search.html", **values)
    try:
        hits = await _hits(context)
    except JiyiError as error:
        # The form stays as it was filled in, with what is wrong above it.
        return context.page("search.html", status_of(error), **{**values, "problem": context.told(error)})
    explained = [hit.explanation for hit in hits if hit.explanation is not None]
    parts = [part for each in explained for part in each.parts.items()]
    return context.page(
        "search.html",
        **{
            **values,
            "hits": hits,
            "fitting": [hit for hit in hits if _fits(hit)],
            "others": [hit for hit in hits if not _fits(hit)],
            # Parts that gave nothing to any hit explain nothing.
            "telling": tuple(dict.fromkeys(name for name, value in parts if value)),
            "scale": max([1.0, *(abs(value) for _, value in parts)]),
            "coverage": explained[0].coverage if explained else (),
        },
    )


def _fits(hit: MemoryEntry) -> bool:
    """Whether a hit may answer at all; the same bound as on the command line."""
    return hit.confident is not False or (hit.relevance_score or 0.0) >= MIN_RELEVANCE


async def _hits(context: RequestContext) -> Sequence[MemoryEntry]:
    asked, memory = context.query, context.memory
    limit = asked.whole("limit", _LIMITS[0], 1, _LIMITS[-1])
    domains = asked.words("domain") or None
    if asked("mode") == LONGTERM:
        # Showing memories is no use of them: it must not change what is forgotten.
        return await memory.longterm.retrieve_relevant_memories(
            context.scope, asked("q"), top_k_final=limit, domains=domains, touch=False
        )
    return await memory.recall(
        asked("q"),
        limit,
        scope=context.scope,
        kind=context.access.kind,
        mode=asked("mode") or "hybrid",
        memory_types=asked.words("type") or None,
        category=asked.words("category") or None,
        domains=domains,
        tags=asked.words("tags") or None,
        since=asked.moment("since", context.memory.settings.zone),
        until=asked.moment("until", context.memory.settings.zone, end_of_day=True),
        highlights=True,
    )


PAGES: Final = (Page("/search", show),)

"""The list of memories, and one memory: what it says, where it is from, how it came to be, and changing it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from starlette.responses import Response

from jiyi.apps.server.console.differences import Difference, differences
from jiyi.apps.server.console.page import Page
from jiyi.apps.server.console.request_context import RequestContext
from jiyi.apps.server.problems import ProblemError
from jiyi.errors import SimpleModeError
from jiyi.model import clock
from jiyi.model.domain import DOMAINS
from jiyi.model.entry import MemoryEntry
from jiyi.model.forgetting_curve import DEFAULT_THRESHOLD, EbbinghausForgetting
from jiyi.model.listing import SORTS
from jiyi.model.listing import Page as EntryPage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jiyi.model.entry import EntryVersion

_PER_PAGE: Final = 50
_MAX_VERSIONS: Final = 50
_CURVE_POINTS: Final = 40


@dataclass(frozen=True, slots=True)
class EntryState:
    """A memory that a page is about, in whatever state it is."""

    entry: MemoryEntry
    state: str
    """`active`; `inactive` when it was corrected, faded or archived; `forgotten` when only its versions are left."""
    versions: Sequence[EntryVersion]


async def show_list(context: RequestContext) -> Response:
    """A page of the memories that the key sees."""
    asked = context.query
    sort = asked("sort") or "created"
    page: EntryPage = await context.memory.list(
        scope=context.scope,
        category=asked.words("category") or None,
        memory_types=asked.words("type") or None,
        domains=asked.words("domain") or None,
        tags=asked.words("tags") or None,
        conversation_id=asked("conversation") or None,
        key_prefix=asked("prefix") or None,
        since=asked.moment("since", context.memory.settings.zone),
        until=asked.moment("until", context.memory.settings.zone, end_of_day=True),
        sort=sort,
        limit=_PER_PAGE,
        cursor=asked("cursor") or None,
    )
    names = ("type", "category", "domain", "tags", "prefix", "since", "until", "conversation")
    return context.page(
        "entries.html",
        entries=page,
        next_cursor=page.next_cursor,
        cursor=asked("cursor"),
        sort=sort,
        sorts=SORTS,
        domains=DOMAINS,
        chosen={name: asked(name) for name in names},
        filtered=any(asked(name) for name in names),
    )


async def show(context: RequestContext) -> Response:
    """One memory, in whatever state it is."""
    found = await find(context)
    entry = found.entry
    explanation = await _explained(context, entry)
    return context.page(
        "entry.html",
        entry=entry,
        state=found.state,
        own=entry.scope == context.scope,
        explanation=explanation,
        versions=_with_differences(found.versions),
        curve=_curve(entry) if explanation is not None and explanation["forgettable"] else (),
        threshold=DEFAULT_THRESHOLD,
    )


async def find(context: RequestContext) -> EntryState:
    """The memory with the id of the address, also one that is forgotten; a page with 404 if there is none."""
    entry_id, memory, scope = context.path("entry_id"), context.memory, context.scope
    versions = await memory.history(id=entry_id, scope=scope)
    entry = await memory.get(id=entry_id, scope=scope)
    if entry is not None:
        return EntryState(entry, "active", versions)
    explanation = await _explanation(context, entry_id)
    if explanation is not None:
        return EntryState(MemoryEntry.from_dict(explanation["entry"]), "inactive", versions)
    last = next((version.entry for version in reversed(versions) if version.entry is not None), None)
    if last is None:
        raise ProblemError(404, "no_entry", f"there is no memory {entry_id[:80]!a}")
    return EntryState(last, "forgotten", versions)


async def _explanation(context: RequestContext, entry_id: str) -> dict[str, Any] | None:
    try:
        return await context.memory.longterm.explain(context.scope, entry_id)
    except SimpleModeError:
        return None


async def _explained(context: RequestContext, entry: MemoryEntry) -> dict[str, Any] | None:
    """Where an entry of the own scope came from, with the entries around it as values."""
    explanation = await _explanation(context, entry.id) if entry.scope == context.scope else None
    if explanation is None or explanation["entry"]["id"] != entry.id:
        return None
    linked = ("conflicts_with", "replaces", "facts", "superseded_by", "summarized_by")
    return {**explanation, **{name: [MemoryEntry.from_dict(each) for each in explanation[name]] for name in linked}}


def _with_differences(versions: Sequence[EntryVersion]) -> list[tuple[EntryVersion, list[Difference]]]:
    """The versions, newest first, each with what it changed of the text."""
    shown: list[tuple[EntryVersion, list[Difference]]] = []
    before: str | None = None
    for version in versions:
        text = None if version.entry is None else version.entry.content
        changed = before is not None and text is not None and text != before
        shown.append((version, differences(before or "", text or "") if changed else []))
        before = before if text is None else text
    return list(reversed(shown))[:_MAX_VERSIONS]


def _curve(entry: MemoryEntry) -> list[tuple[float, float]]:
    """Days since the last use, and what is left of the memory then; until it is half forgotten by the threshold."""
    curve = EbbinghausForgetting()
    hours = curve.hours_until(DEFAULT_THRESHOLD / 2, entry.access_count, entry.importance_score)
    now = max(0.0, (clock.utc_now() - entry.last_accessed_at).total_seconds() / 3600)
    last = min(max(hours, now, 24.0), 24.0 * 3650)
    return [
        (
            last * step / _CURVE_POINTS / 24,
            curve.calculate_retention(last * step / _CURVE_POINTS, entry.access_count, entry.importance_score),
        )
        for step in range(_CURVE_POINTS + 1)
    ]


PAGES: Final = (
    Page("/entries", show_list),
    Page("/entries/{entry_id}", show),
)

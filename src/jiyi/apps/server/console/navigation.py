"""Which pages there are, and which of them stand in the navigation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from jiyi.apps.server.access import ADMIN, READ
from jiyi.apps.server.console import (
    access_keys,
    conversations,
    entries,
    entry_changes,
    jobs,
    login,
    longterm,
    memory_map,
    notes,
    overview,
    runtime,
    search,
    settings,
    timeline,
)
from jiyi.apps.server.console.page import Page
from jiyi.apps.server.console.request_context import RequestContext
from jiyi.apps.server.logins import CONSOLE

PAGES: Final[tuple[Page, ...]] = (
    *login.PAGES,
    *overview.PAGES,
    *search.PAGES,
    *entries.PAGES,
    *entry_changes.PAGES,
    *conversations.PAGES,
    *longterm.PAGES,
    *timeline.PAGES,
    *memory_map.PAGES,
    *notes.PAGES,
    *runtime.PAGES,
    *jobs.PAGES,
    *access_keys.PAGES,
    *settings.PAGES,
)


@dataclass(frozen=True, slots=True)
class Item:
    """A line of the navigation: its text is `nav.<name>` of the catalogue."""

    path: str
    name: str
    right: str = READ
    also: str = ""
    """Another path that belongs to it."""


ITEMS: Final = (
    Item("", "overview"),
    Item("/search", "search"),
    Item("/entries", "entries"),
    Item("/conversations", "conversations", also="/conversation"),
    Item("/longterm", "longterm"),
    Item("/timeline", "timeline"),
    Item("/map", "map"),
    Item("/notes", "notes"),
    Item("/runtime", "runtime"),
    Item("/jobs", "jobs"),
    Item("/keys", "keys", ADMIN),
    Item("/settings", "settings", ADMIN),
)


def navigation_for(context: RequestContext) -> list[dict[str, str | bool]]:
    """The lines for a caller: what the key does not allow is not offered."""
    if context.granted is None:
        return []
    here = context.request.url.path
    return [
        {
            "address": CONSOLE + item.path,
            "text": context.texts(f"nav.{item.name}"),
            "current": _is_at(item, here),
        }
        for item in ITEMS
        if context.granted.may(item.right)
    ]


def _is_at(item: Item, here: str) -> bool:
    """Whether a page belongs to a line of the navigation."""
    paths = [CONSOLE + path for path in (item.path, item.also) if path]
    return here == CONSOLE + item.path or any(here == path or here.startswith(f"{path}/") for path in paths)

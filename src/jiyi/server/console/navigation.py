"""Which pages there are, and which of them stand in the navigation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from jiyi.server.access import ADMIN, READ
from jiyi.server.console import conversations, entries, entry_changes, login, longterm, overview, search, settings
from jiyi.server.console.page import Page
from jiyi.server.console.visit import Visit
from jiyi.server.sessions import CONSOLE

PAGES: Final[tuple[Page, ...]] = (
    *login.PAGES,
    *overview.PAGES,
    *search.PAGES,
    *entries.PAGES,
    *entry_changes.PAGES,
    *conversations.PAGES,
    *longterm.PAGES,
    *settings.PAGES,
)


@dataclass(frozen=True, slots=True)
class Item:
    """A line of the navigation: its text is `nav.<name>` of the catalogue."""

    path: str
    name: str
    right: str = READ


ITEMS: Final = (
    Item("", "overview"),
    Item("/search", "search"),
    Item("/entries", "entries"),
    Item("/conversations", "conversations"),
    Item("/longterm", "longterm"),
    Item("/settings", "settings", ADMIN),
)


def navigation_for(visit: Visit) -> list[dict[str, str | bool]]:
    """The lines for a caller: what the key does not allow is not offered."""
    if visit.entry is None:
        return []
    here = visit.request.url.path
    return [
        {
            "address": CONSOLE + item.path,
            "text": visit.texts(f"nav.{item.name}"),
            "current": here == CONSOLE + item.path or (item.path != "" and here.startswith(CONSOLE + item.path + "/")),
        }
        for item in ITEMS
        if visit.entry.may(item.right)
    ]

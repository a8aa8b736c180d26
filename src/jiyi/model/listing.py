"""Listing: the order of entries, pages with cursors, and receipts for what was forgotten."""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

from jiyi.errors import InvalidInputError
from jiyi.model import clock
from jiyi.model.storable import is_storable

if TYPE_CHECKING:
    from jiyi.model.entry import MemoryEntry

Sort: TypeAlias = Literal["created", "event", "key"]
SORTS: Final[tuple[Sort, ...]] = get_args(Sort)
_SHOWN: Final = 200
"""How many characters of a text a notebook shows."""
Place: TypeAlias = tuple[str, str]
"""Where an entry is in an order: the text of what it is sorted by, and its id."""


@dataclass(frozen=True, slots=True)
class Order:
    """What entries are sorted by; equal ones by their ids. Sorted by key, entries without one are left out."""

    sort: Sort = "created"
    descending: bool = True

    def place_of(self, entry: MemoryEntry) -> Place:
        """Where the entry is in this order."""
        if self.sort == "key":
            return entry.key or "", entry.id
        return clock.to_text(entry.created_at if self.sort == "created" else entry.event_time), entry.id


NEWEST_FIRST: Final = Order()


def make_order(sort: object, descending: object = None) -> Order:
    """The order that a caller asks for; by default the newest first, and keys from the first to the last."""
    for known in SORTS:
        if sort == known:
            return Order(known, known != "key" if descending is None else bool(descending))
    raise InvalidInputError(f"sort {ascii(sort)[:80]} is unknown; use one of {', '.join(SORTS)}")


def cursor_of(order: Order, place: Place) -> str:
    """The text by which the next page is asked for."""
    text = json.dumps([order.sort, order.descending, *place], ensure_ascii=False, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode("utf-8")).decode("ascii").rstrip("=")


def place_of_cursor(cursor: object, order: Order) -> Place:
    """The inverse of `cursor_of`."""
    try:
        decoded = _decoded(cursor) if isinstance(cursor, str) else None
    except (binascii.Error, ValueError):
        decoded = None
    if decoded is None:
        raise InvalidInputError(f"cursor {ascii(cursor)[:80]} is none that a page has given; pass its next_cursor")
    sort, descending, value, entry_id = decoded
    if (sort, descending) != (order.sort, order.descending):
        raise InvalidInputError(f"cursor belongs to a list sorted by {sort}; ask in the same order")
    return value, entry_id


def _decoded(cursor: str) -> tuple[object, object, str, str] | None:
    text = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
    parts = json.loads(text.decode("utf-8"))
    if not isinstance(parts, list) or len(parts) != 4:
        return None
    sort, descending, value, entry_id = parts
    if not isinstance(value, str) or not isinstance(entry_id, str) or not is_storable(value + entry_id):
        return None
    # Raises an error for what is no time.
    if sort != "key":
        clock.from_text(value)
    return sort, descending, value, entry_id


class Page(list["MemoryEntry"]):
    """Entries in order, and the cursor of those that follow."""

    next_cursor: str | None = None
    """Pass it as `cursor` for the next page; `None` on the last one."""

    def _repr_html_(self) -> str:
        """A table for notebooks. No text of an entry can be markup; long ones are cut."""
        from html import escape

        def row(*texts: str) -> str:
            cut = (each if len(each) <= _SHOWN else each[: _SHOWN - 1] + "…" for each in texts)
            return f"<tr>{''.join(f'<td>{escape(each)}</td>' for each in cut)}</tr>"

        rows = [
            row(
                entry.key or entry.id,
                entry.content,
                entry.scope,
                entry.memory_type,
                ", ".join(entry.tags),
                entry.event_time.isoformat(timespec="seconds"),
            )
            for entry in self
        ]
        heading = "".join(f"<th>{name}</th>" for name in ("key", "content", "scope", "type", "tags", "when"))
        more = "" if self.next_cursor is None else "<p>… next_cursor has the next page</p>"
        return f"<table><thead><tr>{heading}</tr></thead><tbody>{''.join(rows)}</tbody></table>{more}"


@dataclass(frozen=True, slots=True)
class Forgotten:
    """A receipt of `forget_many`."""

    matched: int
    """How many entries met the conditions when it began."""
    forgotten: int
    """How many of them were forgotten; 0 in a dry run."""
    erased: bool
    """Whether their versions were deleted as well."""
    dry_run: bool

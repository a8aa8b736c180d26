"""Lists of entries: pages in an order, and the namespaces of scopes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from jiyi.backends.records.codec import BY_IDS, entry_of
from jiyi.backends.records.filters import where
from jiyi.backends.records.overlays import seen
from jiyi.backends.records.schema import ACTIVE, NOT_EXPIRED
from jiyi.backends.records.sql import Connection, chunks, moment, skip_scan
from jiyi.model import clock
from jiyi.model.entry import MemoryEntry
from jiyi.model.filters import Filters
from jiyi.model.listing import Order, Place
from jiyi.model.namespace import namespace_of

_COLUMNS: Final = {"created": "created_at", "event": "event_time", "key": "key"}
_NEXT_NAMESPACE: Final = (
    "SELECT namespace FROM memory_records WHERE scope = :scope AND namespace != '' AND namespace > :after "
    f"AND {ACTIVE} AND {NOT_EXPIRED} ORDER BY namespace LIMIT 1"
)


def page(
    connection: Connection, filters: Filters, order: Order, *, limit: int, offset: int, after: Place | None
) -> list[MemoryEntry]:
    """Entries in order. After a place the cost of a page does not depend on how many are before it."""
    column, direction = _COLUMNS[order.sort], "DESC" if order.descending else "ASC"
    more = " AND key IS NOT NULL" if order.sort == "key" else ""
    place: dict[str, Any] = {}
    if after is not None:
        more += f" AND ({column}, id) {'<' if order.descending else '>'} (:place, :place_id)"
        place = {"place": after[0] if order.sort == "key" else clock.from_text(after[0]), "place_id": after[1]}
    places: list[tuple[Any, str]] = []
    # Scope by scope: each is read in the order of its index, and no further than to the end of the page.
    for scope in filters.scopes:
        condition, params = where(replace(filters, scopes=(scope,)), connection.dialect, reader=filters.scopes[0])
        sql = (
            f"SELECT {column}, id FROM memory_records WHERE {condition}{more} "
            f"ORDER BY {column} {direction}, id {direction} LIMIT :limit"
        )
        found = connection.rows(sql, {**params, **place, "limit": offset + limit})
        places += [(value if order.sort == "key" else moment(value), entry_id) for value, entry_id in found]
    places.sort(reverse=order.descending)
    ids = [entry_id for _, entry_id in places[offset : offset + limit]]
    rows = [row for chunk in chunks(ids) for row in connection.rows(BY_IDS, {"ids": chunk})]
    entries = {entry.id: entry for entry in seen(connection.rows, filters.scopes, map(entry_of, rows))}
    return [entries[entry_id] for entry_id in ids]


def namespaces(connection: Connection, scopes: Sequence[str], now: datetime) -> Iterator[tuple[str, ...]]:
    """The different namespaces of the entries of these scopes; those of one scope in their order."""
    for scope in scopes:
        yield from map(namespace_of, skip_scan(connection, _NEXT_NAMESPACE, {"scope": scope, "alive_at": now}))

"""Overlays: how a private scope uses public memories, one row for each, which only that scope sees.

A call made for a private scope never changes a public memory. That the scope found it useful, used it, or merged it
into a memory of its own stands in a row of `memory_overlays`, and is added when the scope reads the memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from jiyi.backends.records.schema import ACTIVE, memory_overlays, runtime_memories
from jiyi.backends.records.sql import Connection, Database, Row, chunks, moment
from jiyi.model.entry import MemoryEntry, Source
from jiyi.model.scope import PUBLIC

Rows = Callable[[str, Mapping[str, Any]], list[Row]]

_FRONT: Final = (
    f"FROM memory_overlays o JOIN memory_records f ON f.id = o.superseded_by AND f.scope = o.scope AND f.{ACTIVE} "
    "WHERE o.scope = :overlay_scope AND o.superseded_by IS NOT NULL"
)
# Not a flag of the row: whatever becomes of the memory in front, this is right.
IS_SHOWN: Final = f"(scope != '{PUBLIC}' OR id NOT IN (SELECT o.memory_id {_FRONT}))"
"""The condition on entries that no memory of the scope `:overlay_scope` stands in front of."""
IS_HIDDEN: Final = f"(scope = '{PUBLIC}' AND id IN (SELECT o.memory_id {_FRONT}))"
"""The condition on the others."""
STRENGTH: Final = (
    f"CASE WHEN memory_records.scope = '{PUBLIC}' THEN memory_records.strength + coalesce((SELECT o.strength "
    "FROM memory_overlays o WHERE o.scope = :overlay_scope AND o.memory_id = memory_records.id), 0) "
    "ELSE memory_records.strength END"
)
"""The strength of an entry in the eyes of the scope `:overlay_scope`."""
_OF_ENTRIES: Final = (
    "SELECT o.memory_id, o.strength, o.access_count, o.last_accessed_at, f.id FROM memory_overlays o "
    f"LEFT JOIN memory_records f ON f.id = o.superseded_by AND f.scope = o.scope AND f.{ACTIVE} "
    "WHERE o.scope = :overlay_scope AND o.memory_id IN :ids"
)
_ONE: Final = f"{memory_overlays.select} WHERE scope = :scope AND memory_id = :memory_id"
_UPDATE: Final = (
    f"{memory_overlays.update_of(memory_overlays.names[2:])} WHERE scope = :scope AND memory_id = :memory_id"
)
_USAGE: Final = f"{runtime_memories.select} WHERE memory_id = :memory_id"
_UPDATE_USAGE: Final = f"{runtime_memories.update_of(('useful', 'missed', 'decayed_at'))} WHERE memory_id = :memory_id"
_MOVE: Final = "UPDATE memory_overlays SET superseded_by = :new WHERE scope = :scope AND superseded_by IN :old"
_SHOW_AGAIN: Final = (
    "UPDATE memory_overlays SET superseded_by = NULL "
    "WHERE scope = :scope AND memory_id = :memory_id AND superseded_by IS NOT NULL"
)
_PUBLIC_IDS: Final = f"SELECT id FROM memory_records WHERE id IN :ids AND scope || '' = '{PUBLIC}'"
_PUBLIC_AMONG: Final = f"{_PUBLIC_IDS} LIMIT 1"
_SUMS: Final = "SELECT sum(useful), sum(missed) FROM memory_overlays WHERE scope = :scope AND memory_id IN :ids"


@dataclass(frozen=True, slots=True)
class OverlayChange:
    """What is to be added to the row of a scope and a public memory."""

    strength: int = 0
    useful: int = 0
    missed: int = 0
    access_count: int = 0
    last_accessed_at: datetime | None = None
    superseded_by: str | None = None


def reading_scope(scopes: Sequence[str]) -> str | None:
    """The private scope that reads public memories beside its own; `None` when nobody does."""
    return scopes[0] if PUBLIC in scopes[1:] else None


def seen(rows: Rows, scopes: Sequence[str], entries: Iterable[MemoryEntry]) -> list[MemoryEntry]:
    """Entries as the first of these scopes sees them."""
    found = list(entries)
    scope = reading_scope(scopes)
    ids = [entry.id for entry in found if entry.scope == PUBLIC]
    if scope is None or not ids:
        return found
    overlays = {
        row[0]: row for chunk in chunks(ids) for row in rows(_OF_ENTRIES, {"overlay_scope": scope, "ids": chunk})
    }
    return [_overlaid(entry, overlays[entry.id]) if entry.id in overlays else entry for entry in found]


def _overlaid(entry: MemoryEntry, row: Row) -> MemoryEntry:
    # Few scopes have overlays, and a short command does not pay for loading it.
    from jiyi.model.feedback import SUPERSEDED, added_strength

    _, strength, access_count, accessed, front = row
    last = moment(accessed)
    after = replace(
        entry,
        strength=added_strength(entry.strength, strength),
        access_count=entry.access_count + access_count,
        last_accessed_at=entry.last_accessed_at if last is None else max(entry.last_accessed_at, last),
    )
    if front is None:
        return after
    return replace(after, is_active=False, source=Source(SUPERSEDED, entry.source.trust, (front,)))


def scopes_noted(database: Database, scope: str, ids: Sequence[str]) -> list[str]:
    """The scopes to lock when a scope notes something of these: `public` too, so that none is removed meanwhile."""
    of_ids = database.query(_PUBLIC_AMONG, {"ids": list(ids)}) if ids and database.dialect != "sqlite" else []
    return sorted({scope, *(PUBLIC for _ in of_ids)})


def note(connection: Connection, scope: str, memory_id: str, noted: OverlayChange) -> None:
    """Add to the overlay of a private scope on a public memory."""
    row = connection.row(_ONE, {"scope": scope, "memory_id": memory_id})
    if row is None:
        values = {name: getattr(noted, name) for name in memory_overlays.names[2:]}
        connection.execute(memory_overlays.insert, {"scope": scope, "memory_id": memory_id, **values})
        return
    from jiyi.model.feedback import added_strength

    here = memory_overlays.values(row)
    times = [each for each in (here["last_accessed_at"], noted.last_accessed_at) if each is not None]
    both = {
        **here,
        "strength": added_strength(here["strength"], noted.strength),
        "last_accessed_at": max(times, default=None),
        "superseded_by": noted.superseded_by or here["superseded_by"],
        **{name: here[name] + getattr(noted, name) for name in ("useful", "missed", "access_count")},
    }
    connection.execute(_UPDATE, both)


def merge_overlay(connection: Connection, values: Mapping[str, Any], *, update: bool) -> bool:
    """Take in a row of another store; of a known one, with `update`, the greater numbers. Whether anything changed."""
    row = connection.row(_ONE, values)
    if row is None:
        connection.execute(memory_overlays.insert, values)
        return True
    here = memory_overlays.values(row)
    both = {
        **_greater(here, values, ("strength", "useful", "missed", "access_count"), "last_accessed_at"),
        "superseded_by": here["superseded_by"] or values["superseded_by"],
    }
    if not update or both == here:
        return False
    connection.execute(_UPDATE, both)
    return True


def merge_usage(connection: Connection, values: Mapping[str, Any], *, update: bool) -> bool:
    """The same for how useful a memory of the runtime was."""
    row = connection.row(_USAGE, values)
    if row is None:
        connection.execute(runtime_memories.insert, values)
        return True
    here = runtime_memories.values(row)
    both = _greater(here, values, ("useful", "missed"), "decayed_at")
    if not update or both == here:
        return False
    connection.execute(_UPDATE_USAGE, both)
    return True


def _greater(here: Mapping[str, Any], there: Mapping[str, Any], numbers: Sequence[str], moment: str) -> dict[str, Any]:
    """A row with the greater of these numbers of both, and the later moment."""
    times = [each[moment] for each in (here, there) if each[moment] is not None]
    return {
        **here,
        **{name: max(here[name], there[name]) for name in numbers},
        moment: max(times, default=None),
    }


def move_fronts(connection: Connection, scope: str, old: Sequence[str], new: str) -> None:
    """What stood behind the old memories of a scope stands behind the new one that they were merged into."""
    for chunk in chunks(old):
        connection.execute(_MOVE, {"scope": scope, "old": chunk, "new": new})


def show_again(connection: Connection, scope: str, memory_id: str) -> bool:
    """Let a scope see a public memory again that it had merged; whether it had."""
    return bool(connection.execute(_SHOW_AGAIN, {"scope": scope, "memory_id": memory_id}).rowcount)


def usage_sums(connection: Connection, scope: str, ids: Sequence[str]) -> tuple[int, int]:
    """How often a scope found these useful, and recalled them for nothing."""
    useful, missed = connection.rows(_SUMS, {"scope": scope, "ids": list(ids)})[0]
    return int(useful or 0), int(missed or 0)


def touch(connection: Connection, scope: str, ids: Sequence[str], at: datetime, *, used: bool) -> None:
    """Note that a private scope was shown public memories, and with `used` that it used them."""
    if scope == PUBLIC:
        return
    for memory_id in connection.column(_PUBLIC_IDS, {"ids": list(ids)}):
        note(connection, scope, memory_id, OverlayChange(access_count=int(used), last_accessed_at=at))

"""Brings public memories back that a private scope had merged into its own, before it had a row of its own for that."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Final

from jiyi.backends.records.changelog import past_entry
from jiyi.backends.records.codec import SELECT_ENTRY, entry_of, to_json
from jiyi.backends.records.overlays import OverlayChange, note
from jiyi.backends.records.schema import INACTIVE
from jiyi.backends.records.sql import Connection
from jiyi.backends.records.writes import update_and_log
from jiyi.model import clock
from jiyi.model.entry import MemoryEntry, Source
from jiyi.model.feedback import SUPERSEDED
from jiyi.model.scope import PUBLIC

_ACTOR: Final = "migration"
_MERGED: Final = f"{SELECT_ENTRY} WHERE scope = '{PUBLIC}' AND {INACTIVE} AND source LIKE '%\"{SUPERSEDED}\"%'"
_SCOPE_OF: Final = "SELECT scope FROM memory_changes WHERE entry_id = :id LIMIT 1"
_PAST: Final = "SELECT before FROM memory_changes WHERE entry_id = :id AND before IS NOT NULL ORDER BY version DESC"
_LINES: Final = (
    f"SELECT sequence, before FROM memory_changes WHERE scope = '{PUBLIC}' AND before LIKE '%\"{SUPERSEDED}\"%'"
)
_SET_BEFORE: Final = "UPDATE memory_changes SET before = :before WHERE sequence = :sequence"


def return_public_memories(connection: Connection) -> None:
    """Make them active again for everybody; for the scope that merged them the merged memory stands in front."""
    for row in connection.rows(_MERGED):
        entry = entry_of(row)
        owner = _foreign_owner(connection, entry)
        if owner is None:
            continue
        now = clock.utc_now()
        back = replace(
            entry,
            is_active=True,
            source=_source_before(connection, entry),
            version=entry.version + 1,
            updated_at=max(now, entry.updated_at),
        )
        update_and_log(connection, _without_owner(entry), back, "restore", _ACTOR)
        note(connection, owner, entry.id, OverlayChange(superseded_by=entry.source.references[0]))
    for sequence, before in connection.rows(_LINES):
        past = past_entry(before)
        if _foreign_owner(connection, past) is not None:
            cleaned = to_json(_without_owner(past).to_dict())
            connection.execute(_SET_BEFORE, {"before": cleaned, "sequence": sequence})


def _foreign_owner(connection: Connection, entry: MemoryEntry) -> str | None:
    """The private scope of the memory that this one was merged into."""
    if entry.source.kind != SUPERSEDED or not entry.source.references:
        return None
    scope: str | None = connection.scalar(_SCOPE_OF, {"id": entry.source.references[0]})
    return None if scope in {None, PUBLIC} else scope


def _source_before(connection: Connection, entry: MemoryEntry) -> Source:
    for before in connection.column(_PAST, {"id": entry.id}):
        source = Source.from_dict(json.loads(before)["source"])
        if source.kind != SUPERSEDED:
            return source
    return Source("runtime", entry.source.trust)


def _without_owner(entry: MemoryEntry) -> MemoryEntry:
    return replace(entry, source=Source(SUPERSEDED, entry.source.trust))

"""References between entries: none names an entry that its own scope cannot see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from jiyi.backends.records.codec import BY_IDS, entry_of
from jiyi.backends.records.sql import Connection, chunks
from jiyi.backends.records.writes import update_row
from jiyi.model.entry import MemoryEntry
from jiyi.model.scope import visible_scopes

_SCOPES: Final = "SELECT DISTINCT entry_id, scope FROM memory_changes WHERE entry_id IN :ids"


def drop_foreign_references(connection: Connection, ids: Sequence[str]) -> None:
    """Take ids of foreign entries out of what these entries refer to."""
    entries = [entry_of(row) for row in connection.rows(BY_IDS, {"ids": list(ids)})]
    named = list(dict.fromkeys(each for entry in entries for each in _named(entry)))
    scopes: dict[str, str] = dict(row for chunk in chunks(named) for row in connection.rows(_SCOPES, {"ids": chunk}))
    for entry in entries:
        visible = visible_scopes(entry.scope)
        foreign = {each for each in _named(entry) if scopes.get(each, entry.scope) not in visible}
        if foreign:
            update_row(connection, _without(entry, foreign))


def _named(entry: MemoryEntry) -> list[str]:
    claim = entry.source.claim
    found = [*entry.source.references, *(() if claim is None else claim.conflicts_with)]
    return [*found, *(each for each in (entry.superseded_by, entry.summarized_by) if each is not None)]


def _without(entry: MemoryEntry, foreign: set[str]) -> MemoryEntry:
    claim = entry.source.claim
    if claim is not None:
        claim = replace(claim, conflicts_with=tuple(each for each in claim.conflicts_with if each not in foreign))
    references = tuple(each for each in entry.source.references if each not in foreign)
    return replace(
        entry,
        source=replace(entry.source, references=references, claim=claim),
        superseded_by=None if entry.superseded_by in foreign else entry.superseded_by,
        summarized_by=None if entry.summarized_by in foreign else entry.summarized_by,
    )

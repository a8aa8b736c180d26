"""The changes by which facts take the place of others, or are linked as a possible conflict."""

from __future__ import annotations

from dataclasses import replace

from jiyi.model.entry import MemoryEntry
from jiyi.ports import Amendment, LongtermStore


def linked(one: MemoryEntry, other: MemoryEntry) -> list[Amendment]:
    """The change by which two facts are in a possible conflict: the newer one names the older one."""
    older, newer = sorted((one, other), key=lambda fact: (fact.created_at, fact.id))
    claim = newer.source.claim
    if claim is None or older.id in claim.conflicts_with:
        return []
    source = replace(newer.source, claim=replace(claim, conflicts_with=(*claim.conflicts_with, older.id)))
    return [Amendment(newer.id, {"source": source})]


def superseded_by(store: LongtermStore, old: MemoryEntry, new_id: str) -> list[Amendment]:
    """The changes by which one fact takes the place of another."""
    values = {"is_active": False, "superseded_by": new_id, "summarized_by": None}
    return [Amendment(old.id, values, version=old.version), *without_reflection(store, old, new_id)]


def without_reflection(store: LongtermStore, old: MemoryEntry, new_id: str) -> list[Amendment]:
    """The reflection of a fact repeats what is no longer true: it goes, and stands in for its other facts no more."""
    changes: list[Amendment] = []
    if old.summarized_by is not None:
        for each in store.by_ids(old.scope, [old.summarized_by]):
            changes.append(Amendment(each.id, {"is_active": False, "superseded_by": new_id}))
            others = [fact_id for fact_id in each.source.references if fact_id != old.id]
            changes += [Amendment(fact_id, {"summarized_by": None}) for fact_id in others]
    return changes

"""What is left of a fact of which something was replaced, as a fact of its own."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from jiyi.longterm.claim_reading import read_claim
from jiyi.longterm.duplicates import fact_key
from jiyi.model.claim import Claim
from jiyi.model.entry import MemoryEntry, Source
from jiyi.model.identity import new_id
from jiyi.ports import LongtermStore

__all__ = ["free_key", "rest_of"]


def rest_of(store: LongtermStore, old: MemoryEntry, text: str, changed_at: datetime) -> MemoryEntry | None:
    """What an older fact says besides the replaced claim, as old as the older one; `None` when that is known."""
    key = free_key(store, old.scope, text, old.source.name)
    if key is None:
        return None
    return replace(
        old.as_record(),
        id=new_id(),
        key=key,
        content=text,
        source=replace(old.source, claim=_claim_of_rest(text, old.source)),
        occurred_at=old.event_time,
        updated_at=changed_at,
        superseded_by=None,
        summarized_by=None,
        version=1,
    )


def free_key(store: LongtermStore, scope: str, text: str, speaker: str | None) -> str | None:
    """A key for a fact of this speaker; `None` when it is known under its key and active."""
    key = fact_key(text if speaker is None else f"{speaker}: {text}")
    names = [key, *(f"{key}x{number}" for number in range(2, 50))]
    taken = store.by_keys(scope, names)
    if any(entry.is_active for entry in taken.values()):
        return None
    # It was known and corrected, and is said again: a new memory, the old one stays history. Of those in between
    # some may have been forgotten or erased.
    return next((name for name in names if name not in taken), f"{key}x{new_id()}")


def _claim_of_rest(text: str, source: Source) -> Claim:
    """The parts of the rest; what its words do not tell, and why it lasts, it has from the whole fact."""
    read, whole = read_claim(text, by_user=source.said_by_user), source.claim or Claim()
    return replace(
        read,
        attribute=read.attribute or whole.attribute,
        said_by=whole.said_by,
        lasting=whole.lasting,
    )

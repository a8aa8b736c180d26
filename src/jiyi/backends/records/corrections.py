"""Facts of conversations that were corrected, with what holds now."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from jiyi.backends.records.codec import BY_IDS, SELECT_ENTRY, entry_of
from jiyi.backends.records.sql import Row, chunks
from jiyi.model import clock
from jiyi.model.entry import MemoryEntry

_CORRECTED: Final = (
    f"{SELECT_ENTRY} WHERE scope IN :scopes AND conversation_id IN :conversations AND position IS NULL "
    "AND superseded_by IS NOT NULL"
)
_STEPS: Final = 20
"""How many corrections of corrections are followed."""


def corrections(
    query: Callable[[str, Mapping[str, Any]], list[Row]], scopes: Sequence[str], conversation_ids: Sequence[str]
) -> list[tuple[MemoryEntry, MemoryEntry]]:
    """Each corrected fact of these conversations with the fact that holds now; none where that one is gone too."""
    parameters = {"scopes": list(scopes), "conversations": list(conversation_ids)}
    corrected = [entry_of(row) for row in query(_CORRECTED, parameters)]
    known: dict[str, MemoryEntry] = {}
    wanted = {entry.superseded_by for entry in corrected if entry.superseded_by is not None}
    for _ in range(_STEPS):
        missing = sorted(wanted - known.keys())
        if not missing:
            break
        found = [entry_of(row) for chunk in chunks(missing) for row in query(BY_IDS, {"ids": chunk})]
        known |= {entry.id: entry for entry in found}
        wanted = {entry.superseded_by for entry in found if not entry.is_active and entry.superseded_by is not None}
    now = clock.utc_now()
    pairs = [(old, _latest(old, known)) for old in corrected]
    # What the correction was made by is shown only as far as it can be seen itself.
    return [
        (old, new)
        for old, new in pairs
        if new is not None and new.is_active and new.scope == old.scope and not new.has_expired(now)
    ]


def _latest(old: MemoryEntry, known: dict[str, MemoryEntry]) -> MemoryEntry | None:
    found: MemoryEntry | None = old
    for _ in range(_STEPS):
        if found is None or found.is_active or found.superseded_by is None:
            break
        found = known.get(found.superseded_by)
    return found

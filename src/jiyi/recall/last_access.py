"""That memories were used, or put before a model: their time of access moves, so that they do not fade."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from jiyi.errors import StorageError
from jiyi.model import clock
from jiyi.model.entry import MESSAGE_TYPE, NOTE_TYPE, MemoryEntry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jiyi.ports import RecordStore

_log = logging.getLogger("jiyi.recall")
_NOTED_EVERY = timedelta(hours=1)
_NEVER_FADE = frozenset({MESSAGE_TYPE, NOTE_TYPE})


def to_be_noted(hits: Iterable[MemoryEntry], scope: str) -> list[str]:
    """Ids of the scope's own memories of which it was not noted for an hour that they were recalled."""
    now = clock.utc_now()
    return [
        hit.id
        for hit in hits
        if hit.scope == scope and hit.memory_type not in _NEVER_FADE and now - hit.last_accessed_at > _NOTED_EVERY
    ]


def note_access(
    records: RecordStore, scope: str, ids: Sequence[str], *, at: datetime | None = None, used: bool = False
) -> None:
    """Note when these were accessed, now unless `at` is given; being shown counts less than being used."""
    if not ids:
        return
    try:
        records.touch(ids, at or clock.utc_now(), used=used, scope=scope)
    except StorageError as error:
        # The answer is there. That it was given could not be noted, which only makes these fade a little sooner.
        _log.warning("recalled memories could not be touched: %s", type(error).__name__)

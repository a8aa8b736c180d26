"""From rows to entries. SQLAlchemy is not needed for it, and so a command that only asks does not load it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from jiyi.model import clock
from jiyi.model.category import MemoryCategory
from jiyi.model.entry import MemoryEntry, Source

ENTRY_FIELDS = (
    "id",
    "scope",
    "key",
    "content",
    "reasoning",
    "category",
    "memory_type",
    "domain",
    "importance_score",
    "strength",
    "tags",
    "conversation_id",
    "position",
    "source",
    "occurred_at",
    "created_at",
    "updated_at",
    "last_accessed_at",
    "access_count",
    "is_active",
    "pinned",
    "superseded_by",
    "summarized_by",
    "more_domains",
    "version",
)
"""The columns of `memory_records` that an entry is made of."""
_COUNT = len(ENTRY_FIELDS)


def entry_of(row: Sequence[Any]) -> MemoryEntry:
    """A row that begins with `ENTRY_FIELDS` as an entry; its values may be as the driver gives them."""
    # By place and not by name: every recall does this for each hit.
    (
        identity,
        scope,
        key,
        content,
        reasoning,
        category,
        memory_type,
        domain,
        importance_score,
        strength,
        tags,
        conversation_id,
        position,
        source,
        occurred_at,
        created_at,
        updated_at,
        last_accessed_at,
        access_count,
        is_active,
        pinned,
        superseded_by,
        summarized_by,
        more_domains,
        version,
    ) = row[:_COUNT]
    return MemoryEntry(
        id=identity,
        scope=scope,
        key=key,
        content=content,
        reasoning=reasoning,
        category=MemoryCategory(category),
        memory_type=memory_type,
        domain=domain,
        importance_score=importance_score,
        strength=strength,
        tags=_tags(tags),
        conversation_id=conversation_id,
        position=position,
        source=_source(source),
        occurred_at=None if occurred_at is None else clock.of_driver(occurred_at),
        created_at=clock.of_driver(created_at),
        updated_at=clock.of_driver(updated_at),
        last_accessed_at=clock.of_driver(last_accessed_at),
        access_count=access_count,
        is_active=bool(is_active),
        pinned=bool(pinned),
        superseded_by=superseded_by,
        summarized_by=summarized_by,
        more_domains=tuple(more_domains.strip("|").split("|")) if more_domains else (),
        version=version,
    )


# Most entries have one of a few: reading each of them again would be a large part of reading the entry.
@lru_cache(maxsize=1_000)
def _tags(text: str) -> tuple[str, ...]:
    return tuple(json.loads(text))


@lru_cache(maxsize=1_000)
def _source(text: str) -> Source:
    return Source.from_dict(json.loads(text))

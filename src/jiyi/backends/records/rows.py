"""Between rows and values."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

import sqlalchemy as sa

from jiyi.backends.records.codec import ENTRY_FIELDS, entry_of
from jiyi.backends.records.schema import memory_records, memory_tag_rel, memory_tags
from jiyi.model.entry import MemoryEntry, Source
from jiyi.model.filters import Filters

__all__ = [
    "ACTIVE",
    "ENTRY_COLUMNS",
    "VERSIONED_FIELDS",
    "changed_fields",
    "conditions",
    "entry_of",
    "entry_values",
    "to_json",
]

ENTRY_COLUMNS = tuple(memory_records.c[name] for name in ENTRY_FIELDS)
# `IS NOT false` and not `IS true`: for that SQLite would take the index of active entries, which are nearly all of all
# scopes, and walk through them.
ACTIVE = memory_records.c.is_active.is_not(False)
_encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))

# Fields whose change is a new version that people want to see; the rest is bookkeeping.
VERSIONED_FIELDS = (
    "content",
    "reasoning",
    "category",
    "memory_type",
    "domain",
    "more_domains",
    "importance_score",
    "strength",
    "tags",
    "conversation_id",
    "position",
    "source",
    "occurred_at",
    "is_active",
    "pinned",
    "superseded_by",
    "summarized_by",
)


def to_json(value: Any) -> str:
    """Compact JSON that keeps Chinese readable."""
    return _encoder.encode(value)


def entry_values(entry: MemoryEntry) -> dict[str, Any]:
    """An entry as column values."""
    return {
        "id": entry.id,
        "scope": entry.scope,
        "key": entry.key,
        "content": entry.content,
        "reasoning": entry.reasoning,
        "category": str(entry.category),
        "memory_type": entry.memory_type,
        "domain": entry.domain,
        "importance_score": entry.importance_score,
        "strength": entry.strength,
        "tags": to_json(entry.tags) if entry.tags else "[]",
        "conversation_id": entry.conversation_id,
        "position": entry.position,
        "source": _source_text(entry.source),
        "occurred_at": entry.occurred_at,
        "event_time": entry.event_time,
        "created_at": entry.created_at,
        "updated_at": entry.updated_at,
        "last_accessed_at": entry.last_accessed_at,
        "access_count": entry.access_count,
        "is_active": entry.is_active,
        "pinned": entry.pinned,
        "superseded_by": entry.superseded_by,
        "summarized_by": entry.summarized_by,
        "more_domains": _domains_text(entry.more_domains) if entry.more_domains else "",
        "version": entry.version,
    }


def _domains_text(domains: tuple[str, ...]) -> str:
    """`|a|b|`: a domain is a word without bars, so `|a|` stands in it exactly when `a` is one of them."""
    return f"|{'|'.join(domains)}|"


# Most entries have one of a few: writing each of them again would be a large part of writing the entry.
@lru_cache(maxsize=1_000)
def _source_text(source: Source) -> str:
    return to_json(source.to_dict())


def changed_fields(before: MemoryEntry, after: MemoryEntry) -> list[str]:
    """Names of the fields in which two versions differ."""
    return [name for name in VERSIONED_FIELDS if getattr(before, name) != getattr(after, name)]


def conditions(filters: Filters, *, by_id: bool = False) -> list[sa.ColumnElement[bool]]:
    """The filters as SQL; the same meaning as `Filters.admits`.

    `by_id` is for entries that are looked up by id. The scope is then compared as an expression: by its index SQLite
    would walk through the whole scope instead of looking up a few ids.
    """
    record = memory_records.c
    scope = record.scope + sa.literal_column("''") if by_id else record.scope
    found: list[sa.ColumnElement[bool]] = [ACTIVE, scope.in_(filters.scopes)]
    if filters.categories:
        found.append(record.category.in_(filters.categories))
    if filters.memory_types:
        found.append(record.memory_type.in_(filters.memory_types))
    if filters.without_types:
        found.append(record.memory_type.not_in(filters.without_types))
    if filters.domains:
        more = record.more_domains
        # Not LIKE, which does not tell capitals from small letters in SQLite.
        other = (sa.func.replace(more, f"|{domain}|", "") != more for domain in filters.domains)
        found.append(sa.or_(record.domain.in_(filters.domains), sa.and_(more != "", sa.or_(*other))))
    if filters.conversations:
        found.append(record.conversation_id.in_(filters.conversations))
    if filters.since is not None:
        found.append(record.event_time >= filters.since)
    if filters.until is not None:
        found.append(record.event_time < filters.until)
    if filters.periods:
        event = record.event_time
        found.append(sa.or_(*(sa.and_(event >= start, event < end) for start, end in filters.periods)))
    for tag in filters.tags:
        tagged = (
            sa.select(memory_tag_rel.c.memory_id)
            .join(memory_tags, memory_tags.c.id == memory_tag_rel.c.tag_id)
            .where(memory_tag_rel.c.memory_id == record.id, memory_tags.c.name == tag)
        )
        found.append(sa.exists(tagged))
    return found

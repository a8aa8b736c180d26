"""An entry and its row: one list of columns, from which everything that knows the columns follows.

The definition of `memory_records`, reading and writing rows, the versioned fields, export, import and copy are derived
from `COLUMNS`. To add a column: one line here, with its `check` unless its type says what an imported value has to be,
the field of `MemoryEntry`, one line in `migrations.MIGRATIONS`, and `versions.NEWEST` rises by one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import lru_cache
from operator import attrgetter, itemgetter
from typing import Any

from jiyi.backends.records.column_checks import (
    are_domains,
    is_checked_elsewhere,
    is_id,
    is_label,
    is_metadata,
    is_namespace,
    is_scope,
    is_source,
    is_whole,
    is_word,
)
from jiyi.backends.records.tables import BOOLEAN, INTEGER, REAL, TEXT, TIME, Column
from jiyi.model import clock
from jiyi.model.category import MemoryCategory
from jiyi.model.entry import FIELDS, MemoryEntry, Source
from jiyi.model.feedback import MAX_STRENGTH
from jiyi.model.limits import MAX_POSITION
from jiyi.model.metadata import metadata_of, metadata_text
from jiyi.model.namespace import namespace_of, namespace_text

_encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def to_json(value: Any) -> str:
    """Compact JSON that keeps Chinese readable."""
    return _encoder.encode(value)


# Most entries have one of a few: decoding each of them again would be a large part of reading a row.
@lru_cache(maxsize=1_000)
def _tags_of(text: str) -> tuple[str, ...]:
    return tuple(json.loads(text))


@lru_cache(maxsize=1_000)
def _source_of(text: str) -> Source:
    return Source.from_dict(json.loads(text))


@lru_cache(maxsize=1_000)
def _category_of(text: str) -> MemoryCategory:
    return MemoryCategory(text)


@lru_cache(maxsize=1_000)
def _source_text(source: Source) -> str:
    return to_json(source.to_dict())


def _tags_text(tags: Sequence[str]) -> str:
    return to_json(tags) if tags else "[]"


def _domains_text(domains: Sequence[str]) -> str:
    """`|a|b|`: a domain is a word without bars, so the text contains `|a|` exactly when `a` is one of them."""
    return f"|{'|'.join(domains)}|" if domains else ""


def _domains_of(text: str) -> tuple[str, ...]:
    return tuple(text.strip("|").split("|")) if text else ()


# The field of `MemoryEntry` with the same name.
COLUMNS = (
    Column("id", TEXT, check=is_id),
    Column("scope", TEXT, check=is_scope),
    Column("key", TEXT, nullable=True, check=is_label),
    Column("content", TEXT, versioned=True, check=is_checked_elsewhere),
    Column("reasoning", TEXT, versioned=True),
    Column("category", TEXT, to_db=str, from_db=_category_of, versioned=True, check=is_word),
    Column("memory_type", TEXT, versioned=True, check=is_word),
    Column("domain", TEXT, nullable=True, versioned=True, check=is_word),
    Column("importance_score", REAL, versioned=True),
    Column("strength", INTEGER, versioned=True, check=is_whole(0, MAX_STRENGTH)),
    Column("tags", TEXT, to_db=_tags_text, from_db=_tags_of, versioned=True, check=is_checked_elsewhere),
    Column("conversation_id", TEXT, nullable=True, versioned=True, check=is_label),
    Column("position", INTEGER, nullable=True, versioned=True, check=is_whole(0, MAX_POSITION)),
    Column("source", TEXT, to_db=_source_text, from_db=_source_of, versioned=True, check=is_source),
    Column(
        "metadata",
        TEXT,
        default="'{}'",
        to_db=metadata_text,
        from_db=metadata_of,
        versioned=True,
        check=is_metadata,
    ),
    Column(
        "namespace",
        TEXT,
        default="''",
        to_db=namespace_text,
        from_db=namespace_of,
        versioned=True,
        check=is_namespace,
    ),
    Column("occurred_at", TIME, nullable=True, versioned=True),
    Column("expires_at", TIME, nullable=True, versioned=True),
    Column("event_time", TIME, derived=True),
    Column("created_at", TIME),
    Column("updated_at", TIME),
    Column("last_accessed_at", TIME),
    Column("access_count", INTEGER),
    Column("is_active", BOOLEAN, versioned=True),
    Column("pinned", BOOLEAN, versioned=True),
    Column("superseded_by", TEXT, nullable=True, versioned=True, check=is_id),
    Column("summarized_by", TEXT, nullable=True, versioned=True, check=is_id),
    Column(
        "more_domains", TEXT, default="''", to_db=_domains_text, from_db=_domains_of, versioned=True, check=are_domains
    ),
    Column("version", INTEGER, check=is_whole(1)),
)
"""The columns of `memory_records`, in the order of a new table."""

ENTRY_FIELDS = tuple(column.name for column in COLUMNS if not column.derived)
"""The columns that an entry is read from, in the order in which `entry_of` expects them."""
VERSIONED_FIELDS = tuple(column.name for column in COLUMNS if column.versioned)
SELECT_ENTRY = f"SELECT {', '.join(ENTRY_FIELDS)} FROM memory_records"
"""To be followed by conditions; its rows are those of `entry_of`."""
BY_IDS = f"{SELECT_ENTRY} WHERE id IN :ids"
BY_KEY = f"{SELECT_ENTRY} WHERE scope = :scope AND key = :key"

_BY_TYPE: dict[Any, Callable[[Any], Any]] = {TIME: clock.of_driver, BOOLEAN: bool}
_COUNT = len(ENTRY_FIELDS)
_NAMES = tuple(column.name for column in COLUMNS)
_fields_of = attrgetter(*_NAMES)
_versioned_of = attrgetter(*VERSIONED_FIELDS)
_READ = tuple(
    (place, convert)
    for place, column in enumerate(each for each in COLUMNS if not each.derived)
    if (convert := column.from_db or _BY_TYPE.get(column.type)) is not None
)
_DEFAULTS = {field.name: field.default for field in fields(MemoryEntry)}
_OTHER_FIELDS = tuple(name for name in FIELDS if name not in ENTRY_FIELDS)
_UNREAD = tuple(_DEFAULTS[name] for name in _OTHER_FIELDS)
_in_order = itemgetter(*((*ENTRY_FIELDS, *_OTHER_FIELDS).index(name) for name in FIELDS))
_WRITTEN = tuple((place, column.to_db) for place, column in enumerate(COLUMNS) if column.to_db is not None)


def entry_of(row: Sequence[Any]) -> MemoryEntry:
    """A row that begins with `ENTRY_FIELDS` as an entry; its values are as the driver gives them."""
    values = list(row[:_COUNT])
    for place, convert in _READ:
        value = values[place]
        if value is not None:
            values[place] = convert(value)
    return MemoryEntry.of_values(_in_order((*values, *_UNREAD)))


def entry_row(entry: MemoryEntry) -> list[Any]:
    """An entry as the values of its row, in the order of the columns."""
    values = list(_fields_of(entry))
    for place, convert in _WRITTEN:
        values[place] = convert(values[place])
    return values


def entry_values(entry: MemoryEntry) -> dict[str, Any]:
    """The same by the names of the columns."""
    return dict(zip(_NAMES, entry_row(entry), strict=True))


def changed_fields(before: MemoryEntry, after: MemoryEntry) -> list[str]:
    """Names of the versioned fields in which two versions differ."""
    pairs = zip(VERSIONED_FIELDS, _versioned_of(before), _versioned_of(after), strict=True)
    return [name for name, old, new in pairs if old != new]

"""An entry and its row: one list of columns, from which everything that knows the columns follows.

The definition of `memory_records`, reading and writing rows, the versioned fields, export, import and copy are derived
from `COLUMNS`. To add a column: one line here, the field of `MemoryEntry`, and one line in `migrations.MIGRATIONS`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from typing import Any

from jiyi.backends.records.tables import BOOLEAN, INTEGER, REAL, TEXT, TIME, Column
from jiyi.model import clock
from jiyi.model.category import MemoryCategory
from jiyi.model.entry import MemoryEntry, Source

_encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def to_json(value: Any) -> str:
    """Compact JSON that keeps Chinese readable."""
    return _encoder.encode(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryColumn(Column):
    """A column of `memory_records`: the field of `MemoryEntry` with the same name."""

    to_db: Callable[[Any], Any] | None = None
    from_db: Callable[[Any], Any] | None = None
    """From a value that is not NULL. Times and truth values are converted by their type."""
    versioned: bool = False
    """Whether a change of it is shown in the history of the entry; the others are bookkeeping."""
    derived: bool = False
    """Whether it is written for indexes only, and not read."""


# Most entries have one of a few: decoding each of them again would be a large part of reading a row.
@lru_cache(maxsize=1_000)
def _tags_of(text: str) -> tuple[str, ...]:
    return tuple(json.loads(text))


@lru_cache(maxsize=1_000)
def _source_of(text: str) -> Source:
    return Source.from_dict(json.loads(text))


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


COLUMNS = (
    EntryColumn("id", TEXT),
    EntryColumn("scope", TEXT),
    EntryColumn("key", TEXT, nullable=True),
    EntryColumn("content", TEXT, versioned=True),
    EntryColumn("reasoning", TEXT, versioned=True),
    EntryColumn("category", TEXT, to_db=str, from_db=MemoryCategory, versioned=True),
    EntryColumn("memory_type", TEXT, versioned=True),
    EntryColumn("domain", TEXT, nullable=True, versioned=True),
    EntryColumn("importance_score", REAL, versioned=True),
    EntryColumn("strength", INTEGER, versioned=True),
    EntryColumn("tags", TEXT, to_db=_tags_text, from_db=_tags_of, versioned=True),
    EntryColumn("conversation_id", TEXT, nullable=True, versioned=True),
    EntryColumn("position", INTEGER, nullable=True, versioned=True),
    EntryColumn("source", TEXT, to_db=_source_text, from_db=_source_of, versioned=True),
    EntryColumn("occurred_at", TIME, nullable=True, versioned=True),
    EntryColumn("event_time", TIME, derived=True),
    EntryColumn("created_at", TIME),
    EntryColumn("updated_at", TIME),
    EntryColumn("last_accessed_at", TIME),
    EntryColumn("access_count", INTEGER),
    EntryColumn("is_active", BOOLEAN, versioned=True),
    EntryColumn("pinned", BOOLEAN, versioned=True),
    EntryColumn("superseded_by", TEXT, nullable=True, versioned=True),
    EntryColumn("summarized_by", TEXT, nullable=True, versioned=True),
    EntryColumn("more_domains", TEXT, default="''", to_db=_domains_text, from_db=_domains_of, versioned=True),
    EntryColumn("version", INTEGER),
)
"""The columns of `memory_records`, in the order of a new table."""

ENTRY_FIELDS = tuple(column.name for column in COLUMNS if not column.derived)
"""The columns that an entry is read from, in the order in which `entry_of` expects them."""
VERSIONED_FIELDS = tuple(column.name for column in COLUMNS if column.versioned)
SELECT_ENTRY = f"SELECT {', '.join(ENTRY_FIELDS)} FROM memory_records"
"""To be followed by conditions; its rows are those of `entry_of`."""

_BY_TYPE: dict[Any, Callable[[Any], Any]] = {TIME: clock.of_driver, BOOLEAN: bool}
_COUNT = len(ENTRY_FIELDS)
_NAMES = tuple(column.name for column in COLUMNS)
_fields_of = attrgetter(*_NAMES)
_READ = tuple(
    (place, convert)
    for place, column in enumerate(each for each in COLUMNS if not each.derived)
    if (convert := column.from_db or _BY_TYPE.get(column.type)) is not None
)
_WRITTEN = tuple((column.name, column.to_db) for column in COLUMNS if column.to_db is not None)


def entry_of(row: Sequence[Any]) -> MemoryEntry:
    """A row that begins with `ENTRY_FIELDS` as an entry; its values are as the driver gives them."""
    values = list(row[:_COUNT])
    for place, convert in _READ:
        value = values[place]
        if value is not None:
            values[place] = convert(value)
    return MemoryEntry(**dict(zip(ENTRY_FIELDS, values, strict=True)))


def entry_values(entry: MemoryEntry) -> dict[str, Any]:
    """An entry as the values of its row, by the names of the columns."""
    values = dict(zip(_NAMES, _fields_of(entry), strict=True))
    for name, convert in _WRITTEN:
        values[name] = convert(values[name])
    return values


def changed_fields(before: MemoryEntry, after: MemoryEntry) -> list[str]:
    """Names of the versioned fields in which two versions differ."""
    return [name for name in VERSIONED_FIELDS if getattr(before, name) != getattr(after, name)]

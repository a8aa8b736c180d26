"""Stores of LangGraph: the SQLite file of `SqliteStore`, or rows of the table `store` as JSON Lines."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any, Final

from jiyi.compat.langgraph_forms import KIND, stored_item
from jiyi.errors import ImportFormatError, InvalidInputError
from jiyi.importers.records import ImportedEntry, Stream, origin, time_of
from jiyi.importers.sources import Source
from jiyi.model.namespace import check_namespace
from jiyi.model.storable import storable

EXPECTED: Final = (
    "a store of LangGraph: the SQLite file of SqliteStore with the table store(prefix, key, value, created_at, "
    "updated_at), or its rows as JSON Lines"
)
_COLUMNS: Final = ("prefix", "key", "value", "created_at", "updated_at", "expires_at", "ttl_minutes")


def read(source: Source) -> Stream:
    """The items, in the form in which `jiyi.integrations.langgraph.JiyiStore` finds them."""
    if not source.is_file:
        raise ImportFormatError(f"{source.path} is no file; expected is {EXPECTED}")
    with source.path.open("rb") as file:
        is_sqlite = file.read(16) == b"SQLite format 3\x00"
    for number, row in enumerate(_table(source) if is_sqlite else _lines(source), 1):
        yield _item(row, f"{source.path.name}, row {number}")


def _table(source: Source) -> Iterator[dict[str, Any]]:
    # Each part of the table may be read by another thread, one after the other.
    address = f"{source.path.resolve().as_uri()}?mode=ro"
    with closing(sqlite3.connect(address, uri=True, check_same_thread=False)) as database:
        try:
            columns = [row[1] for row in database.execute("PRAGMA table_info(store)")]
            if not {"prefix", "key", "value"} <= set(columns):
                raise ImportFormatError(f"{source.path} has no table store; expected is {EXPECTED}")
            chosen = [name for name in _COLUMNS if name in columns]
            # The names are those of the list above.
            for row in database.execute(f"SELECT {', '.join(chosen)} FROM store ORDER BY prefix, key"):  # noqa: S608
                yield dict(zip(chosen, row, strict=True))
        except sqlite3.DatabaseError as error:
            raise ImportFormatError(f"{source.path} cannot be read as SQLite: {error}") from None


def _lines(source: Source) -> Iterator[dict[str, Any]]:
    for _, row in source.json_lines(EXPECTED):
        yield row if isinstance(row, dict) else {}


def _item(row: Mapping[str, Any], place: str) -> ImportedEntry:
    prefix, key, value = row.get("prefix", row.get("namespace")), row.get("key"), row.get("value")
    try:
        value = json.loads(value) if isinstance(value, str | bytes) else value
    except ValueError as error:
        raise ImportFormatError(f"{place}: the value is not JSON: {error}; expected is {EXPECTED}") from None
    parts = prefix.split(".") if isinstance(prefix, str) else prefix
    if not isinstance(parts, list) or not all(isinstance(each, str) and each for each in parts) or not parts:
        raise ImportFormatError(f"{place} has no prefix; expected is {EXPECTED}")
    if not isinstance(key, str) or not key.strip() or storable(key) != key or not isinstance(value, dict):
        raise ImportFormatError(f"{place} has no key, or no value that is an object; expected is {EXPECTED}")
    ttl = row.get("ttl_minutes")
    minutes = float(ttl) if isinstance(ttl, int | float) and not isinstance(ttl, bool) else None
    try:
        found = stored_item(check_namespace(parts), key, value, ttl=minutes)
    except InvalidInputError as error:
        raise ImportFormatError(f"{place}: {error}") from None
    about = origin(
        "langgraph", created_at=str(row.get("created_at") or ""), updated_at=str(row.get("updated_at") or "")
    )
    return ImportedEntry(
        found["key"],
        found["content"],
        metadata={**found["metadata"], **about},
        namespace=found["namespace"],
        memory_type=KIND,
        occurred_at=time_of(row.get("created_at")),
        expires_at=time_of(row.get("expires_at")),
    )

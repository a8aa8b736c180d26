"""Export and import of everything a store knows, row by row, without loss."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import sqlalchemy as sa

from jiyi.backends.sql import records
from jiyi.backends.sql.rows import ENTRY_COLUMNS, entry_of, entry_values, to_json
from jiyi.backends.sql.schema import conversation_history, memory_changes, memory_records
from jiyi.errors import ImportFormatError
from jiyi.model import clock
from jiyi.model.entry import MemoryEntry
from jiyi.ports import ImportCounts

FORMAT = 1
_CHANGE_FIELDS = ("entry_id", "scope", "key", "version", "operation", "changed_by")
_MESSAGE_FIELDS = ("scope", "session_id", "position", "message_id", "role", "content")


def export_rows(connection: sa.Connection, scope: str | None) -> Iterator[dict[str, Any]]:
    """A header, then the change log, the entries as they are, and conversations."""
    yield {
        "kind": "jiyi-export",
        "format": FORMAT,
        "exported_at": clock.to_text(clock.utc_now()),
        "scope": scope,
    }

    def of_scope(table: sa.Table) -> list[sa.ColumnElement[bool]]:
        return [] if scope is None else [table.c.scope == scope]

    changes = sa.select(memory_changes).where(*of_scope(memory_changes)).order_by(memory_changes.c.sequence)
    for row in connection.execution_options(yield_per=500).execute(changes):
        yield {
            "kind": "change",
            **{name: row._mapping[name] for name in _CHANGE_FIELDS},
            "changed_at": clock.to_text(row.changed_at),
            "changed": json.loads(row.changed),
            "before": json.loads(row.before) if row.before is not None else None,
        }
    entries = sa.select(*ENTRY_COLUMNS).where(*of_scope(memory_records)).order_by(memory_records.c.id)
    for row in connection.execution_options(yield_per=500).execute(entries):
        yield {"kind": "entry", **entry_of(row).to_dict()}
    messages = (
        sa.select(conversation_history)
        .where(*of_scope(conversation_history))
        .order_by(conversation_history.c.id)
    )
    for row in connection.execution_options(yield_per=500).execute(messages):
        yield {
            "kind": "message",
            **{name: row._mapping[name] for name in _MESSAGE_FIELDS},
            "created_at": clock.to_text(row.created_at),
            "replaced_at": clock.to_text(row.replaced_at) if row.replaced_at is not None else None,
        }


def import_rows(connection: sa.Connection, rows: Iterable[Mapping[str, Any]], actor: str) -> ImportCounts:
    """Take rows in. What is there already is left alone; of two entries with one key the newer wins."""
    counts = ImportCounts()
    for row in rows:
        kind = row.get("kind")
        data = {name: value for name, value in row.items() if name != "kind"}
        try:
            if kind == "entry":
                counts += _import_entry(connection, MemoryEntry.from_dict(data), actor)
            elif kind == "change":
                counts += _import_change(connection, data)
            elif kind == "message":
                counts += _import_message(connection, data)
            elif kind != "jiyi-export":
                raise ImportFormatError(f"unknown kind {kind!r}; expected entry, change or message")
        except (KeyError, TypeError, ValueError) as error:
            raise ImportFormatError(f"a row of kind {kind!r} is not in the export format: {error}") from error
    return counts


def _import_entry(connection: sa.Connection, entry: MemoryEntry, actor: str) -> ImportCounts:
    record = memory_records.c
    same_key = (
        (record.scope == entry.scope) & (record.key == entry.key) if entry.key is not None else sa.false()
    )
    for row in connection.execute(sa.select(*ENTRY_COLUMNS).where((record.id == entry.id) | same_key)):
        present = entry_of(row)
        newer = (entry.updated_at, entry.version) > (present.updated_at, present.version)
        if not newer:
            return ImportCounts(unchanged=1)
        if present.id == entry.id:
            connection.execute(memory_records.delete().where(record.id == present.id))
        else:
            records.remove_entry(connection, present, actor, "forget")
    connection.execute(memory_records.insert(), [entry_values(entry)])
    if entry.tags:
        records.write_tags(connection, [entry])
    # Every version of an entry stands in the change log, or no index would hear of it.
    _add_change(connection, records.change_values(entry, "import", actor, [], None))
    return ImportCounts(entries=1)


def _import_change(connection: sa.Connection, data: Mapping[str, Any]) -> ImportCounts:
    before = data["before"]
    if before is not None:
        MemoryEntry.from_dict(before)
    values = {
        **{name: data[name] for name in _CHANGE_FIELDS},
        "changed_at": clock.from_text(data["changed_at"]),
        "changed": to_json(data["changed"]),
        "before": to_json(before) if before is not None else None,
    }
    return ImportCounts(versions=1) if _add_change(connection, values) else ImportCounts(unchanged=1)


def _add_change(connection: sa.Connection, values: Mapping[str, Any]) -> bool:
    columns = memory_changes.c
    same = sa.select(columns.sequence).where(
        columns.entry_id == values["entry_id"], columns.version == values["version"]
    )
    if connection.execute(same).one_or_none() is not None:
        return False
    connection.execute(memory_changes.insert(), [dict(values)])
    return True


def _import_message(connection: sa.Connection, data: Mapping[str, Any]) -> ImportCounts:
    columns = conversation_history.c
    known = sa.select(columns.id).where(columns.message_id == data["message_id"])
    if connection.execute(known).one_or_none() is not None:
        return ImportCounts(unchanged=1)
    values = {
        **{name: data[name] for name in _MESSAGE_FIELDS},
        "created_at": clock.from_text(data["created_at"]),
        "replaced_at": clock.from_text(data["replaced_at"]) if data["replaced_at"] is not None else None,
    }
    connection.execute(conversation_history.insert(), [values])
    return ImportCounts(messages=1)

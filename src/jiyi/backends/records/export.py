"""Export and import of everything a store knows, row by row, without loss."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from jiyi.backends.records import chat_export
from jiyi.backends.records.codec import SELECT_ENTRY, entry_of
from jiyi.backends.records.import_checks import CHANGE_FIELDS, MESSAGE_FIELDS
from jiyi.backends.records.merge import Merge
from jiyi.backends.records.meta import user_words
from jiyi.backends.records.schema import (
    conversation_history,
    jobs,
    memory_changes,
    memory_overlays,
    runtime_memories,
)
from jiyi.backends.records.sql import Connection, Row
from jiyi.errors import ImportFormatError
from jiyi.model import clock
from jiyi.model.note import NOTE_SCOPES
from jiyi.ports import ImportCounts
from jiyi.ports.records import EXPORT_FORMAT


class DryRunError(Exception):
    """Ends the transaction of a dry run, so that it is rolled back."""

    def __init__(self, counts: ImportCounts) -> None:
        super().__init__("dry run")
        self.counts = counts


def export_rows(connection: Connection, scope: str | None) -> Iterator[dict[str, Any]]:
    """A header, the change log, entries and their usage, conversations, unfinished work, the dictionary.

    Answers to requests are left out: a request is not repeated to another store.
    """
    yield {
        "kind": "jiyi-export",
        "format": EXPORT_FORMAT,
        "exported_at": clock.to_text(clock.utc_now()),
        "scope": scope,
    }
    for select, more, exported in (
        (memory_changes.select, "ORDER BY sequence", _change),
        (SELECT_ENTRY, "ORDER BY id", _entry),
        (runtime_memories.select, "ORDER BY memory_id", _usage),
        (memory_overlays.select, "ORDER BY scope, memory_id", _overlay),
        (conversation_history.select, "ORDER BY id", _message),
    ):
        yield from _exported(connection, f"{select} WHERE {_of_scope(scope)} {more}", scope, exported)
    yield from chat_export.export_rows(connection, scope)
    unfinished = f"{jobs.select} WHERE {_of_scope(scope)} AND state != 'done' ORDER BY sequence"
    yield from _exported(connection, unfinished, scope, _job)
    if scope is None:
        # The dictionary belongs to the store, not to a scope.
        yield from ({"kind": "word", "word": word} for word in user_words(connection))


def _of_scope(scope: str | None) -> str:
    # The pieces of notes are made anew from the files wherever those are.
    return f"substr(scope, 1, {len(NOTE_SCOPES)}) != :scope" if scope is None else "scope = :scope"


def _exported(
    connection: Connection, sql: str, scope: str | None, exported: Callable[[Row], dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    with connection.stream(sql, {"scope": NOTE_SCOPES if scope is None else scope}) as rows:
        for row in rows:
            yield exported(row)


def _change(row: Row) -> dict[str, Any]:
    values = memory_changes.values(row)
    return {
        "kind": "change",
        **{name: values[name] for name in CHANGE_FIELDS},
        "changed_at": clock.to_text(values["changed_at"]),
        "changed": json.loads(values["changed"]),
        "before": json.loads(values["before"]) if values["before"] is not None else None,
    }


def _entry(row: Row) -> dict[str, Any]:
    return {"kind": "entry", **entry_of(row).to_dict()}


def _usage(row: Row) -> dict[str, Any]:
    values = runtime_memories.values(row)
    return {
        "kind": "usage",
        "memory_id": values["memory_id"],
        "scope": values["scope"],
        "useful": values["useful"],
        "missed": values["missed"],
        "decayed_at": clock.to_text(values["decayed_at"]) if values["decayed_at"] is not None else None,
    }


def _overlay(row: Row) -> dict[str, Any]:
    values = memory_overlays.values(row)
    last = values["last_accessed_at"]
    return {"kind": "overlay", **values, "last_accessed_at": None if last is None else clock.to_text(last)}


def _message(row: Row) -> dict[str, Any]:
    values = conversation_history.values(row)
    return {
        "kind": "message",
        **{name: values[name] for name in MESSAGE_FIELDS},
        "created_at": clock.to_text(values["created_at"]),
        "replaced_at": clock.to_text(values["replaced_at"]) if values["replaced_at"] is not None else None,
    }


def _job(row: Row) -> dict[str, Any]:
    values = jobs.values(row)
    return {
        "kind": "job",
        "id": values["id"],
        "work": values["kind"],
        "scope": values["scope"],
        "payload": json.loads(values["payload"]),
        "dead": values["state"] == "dead",
        "reason": values["reason"],
        "created_at": clock.to_text(values["created_at"]),
    }


def import_rows(
    rows: Iterable[Mapping[str, Any]], merge: Merge, refuse: Callable[[ImportFormatError], None] | None
) -> ImportCounts:
    """Take rows in. A bad row is an error, or is left out where `refuse` takes it."""
    take: dict[str, Callable[[dict[str, Any]], ImportCounts]] = {
        "change": merge.change,
        "entry": merge.entry,
        "usage": merge.usage,
        "overlay": merge.overlay,
        "message": merge.message,
        "job": merge.job,
        "word": merge.word,
        **{kind: functools.partial(merge.chat.take, kind) for kind in chat_export.TABLES},
    }
    counts = ImportCounts()
    for row in rows:
        if row.get("kind") == "jiyi-export":
            continue
        try:
            counts += _taken(take, row)
        except ImportFormatError as error:
            if refuse is None:
                raise
            refuse(error)
    merge.finish()
    return counts


def _taken(take: Mapping[str, Callable[[dict[str, Any]], ImportCounts]], row: Mapping[str, Any]) -> ImportCounts:
    kind = row.get("kind")
    if not isinstance(kind, str) or kind not in take:
        raise ImportFormatError(f"unknown kind {ascii(kind)[:80]}; expected {', '.join(take)}")
    try:
        return take[kind]({name: value for name, value in row.items() if name != "kind"})
    except KeyError as error:
        raise ImportFormatError(f"a row of kind {kind!r} has no {error}") from error
    except (TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        raise ImportFormatError(f"a row of kind {kind!r} is not in the export format: {error}") from error

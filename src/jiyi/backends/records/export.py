"""Export and import of everything a store knows, row by row, without loss."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import sqlalchemy as sa

from jiyi.backends.records import chat_export as chat_transfer
from jiyi.backends.records.merge import CHANGE_FIELDS, MESSAGE_FIELDS, Merge
from jiyi.backends.records.rows import ENTRY_COLUMNS, entry_of
from jiyi.backends.records.schema import conversation_history, jobs, memory_changes, memory_records, runtime_memories
from jiyi.backends.records.user_words import user_words
from jiyi.errors import ImportFormatError
from jiyi.model import clock
from jiyi.model.note import NOTE_SCOPES
from jiyi.ports import ImportCounts

FORMAT = 1


def export_rows(connection: sa.Connection, scope: str | None) -> Iterator[dict[str, Any]]:
    """A header, the change log, entries and how they fared, conversations, unfinished work, the dictionary.

    Answers to requests are left out: nobody repeats a request to another store.
    """
    yield {
        "kind": "jiyi-export",
        "format": FORMAT,
        "exported_at": clock.to_text(clock.utc_now()),
        "scope": scope,
    }

    def of_scope(table: sa.Table) -> list[sa.ColumnElement[bool]]:
        # The pieces of notes are made anew from the files wherever those are.
        return [~table.c.scope.startswith(NOTE_SCOPES)] if scope is None else [table.c.scope == scope]

    changes = sa.select(memory_changes).where(*of_scope(memory_changes)).order_by(memory_changes.c.sequence)
    for row in connection.execution_options(yield_per=500).execute(changes):
        yield {
            "kind": "change",
            **{name: row._mapping[name] for name in CHANGE_FIELDS},
            "changed_at": clock.to_text(row.changed_at),
            "changed": json.loads(row.changed),
            "before": json.loads(row.before) if row.before is not None else None,
        }
    entries = sa.select(*ENTRY_COLUMNS).where(*of_scope(memory_records)).order_by(memory_records.c.id)
    for row in connection.execution_options(yield_per=500).execute(entries):
        yield {"kind": "entry", **entry_of(row).to_dict()}
    usage = sa.select(runtime_memories).where(*of_scope(runtime_memories)).order_by(runtime_memories.c.memory_id)
    for row in connection.execution_options(yield_per=500).execute(usage):
        yield {
            "kind": "usage",
            "memory_id": row.memory_id,
            "scope": row.scope,
            "useful": row.useful,
            "missed": row.missed,
            "decayed_at": clock.to_text(row.decayed_at) if row.decayed_at is not None else None,
        }
    messages = (
        sa.select(conversation_history).where(*of_scope(conversation_history)).order_by(conversation_history.c.id)
    )
    for row in connection.execution_options(yield_per=500).execute(messages):
        yield {
            "kind": "message",
            **{name: row._mapping[name] for name in MESSAGE_FIELDS},
            "created_at": clock.to_text(row.created_at),
            "replaced_at": clock.to_text(row.replaced_at) if row.replaced_at is not None else None,
        }
    yield from chat_transfer.export_rows(connection, scope)
    unfinished = sa.select(jobs).where(*of_scope(jobs), jobs.c.state != "done").order_by(jobs.c.sequence)
    for row in connection.execution_options(yield_per=500).execute(unfinished):
        yield {
            "kind": "job",
            "id": row.id,
            "work": row.kind,
            "scope": row.scope,
            "payload": json.loads(row.payload),
            "dead": row.state == "dead",
            "reason": row.reason,
            "created_at": clock.to_text(row.created_at),
        }
    if scope is None:
        # The dictionary belongs to the store, not to a scope.
        yield from ({"kind": "word", "word": word} for word in user_words(connection))


def import_rows(connection: sa.Connection, rows: Iterable[Mapping[str, Any]], actor: str) -> ImportCounts:
    """Take rows in. What is there already is left alone; `merge` says who wins where two stores differ."""
    merge = Merge(connection, actor)
    take: dict[str, Callable[[dict[str, Any]], ImportCounts]] = {
        "change": merge.change,
        "entry": merge.entry,
        "usage": merge.usage,
        "message": merge.message,
        "job": merge.job,
        "word": merge.word,
        **{kind: functools.partial(merge.chat.take, kind) for kind in chat_transfer.TABLES},
    }
    counts = ImportCounts()
    for row in rows:
        kind = row.get("kind")
        if kind == "jiyi-export":
            continue
        if not isinstance(kind, str) or kind not in take:
            raise ImportFormatError(f"unknown kind {kind!r}; expected {', '.join(take)}")
        try:
            counts += take[kind]({name: value for name, value in row.items() if name != "kind"})
        except KeyError as error:
            raise ImportFormatError(f"a row of kind {kind!r} has no {error}") from error
        except (TypeError, ValueError, AttributeError) as error:
            raise ImportFormatError(f"a row of kind {kind!r} is not in the export format: {error}") from error
    merge.finish()
    return counts

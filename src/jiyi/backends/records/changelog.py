"""The change log: the only way to add lines to it, and what can be read from it.

An index that has read the log up to a line must never miss one before it, so lines have to become visible in their
order. In SQLite one transaction writes at a time and its lines are written at once. In PostgreSQL several do: each
gathers its lines, and `PostgresDatabase` writes them at the end, one transaction after the other.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from operator import itemgetter
from typing import Any, Final

from jiyi.backends.records.codec import to_json
from jiyi.backends.records.schema import memory_changes
from jiyi.backends.records.sql import Connection, Params, Row, chunks
from jiyi.model import clock
from jiyi.model.entry import EntryVersion, MemoryEntry
from jiyi.ports import Change

_KNOWN_KEYS: Final = "SELECT DISTINCT key FROM memory_changes WHERE scope = :scope AND key IN :keys"
LINE: Final = memory_changes.names[1:]
"""The columns of a line; its sequence number is given by the engine."""
ERASE: Final = "erase"
REMOVED: Final = ("forget", ERASE, "archive")
"""Operations after which an entry has no row."""
SELECT_CHANGE: Final = "SELECT sequence, entry_id, scope, version, changed_at, operation FROM memory_changes"
"""To be followed by conditions; its rows are those of `change_of`."""

_values_of = itemgetter(*LINE)
_LAST_VERSIONS = "SELECT entry_id, max(version) FROM memory_changes WHERE entry_id IN :ids GROUP BY entry_id"
_ERASE_TEXTS = "UPDATE memory_changes SET before = NULL, changed = '[]' WHERE before IS NOT NULL AND "


def log_changes(connection: Connection, lines: Sequence[Mapping[str, Any]]) -> None:
    """Add lines to the change log, in the caller's transaction."""
    if not lines:
        return
    if connection.pending_log is not None:
        connection.pending_log.add(lines)
    else:
        connection.insert(memory_changes, list(map(_values_of, lines)))


@lru_cache(maxsize=256)
def _names_text(names: tuple[str, ...]) -> str:
    return to_json(names)


def log_line(
    entry: MemoryEntry, operation: str, actor: str, changed: list[str], before: MemoryEntry | None
) -> dict[str, Any]:
    """The line of a change: `entry` is the entry after it, `before` the one that the log keeps."""
    return {
        "entry_id": entry.id,
        "scope": entry.scope,
        "key": entry.key,
        "version": entry.version,
        "operation": operation,
        "changed_at": entry.updated_at,
        "changed_by": actor,
        "changed": _names_text(tuple(changed)),
        "before": to_json(before.to_dict()) if before is not None else None,
    }


def creation_line(row: Mapping[str, Any], actor: str) -> dict[str, Any]:
    """The line of a new entry, from the values of its row."""
    return {
        "entry_id": row["id"],
        "scope": row["scope"],
        "key": row["key"],
        "version": row["version"],
        "operation": "create",
        "changed_at": row["updated_at"],
        "changed_by": actor,
        "changed": "[]",
        "before": None,
    }


def lock_tags(connection: Connection) -> bool:
    """Take the lock of the set of tags until the transaction ends; whether others may have added some before.

    A reader that has seen the tags up to a number must never miss one before it, as with the lines of the log.
    """
    return connection.pending_log is not None and connection.pending_log.lock_tags()


def fingerprint(entry_id: str, version: int, changed_at: datetime | str) -> str:
    """Tells a line from the one at the same sequence number of another log.

    Without the time, version 2 of an entry in a restored backup would be taken for the version 2 that was lost.
    """
    return f"{entry_id}:{version}:{changed_at if isinstance(changed_at, str) else clock.to_text(changed_at)}"


def change_of(row: Row) -> Change:
    """A row of `SELECT_CHANGE` as the driver gives it."""
    sequence, entry_id, scope, version, changed_at, operation = row
    erased = operation == ERASE
    return Change(sequence, entry_id, scope, version, fingerprint(entry_id, version, changed_at), erased=erased)


def last_versions(connection: Connection, ids: Sequence[str]) -> dict[str, int]:
    """The last version that the log has of each of these entries, lines that wait included."""
    found: dict[str, int] = {}
    for chunk in chunks(ids):
        found.update(connection.rows(_LAST_VERSIONS, {"ids": chunk}))
    if connection.pending_log is not None:
        wanted = set(ids)
        for line in connection.pending_log.waiting:
            if line["entry_id"] in wanted:
                found[line["entry_id"]] = max(found.get(line["entry_id"], 0), line["version"])
    return found


def known_keys(connection: Connection, scope: str, keys: Sequence[str]) -> set[str]:
    """Which of these keys have a line; those of entries that were forgotten too."""
    found: set[str] = set()
    for chunk in chunks(list(keys)):
        found.update(map(str, connection.column(_KNOWN_KEYS, {"scope": scope, "keys": chunk})))
    return found


def erase_texts(connection: Connection, condition: str, params: Params) -> int:
    """Delete the texts of all versions whose lines meet the condition; returns how many lines had one."""
    return connection.execute(_ERASE_TEXTS + condition, params).rowcount


def versions_of(
    connection: Connection, condition: str, params: Params, current: Mapping[str, MemoryEntry]
) -> list[EntryVersion]:
    """The versions whose lines meet the condition, oldest first; `current` are the entries as they are now."""
    lines = connection.rows(f"{memory_changes.select} WHERE {condition} ORDER BY sequence", params)
    # Each line keeps the state before its change, so the state after it is in the next line of the same entry.
    after: dict[str, MemoryEntry | None] = dict(current)
    found = []
    for line in map(memory_changes.values, reversed(lines)):
        found.append(
            EntryVersion(
                version=line["version"],
                operation=line["operation"],
                changed_at=line["changed_at"],
                changed_by=line["changed_by"],
                changed=tuple(json.loads(line["changed"])),
                entry=None if line["operation"] in REMOVED else after.get(line["entry_id"]),
            )
        )
        after[line["entry_id"]] = past_entry(line["before"]) if line["before"] else None
    return found[::-1]


def past_entry(text: str) -> MemoryEntry:
    """The entry that a line keeps as it was before its change."""
    return MemoryEntry.from_dict(json.loads(text))

"""The one way into the change log.

An index that has read the log up to a line must never miss one before it, so lines have to become visible in their
order. In SQLite one transaction writes at a time and its lines are written at once. In PostgreSQL several do: each
gathers its lines, and `PostgresDatabase` writes them at the end, one transaction after the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from jiyi.backends.records.prepared import Prepared
from jiyi.backends.records.schema import memory_changes
from jiyi.model import clock

GATHERED = "jiyi.gathered_changes"
"""The entry of `connection.info` under which lines wait; where there is none they are written at once."""
LINE = tuple(column.name for column in memory_changes.c if column.name != "sequence")
"""What a line says; its place is given to it."""

_CHUNK = 500
_INSERT = Prepared(memory_changes.insert().inline(), LINE)


def log_changes(connection: sa.Connection, lines: Sequence[Mapping[str, Any]]) -> None:
    """Add lines to the change log, in the caller's transaction."""
    if not lines:
        return
    gathered = connection.info.get(GATHERED)
    if gathered is None:
        _INSERT.run(connection, *lines)
    else:
        gathered.add(connection, lines)


def lock_tags(connection: sa.Connection) -> bool:
    """Add to the set of tags alone until the transaction ends; whether others may have added some before.

    Who has seen the tags up to a number must never miss one before it, as with the lines of the log.
    """
    gathered = connection.info.get(GATHERED)
    return gathered is not None and gathered.lock_tags(connection)


def fingerprint(entry_id: str, version: int, moment: datetime | str) -> str:
    """What tells a line from one at the same place of another log.

    Without the time, version 2 of an entry in a restored backup would pass for the version 2 that was lost.
    """
    return f"{entry_id}:{version}:{moment if isinstance(moment, str) else clock.to_text(moment)}"


def last_versions(connection: sa.Connection, ids: Sequence[str]) -> dict[str, int]:
    """The last version that the log has of each of these entries, lines that wait included."""
    change = memory_changes.c
    found: dict[str, int] = {}
    for start in range(0, len(ids), _CHUNK):
        chunk = ids[start : start + _CHUNK]
        statement = sa.select(change.entry_id, sa.func.max(change.version)).where(change.entry_id.in_(chunk))
        found.update((row[0], row[1]) for row in connection.execute(statement.group_by(change.entry_id)))
    gathered = connection.info.get(GATHERED)
    if gathered is not None:
        wanted = set(ids)
        for line in gathered.waiting:
            if line["entry_id"] in wanted:
                found[line["entry_id"]] = max(found.get(line["entry_id"], 0), line["version"])
    return found

"""What every recall asks of a SQLite file, asked of the driver itself.

SQLAlchemy takes a fifth of a second to load and longer than SQLite to run a small statement. A command that only asks
is over sooner without it, and so is every recall. The statements mean what those of `SqlRecordStore` mean; the
conformance suite of record stores holds both to it.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from typing import Any

from jiyi.backends.records.codec import ENTRY_FIELDS, entry_of
from jiyi.model import clock
from jiyi.model.entry import MemoryEntry
from jiyi.model.filters import Filters
from jiyi.ports import START, Change, LogPosition

_META = "SELECT value FROM store_meta WHERE name = ?"
_ENTRIES = f"SELECT {', '.join(ENTRY_FIELDS)} FROM memory_records"
# One parameter for all ids: hundreds take longer to hand over than to look up.
_BY_ID = "id IN (SELECT value FROM json_each(?))"
_SCOPE_OF_ID = "scope || ''"
_PLACES = "SELECT sequence, entry_id, scope, version, changed_at FROM memory_changes"
_HEAD = f"{_PLACES} ORDER BY sequence DESC LIMIT 1"
_PLACE = f"{_PLACES} WHERE sequence = ?"
_PLACES_AFTER = f"{_PLACES} WHERE sequence > ? ORDER BY sequence LIMIT ?"


class SqliteReads:
    """Connections that only read, one for each thread that reads at the same time."""

    def __init__(
        self, connect: Callable[[], sqlite3.Connection], translated: Callable[[], AbstractContextManager[None]]
    ) -> None:
        """`translated` turns errors of the driver into those of a store."""
        self._connect = connect
        self._translated = translated
        self._idle: list[sqlite3.Connection] = []
        self._guard = threading.Lock()
        self._closed = False

    # --- the store --------------------------------------------------------------------------------------------------

    def store_id(self) -> str:
        """Which store this is."""
        return str(self._rows(_META, ("store_id",))[0][0])

    def was_migrated(self) -> bool:
        """Whether another store was, or is being, copied into this one."""
        return bool(self._rows(_META, ("migration",)))

    def user_words(self) -> list[str]:
        """Words that the segmenter shall take as words."""
        rows = self._rows(_META, ("user_words",))
        return list(json.loads(rows[0][0])) if rows else []

    # --- entries ----------------------------------------------------------------------------------------------------

    def fetch(self, ids: Sequence[str], filters: Filters | None) -> dict[str, MemoryEntry]:
        """Entries by id; with filters only those they admit."""
        if not ids:
            return {}
        sql, values = f"{_ENTRIES} WHERE {_BY_ID}", [_listed(ids)]
        if filters is not None:
            # Scopes are the fence and stand in the statement; the rest is cheaper to decide here.
            sql, values = f"{sql} AND {_scoped(filters, by_id=True)}", [*values, *filters.scopes]
        found = (entry_of(row) for row in self._rows(sql, values))
        return {entry.id: entry for entry in found if filters is None or filters.admits(entry)}

    def admitted(self, ids: Sequence[str], filters: Filters) -> set[str]:
        """Which of these ids the filters admit."""
        where, values = _where(filters, by_id=True)
        rows = self._rows(f"SELECT id FROM memory_records WHERE {_BY_ID} AND {where}", [_listed(ids), *values])
        return {row[0] for row in rows}

    def matching_ids(self, filters: Filters) -> list[str]:
        """Ids of all entries that the filters admit."""
        where, values = _where(filters)
        return [row[0] for row in self._rows(f"SELECT id FROM memory_records WHERE {where}", values)]

    def count(self, filters: Filters) -> int:
        """How many entries the filters admit."""
        where, values = _where(filters)
        return int(self._rows(f"SELECT count(*) FROM memory_records WHERE {where}", values)[0][0])

    def time_range(self, scopes: Sequence[str]) -> tuple[datetime, datetime] | None:
        """When the first and the last of these scopes' entries happened."""
        # Each edge is a question of its own, answered by one end of the index.
        edges = [
            f"(SELECT {edge}(event_time) FROM memory_records WHERE scope = ?)"
            for _ in scopes
            for edge in ("min", "max")
        ]
        values = [scope for scope in scopes for _ in ("min", "max")]
        found = [value for value in self._rows(f"SELECT {', '.join(edges)}", values)[0] if value is not None]
        return (clock.from_text(min(found)), clock.from_text(max(found))) if found else None

    # --- the change log ---------------------------------------------------------------------------------------------

    def head(self) -> LogPosition:
        """The last place of the change log."""
        rows = self._rows(_HEAD)
        return _change(rows[0]).log_position if rows else START

    def log_position_at(self, sequence: int) -> LogPosition | None:
        """The mark of one place of the change log; `None` when there is no such place."""
        if sequence == 0:
            return START
        rows = self._rows(_PLACE, (sequence,))
        return _change(rows[0]).log_position if rows else None

    def changes_after(self, sequence: int, *, limit: int) -> list[Change]:
        """What follows this place of the change log."""
        return [_change(row) for row in self._rows(_PLACES_AFTER, (sequence, limit))]

    def pending(self, sequence: int, scopes: Sequence[str] | None = None) -> int:
        """How many changes follow this place."""
        sql = "SELECT count(*) FROM memory_changes WHERE sequence > ?"
        values: list[Any] = [sequence]
        if scopes is not None:
            # An expression: only what follows is looked at, however long the log of the scope is.
            sql, values = f"{sql} AND {_SCOPE_OF_ID} IN ({_marks(scopes)})", [*values, *scopes]
        return int(self._rows(sql, values)[0][0])

    # --- connections ------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Close the connections that nobody uses; the others are closed when they are given back."""
        with self._guard:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _rows(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        # One statement is one snapshot.
        with self._translated(), self._connection() as connection:
            return connection.execute(sql, values).fetchall()

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        with self._guard:
            # The one used last has the most pages at hand.
            connection = self._idle.pop() if self._idle else None
        connection = connection or self._connect()
        try:
            yield connection
        finally:
            with self._guard:
                closed = self._closed
                if not closed:
                    self._idle.append(connection)
            if closed:
                connection.close()


def _where(filters: Filters, *, by_id: bool = False) -> tuple[str, list[Any]]:
    """The filters as SQL with its values; the same meaning as `Filters.admits`."""
    # `IS NOT false` and not `IS true`: for that SQLite would take the index of active entries, which are nearly all of
    # all scopes, and walk through them.
    parts, values = ["is_active IS NOT false", _scoped(filters, by_id=by_id)], [*filters.scopes]

    def add(sql: str, *more: Any) -> None:
        parts.append(sql)
        values.extend(more)

    for column, wanted in (
        ("category", filters.categories),
        ("memory_type", filters.memory_types),
        ("conversation_id", filters.conversations),
    ):
        if wanted:
            add(f"{column} IN ({_marks(wanted)})", *map(str, wanted))
    if filters.without_types:
        add(f"memory_type NOT IN ({_marks(filters.without_types)})", *filters.without_types)
    if filters.domains:
        # Not LIKE, which does not tell capitals from small letters in SQLite.
        other = " OR ".join("replace(more_domains, ?, '') != more_domains" for _ in filters.domains)
        add(
            f"(domain IN ({_marks(filters.domains)}) OR (more_domains != '' AND ({other})))",
            *filters.domains,
            *(f"|{domain}|" for domain in filters.domains),
        )
    if filters.since is not None:
        add("event_time >= ?", clock.to_text(filters.since))
    if filters.until is not None:
        add("event_time < ?", clock.to_text(filters.until))
    if filters.periods:
        within = " OR ".join("(event_time >= ? AND event_time < ?)" for _ in filters.periods)
        add(f"({within})", *(clock.to_text(edge) for period in filters.periods for edge in period))
    for tag in filters.tags:
        add(
            "EXISTS (SELECT 1 FROM memory_tag_rel r JOIN memory_tags t ON t.id = r.tag_id "
            "WHERE r.memory_id = memory_records.id AND t.name = ?)",
            tag,
        )
    return " AND ".join(parts), values


def _scoped(filters: Filters, *, by_id: bool) -> str:
    """The fence. By id it is an expression: by its index SQLite would walk through the whole scope."""
    return f"{_SCOPE_OF_ID if by_id else 'scope'} IN ({_marks(filters.scopes)})"


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" for _ in values)


def _listed(ids: Sequence[str]) -> str:
    return json.dumps(list(ids))


def _change(row: Sequence[Any]) -> Change:
    sequence, entry_id, scope, version, moment = row
    # Without the time, version 2 of an entry in a restored backup would pass for the version 2 that was lost.
    return Change(sequence, entry_id, scope, version, f"{entry_id}:{version}:{moment}")

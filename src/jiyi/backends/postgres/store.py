"""PostgresRecordStore: the record store in PostgreSQL, which answers the questions of a recall by the shortest way.

What every recall asks is one round trip: the fence of the scopes and the question are sent together. The statements
mean what those of `SqlRecordStore` mean; the conformance suite of record stores holds both to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import psycopg

from jiyi.backends.postgres.database import PostgresDatabase
from jiyi.backends.postgres.errors import storage_error
from jiyi.backends.postgres.schema import SCOPES, WHOLE_STORE
from jiyi.backends.postgres.session import DriverConnections
from jiyi.backends.postgres.wire import (
    TEXT,
    TEXT_ARRAY,
    BoundStatement,
    Row,
    Statement,
    settings,
    text_array,
    text_parameter,
)
from jiyi.backends.records.changelog import fingerprint
from jiyi.backends.records.codec import ENTRY_FIELDS, entry_of
from jiyi.backends.records.store import SqlRecordStore
from jiyi.model import clock
from jiyi.model.entry import MemoryEntry
from jiyi.model.filters import Filters
from jiyi.ports import START, LogPosition

_ENTRIES = f"SELECT {', '.join(ENTRY_FIELDS)} FROM memory_records WHERE id = ANY ($1)"
_BY_ID = Statement(_ENTRIES, (TEXT_ARRAY,))
_BY_ID_IN_SCOPES = Statement(f"{_ENTRIES} AND scope = ANY ($2)", (TEXT_ARRAY, TEXT_ARRAY))
_LINE = "SELECT sequence, entry_id, version, changed_at FROM memory_changes"
_HEAD = Statement(f"{_LINE} ORDER BY sequence DESC LIMIT 1")
_PLACE = Statement(f"{_LINE} WHERE sequence = $1::bigint", (TEXT,))
_PENDING = "SELECT count(*) FROM memory_changes WHERE sequence > $1::bigint"
_PENDING_ALL = Statement(_PENDING, (TEXT,))
# An expression: only what follows is looked at, however long the log of the scope is.
_PENDING_IN_SCOPES = Statement(f"{_PENDING} AND (scope || '') = ANY ($2)", (TEXT, TEXT_ARRAY))
# Each edge is a question of its own, answered by one end of the index.
_TIMES = Statement(
    "SELECT min(edge.first), max(edge.last) FROM unnest($1) AS asked (scope) CROSS JOIN LATERAL (SELECT "
    "(SELECT min(event_time) FROM memory_records r WHERE r.scope = asked.scope) AS first, "
    "(SELECT max(event_time) FROM memory_records r WHERE r.scope = asked.scope) AS last) edge",
    (TEXT_ARRAY,),
)


class PostgresRecordStore(SqlRecordStore):
    """What a recall asks goes over the wire at once; everything else is `SqlRecordStore`."""

    def __init__(self, database: PostgresDatabase) -> None:
        super().__init__(database)
        self._sessions = DriverConnections(database)
        self._where = database.where
        self._whole_store = BoundStatement(settings({**database.limits, WHOLE_STORE: "on"}))
        self._some_scopes = settings({**database.limits, WHOLE_STORE: "off"}, (SCOPES,))

    def fetch(self, ids: Sequence[str], filters: Filters | None) -> dict[str, MemoryEntry]:
        """Entries by id; with filters only those they admit."""
        if not ids:
            return {}
        if filters is None:
            rows = self._rows(None, BoundStatement(_BY_ID, [text_array(ids)]))
        else:
            scopes = filters.scopes
            rows = self._rows(scopes, BoundStatement(_BY_ID_IN_SCOPES, [text_array(ids), text_array(scopes)]))
        # Scopes are the fence and stand in the statement; the rest is cheaper to decide here.
        found = (entry_of(row) for row in rows)
        return {entry.id: entry for entry in found if filters is None or filters.admits(entry)}

    def time_range(self, scopes: Sequence[str]) -> tuple[datetime, datetime] | None:
        """When the first and the last of these scopes' entries happened."""
        ((first, last),) = self._rows(scopes, BoundStatement(_TIMES, [text_array(scopes)]))
        return None if first is None else (clock.of_driver(first), clock.of_driver(last))

    def head(self) -> LogPosition:
        """The last place of the change log."""
        return _mark(self._rows(None, BoundStatement(_HEAD))) or START

    def log_position_at(self, sequence: int) -> LogPosition | None:
        """The mark of one place of the change log; `None` when there is no such place."""
        return (
            START if sequence == 0 else _mark(self._rows(None, BoundStatement(_PLACE, [text_parameter(str(sequence))])))
        )

    def pending(self, sequence: int, scopes: Sequence[str] | None = None) -> int:
        """How many changes follow this place."""
        place = text_parameter(str(sequence))
        if scopes is None:
            ((count,),) = self._rows(None, BoundStatement(_PENDING_ALL, [place]))
        else:
            ((count,),) = self._rows(scopes, BoundStatement(_PENDING_IN_SCOPES, [place, text_array(scopes)]))
        return int(count)

    def _rows(self, scopes: Sequence[str] | None, question: BoundStatement) -> list[Row]:
        """Rows of one statement, which is one snapshot; `scopes` are those that it may see beside `public`."""
        fence = self._whole_store if scopes is None else BoundStatement(self._some_scopes, [text_array(scopes)])
        try:
            return self._sessions.fetch_pipelined([fence, question])[1]
        except psycopg.Error as error:
            raise storage_error(self._where, error) from error


def _mark(rows: Sequence[Row]) -> LogPosition | None:
    if not rows:
        return None
    sequence, entry_id, version, moment = rows[0]
    return LogPosition(sequence, fingerprint(entry_id, version, moment))

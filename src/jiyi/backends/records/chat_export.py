"""Export and import of what the chat room keeps beside the messages.

Of two states of a session one is kept by an import (see `merge`), and with it its epochs, summaries and flushes.
Candidates of both are kept: each names the messages in which it was said. What was made of messages that were erased
here is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from jiyi.backends.records.column_checks import MAX_COUNT, check_id
from jiyi.backends.records.import_checks import ImportSchema, check_time
from jiyi.backends.records.schema import chat_epochs, chat_flushes, chat_summaries, flush_candidates
from jiyi.backends.records.sql import Connection
from jiyi.backends.records.tables import INTEGER, REAL, TIME, Column, Table
from jiyi.errors import InvalidInputError
from jiyi.model import clock
from jiyi.model.chat import CANDIDATE_STATES
from jiyi.model.limits import check_importance, check_whole
from jiyi.model.scope import check_scope
from jiyi.ports import ImportCounts

TABLES: dict[str, Table] = {
    "epoch": chat_epochs,
    "summary": chat_summaries,
    "flush": chat_flushes,
    "candidate": flush_candidates,
}
"""The kinds of rows of an export, in their order."""
NEVER: Final = datetime.min.replace(tzinfo=UTC)
"""When a conversation changed that is not there."""

_IN_EPOCH = "scope = :scope AND session_id = :session_id AND epoch = :epoch"
_KNOWN = "SELECT 1 FROM conversation_history WHERE scope = :scope AND session_id = :session_id LIMIT 1"
_MARK_REPLACED = (
    *(
        f"UPDATE {table.name} SET replaced_at = :now "
        "WHERE scope = :scope AND session_id = :session_id AND replaced_at IS NULL"
        for table in (chat_summaries, chat_flushes)
    ),
    "DELETE FROM chat_epochs WHERE scope = :scope AND session_id = :session_id",
)


def export_rows(connection: Connection, scope: str | None) -> Iterator[dict[str, Any]]:
    """Epochs, summaries, flushes and candidates as JSON-ready rows."""
    for kind, table in TABLES.items():
        own = "" if scope is None else " WHERE scope = :scope"
        sql = f"{table.select}{own} ORDER BY {', '.join(table.primary_key)}"
        times = [column.name for column in table.columns if column.type is TIME]
        with connection.stream(sql, {} if scope is None else {"scope": scope}) as rows:
            for values in map(table.values, rows):
                values.update({name: clock.to_text(values[name]) for name in times if values[name] is not None})
                yield {"kind": kind, **_outside(kind, values)}


def _outside(kind: str, values: dict[str, Any]) -> dict[str, Any]:
    """A candidate has a kind too: it goes under another name, because `kind` says what the row is."""
    if kind == "candidate":
        values["what"] = values.pop("kind")
    return values


@dataclass(slots=True)
class SessionStates:
    """One conversation in both states: here before the import, and in the file."""

    live_here: frozenset[str]
    last_here: datetime
    live_there: set[str] = field(default_factory=set)
    last_there: datetime = NEVER
    replaced_there: dict[str, datetime] = field(default_factory=dict)


class ChatMerge:
    """The chat rows of one import, inside the caller's transaction."""

    def __init__(self, connection: Connection, schema: ImportSchema, *, update: bool) -> None:
        self._connection = connection
        self._schema = schema
        self._update_known = update
        self._waiting: dict[tuple[str, str], list[tuple[Table, dict[str, Any], bool]]] = {}
        self._erased: dict[tuple[str, str], set[int]] = {}

    def erased(self, scope: str, session_id: str, position: int) -> None:
        """The file has a message at this position that was erased here."""
        self._erased.setdefault((scope, session_id), set()).add(position)

    def take(self, kind: str, data: Mapping[str, Any]) -> ImportCounts:
        """Check a row; it waits until it is known which state of its session is kept."""
        table = TABLES[kind]
        values = _checked(kind, table, data, self._schema)
        present = self._connection.row(f"{table.select} WHERE {_key_of(table)}", values)
        if present is not None:
            here = table.values(present)
            if (here["scope"], here["session_id"]) != (values["scope"], values["session_id"]):
                raise InvalidInputError(f"{kind} {values.get('id')} is of another conversation here")
        if present is None and self._is_of_erased(table, values):
            return ImportCounts(unchanged=1)
        same = present is not None and _same(table, table.values(present), values)
        self._waiting.setdefault((values["scope"], values["session_id"]), []).append((table, values, same))
        return ImportCounts(unchanged=1) if same else ImportCounts(chat=1)

    def settle(self, scope: str, session_id: str, *, keep_theirs: bool, new_here: bool) -> None:
        """Write the rows of this session; `keep_theirs` when its state in the file is the one that is kept."""
        waiting = [row for row in self._waiting.pop((scope, session_id), []) if not self._is_of_erased(*row[:2])]
        if keep_theirs and not new_here:
            self._mark_replaced(scope, session_id)
        for table, values, same in waiting:
            if table is flush_candidates:
                self._candidate(values)
            elif keep_theirs or (new_here and not same and not self._overlaps(table, values)):
                self._insert(table, values)

    def leave(self, scope: str, session_id: str) -> None:
        """Leave the rows of this session out: it stays as it is here."""
        self._waiting.pop((scope, session_id), None)

    def finish(self) -> None:
        """Write the rows of sessions without messages."""
        for scope, session_id in list(self._waiting):
            known = self._connection.row(_KNOWN, {"scope": scope, "session_id": session_id}) is not None
            # A conversation of which every message was erased has begun anew, if it is here at all.
            if (scope, session_id) in self._erased or (known and not self._update_known):
                self.leave(scope, session_id)
                continue
            self.settle(scope, session_id, keep_theirs=False, new_here=True)

    def _is_of_erased(self, table: Table, values: Mapping[str, Any]) -> bool:
        """Whether it was made of messages of the file of which some were erased here."""
        positions = self._erased.get((values["scope"], values["session_id"]))
        if not positions or table is chat_epochs:
            return False
        span = range(values["first_position"], values["last_position"] + 1)
        if len(span) < len(positions):
            return any(each in positions for each in span)
        return any(each in span for each in positions)

    def _mark_replaced(self, scope: str, session_id: str) -> None:
        """Mark as replaced what was derived from messages that the import has replaced."""
        session = {"scope": scope, "session_id": session_id, "now": clock.utc_now()}
        for statement in _MARK_REPLACED:
            self._connection.execute(statement, session)

    def _overlaps(self, table: Table, values: Mapping[str, Any]) -> bool:
        """Whether another summary or flush that is not replaced covers the same messages here already."""
        if table is chat_epochs or values["replaced_at"] is not None:
            return False
        others = (
            f"SELECT 1 FROM {table.name} WHERE {_IN_EPOCH} AND id != :id AND replaced_at IS NULL "
            "AND last_position >= :first_position LIMIT 1"
        )
        return self._connection.row(others, values) is not None

    def _insert(self, table: Table, values: dict[str, Any]) -> None:
        key = _key_of(table)
        if self._connection.row(f"SELECT 1 FROM {table.name} WHERE {key}", values) is not None:
            if table is not chat_epochs:
                # The same row, which an earlier step of this import has marked as replaced.
                self._connection.execute(f"UPDATE {table.name} SET replaced_at = :replaced_at WHERE {key}", values)
            return
        numbered = {chat_summaries.name: "generation", chat_flushes.name: "number"}.get(table.name)
        if numbered is not None:
            taken = self._connection.column(f"SELECT {numbered} FROM {table.name} WHERE {_IN_EPOCH}", values)
            if values[numbered] in taken:
                values = {**values, numbered: max(taken) + 1}
        self._connection.execute(table.insert, values)

    def _candidate(self, values: dict[str, Any]) -> None:
        """A candidate that was settled anywhere is settled."""
        state = self._connection.scalar("SELECT state FROM flush_candidates WHERE id = :id", values)
        if state is None:
            self._connection.execute(flush_candidates.insert, values)
        elif self._update_known and state == "new" and values["state"] != "new":
            settled = flush_candidates.update_of(("state", "state_at", "taken_by"))
            self._connection.execute(f"{settled} WHERE id = :id", values)


def _key_of(table: Table) -> str:
    """The condition on the primary key."""
    return " AND ".join(f"{name} = :{name}" for name in table.primary_key)


def _same(table: Table, here: Mapping[str, Any], values: Mapping[str, Any]) -> bool:
    """Whether the store already has this row, or a later state of it."""
    if table is flush_candidates:
        return values["state"] in {"new", here["state"]}
    if table is chat_epochs:
        return bool(here["first_position"] == values["first_position"])
    return True


def _checked(kind: str, table: Table, data: Mapping[str, Any], schema: ImportSchema) -> dict[str, Any]:
    given = dict(data)
    if kind == "candidate":
        given["kind"] = given.pop("what")
    unknown = sorted(set(given) - set(table.names))
    missing = sorted(set(table.names) - set(given))
    if unknown or missing:
        raise InvalidInputError(
            f"unknown fields: {', '.join(unknown)}" if unknown else f"a {kind} without {', '.join(missing)}"
        )
    values = {column.name: _value(column, given[column.name], schema) for column in table.columns}
    check_scope(values["scope"])
    if kind == "candidate":
        if values["state"] not in CANDIDATE_STATES:
            raise InvalidInputError(f"state {values['state']!r} is none of {', '.join(CANDIDATE_STATES)}")
        check_importance(values["confidence"])
    return values


def _value(column: Column, value: Any, schema: ImportSchema) -> Any:
    if value is None:
        if not column.nullable:
            raise InvalidInputError(f"{column.name} is missing")
        return None
    if column.type is TIME:
        return check_time(value, column.name)
    if column.name == "id":
        return check_id(value, column.name)
    if column.type is INTEGER:
        return check_whole(value, column.name, 0, MAX_COUNT)
    if column.type is REAL:
        return check_importance(value)
    return schema.text(value, column.name)

"""Export and import of what the chat room keeps beside the messages.

Of two states of a session one stands after an import (see `merge`), and with it its epochs, summaries and flush marks.
Candidates of both are kept: each names the messages in which it was said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import sqlalchemy as sa

from jiyi.backends.records.schema import (
    UtcTime,
    chat_epochs,
    chat_flushes,
    chat_summaries,
    flush_candidates,
)
from jiyi.errors import InvalidInputError
from jiyi.model import clock
from jiyi.model.chat import CANDIDATE_STATES
from jiyi.model.limits import Limits, check_importance, check_whole
from jiyi.model.scope import check_scope
from jiyi.ports import ImportCounts

TABLES: dict[str, sa.Table] = {
    "epoch": chat_epochs,
    "summary": chat_summaries,
    "flush": chat_flushes,
    "candidate": flush_candidates,
}
"""The kinds of rows of an export, in their order."""

_ENDLESS = 1 << 62
_ANY_LENGTH = Limits(max_content_bytes=_ENDLESS, max_key_characters=_ENDLESS)


def export_rows(connection: sa.Connection, scope: str | None) -> Iterator[dict[str, Any]]:
    """Epochs, summaries, flush marks and candidates as JSON-ready rows."""
    for kind, table in TABLES.items():
        own = [] if scope is None else [table.c.scope == scope]
        statement = sa.select(table).where(*own).order_by(*table.primary_key.columns)
        for row in connection.execution_options(yield_per=500).execute(statement):
            values = dict(row._mapping)
            for column in table.c:
                if isinstance(column.type, UtcTime) and values[column.name] is not None:
                    values[column.name] = clock.to_text(values[column.name])
            yield {"kind": kind, **_outside(kind, values)}


def _outside(kind: str, values: dict[str, Any]) -> dict[str, Any]:
    """A candidate has a kind too: it goes under another name, because `kind` says what the row is."""
    if kind == "candidate":
        values["what"] = values.pop("kind")
    return values


class ChatMerge:
    """The chat rows of one import, inside the caller's transaction."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection
        self._waiting: dict[tuple[str, str], list[tuple[sa.Table, dict[str, Any], bool]]] = {}

    def take(self, kind: str, data: Mapping[str, Any]) -> ImportCounts:
        """Check a row; it waits until it is known which state of its session stands."""
        table = TABLES[kind]
        values = _checked(kind, table, data)
        key = [column == values[column.name] for column in table.primary_key.columns]
        present = self._connection.execute(sa.select(table).where(*key)).one_or_none()
        same = present is not None and _same(table, present, values)
        self._waiting.setdefault((values["scope"], values["session_id"]), []).append((table, values, same))
        return ImportCounts(unchanged=1) if same else ImportCounts(chat=1)

    def settle(self, scope: str, session_id: str, *, theirs_stands: bool, new_here: bool) -> None:
        """Write what has waited for this session; `theirs_stands` when its state in the file is the one that stands."""
        waiting = self._waiting.pop((scope, session_id), [])
        if theirs_stands and not new_here:
            self._make_room(scope, session_id)
        for table, values, same in waiting:
            if table is flush_candidates:
                self._candidate(values)
            elif theirs_stands or (new_here and not same and not self._overlaps(table, values)):
                self._insert(table, values)

    def finish(self) -> None:
        """Rows of sessions without messages: nothing stands against them."""
        for scope, session_id in list(self._waiting):
            self.settle(scope, session_id, theirs_stands=False, new_here=True)

    def _make_room(self, scope: str, session_id: str) -> None:
        """What stands for messages that were replaced by the import stands for nothing any more."""
        now = clock.utc_now()
        for table in (chat_summaries, chat_flushes):
            own = (table.c.scope == scope, table.c.session_id == session_id, table.c.replaced_at.is_(None))
            self._connection.execute(table.update().where(*own).values(replaced_at=now))
        own_epochs = (chat_epochs.c.scope == scope, chat_epochs.c.session_id == session_id)
        self._connection.execute(chat_epochs.delete().where(*own_epochs))

    def _overlaps(self, table: sa.Table, values: Mapping[str, Any]) -> bool:
        """Whether something else stands here for the same messages already."""
        if table is chat_epochs:
            return False
        own = [table.c[name] == values[name] for name in ("scope", "session_id", "epoch")]
        other = (table.c.id != values["id"], table.c.replaced_at.is_(None))
        ends = table.c.last_position >= values["first_position"]
        statement = sa.select(sa.literal(1)).select_from(table).where(*own, *other, ends)
        return values["replaced_at"] is None and self._connection.execute(statement).first() is not None

    def _insert(self, table: sa.Table, values: dict[str, Any]) -> None:
        key = [column == values[column.name] for column in table.primary_key.columns]
        if self._connection.execute(sa.select(sa.literal(1)).select_from(table).where(*key)).first() is not None:
            if table is not chat_epochs:
                # The same row, which an earlier step of this import has put aside.
                self._connection.execute(table.update().where(*key).values(replaced_at=values["replaced_at"]))
            return
        numbered = {chat_summaries: "generation", chat_flushes: "number"}.get(table)
        if numbered is not None:
            place = [table.c[name] == values[name] for name in ("scope", "session_id", "epoch")]
            taken = sa.select(table.c[numbered]).where(*place)
            if values[numbered] in set(self._connection.execute(taken).scalars()):
                last = self._connection.execute(sa.select(sa.func.max(table.c[numbered])).where(*place)).scalar()
                values = {**values, numbered: (last or 0) + 1}
        self._connection.execute(table.insert(), [values])

    def _candidate(self, values: dict[str, Any]) -> None:
        """A candidate that was settled anywhere is settled."""
        one = flush_candidates.c.id == values["id"]
        state = self._connection.execute(sa.select(flush_candidates.c.state).where(one)).scalar()
        if state is None:
            self._connection.execute(flush_candidates.insert(), [values])
        elif state == "new" and values["state"] != "new":
            settled = {name: values[name] for name in ("state", "state_at", "taken_by")}
            self._connection.execute(flush_candidates.update().where(one).values(**settled))


def _same(table: sa.Table, row: sa.Row[Any], values: Mapping[str, Any]) -> bool:
    """Whether the store already has this row, or knows better what became of it."""
    here = dict(row._mapping)
    if table is flush_candidates:
        return values["state"] in {"new", here["state"]}
    if table is chat_epochs:
        return bool(here["first_position"] == values["first_position"])
    return True


def _checked(kind: str, table: sa.Table, data: Mapping[str, Any]) -> dict[str, Any]:
    given = dict(data)
    if kind == "candidate":
        given["kind"] = given.pop("what")
    unknown = sorted(set(given) - set(table.c.keys()))
    missing = sorted(set(table.c.keys()) - set(given))
    if unknown or missing:
        raise InvalidInputError(
            f"unknown fields: {', '.join(unknown)}" if unknown else f"a {kind} without {', '.join(missing)}"
        )
    values = {column.name: _value(column, given[column.name]) for column in table.c}
    check_scope(values["scope"])
    if kind == "candidate":
        if values["state"] not in CANDIDATE_STATES:
            raise InvalidInputError(f"state {values['state']!r} is none of {', '.join(CANDIDATE_STATES)}")
        check_importance(values["confidence"])
    return values


def _value(column: sa.Column[Any], value: Any) -> Any:
    if value is None:
        if not column.nullable:
            raise InvalidInputError(f"{column.name} is missing")
        return None
    if isinstance(column.type, UtcTime):
        return clock.from_text(value)
    if isinstance(column.type, sa.Integer):
        return check_whole(value, column.name, 0, _ENDLESS)
    if isinstance(column.type, sa.Double):
        return check_importance(value)
    return _ANY_LENGTH.check_content(value, column.name)

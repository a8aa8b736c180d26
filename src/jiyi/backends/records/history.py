"""Conversations in SQL: saved whole, loaded exactly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from jiyi.backends.records.prepared import Prepared
from jiyi.backends.records.rows import entry_values, to_json
from jiyi.backends.records.schema import (
    chat_epochs,
    chat_flushes,
    chat_summaries,
    conversation_history,
    flush_candidates,
)
from jiyi.errors import HistoryUnreadableError
from jiyi.model import clock
from jiyi.model.category import MemoryCategory
from jiyi.model.entry import MESSAGE_TYPE, MemoryEntry, Source
from jiyi.model.identity import new_id
from jiyi.model.message import Message, decode_message, encode_message
from jiyi.model.storable import storable

_columns = conversation_history.c
_TRUST = {"user": "user", "assistant": "agent"}


def _live(scope: str, session_id: str) -> tuple[sa.ColumnElement[bool], ...]:
    return (_columns.scope == scope, _columns.session_id == session_id, _columns.replaced_at.is_(None))


@dataclass(frozen=True, slots=True)
class Saved:
    """What a save did."""

    written: list[dict[str, Any] | None]
    """One for each row written: the columns of its entry, `None` where there is nothing to recall."""
    replaced: list[str]
    """Message ids of the rows that are no longer part of the record."""
    ids: list[str] = field(default_factory=list)
    """Message ids of the rows written, where they were added at the end."""


def save(connection: sa.Connection, scope: str, session_id: str, messages: Sequence[Message]) -> Saved:
    """Replace what differs and keep what is the same.

    A conversation that only grew costs its new messages, and a row that is replaced stays in the table, marked. Only
    the current epoch is compared and replaced; what was said before the last reset stays as it is.
    """
    epoch, first = current_epoch(connection, scope, session_id)
    statement = sa.select(
        _columns.id, _columns.message_id, _columns.position, _columns.content, _columns.created_at
    ).where(*_live(scope, session_id), _columns.position >= first)
    present = {row.position - first: row for row in connection.execute(statement)}
    now = clock.utc_now()
    encoded = [encode_message(message) for message in messages]
    replaced = [
        row for position, row in present.items() if position >= len(encoded) or row.content != encoded[position]
    ]
    for start in range(0, len(replaced), 500):
        ids = [row.id for row in replaced[start : start + 500]]
        connection.execute(conversation_history.update().where(_columns.id.in_(ids)).values(replaced_at=now))
    if replaced:
        _retire(connection, (scope, session_id, epoch), min(row.position for row in replaced), now)
    rows: list[dict[str, Any]] = [
        {
            "scope": scope,
            "session_id": session_id,
            "position": first + position,
            "message_id": new_id(),
            "role": messages[position].role,
            "content": content,
            # A message that was only reworded was still said when it was said.
            "created_at": present[position].created_at if position in present else now,
        }
        for position, content in enumerate(encoded)
        if position not in present or present[position].content != content
    ]
    if rows:
        connection.execute(conversation_history.insert(), rows)
    return Saved(
        [values_of_message(row, messages[row["position"] - first]) for row in rows],
        [row.message_id for row in replaced],
    )


def current_epoch(connection: sa.Connection, scope: str, session_id: str) -> tuple[int, int]:
    """The number of the current epoch of a session, and the position at which it begins."""
    statement = (
        sa.select(chat_epochs.c.epoch, chat_epochs.c.first_position)
        .where(chat_epochs.c.scope == scope, chat_epochs.c.session_id == session_id)
        .order_by(chat_epochs.c.epoch.desc())
        .limit(1)
    )
    row = connection.execute(statement).one_or_none()
    return (1, 0) if row is None else (row.epoch, row.first_position)


def _retire(connection: sa.Connection, place: tuple[str, str, int], position: int, now: datetime) -> None:
    """Let nothing stand for messages of an epoch from `position` on: they were rewritten."""

    def own(table: sa.Table) -> tuple[sa.ColumnElement[bool], ...]:
        scope, session_id, epoch = place
        return (table.c.scope == scope, table.c.session_id == session_id, table.c.epoch == epoch)

    def stands(table: sa.Table) -> tuple[sa.ColumnElement[bool], ...]:
        return (*own(table), table.c.replaced_at.is_(None))

    for table, column in ((chat_summaries, "last_position"), (chat_flushes, "first_position")):
        connection.execute(table.update().where(*stands(table), table.c[column] >= position).values(replaced_at=now))
    # What stands before was looked through and is the same as before.
    shortened = chat_flushes.update().where(*stands(chat_flushes), chat_flushes.c.last_position >= position)
    connection.execute(shortened.values(last_position=position - 1))
    unsettled = (flush_candidates.c.state == "new", flush_candidates.c.last_position >= position)
    withdrawn = flush_candidates.update().where(*own(flush_candidates), *unsettled)
    connection.execute(withdrawn.values(state="rejected", state_at=now, taken_by="replaced"))


_OF_SESSION: dict[str, sa.BindParameter[Any]] = {
    "scope": sa.bindparam("scope_"),
    "session_id": sa.bindparam("session_"),
}
# What every new message runs is compiled once; the two rows that its place depends on come in one answer.
_NEXT_PLACE = Prepared(
    sa.select(
        sa.select(chat_epochs.c.first_position)
        .where(*(chat_epochs.c[name] == value for name, value in _OF_SESSION.items()))
        .order_by(chat_epochs.c.epoch.desc())
        .limit(sa.literal_column("1"))
        .scalar_subquery(),
        sa.select(_columns.position)
        .where(*(_columns[name] == value for name, value in _OF_SESSION.items()), _columns.replaced_at.is_(None))
        .order_by(_columns.position.desc())
        .limit(sa.literal_column("1"))
        .scalar_subquery(),
    )
)
_INSERT = Prepared(
    conversation_history.insert().inline(),
    ["scope", "session_id", "position", "message_id", "role", "content", "created_at"],
)


def append(connection: sa.Connection, scope: str, session_id: str, messages: Sequence[Message], now: datetime) -> Saved:
    """Add messages after the last one of the session, in its current epoch."""
    place = _NEXT_PLACE.run(connection, {"scope_": scope, "session_": session_id}).fetchone()
    begins, last = place or (None, None)
    first = max(begins or 0, 0 if last is None else last + 1)
    rows = [
        {
            "scope": scope,
            "session_id": session_id,
            "position": position,
            "message_id": new_id(),
            "role": message.role,
            "content": encode_message(message),
            "created_at": now,
        }
        for position, message in enumerate(messages, start=first)
    ]
    if rows:
        _INSERT.run(connection, *rows)
    ids = [str(row["message_id"]) for row in rows]
    return Saved([values_of_message(row, message) for row, message in zip(rows, messages, strict=True)], [], ids)


def messages_by_id(connection: sa.Connection, scope: str, ids: Sequence[str]) -> list[tuple[str, Message, datetime]]:
    """(id, message, when it was said) of these messages of a scope, in the order asked for; replaced ones too."""
    statement = sa.select(_columns.message_id, _columns.content, _columns.created_at).where(
        _columns.scope == scope, _columns.message_id.in_(ids)
    )
    found = {row.message_id: row for row in connection.execute(statement)}
    return [(i, decode_message(found[i].content), found[i].created_at) for i in ids if i in found]


# Every message is an entry, and making one only to take it apart again would be a good part of writing it.
_ENTRY = entry_values(
    MemoryEntry(
        id="",
        scope="",
        key=None,
        content="",
        category=MemoryCategory.CONVERSATION,
        memory_type=MESSAGE_TYPE,
        created_at=clock.EPOCH,
        updated_at=clock.EPOCH,
        last_accessed_at=clock.EPOCH,
    )
)


def values_of_message(row: Mapping[str, Any], message: Message) -> dict[str, Any] | None:
    """What was said, as the columns of an entry. System prompts and tool traffic are not said by anybody."""
    text = _readable(message.text)
    if message.role not in _TRUST or not text:
        return None
    moment, message_id = row["created_at"], row["message_id"]
    return {
        **_ENTRY,
        "id": message_id,
        "scope": row["scope"],
        "content": f"{_readable(str(message.name))}: {text}" if message.name else text,
        "conversation_id": row["session_id"],
        "position": row["position"],
        "source": to_json(Source("message", _TRUST[message.role], (message_id,)).to_dict()),
        "event_time": moment,
        "created_at": moment,
        "updated_at": moment,
        "last_accessed_at": moment,
    }


def _readable(text: str) -> str:
    return storable(text).strip()


def load(connection: sa.Connection, scope: str, session_id: str) -> list[Message]:
    """Every message since the last reset in order; rows that cannot be decoded are reported together."""
    statement = (
        sa.select(_columns.id, _columns.position, _columns.content)
        .where(*_live(scope, session_id), _columns.position >= current_epoch(connection, scope, session_id)[1])
        .order_by(_columns.position, _columns.id)
    )
    readable: list[tuple[int, Message]] = []
    unreadable: list[tuple[int, str]] = []
    for row in connection.execute(statement):
        message = decoded(row.content, row.position, row.id, unreadable)
        if message is not None:
            readable.append((row.position, message))
    refuse_unreadable(session_id, readable, unreadable)
    return [message for _, message in readable]


def decoded(content: str, position: int, row: int, unreadable: list[tuple[int, str]]) -> Message | None:
    """The message of a row; one that cannot be read is written down and `None`."""
    try:
        return decode_message(content)
    except (TypeError, ValueError) as error:
        unreadable.append((position, f"row {row}: {error}"))
        return None


def refuse_unreadable(
    session_id: str, readable: Sequence[tuple[int, Message]], unreadable: Sequence[tuple[int, str]]
) -> None:
    """None is dropped: when some rows cannot be read, that is an error which carries the others."""
    if unreadable:
        places = ", ".join(str(position) for position, _ in unreadable[:10])
        raise HistoryUnreadableError(
            f"{len(unreadable)} of {len(readable) + len(unreadable)} messages of session {session_id!r} cannot be read "
            f"(positions {places}); the others are in .readable, the reasons in .unreadable; restore the rows from a "
            "backup, or save the session again from .readable",
            readable=readable,
            unreadable=unreadable,
        )


def sessions(connection: sa.Connection, scope: str) -> list[str]:
    """Session ids, the one last written to first."""
    statement = (
        sa.select(_columns.session_id)
        .where(_columns.scope == scope, _columns.replaced_at.is_(None))
        .group_by(_columns.session_id)
        .order_by(sa.func.max(_columns.id).desc())
    )
    return list(connection.execute(statement).scalars())

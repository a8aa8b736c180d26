"""Conversations in SQL: saved whole, loaded exactly."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa

from jiyi.backends.sql.schema import conversation_history
from jiyi.errors import HistoryUnreadableError
from jiyi.model import clock
from jiyi.model.identity import new_id
from jiyi.model.message import Message, decode_message, encode_message

_columns = conversation_history.c


def _live(scope: str, session_id: str) -> tuple[sa.ColumnElement[bool], ...]:
    return (_columns.scope == scope, _columns.session_id == session_id, _columns.replaced_at.is_(None))


def save(connection: sa.Connection, scope: str, session_id: str, messages: Sequence[Message]) -> int:
    """Replace what differs and keep what is the same; returns how many rows were written.

    A conversation that only grew costs its new messages, and a row that is replaced stays in the table, marked.
    """
    statement = sa.select(_columns.id, _columns.position, _columns.content).where(*_live(scope, session_id))
    present = {row.position: row for row in connection.execute(statement)}
    now = clock.utc_now()
    encoded = [encode_message(message) for message in messages]
    replaced = [
        row.id
        for position, row in present.items()
        if position >= len(encoded) or row.content != encoded[position]
    ]
    for start in range(0, len(replaced), 500):
        chunk = replaced[start : start + 500]
        connection.execute(
            conversation_history.update().where(_columns.id.in_(chunk)).values(replaced_at=now)
        )
    rows = [
        {
            "scope": scope,
            "session_id": session_id,
            "position": position,
            "message_id": new_id(),
            "role": messages[position].role,
            "content": content,
            "created_at": now,
        }
        for position, content in enumerate(encoded)
        if position not in present or present[position].content != content
    ]
    if rows:
        connection.execute(conversation_history.insert(), rows)
    return len(rows)


def load(connection: sa.Connection, scope: str, session_id: str) -> list[Message]:
    """Every message in order; rows that cannot be decoded are reported together, none is dropped."""
    statement = (
        sa.select(_columns.id, _columns.position, _columns.content)
        .where(*_live(scope, session_id))
        .order_by(_columns.position, _columns.id)
    )
    readable: list[tuple[int, Message]] = []
    unreadable: list[tuple[int, str]] = []
    for row in connection.execute(statement):
        try:
            readable.append((row.position, decode_message(row.content)))
        except (TypeError, ValueError) as error:
            unreadable.append((row.position, f"row {row.id}: {error}"))
    if unreadable:
        places = ", ".join(str(position) for position, _ in unreadable[:10])
        raise HistoryUnreadableError(
            f"{len(unreadable)} of {len(readable) + len(unreadable)} messages of session {session_id!r} cannot be read "
            f"(positions {places}); the others are in .readable, the reasons in .unreadable; restore the rows from a "
            "backup, or save the session again from .readable",
            readable=readable,
            unreadable=unreadable,
        )
    return [message for _, message in readable]


def sessions(connection: sa.Connection, scope: str) -> list[str]:
    """Session ids, the one last written to first."""
    statement = (
        sa.select(_columns.session_id)
        .where(_columns.scope == scope, _columns.replaced_at.is_(None))
        .group_by(_columns.session_id)
        .order_by(sa.func.max(_columns.id).desc())
    )
    return list(connection.execute(statement).scalars())

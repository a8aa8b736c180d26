"""Conversations in SQL: saved whole, loaded exactly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from jiyi.backends.records.codec import entry_values, to_json
from jiyi.backends.records.requests import keep_request
from jiyi.backends.records.schema import conversation_history
from jiyi.backends.records.sql import Connection, Row, chunks
from jiyi.errors import HistoryUnreadableError
from jiyi.model import clock
from jiyi.model.category import MemoryCategory
from jiyi.model.entry import MAX_NAME, MESSAGE_TYPE, MemoryEntry, Source
from jiyi.model.identity import new_id
from jiyi.model.message import Message, decode_message, encode_message, imported_from, time_of_message
from jiyi.model.storable import storable
from jiyi.text.statements.keeping.off_record import MessageText, keepable_texts, takes_back

_TRUST: Final = {"user": "user", "assistant": "agent"}

OF_SESSION: Final = "scope = :scope AND session_id = :session_id"
"""The condition on rows of one session."""
LIVE: Final = f"{OF_SESSION} AND replaced_at IS NULL"
"""The condition on messages of one session that no later save has replaced."""
_MESSAGES = "FROM conversation_history WHERE"
_PRESENT = f"SELECT id, message_id, position, content, created_at {_MESSAGES} {LIVE} AND position >= :first"
_SESSIONS = (
    f"SELECT session_id {_MESSAGES} scope = :scope AND replaced_at IS NULL GROUP BY session_id ORDER BY max(id) DESC"
)
_BY_ID = f"SELECT message_id, content, created_at {_MESSAGES} scope = :scope AND message_id IN :ids"
_FORGOTTEN = (
    "(NOT EXISTS (SELECT 1 FROM memory_records WHERE id = {0}.message_id) AND EXISTS (SELECT 1 FROM memory_changes "
    "WHERE entry_id = {0}.message_id AND operation IN ('forget', 'erase')))"
)
_SAME_TEXT = (
    "SELECT 1 FROM conversation_history live WHERE live.scope = said.scope AND live.session_id = said.session_id "
    f"AND live.replaced_at IS NULL AND live.content = said.content AND NOT {_FORGOTTEN.format('live')}"
)
_UNDELETED = (
    "SELECT said.message_id, said.content, said.created_at FROM conversation_history said WHERE said.scope = :scope "
    f"AND said.message_id IN :ids AND CASE WHEN said.replaced_at IS NULL THEN NOT {_FORGOTTEN.format('said')} "
    f"ELSE EXISTS ({_SAME_TEXT}) END"
)
"""A message that only moved to another place, because one before it was taken out, has another id there."""
_INSERT = conversation_history.insert_of(
    ("scope", "session_id", "position", "message_id", "role", "content", "created_at")
)
_REPLACE = "UPDATE conversation_history SET replaced_at = :now WHERE id IN :ids"
_EPOCH = f"SELECT epoch, first_position FROM chat_epochs WHERE {OF_SESSION} ORDER BY epoch DESC LIMIT 1"
_LAST = f"SELECT position {_MESSAGES} {LIVE} ORDER BY position DESC LIMIT 1"
# The two rows that the position of a new message depends on, in one answer.
_PLACE = f"SELECT (SELECT first_position FROM chat_epochs WHERE {OF_SESSION} ORDER BY epoch DESC LIMIT 1), ({_LAST})"
_NEXT_POSITION = f"{_PLACE}, NULL"
_MAX_DISTANCE = 50
"""What a user asks not to keep was said at most so many messages before."""
_MAX_QUESTION_CHARACTERS = 50_000
"""A question is not read again for its reply if it is longer."""
_ASKED = (
    f"(SELECT CASE WHEN length(content) > {_MAX_QUESTION_CHARACTERS} THEN NULL ELSE content END {_MESSAGES} "
    f"{LIVE} AND role = 'user' AND position > ({_LAST}) - {_MAX_DISTANCE} ORDER BY position DESC LIMIT 1)"
)
_NEXT_POSITION_AND_QUESTION = f"{_PLACE}, {_ASKED}"
_NEAR = f"SELECT message_id, content {_MESSAGES} {LIVE} AND position >= :first AND position < :next ORDER BY position"
_IN_EPOCH = f"{OF_SESSION} AND epoch = :epoch"
_UNREPLACED = f"{_IN_EPOCH} AND replaced_at IS NULL"
_OUTDATED = f"{_IN_EPOCH} AND state = 'new' AND last_position >= :position"
_RETIRE_SUMMARIES = f"UPDATE chat_summaries SET replaced_at = :now WHERE {_UNREPLACED} AND last_position >= :position"
_SUMMARIZED_TO = f"SELECT max(last_position) FROM chat_summaries WHERE {_UNREPLACED}"
_FIRST_OUTDATED = f"SELECT min(first_position) FROM flush_candidates WHERE {_OUTDATED}"
_RETIRE = (
    f"UPDATE chat_flushes SET replaced_at = :now WHERE {_UNREPLACED} AND first_position >= :unsearched",
    # The messages before are the same, and stay marked as searched.
    f"UPDATE chat_flushes SET last_position = :unsearched - 1 WHERE {_UNREPLACED} AND last_position >= :unsearched",
    f"UPDATE flush_candidates SET state = 'rejected', state_at = :now, taken_by = 'replaced' WHERE {_OUTDATED}",
)


@dataclass(frozen=True, slots=True)
class SaveResult:
    """What a save did."""

    written: list[dict[str, Any] | None]
    """One for each row written: the columns of its entry, `None` where there is nothing to recall."""
    replaced: list[str]
    """Message ids of the rows that are no longer part of the record."""
    ids: list[str] = field(default_factory=list)
    """Message ids of the rows written, where they were added at the end."""
    withdrawn: list[str] = field(default_factory=list)
    """Message ids of rows that stay in the record, and that the user has asked not to keep since."""


def save(
    connection: Connection,
    scope: str,
    session_id: str,
    messages: Sequence[Message],
    times: Sequence[datetime] | None = None,
    *,
    said_at: datetime | None = None,
) -> SaveResult:
    """Replace what differs and keep what is the same.

    A conversation that only grew costs its new messages, and a row that is replaced stays in the table, marked. Only
    the current epoch is compared and replaced; what was said before the last reset stays as it is. `times` says when
    each message was said, where that is known; `said_at` when those were said that are new.
    """
    epoch, first = current_epoch(connection, scope, session_id)
    session = {"scope": scope, "session_id": session_id}
    present = {
        position - first: (row_id, message_id, content, created_at)
        for row_id, message_id, position, content, created_at in connection.rows(_PRESENT, {**session, "first": first})
    }
    now = clock.utc_now()
    encoded = [encode_message(message) for message in messages]
    replaced = {
        position: row for position, row in present.items() if position >= len(encoded) or row[2] != encoded[position]
    }
    for ids in chunks([row[0] for row in replaced.values()]):
        connection.execute(_REPLACE, {"now": now, "ids": ids})
    if replaced:
        _retire(connection, {**session, "epoch": epoch}, first + min(replaced), now)
    rows: list[dict[str, Any]] = [
        {
            **session,
            "position": first + position,
            "message_id": new_id(),
            "role": messages[position].role,
            "content": content,
            "created_at": times[position]
            if times is not None
            else said_at or _time_of(messages[position], present.get(position), now),
        }
        for position, content in enumerate(encoded)
        if position not in present or position in replaced
    ]
    if rows:
        connection.executemany(_INSERT, rows)
    written = {row["position"] - first for row in rows}
    # A conversation that only grew is not looked through from its beginning.
    start = max(min(written, default=len(messages)) - _MAX_DISTANCE, 0)
    kept = dict(enumerate(keepable_texts(list(map(_message_text, messages[start:]))), start))
    withdrawn = [
        present[position][1]
        for position, text in kept.items()
        if position not in written and not text and messages[position].text
    ]
    return SaveResult(
        [_values_of_message(row, messages[row["position"] - first], kept[row["position"] - first]) for row in rows],
        [row[1] for row in replaced.values()],
        withdrawn=withdrawn if any(takes_back(messages[each].text) for each in written) else [],
    )


def _time_of(message: Message, before: Row | None, now: datetime) -> datetime:
    """When a message was said. One that was only reworded was said when the row before it was."""
    return said_at_or(message, now if before is None else clock.of_driver(before[3]))


def said_at_or(message: Message, now: datetime) -> datetime:
    """When a message says that it was said; otherwise now."""
    own = time_of_message(message)
    return now if own is None else own


def load_dated(connection: Connection, scope: str, session_id: str) -> list[tuple[Message, datetime]]:
    """Every message since the last reset in order, and when it was said. Rows that cannot be decoded are reported."""
    first = current_epoch(connection, scope, session_id)[1]
    unreadable: list[tuple[int, str]] = []
    found: list[tuple[int, Message, datetime]] = []
    parameters = {"scope": scope, "session_id": session_id, "first": first}
    for row_id, _, position, content, created_at in connection.rows(f"{_PRESENT} ORDER BY position, id", parameters):
        message = decoded(content, position, row_id, unreadable)
        if message is not None:
            found.append((position, message, clock.of_driver(created_at)))
    refuse_unreadable(session_id, [(position, message) for position, message, _ in found], unreadable)
    return [(message, said_at) for _, message, said_at in found]


def current_epoch(connection: Connection, scope: str, session_id: str) -> tuple[int, int]:
    """The number of the current epoch of a session, and the position at which it begins."""
    row = connection.row(_EPOCH, {"scope": scope, "session_id": session_id})
    return (1, 0) if row is None else (row[0], row[1])


def _retire(connection: Connection, epoch: Mapping[str, Any], position: int, now: datetime) -> None:
    """Withdraw what was derived from messages of an epoch from `position` on: they were rewritten.

    A candidate that was found in messages before it as well goes too, so these are searched again, as far as no summary
    covers them.
    """
    params = {**epoch, "position": position, "now": now}
    connection.execute(_RETIRE_SUMMARIES, params)
    summarized_to = connection.scalar(_SUMMARIZED_TO, epoch)
    first = connection.scalar(_FIRST_OUTDATED, params)
    unsearched = position if first is None else min(position, int(first))
    if summarized_to is not None:
        unsearched = max(unsearched, int(summarized_to) + 1)
    for statement in _RETIRE:
        connection.execute(statement, {**params, "unsearched": unsearched})


def append(
    connection: Connection,
    scope: str,
    session_id: str,
    messages: Sequence[Message],
    now: datetime,
    *,
    said_at: datetime | None = None,
) -> SaveResult:
    """Add messages after the last one of the session, in its current epoch.

    Each was said at `said_at`, at the time that it names itself, or now.
    """
    session = {"scope": scope, "session_id": session_id}
    # A reply may repeat what the user has asked not to keep.
    replies = bool(messages) and messages[0].role != "user"
    statement = _NEXT_POSITION_AND_QUESTION if replies else _NEXT_POSITION
    begins, last, asked = connection.row(statement, session) or (None, None, None)
    first = max(begins or 0, 0 if last is None else last + 1)
    rows = [
        {
            **session,
            "position": position,
            "message_id": new_id(),
            "role": message.role,
            "content": encode_message(message),
            "created_at": said_at_or(message, now) if said_at is None else said_at,
        }
        for position, message in enumerate(messages, start=first)
    ]
    connection.insert(conversation_history, [(*row.values(), None) for row in rows])
    ids = [str(row["message_id"]) for row in rows]
    keep_request(connection, ids)
    before = [] if asked is None else [("", _decoded_or_empty(asked))]
    withdraws = any(message.role == "user" and takes_back(message.text) for message in messages)
    if withdraws or any(takes_back(message.text) for _, message in before):
        near = connection.rows(_NEAR, {**session, "first": first - _MAX_DISTANCE, "next": first})
        before = [(message_id, _decoded_or_empty(content)) for message_id, content in near]
    kept = keepable_texts([_message_text(message) for message in (*(message for _, message in before), *messages)])
    written = zip(rows, messages, kept[len(before) :], strict=True)
    withdrawn = [
        message_id
        for (message_id, message), text in zip(before, kept, strict=False)
        if withdraws and message.text and not text
    ]
    return SaveResult([_values_of_message(row, message, text) for row, message, text in written], [], ids, withdrawn)


def _message_text(message: Message) -> MessageText:
    return MessageText(message.role, message.name, message.text)


def _decoded_or_empty(content: str) -> Message:
    """The message of a row; one that cannot be read has nothing to withdraw."""
    return decoded(content, 0, 0, []) or Message("")


def messages_by_id(connection: Connection, scope: str, ids: Sequence[str]) -> list[tuple[str, Message, datetime]]:
    """(id, message, when it was said) of these messages of a scope, in the order asked for; replaced ones too."""
    return _in_order(connection, _BY_ID, scope, ids)


def undeleted_messages(connection: Connection, scope: str, ids: Sequence[str]) -> list[tuple[str, Message, datetime]]:
    """The same without those that were forgotten, or that are no longer part of their session."""
    return _in_order(connection, _UNDELETED, scope, ids)


def _in_order(connection: Connection, sql: str, scope: str, ids: Sequence[str]) -> list[tuple[str, Message, datetime]]:
    found = {row[0]: row for row in connection.rows(sql, {"scope": scope, "ids": list(ids)})}
    return [(i, decode_message(found[i][1]), clock.of_driver(found[i][2])) for i in ids if i in found]


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


def _values_of_message(row: Mapping[str, Any], message: Message, kept: str) -> dict[str, Any] | None:
    """What was said and may be kept, as the columns of an entry.

    System prompts and tool calls are not said by anybody.
    """
    text = _readable(kept)
    if message.role not in _TRUST or not text:
        return None
    said_at, message_id = row["created_at"], row["message_id"]
    name = _readable(str(message.name)) if message.name else None
    return {
        **_ENTRY,
        "id": message_id,
        "scope": row["scope"],
        "content": f"{name}: {text}" if name else text,
        "conversation_id": row["session_id"],
        "position": row["position"],
        "source": to_json(_source(message, message_id, name).to_dict()),
        "event_time": said_at,
        "created_at": said_at,
        "updated_at": said_at,
        "last_accessed_at": said_at,
    }


def _source(message: Message, message_id: str, name: str | None) -> Source:
    """Who said it. What was said elsewhere is trusted less than what was said here, whoever said it."""
    shown = (name or "")[:MAX_NAME] or None
    if imported_from(message) is not None:
        return Source(MESSAGE_TYPE, "import", (message_id,), name=shown, role=message.role)
    return Source(MESSAGE_TYPE, _TRUST[message.role], (message_id,), name=shown)


def _readable(text: str) -> str:
    return storable(text).strip()


def load(connection: Connection, scope: str, session_id: str) -> list[Message]:
    """Every message since the last reset in order."""
    return [message for message, _ in load_dated(connection, scope, session_id)]


def decoded(content: str, position: int, row: int, unreadable: list[tuple[int, str]]) -> Message | None:
    """The message of a row; one that cannot be decoded is added to `unreadable` and `None`."""
    try:
        return decode_message(content)
    except (TypeError, ValueError) as error:
        unreadable.append((position, f"row {row}: {error}"))
        return None


def refuse_unreadable(
    session_id: str, readable: Sequence[tuple[int, Message]], unreadable: Sequence[tuple[int, str]]
) -> None:
    """No message is dropped silently: rows that cannot be decoded are an error that carries the others."""
    if unreadable:
        places = ", ".join(str(position) for position, _ in unreadable[:10])
        raise HistoryUnreadableError(
            f"{len(unreadable)} of {len(readable) + len(unreadable)} messages of session {session_id!r} cannot be read "
            f"(positions {places}); the others are in .readable, the reasons in .unreadable; restore the rows from a "
            "backup, or save the session again from .readable",
            readable=readable,
            unreadable=unreadable,
        )


def sessions(connection: Connection, scope: str) -> list[str]:
    """Session ids, the one last written to first."""
    return connection.column(_SESSIONS, {"scope": scope})

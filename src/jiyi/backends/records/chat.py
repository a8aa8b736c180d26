"""SqlChatStore: what the chat room needs of the database, each change in one short transaction.

Messages are rows of `conversation_history`, the same that `save_history` writes. An epoch is a range of positions. The
window is what follows the newest summary of an epoch that is not replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final, TypeAlias

from jiyi.backends.records import chat_flushes as flushes
from jiyi.backends.records import entries, history, writes
from jiyi.backends.records.changelog import known_keys
from jiyi.backends.records.history import LIVE, OF_SESSION
from jiyi.backends.records.schema import SYSTEM_ROLES_SQL, chat_epochs, chat_summaries
from jiyi.backends.records.sql import Connection, Database, Row, moment
from jiyi.errors import InvalidInputError
from jiyi.model import clock
from jiyi.model.chat import (
    FIRST_EPOCH,
    Attempt,
    Candidate,
    Epoch,
    Erased,
    Snapshot,
    Span,
    StoredMessage,
    Summary,
)
from jiyi.model.identity import new_id, text_hash
from jiyi.model.message import Message
from jiyi.model.storable import storable

StopAt: TypeAlias = Callable[[StoredMessage], bool]

_ENDLESS: Final = 1 << 62
_BATCH: Final = 64
_SELECT_MESSAGE = f"SELECT message_id, position, content, id, created_at FROM conversation_history WHERE {LIVE}"
_NEWEST_FIRST = f"{_SELECT_MESSAGE} AND position > :after ORDER BY position DESC"
_OLDEST_FIRST = f"{_SELECT_MESSAGE} AND position > :after AND position < :before ORDER BY position"
_SYSTEM_MESSAGES = (
    f"{_SELECT_MESSAGE} AND {SYSTEM_ROLES_SQL} AND position >= :first AND position < :before ORDER BY position"
)
_COUNT_BETWEEN = (
    f"SELECT count(*) FROM conversation_history WHERE {LIVE} AND position > :after AND position < :before "
    f"AND NOT ({SYSTEM_ROLES_SQL})"
)
_MESSAGES_OF_SESSION = f"SELECT message_id FROM conversation_history WHERE {OF_SESSION}"
_HIGHEST_POSITION = f"SELECT max(position) FROM conversation_history WHERE {OF_SESSION}"
_ROWS_OF_SPAN = (
    f"SELECT count(*), max(id) FROM conversation_history WHERE {LIVE} "
    "AND position >= :first_position AND position <= :last_position"
)
_EPOCHS = f"SELECT epoch, first_position, started_at FROM chat_epochs WHERE {OF_SESSION} ORDER BY epoch"
_CURRENT_EPOCH = f"{_EPOCHS} DESC LIMIT 1"
_IN_EPOCH = f"{OF_SESSION} AND epoch = :epoch"
_STANDING = f"{chat_summaries.select} WHERE {_IN_EPOCH} AND replaced_at IS NULL ORDER BY generation"
_NEWEST_SUMMARY = f"{_STANDING} DESC LIMIT 1"
_SUMMARY = f"{chat_summaries.select} WHERE id = :id AND {OF_SESSION}"
_LAST_GENERATION = f"SELECT max(generation) FROM chat_summaries WHERE {_IN_EPOCH}"
_UNFLUSHED = (
    "SELECT h.scope, h.session_id FROM conversation_history h "
    f"WHERE h.replaced_at IS NULL AND NOT ({SYSTEM_ROLES_SQL}) "
    "{and_scopes}GROUP BY h.scope, h.session_id "
    "HAVING max(h.created_at) >= :since AND max(h.created_at) < :before AND max(h.position) > coalesce("
    "(SELECT max(f.last_position) FROM chat_flushes f WHERE f.scope = h.scope AND f.session_id = h.session_id "
    "AND f.replaced_at IS NULL), -1) AND max(h.position) >= coalesce((SELECT max(e.first_position) FROM chat_epochs e "
    "WHERE e.scope = h.scope AND e.session_id = h.session_id), 0) ORDER BY h.scope, h.session_id"
)
_DERIVED: Final = ("chat_summaries", "chat_flushes", "flush_candidates", "chat_compactions")
"""Tables of what was derived from the messages of an epoch."""


class SqlChatStore:
    """Conversations with epochs, summaries, flushes and candidates in one SQL database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    # --- messages -------------------------------------------------------------------------------------------------

    def append(
        self,
        scope: str,
        session_id: str,
        messages: Sequence[Message],
        *,
        actor: str,
        recallable: bool,
        said_at: datetime | None = None,
    ) -> list[str]:
        """Add messages to the current epoch, in one transaction; returns their ids, durable."""
        with self._database.write((scope,)) as connection:
            saved = history.append(connection, scope, session_id, messages, clock.utc_now(), said_at=said_at)
            writes.remember_messages(connection, scope, saved, actor, recallable=recallable)
        return saved.ids

    def insert(
        self, scope: str, session_id: str, index: int, message: Message, *, actor: str, recallable: bool
    ) -> None:
        """Put a message before the one at an index of the current epoch, as `list.insert` does, in one transaction."""
        with self._database.write((scope,)) as connection:
            said = history.load_dated(connection, scope, session_id)
            said.insert(index, (message, history.said_at_or(message, clock.utc_now())))
            saved = history.save(connection, scope, session_id, *_unzipped(said))
            writes.remember_messages(connection, scope, saved, actor, recallable=recallable)

    def remove(self, scope: str, session_id: str, index: int, *, actor: str, recallable: bool) -> Message | None:
        """Take the message at an index of the current epoch out, in one transaction; `None` when there is none."""
        with self._database.write((scope,)) as connection:
            said = history.load_dated(connection, scope, session_id)
            if not -len(said) <= index < len(said):
                return None
            message, _ = said.pop(index)
            saved = history.save(connection, scope, session_id, *_unzipped(said))
            writes.remember_messages(connection, scope, saved, actor, recallable=recallable)
            return message

    def snapshot(self, scope: str, session_id: str, stop_at: StopAt) -> Snapshot:
        """The newest messages that no summary replaces, and all system messages.

        Read backwards until `stop_at` is true.
        """
        session = _session(scope, session_id)
        with self._database.read((scope,)) as connection:
            epoch = _epoch_of(connection.row(_CURRENT_EPOCH, session))
            summary = _newest_summary(connection, {**session, "epoch": epoch.epoch})
            after = summary.last_position if summary is not None else epoch.first_position - 1
            with connection.stream(_NEWEST_FIRST, {**session, "after": after}, batch=_BATCH) as rows:
                recent, complete = _read(rows, session_id, stop_at=stop_at)
            before = recent[-1].position if recent else _ENDLESS
            bounds = {**session, "first": epoch.first_position, "before": before}
            system_messages, _ = _read(connection.rows(_SYSTEM_MESSAGES, bounds), session_id)
        return Snapshot(epoch, summary, tuple(system_messages), tuple(reversed(recent)), complete)

    def newest(self, scope: str, session_id: str, count: int) -> list[StoredMessage]:
        """The newest messages of the current epoch, under a summary or not, oldest first."""
        session = _session(scope, session_id)
        left = iter(range(1, count))
        with self._database.read((scope,)) as connection:
            after = _epoch_of(connection.row(_CURRENT_EPOCH, session)).first_position - 1
            with connection.stream(_NEWEST_FIRST, {**session, "after": after}, batch=_BATCH) as rows:
                found, _ = _read(rows, session_id, stop_at=lambda _: next(left, None) is None)
        return found[::-1]

    def following(
        self, scope: str, session_id: str, *, after: int, before: int, stop_at: StopAt | None = None
    ) -> tuple[list[StoredMessage], bool]:
        """Messages between two positions, oldest first, until `stop_at` is true; and whether these are all."""
        bounds = {**_session(scope, session_id), "after": after, "before": before}
        with self._database.read((scope,)) as connection:
            if stop_at is None:
                return _read(connection.rows(_OLDEST_FIRST, bounds), session_id)
            with connection.stream(_OLDEST_FIRST, bounds, batch=_BATCH) as rows:
                return _read(rows, session_id, stop_at=stop_at)

    def count_between(self, scope: str, session_id: str, *, after: int, before: int) -> int:
        """How many messages are between two positions, system messages not counted."""
        bounds = {**_session(scope, session_id), "after": after, "before": before}
        with self._database.read((scope,)) as connection:
            return int(connection.scalar(_COUNT_BETWEEN, bounds))

    # --- epochs ---------------------------------------------------------------------------------------------------

    def epochs(self, scope: str, session_id: str) -> list[Epoch]:
        """The epochs that are there, oldest first; a session that was never reset has one."""
        with self._database.read((scope,)) as connection:
            return _epochs(connection, scope, session_id)

    def epoch_messages(self, scope: str, session_id: str, epoch: int | None) -> list[StoredMessage]:
        """Every message of an epoch in order; `None` means the current one."""
        with self._database.read((scope,)) as connection:
            first, end = _range(_epochs(connection, scope, session_id), session_id, epoch)
            bounds = {**_session(scope, session_id), "after": first - 1, "before": end}
            return _read(connection.rows(_OLDEST_FIRST, bounds), session_id)[0]

    def start_epoch(self, scope: str, session_id: str) -> Epoch:
        """Begin a new epoch; an epoch without messages is continued."""
        session = _session(scope, session_id)
        with self._database.write((scope,)) as connection:
            known = _epochs(connection, scope, session_id)
            current = known[-1]
            # Replaced rows count too: they belong to the epoch in which they were replaced.
            last = connection.scalar(_HIGHEST_POSITION, session)
            if last is None or last < current.first_position:
                return current
            started = Epoch(current.epoch + 1, last + 1, clock.utc_now())
            new = [started] if current.started_at is not None or len(known) > 1 else [current, started]
            rows = [
                {**session, "epoch": row.epoch, "first_position": row.first_position, "started_at": row.started_at}
                for row in new
            ]
            connection.executemany(chat_epochs.insert, rows)
            return started

    def delete_epoch(self, scope: str, session_id: str, epoch: int, *, actor: str) -> Erased:
        """Delete an epoch before the current one for good: messages, their entries, and what was derived."""
        with self._database.write((scope,)) as connection:
            known = _epochs(connection, scope, session_id)
            if epoch == known[-1].epoch:
                raise InvalidInputError(
                    f"epoch {epoch} of session {session_id!r} is the current one; reset() first, or forget_session()"
                )
            return _erase(connection, scope, session_id, epoch, _range(known, session_id, epoch), actor)

    def forget_session(self, scope: str, session_id: str, *, actor: str, facts: bool = False) -> Erased:
        """Delete a session for good, with everything that was derived from it here; with `facts` also these."""
        # Tags that no other entry has are erased with facts, and only the whole store can tell which these are.
        with self._database.write(None if facts else (scope,)) as connection:
            made = entries.facts_of_session(connection, scope, session_id)
            gone, kept = 0, sum(fact.is_active for fact in made)
            if facts:
                said = connection.column(_MESSAGES_OF_SESSION, _session(scope, session_id))
                gone, kept = entries.forget_facts(connection, made, said, actor)
            erased = _erase(connection, scope, session_id, None, (-_ENDLESS, _ENDLESS), actor)
            if erased.messages:
                writes.mark_erased(connection, scope, _mark_of(session_id), actor)
            return replace(erased, facts=gone, facts_kept=kept)

    def forgotten_sessions(self, scope: str, session_ids: Sequence[str]) -> set[str]:
        """Which of these sessions were deleted, and have no message now."""
        marks = {_mark_of(session_id): session_id for session_id in session_ids}
        with self._database.read((scope,)) as connection:
            found = [marks[mark] for mark in known_keys(connection, scope, list(marks))]
            return {each for each in found if connection.scalar(_HIGHEST_POSITION, _session(scope, each)) is None}

    # --- summaries ------------------------------------------------------------------------------------------------

    def summaries(self, scope: str, session_id: str, epoch: int) -> list[Summary]:
        """The summaries of an epoch that are not replaced, oldest first."""
        with self._database.read((scope,)) as connection:
            rows = connection.rows(_STANDING, {**_session(scope, session_id), "epoch": epoch})
        return [_summary_of(row) for row in rows]

    def summary(self, scope: str, session_id: str, summary_id: str) -> Summary | None:
        """One summary by its id, also a replaced one."""
        with self._database.read((scope,)) as connection:
            row = connection.row(_SUMMARY, {**_session(scope, session_id), "id": summary_id})
        return _summary_of(row) if row is not None else None

    def add_summary(self, summary: Summary, span: Span, *, trigger: str) -> bool:
        """Add the next summary: only if no other was added, and the messages under it are still the same.

        The attempt is recorded as done in the same transaction. `False` when another one was first.
        """
        with self._database.write((summary.scope,)) as connection:
            if not _unchanged(connection, summary.scope, summary.session_id, span):
                return False
            epoch = {**_session(summary.scope, summary.session_id), "epoch": summary.epoch}
            last = connection.scalar(_LAST_GENERATION, epoch) or 0
            newest = _newest_summary(connection, epoch)
            if last + 1 != summary.generation or summary.previous_id != (newest.id if newest is not None else None):
                return False
            row = {name: getattr(summary, name) for name in chat_summaries.names}
            connection.execute(chat_summaries.insert, {**row, "content": storable(summary.content)})
            done = Attempt(
                id=new_id(),
                trigger=trigger,
                state="done",
                reason="",
                attempt=0,
                next_attempt_at=None,
                created_at=summary.created_at,
            )
            flushes.add_attempt(connection, epoch, done)
        return True

    def next_generation(self, scope: str, session_id: str, epoch: int) -> int:
        """The generation that the next summary of this epoch takes."""
        with self._database.read((scope,)) as connection:
            last = connection.scalar(_LAST_GENERATION, {**_session(scope, session_id), "epoch": epoch})
        return (last or 0) + 1

    # --- flushes and candidates -----------------------------------------------------------------------------------

    def flushed_to(self, scope: str, session_id: str, epoch: Epoch) -> int:
        """The last position of the epoch that was searched for candidates."""
        with self._database.read((scope,)) as connection:
            return flushes.flushed_to(connection, {**_session(scope, session_id), "epoch": epoch.epoch}, epoch)

    def add_flush(
        self,
        scope: str,
        session_id: str,
        span: Span,
        candidates: Sequence[Candidate],
        *,
        trigger: str,
        made_by: str,
    ) -> bool:
        """Mark a span as searched and keep its candidates, in one transaction; `False` when it already is."""
        session = _session(scope, session_id)
        with self._database.write((scope,)) as connection:
            current = _epoch_of(connection.row(_CURRENT_EPOCH, session))
            if not _unchanged(connection, scope, session_id, span):
                return False
            epoch = {**session, "epoch": current.epoch}
            if flushes.flushed_to(connection, epoch, current) + 1 != span.first_position:
                return False
            flushes.add_flush(connection, epoch, span, candidates, trigger=trigger, made_by=made_by)
        return True

    def candidates(
        self, scope: str, *, session_id: str | None = None, state: str | None = None, limit: int = 1_000
    ) -> list[Candidate]:
        """Candidates of the scope, oldest first."""
        with self._database.read((scope,)) as connection:
            return flushes.candidates(connection, scope, session_id=session_id, state=state, limit=limit)

    def settle_candidate(self, scope: str, candidate_id: str, *, state: str, by: str) -> bool:
        """Take or reject a new candidate; `False` when it is not there or was settled before."""
        with self._database.write((scope,)) as connection:
            return flushes.settle_candidate(connection, scope, candidate_id, state=state, by=by)

    def unflushed_sessions(
        self, *, since: datetime, before: datetime, scopes: Sequence[str] | None = None
    ) -> list[tuple[str, str]]:
        """(scope, session) whose last message was said in this time and was not searched for candidates yet."""
        sql = _UNFLUSHED.format(and_scopes="" if scopes is None else "AND h.scope IN :scopes ")
        params: dict[str, Any] = {"since": since, "before": before}
        if scopes is not None:
            params["scopes"] = [*scopes]
        with self._database.read(scopes) as connection:
            return [(str(scope), str(session)) for scope, session in connection.rows(sql, params)]

    # --- attempts -------------------------------------------------------------------------------------------------

    def add_attempt(self, scope: str, session_id: str, epoch: int, attempt: Attempt) -> None:
        """Record the outcome of an attempt to compact."""
        with self._database.write((scope,)) as connection:
            flushes.add_attempt(connection, {**_session(scope, session_id), "epoch": epoch}, attempt)

    def last_attempt(self, scope: str, session_id: str, epoch: int) -> Attempt | None:
        """The last attempt in this epoch."""
        with self._database.read((scope,)) as connection:
            return flushes.last_attempt(connection, {**_session(scope, session_id), "epoch": epoch})

    def failing_sessions(self, since: datetime) -> int:
        """How many sessions of all scopes have failed in their last attempt, in their current epoch, since then."""
        with self._database.read() as connection:
            return flushes.failing_sessions(connection, since)


def _session(scope: str, session_id: str) -> dict[str, Any]:
    return {"scope": scope, "session_id": session_id}


def _unzipped(said: Sequence[tuple[Message, datetime]]) -> tuple[list[Message], list[datetime]]:
    return [message for message, _ in said], [when for _, when in said]


def _read(rows: Iterable[Row], session_id: str, *, stop_at: StopAt | None = None) -> tuple[list[StoredMessage], bool]:
    """Rows of `_SELECT_MESSAGE` as messages, until there are enough; and whether these are all."""
    found: list[StoredMessage] = []
    unreadable: list[tuple[int, str]] = []
    complete = True
    for message_id, position, content, row, created_at in rows:
        message = history.decoded(content, position, row, unreadable)
        if message is None:
            continue
        found.append(StoredMessage(message_id, position, message, row, moment(created_at)))
        if stop_at is not None and stop_at(found[-1]):
            complete = False
            break
    history.refuse_unreadable(session_id, [(one.position, one.message) for one in found], unreadable)
    return found, complete


def _epoch_of(row: Row | None) -> Epoch:
    return FIRST_EPOCH if row is None else Epoch(row[0], row[1], moment(row[2]))


def _epochs(connection: Connection, scope: str, session_id: str) -> list[Epoch]:
    return [_epoch_of(row) for row in connection.rows(_EPOCHS, _session(scope, session_id))] or [FIRST_EPOCH]


def _range(known: Sequence[Epoch], session_id: str, epoch: int | None) -> tuple[int, int]:
    """The positions of an epoch: the first, and the first that is no longer in it."""
    if epoch is None:
        return known[-1].first_position, _ENDLESS
    for place, one in enumerate(known):
        if one.epoch == epoch:
            return one.first_position, known[place + 1].first_position if place + 1 < len(known) else _ENDLESS
    there = ", ".join(str(one.epoch) for one in known)
    raise InvalidInputError(f"session {session_id!r} has no epoch {epoch}; there are {there}")


def _summary_of(row: Row) -> Summary:
    return Summary(**chat_summaries.values(row))


def _newest_summary(connection: Connection, epoch: dict[str, Any]) -> Summary | None:
    row = connection.row(_NEWEST_SUMMARY, epoch)
    return _summary_of(row) if row is not None else None


def _unchanged(connection: Connection, scope: str, session_id: str, span: Span) -> bool:
    """Whether the span is in the current epoch and holds the rows it held when it was read."""
    session = _session(scope, session_id)
    if _epoch_of(connection.row(_CURRENT_EPOCH, session)).epoch != span.epoch:
        return False
    bounds = {**session, "first_position": span.first_position, "last_position": span.last_position}
    return connection.row(_ROWS_OF_SPAN, bounds) == (span.count, span.last_row)


def _mark_of(session_id: str) -> str:
    """The key of the erasing line by which an import knows that a session was deleted. It does not tell the name."""
    return f"forgotten session {text_hash(session_id)}"


def _erase(
    connection: Connection,
    scope: str,
    session_id: str,
    epoch: int | None,
    positions: tuple[int, int],
    actor: str,
) -> Erased:
    """Delete an epoch of a session, or all of it: messages, replaced ones too, and everything derived from them."""
    inside = {**_session(scope, session_id), "first": positions[0], "end": positions[1]}
    messages = f"FROM conversation_history WHERE {OF_SESSION} AND position >= :first AND position < :end"
    entries = writes.erase_messages(
        connection, scope, connection.column(f"SELECT message_id {messages}", inside), actor
    )
    deleted = connection.execute(f"DELETE {messages}", inside).rowcount
    own, params = OF_SESSION, _session(scope, session_id)
    if epoch is not None:
        own, params = _IN_EPOCH, {**params, "epoch": epoch}
    counts = {
        table: connection.execute(f"DELETE FROM {table} WHERE {own}", params).rowcount
        for table in (*_DERIVED, "chat_epochs")
    }
    return Erased(
        session_id,
        epoch,
        messages=deleted,
        entries=entries,
        summaries=counts["chat_summaries"],
        candidates=counts["flush_candidates"],
    )

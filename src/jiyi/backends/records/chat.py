"""SqlChatStore: what the chat room needs of the database, each change in one short transaction.

Messages are rows of `conversation_history`, the same that `save_history` writes. An epoch is a range of positions; the
newest summary of an epoch that is not replaced is the pointer, and the window is what follows it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from jiyi.backends.records import history
from jiyi.backends.records import store as records
from jiyi.backends.records.prepared import Prepared
from jiyi.backends.records.schema import (
    chat_compactions,
    chat_epochs,
    chat_flushes,
    chat_summaries,
    conversation_history,
    flush_candidates,
)
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
from jiyi.model.identity import new_id
from jiyi.model.message import Message
from jiyi.model.storable import storable

_messages, _epochs, _summaries = conversation_history.c, chat_epochs.c, chat_summaries.c
_flushes, _candidates, _attempts = chat_flushes.c, flush_candidates.c, chat_compactions.c

_SESSION = (_messages.scope == sa.bindparam("scope_"), _messages.session_id == sa.bindparam("session_"))
_LIVE = (*_SESSION, _messages.replaced_at.is_(None))
_ROW = sa.select(_messages.message_id, _messages.position, _messages.content, _messages.id)
# What `get` runs is compiled once.
_CURRENT_EPOCH = (
    sa.select(_epochs.epoch, _epochs.first_position, _epochs.started_at)
    .where(_epochs.scope == sa.bindparam("scope_"), _epochs.session_id == sa.bindparam("session_"))
    .order_by(_epochs.epoch.desc())
    .limit(sa.literal_column("1"))
)
_EPOCH = Prepared(_CURRENT_EPOCH)
_POINTER = Prepared(
    sa.select(chat_summaries)
    .where(
        _summaries.scope == sa.bindparam("scope_"),
        _summaries.session_id == sa.bindparam("session_"),
        _summaries.epoch == sa.bindparam("epoch_"),
        _summaries.replaced_at.is_(None),
    )
    .order_by(_summaries.generation.desc())
    .limit(sa.literal_column("1"))
)
_NEWEST_FIRST = Prepared(
    _ROW.where(*_LIVE, _messages.position > sa.bindparam("after_")).order_by(_messages.position.desc())
)
_OLDEST_FIRST = Prepared(
    _ROW.where(
        *_LIVE, _messages.position > sa.bindparam("after_"), _messages.position < sa.bindparam("before_")
    ).order_by(_messages.position)
)
# The words of the index: only then does the engine know that it has all rows that are asked for.
_PROMPTS = Prepared(
    _ROW.where(
        *_LIVE,
        sa.text("role IN ('system', 'developer')"),
        _messages.position >= sa.bindparam("first_"),
        _messages.position < sa.bindparam("before_"),
    ).order_by(_messages.position)
)
_BATCH = 64
_ENDLESS = 1 << 62
_SUMMARY_NAMES = tuple(chat_summaries.c.keys())

Enough = Callable[[StoredMessage], bool]


class SqlChatStore:
    """Conversations with epochs, summaries, flushes and candidates in one SQL database."""

    def __init__(self, database: records.Database) -> None:
        self._database = database

    # --- messages -------------------------------------------------------------------------------------------------

    def append(
        self, scope: str, session_id: str, messages: Sequence[Message], *, actor: str, recallable: bool
    ) -> list[str]:
        """Add messages to the current epoch, in one transaction; returns their ids, durable."""
        with self._database.write((scope,)) as connection:
            saved = history.append(connection, scope, session_id, messages, clock.utc_now())
            records.remember_messages(connection, saved, actor, recallable=recallable)
        return saved.ids

    def snapshot(self, scope: str, session_id: str, enough: Enough) -> Snapshot:
        """The newest messages that no summary stands for, read backwards until `enough` says so, and all prompts."""
        session = {"scope_": scope, "session_": session_id}
        with self._database.read((scope,)) as connection:
            epoch = _epoch_of(_EPOCH.run(connection, session).fetchone())
            found = _POINTER.run(connection, {**session, "epoch_": epoch.epoch}).fetchone()
            summary = _summary_of(found) if found is not None else None
            after = summary.last_position if summary is not None else epoch.first_position - 1
            with _NEWEST_FIRST.stream(connection, {**session, "after_": after}) as newest:
                recent, complete = _read(newest, session_id, enough=enough)
            before = recent[-1].position if recent else _ENDLESS
            prompts, _ = _read(
                _PROMPTS.run(connection, {**session, "first_": epoch.first_position, "before_": before}), session_id
            )
        return Snapshot(epoch, summary, tuple(prompts), tuple(reversed(recent)), complete)

    def following(
        self, scope: str, session_id: str, *, after: int, before: int, enough: Enough | None = None
    ) -> tuple[list[StoredMessage], bool]:
        """Messages between two positions, oldest first, until `enough` says so; and whether these are all."""
        bounds = {"scope_": scope, "session_": session_id, "after_": after, "before_": before}
        with self._database.read((scope,)) as connection:
            if enough is None:
                return _read(_OLDEST_FIRST.run(connection, bounds), session_id)
            with _OLDEST_FIRST.stream(connection, bounds) as oldest:
                return _read(oldest, session_id, enough=enough)

    def count_between(self, scope: str, session_id: str, *, after: int, before: int) -> int:
        """How many messages stand between two positions, prompts not counted."""
        statement = (
            sa.select(sa.func.count())
            .select_from(conversation_history)
            .where(*_live(scope, session_id), _messages.position > after, _messages.position < before)
            .where(_messages.role.not_in(("system", "developer")))
        )
        with self._database.read((scope,)) as connection:
            return int(connection.execute(statement).scalar_one())

    # --- epochs ---------------------------------------------------------------------------------------------------

    def epochs(self, scope: str, session_id: str) -> list[Epoch]:
        """The epochs that are there, oldest first; a session that was never reset has one."""
        with self._database.read((scope,)) as connection:
            return _epoch_list(connection, scope, session_id)

    def epoch_messages(self, scope: str, session_id: str, epoch: int | None) -> list[StoredMessage]:
        """Every message of an epoch in order; `None` means the current one."""
        with self._database.read((scope,)) as connection:
            first, end = _range(_epoch_list(connection, scope, session_id), session_id, epoch)
            bounds = {"scope_": scope, "session_": session_id, "after_": first - 1, "before_": end}
            return _read(_OLDEST_FIRST.run(connection, bounds), session_id)[0]

    def start_epoch(self, scope: str, session_id: str) -> Epoch:
        """Begin a new epoch; one in which nothing was said yet goes on."""
        with self._database.write((scope,)) as connection:
            known = _epoch_list(connection, scope, session_id)
            current = known[-1]
            # Replaced rows count too: they belong to the epoch in which they were replaced.
            highest = sa.select(sa.func.max(_messages.position)).where(
                _messages.scope == scope, _messages.session_id == session_id
            )
            last = connection.execute(highest).scalar()
            if last is None or last < current.first_position:
                return current
            started = Epoch(current.epoch + 1, last + 1, clock.utc_now())
            rows = [started] if current.started_at is not None or len(known) > 1 else [current, started]
            session = {"scope": scope, "session_id": session_id}
            connection.execute(
                chat_epochs.insert(),
                [
                    {
                        **session,
                        "epoch": row.epoch,
                        "first_position": row.first_position,
                        "started_at": row.started_at,
                    }
                    for row in rows
                ],
            )
            return started

    def delete_epoch(self, scope: str, session_id: str, epoch: int, *, actor: str) -> Erased:
        """Delete an epoch before the current one for good: messages, what recall had of them, and what was derived."""
        with self._database.write((scope,)) as connection:
            known = _epoch_list(connection, scope, session_id)
            if epoch == known[-1].epoch:
                raise InvalidInputError(
                    f"epoch {epoch} of session {session_id!r} is the current one; reset() first, or forget_session()"
                )
            first, end = _range(known, session_id, epoch)
            inside = (_messages.position >= first, _messages.position < end)
            receipt = _erase(connection, scope, session_id, epoch, inside, actor)
            own = (_epochs.scope == scope, _epochs.session_id == session_id, _epochs.epoch == epoch)
            connection.execute(chat_epochs.delete().where(*own))
            return receipt

    def forget_session(self, scope: str, session_id: str, *, actor: str) -> Erased:
        """Delete a session for good, with everything that was made of it here."""
        with self._database.write((scope,)) as connection:
            receipt = _erase(connection, scope, session_id, None, (), actor)
            connection.execute(chat_epochs.delete().where(_epochs.scope == scope, _epochs.session_id == session_id))
            return receipt

    # --- summaries ------------------------------------------------------------------------------------------------

    def summaries(self, scope: str, session_id: str, epoch: int) -> list[Summary]:
        """The summaries of an epoch that stand, oldest first."""
        statement = (
            sa.select(chat_summaries)
            .where(*_of(chat_summaries, scope, session_id, epoch), _summaries.replaced_at.is_(None))
            .order_by(_summaries.generation)
        )
        with self._database.read((scope,)) as connection:
            return [Summary(**row._mapping) for row in connection.execute(statement)]

    def summary(self, scope: str, session_id: str, summary_id: str) -> Summary | None:
        """One summary by its id, also one that stands for nothing any more."""
        statement = sa.select(chat_summaries).where(
            _summaries.id == summary_id, _summaries.scope == scope, _summaries.session_id == session_id
        )
        with self._database.read((scope,)) as connection:
            row = connection.execute(statement).one_or_none()
            return Summary(**row._mapping) if row is not None else None

    def add_summary(self, summary: Summary, span: Span, *, trigger: str) -> bool:
        """Move the pointer: only if nobody else has, and the messages under it are still the same.

        The attempt is written down as done in the same transaction. `False` when somebody else was first.
        """
        with self._database.write((summary.scope,)) as connection:
            if not self._unchanged(connection, summary.scope, summary.session_id, span):
                return False
            place = _of(chat_summaries, summary.scope, summary.session_id, summary.epoch)
            last = connection.execute(sa.select(sa.func.max(_summaries.generation)).where(*place)).scalar() or 0
            session = {"scope_": summary.scope, "session_": summary.session_id, "epoch_": summary.epoch}
            standing = _POINTER.run(connection, session).fetchone()
            pointer = _summary_of(standing).id if standing is not None else None
            if last + 1 != summary.generation or pointer != summary.previous_id:
                return False
            row = {name: getattr(summary, name) for name in _SUMMARY_NAMES}
            connection.execute(chat_summaries.insert(), [{**row, "content": storable(summary.content)}])
            _write_attempt(
                connection,
                summary.scope,
                summary.session_id,
                summary.epoch,
                Attempt(
                    id=new_id(),
                    trigger=trigger,
                    state="done",
                    reason="",
                    attempt=0,
                    next_attempt_at=None,
                    created_at=summary.created_at,
                ),
            )
        return True

    def next_generation(self, scope: str, session_id: str, epoch: int) -> int:
        """The generation that the next summary of this epoch takes."""
        place = _of(chat_summaries, scope, session_id, epoch)
        with self._database.read((scope,)) as connection:
            return (connection.execute(sa.select(sa.func.max(_summaries.generation)).where(*place)).scalar() or 0) + 1

    # --- flushes --------------------------------------------------------------------------------------------------

    def flushed_to(self, scope: str, session_id: str, epoch: Epoch) -> int:
        """The last position of the epoch that was looked through."""
        with self._database.read((scope,)) as connection:
            return _flushed_to(connection, scope, session_id, epoch.epoch, epoch.first_position)

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
        """Mark a span as looked through and keep what was found, in one transaction; `False` when it already is."""
        with self._database.write((scope,)) as connection:
            epoch = _epoch_of(_EPOCH.run(connection, {"scope_": scope, "session_": session_id}).fetchone())
            if epoch.epoch != span.epoch or not self._unchanged(connection, scope, session_id, span):
                return False
            done = _flushed_to(connection, scope, session_id, epoch.epoch, epoch.first_position)
            if done + 1 != span.first_position:
                return False
            last = sa.select(sa.func.max(_flushes.number)).where(*_of(chat_flushes, scope, session_id, epoch.epoch))
            connection.execute(
                chat_flushes.insert().values(
                    id=new_id(),
                    scope=scope,
                    session_id=session_id,
                    epoch=epoch.epoch,
                    number=(connection.execute(last).scalar() or 0) + 1,
                    first_position=span.first_position,
                    last_position=span.last_position,
                    trigger=trigger,
                    made_by=made_by,
                    created_at=clock.utc_now(),
                )
            )
            if candidates:
                names = flush_candidates.c.keys()
                connection.execute(
                    flush_candidates.insert(),
                    [
                        {**{name: getattr(one, name) for name in names}, "content": storable(one.content)}
                        for one in candidates
                    ],
                )
        return True

    def candidates(
        self, scope: str, *, session_id: str | None = None, state: str | None = None, limit: int = 1_000
    ) -> list[Candidate]:
        """Candidates of the scope, oldest first."""
        statement = sa.select(flush_candidates).where(_candidates.scope == scope)
        if session_id is not None:
            statement = statement.where(_candidates.session_id == session_id)
        if state is not None:
            statement = statement.where(_candidates.state == state)
        with self._database.read((scope,)) as connection:
            rows = connection.execute(statement.order_by(_candidates.id).limit(limit))
            return [Candidate(**row._mapping) for row in rows]

    def settle_candidate(self, scope: str, candidate_id: str, *, state: str, by: str) -> bool:
        """Take or reject a new candidate; `False` when it is not there or somebody else was first."""
        statement = (
            flush_candidates.update()
            .where(_candidates.id == candidate_id, _candidates.scope == scope, _candidates.state == "new")
            .values(state=state, state_at=clock.utc_now(), taken_by=by)
        )
        with self._database.write((scope,)) as connection:
            return connection.execute(statement).rowcount == 1

    # --- attempts -------------------------------------------------------------------------------------------------

    def add_attempt(self, scope: str, session_id: str, epoch: int, attempt: Attempt) -> None:
        """Write down how a try went."""
        with self._database.write((scope,)) as connection:
            _write_attempt(connection, scope, session_id, epoch, attempt)

    def last_attempt(self, scope: str, session_id: str, epoch: int) -> Attempt | None:
        """The last try in this epoch."""
        statement = (
            sa.select(*(_attempts[name] for name in _ATTEMPT_NAMES))
            .where(*_of(chat_compactions, scope, session_id, epoch))
            .order_by(_attempts.id.desc())
            .limit(1)
        )
        with self._database.read((scope,)) as connection:
            row = connection.execute(statement).one_or_none()
            return Attempt(**row._mapping) if row is not None else None

    def failing_sessions(self, since: datetime) -> int:
        """How many sessions of all scopes have failed in their last try, in their current epoch, since then."""
        last = sa.select(sa.func.max(_attempts.id)).group_by(_attempts.scope, _attempts.session_id).scalar_subquery()
        current = (
            sa.select(sa.func.max(_epochs.epoch))
            .where(_epochs.scope == _attempts.scope, _epochs.session_id == _attempts.session_id)
            .scalar_subquery()
        )
        statement = (
            sa.select(sa.func.count())
            .select_from(chat_compactions)
            .where(_attempts.id.in_(last), _attempts.state == "failed", _attempts.created_at >= since)
            .where(_attempts.epoch == sa.func.coalesce(current, 1))
        )
        with self._database.read() as connection:
            return int(connection.execute(statement).scalar_one())

    @staticmethod
    def _unchanged(connection: sa.Connection, scope: str, session_id: str, span: Span) -> bool:
        """Whether the span is in the current epoch and holds the rows it held when it was read."""
        session = {"scope_": scope, "session_": session_id}
        if _epoch_of(_EPOCH.run(connection, session).fetchone()).epoch != span.epoch:
            return False
        inside = (_messages.position >= span.first_position, _messages.position <= span.last_position)
        statement = sa.select(sa.func.count(), sa.func.max(_messages.id)).where(*_live(scope, session_id), *inside)
        return tuple(connection.execute(statement).one()) == (span.count, span.last_row)


_ATTEMPT_NAMES = ("id", "trigger", "state", "reason", "attempt", "next_attempt_at", "created_at")


def _live(scope: str, session_id: str) -> tuple[sa.ColumnElement[bool], ...]:
    return (_messages.scope == scope, _messages.session_id == session_id, _messages.replaced_at.is_(None))


def _of(table: sa.Table, scope: str, session_id: str, epoch: int | None) -> tuple[sa.ColumnElement[bool], ...]:
    own = (table.c.scope == scope, table.c.session_id == session_id)
    return own if epoch is None else (*own, table.c.epoch == epoch)


def _read(cursor: Any, session_id: str, *, enough: Enough | None = None) -> tuple[list[StoredMessage], bool]:
    """Rows of `_ROW` as messages, until there is enough; and whether that was the end."""
    found: list[StoredMessage] = []
    unreadable: list[tuple[int, str]] = []
    while batch := cursor.fetchmany(_BATCH):
        for message_id, position, content, row in batch:
            message = history.decoded(content, position, row, unreadable)
            if message is None:
                continue
            found.append(StoredMessage(message_id, position, message, row))
            if enough is not None and enough(found[-1]):
                history.refuse_unreadable(session_id, [(one.position, one.message) for one in found], unreadable)
                return found, False
    history.refuse_unreadable(session_id, [(one.position, one.message) for one in found], unreadable)
    return found, True


def _epoch_of(row: Sequence[Any] | None) -> Epoch:
    if row is None:
        return FIRST_EPOCH
    epoch, first_position, started_at = row
    return Epoch(epoch, first_position, _time(started_at))


def _epoch_list(connection: sa.Connection, scope: str, session_id: str) -> list[Epoch]:
    statement = (
        sa.select(_epochs.epoch, _epochs.first_position, _epochs.started_at)
        .where(_epochs.scope == scope, _epochs.session_id == session_id)
        .order_by(_epochs.epoch)
    )
    return [Epoch(*row) for row in connection.execute(statement)] or [FIRST_EPOCH]


def _range(known: Sequence[Epoch], session_id: str, epoch: int | None) -> tuple[int, int]:
    """The positions of an epoch: the first, and the first that is no longer in it."""
    if epoch is None:
        return known[-1].first_position, _ENDLESS
    for place, one in enumerate(known):
        if one.epoch == epoch:
            return one.first_position, known[place + 1].first_position if place + 1 < len(known) else _ENDLESS
    there = ", ".join(str(one.epoch) for one in known)
    raise InvalidInputError(f"session {session_id!r} has no epoch {epoch}; there are {there}")


def _summary_of(row: Sequence[Any]) -> Summary:
    values = dict(zip(_SUMMARY_NAMES, row, strict=True))
    return Summary(**{**values, "created_at": _time(values["created_at"]), "replaced_at": _time(values["replaced_at"])})


def _time(value: Any) -> Any:
    """A time as the driver gives it."""
    return clock.of_driver(value) if value is not None else None


def _flushed_to(connection: sa.Connection, scope: str, session_id: str, epoch: int, first_position: int) -> int:
    statement = sa.select(sa.func.max(_flushes.last_position)).where(
        *_of(chat_flushes, scope, session_id, epoch), _flushes.replaced_at.is_(None)
    )
    done = connection.execute(statement).scalar()
    return first_position - 1 if done is None else int(done)


def _write_attempt(connection: sa.Connection, scope: str, session_id: str, epoch: int, attempt: Attempt) -> None:
    values = {name: getattr(attempt, name) for name in _ATTEMPT_NAMES}
    values["reason"] = storable(attempt.reason)
    connection.execute(chat_compactions.insert().values(scope=scope, session_id=session_id, epoch=epoch, **values))


def _erase(
    connection: sa.Connection,
    scope: str,
    session_id: str,
    epoch: int | None,
    inside: Iterable[sa.ColumnElement[bool]],
    actor: str,
) -> Erased:
    """Delete rows of a session, replaced ones too, and everything that was derived from them."""
    own = (_messages.scope == scope, _messages.session_id == session_id, *inside)
    ids = list(connection.execute(sa.select(_messages.message_id).where(*own)).scalars())
    entries = records.erase_messages(connection, scope, ids, actor)
    messages = connection.execute(conversation_history.delete().where(*own)).rowcount
    gone = {
        table.name: connection.execute(table.delete().where(*_of(table, scope, session_id, epoch))).rowcount
        for table in (chat_summaries, chat_flushes, flush_candidates, chat_compactions)
    }
    return Erased(
        session_id,
        epoch,
        messages=messages,
        entries=entries,
        summaries=gone[chat_summaries.name],
        candidates=gone[flush_candidates.name],
    )

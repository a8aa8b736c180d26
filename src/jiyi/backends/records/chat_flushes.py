"""Flushes, candidates and compaction attempts of conversations, inside the caller's transaction.

`epoch` are the parameters that name an epoch: `scope`, `session_id` and `epoch`.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from jiyi.backends.records.history import OF_SESSION
from jiyi.backends.records.schema import chat_compactions, chat_flushes, flush_candidates
from jiyi.backends.records.sql import Connection, Params, moment
from jiyi.model import clock
from jiyi.model.chat import Attempt, Candidate, Epoch, Span
from jiyi.model.identity import new_id
from jiyi.model.storable import storable

_IN_EPOCH = f"{OF_SESSION} AND epoch = :epoch"
_FLUSHED_TO = f"SELECT max(last_position) FROM chat_flushes WHERE {_IN_EPOCH} AND replaced_at IS NULL"
_LAST_NUMBER = f"SELECT max(number) FROM chat_flushes WHERE {_IN_EPOCH}"
_CANDIDATES = f"{flush_candidates.select} WHERE scope = :scope"
_SETTLE = (
    "UPDATE flush_candidates SET state = :state, state_at = :now, taken_by = :by "
    "WHERE id = :id AND scope = :scope AND state = 'new'"
)
_ATTEMPT: Final = ("id", "trigger", "state", "reason", "attempt", "next_attempt_at", "created_at")
_LAST_ATTEMPT = f"SELECT {', '.join(_ATTEMPT)} FROM chat_compactions WHERE {_IN_EPOCH} ORDER BY id DESC LIMIT 1"
_FAILING = (
    "SELECT count(*) FROM chat_compactions c WHERE c.state = 'failed' AND c.created_at >= :since "
    "AND c.id IN (SELECT max(id) FROM chat_compactions GROUP BY scope, session_id) "
    "AND c.epoch = coalesce((SELECT max(e.epoch) FROM chat_epochs e "
    "WHERE e.scope = c.scope AND e.session_id = c.session_id), 1)"
)


def flushed_to(connection: Connection, epoch: Params, bounds: Epoch) -> int:
    """The last position of the epoch that was searched for candidates."""
    done = connection.scalar(_FLUSHED_TO, epoch)
    return bounds.first_position - 1 if done is None else int(done)


def add_flush(
    connection: Connection, epoch: Params, span: Span, candidates: Sequence[Candidate], *, trigger: str, made_by: str
) -> None:
    """Mark a span as searched, and keep its candidates."""
    flush = {
        **epoch,
        "id": new_id(),
        "number": (connection.scalar(_LAST_NUMBER, epoch) or 0) + 1,
        "first_position": span.first_position,
        "last_position": span.last_position,
        "trigger": trigger,
        "made_by": made_by,
        "created_at": clock.utc_now(),
        "replaced_at": None,
    }
    connection.execute(chat_flushes.insert, flush)
    if candidates:
        rows = [
            {**{name: getattr(one, name) for name in flush_candidates.names}, "content": storable(one.content)}
            for one in candidates
        ]
        connection.executemany(flush_candidates.insert, rows)


def candidates(
    connection: Connection, scope: str, *, session_id: str | None, state: str | None, limit: int
) -> list[Candidate]:
    """Candidates of the scope, oldest first."""
    params: dict[str, Any] = {"scope": scope, "limit": limit}
    sql = _CANDIDATES
    for name, value in (("session_id", session_id), ("state", state)):
        if value is not None:
            sql = f"{sql} AND {name} = :{name}"
            params[name] = value
    rows = connection.rows(f"{sql} ORDER BY id LIMIT :limit", params)
    return [Candidate(**flush_candidates.values(row)) for row in rows]


def settle_candidate(connection: Connection, scope: str, candidate_id: str, *, state: str, by: str) -> bool:
    """Take or reject a new candidate; `False` when it is not there or was settled before."""
    params = {"id": candidate_id, "scope": scope, "state": state, "by": by, "now": clock.utc_now()}
    return connection.execute(_SETTLE, params).rowcount == 1


def add_attempt(connection: Connection, epoch: Params, attempt: Attempt) -> None:
    """Record the outcome of an attempt to compact."""
    values = {name: getattr(attempt, name) for name in _ATTEMPT}
    connection.execute(chat_compactions.insert, {**epoch, **values, "reason": storable(attempt.reason)})


def last_attempt(connection: Connection, epoch: Params) -> Attempt | None:
    """The last attempt in this epoch."""
    row = connection.row(_LAST_ATTEMPT, epoch)
    if row is None:
        return None
    values = dict(zip(_ATTEMPT, row, strict=True))
    return Attempt(
        **{**values, "next_attempt_at": moment(values["next_attempt_at"]), "created_at": moment(values["created_at"])}
    )


def failing_sessions(connection: Connection, since: datetime) -> int:
    """How many sessions of all scopes have failed in their last attempt, in their current epoch, since then."""
    return int(connection.scalar(_FAILING, {"since": since}))

"""Background work in SQL. A job is claimed by a guarded update, so that several processes can share one queue."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from jiyi.backends.records.prepared import Prepared
from jiyi.backends.records.rows import to_json
from jiyi.backends.records.schema import jobs
from jiyi.backends.records.store import Database
from jiyi.model import clock
from jiyi.model.job import Job, JobDraft
from jiyi.model.storable import storable

_columns = jobs.c
_OPEN = ("queued", "running")
_INSERT = Prepared(jobs.insert().inline(), [column.name for column in _columns if column.name != "sequence"])
_WAITING = Prepared(
    sa.select(_columns.id).where(
        _columns.dedupe_key == sa.bindparam("dedupe_"),
        _columns.scope == sa.bindparam("scope_"),
        _columns.state == "queued",
    )
)


def insert_job(connection: sa.Connection, draft: JobDraft, now: datetime) -> bool:
    """Add a job inside the caller's transaction; `False` when one with its dedupe key waits already."""
    if draft.dedupe_key is not None:
        twin = {"dedupe_": draft.dedupe_key, "scope_": draft.scope}
        if _WAITING.run(connection, twin).fetchone() is not None:
            return False
    leased = draft.lease_by is not None
    _INSERT.run(
        connection,
        {
            "id": draft.id,
            "kind": draft.kind,
            "scope": draft.scope,
            "payload": to_json(dict(draft.payload)),
            "state": "running" if leased else "queued",
            "attempt": 1 if leased else 0,
            "not_before": now,
            "lease_until": draft.lease_until,
            "lease_by": draft.lease_by,
            "reason": "",
            "created_at": now,
            "finished_at": None,
            "dedupe_key": draft.dedupe_key,
        },
    )
    return True


def finish_job(connection: sa.Connection, job: Job, now: datetime) -> bool:
    """Mark a job as done inside the caller's transaction; `False` when it is no longer the caller's."""
    done = jobs.update().where(*_held(job)).values(state="done", finished_at=now, lease_until=None, reason="")
    return connection.execute(done).rowcount == 1


def _held(job: Job) -> tuple[sa.ColumnElement[bool], ...]:
    """Whoever lost the lease meanwhile changes nothing."""
    return (
        _columns.id == job.id,
        _columns.state == "running",
        _columns.attempt == job.attempt,
        _columns.lease_by == job.lease_by,
    )


class SqlJobStore:
    """The queue of one database."""

    def __init__(self, database: Database, now: Callable[[], datetime] = clock.utc_now) -> None:
        self._database = database
        self._now = now

    def add(self, draft: JobDraft) -> bool:
        """Queue a job; `False` when one with its dedupe key waits already."""
        with self._database.write((draft.scope,)) as connection:
            return insert_job(connection, draft, self._now())

    def claim(
        self, worker: str, *, now: datetime, lease_until: datetime, scopes: Sequence[str] | None = None
    ) -> Job | None:
        """The oldest job (of these scopes) that is due, now this worker's; `None` when there is none.

        Jobs of one scope are done in their order: what was said later must not be learned earlier. A lease that has run
        out means that its holder is gone.
        """
        while True:
            with self._database.read() as connection:
                row = connection.execute(_due(now, scopes)).first()
            if row is None:
                return None
            taken = (
                jobs.update()
                .where(_columns.id == row.id, _columns.state == row.state, _columns.attempt == row.attempt)
                .values(state="running", attempt=row.attempt + 1, lease_by=worker, lease_until=lease_until)
            )
            with self._database.write((row.scope,)) as connection:
                if connection.execute(taken).rowcount == 1:
                    return _job(connection.execute(sa.select(jobs).where(_columns.id == row.id)).one())

    def finish(self, job: Job, *, now: datetime) -> bool:
        """Mark it as done; `False` when it is no longer this worker's."""
        with self._database.write((job.scope,)) as connection:
            return finish_job(connection, job, now)

    def postpone(self, job: Job, *, until: datetime, reason: str) -> bool:
        """Give it back, to be tried again later."""
        values = {"state": "queued", "not_before": until, "reason": storable(reason), "lease_by": None}
        again = jobs.update().where(*_held(job)).values(values)
        with self._database.write((job.scope,)) as connection:
            return connection.execute(again).rowcount == 1

    def dead_letter(self, job: Job, *, now: datetime, reason: str) -> bool:
        """Put it on the dead-letter list."""
        dead = jobs.update().where(*_held(job)).values(state="dead", finished_at=now, reason=storable(reason))
        with self._database.write((job.scope,)) as connection:
            return connection.execute(dead).rowcount == 1

    def requeue(self, job_id: str, scopes: Sequence[str] | None, *, now: datetime) -> bool:
        """Queue a dead job again, as if it were new; `False` when there is no such dead job."""
        alive = jobs.update().where(_columns.id == job_id, _columns.state == "dead")
        if scopes is not None:
            alive = alive.where(_columns.scope.in_(scopes))
        with self._database.write(scopes) as connection:
            values = alive.values(state="queued", attempt=0, not_before=now, finished_at=None, lease_by=None)
            return connection.execute(values).rowcount == 1

    def list(self, *, states: Sequence[str], scopes: Sequence[str] | None, limit: int) -> list[Job]:
        """Jobs in these states, newest first."""
        statement = sa.select(jobs).where(_columns.state.in_(states)).order_by(_columns.sequence.desc()).limit(limit)
        if scopes is not None:
            statement = statement.where(_columns.scope.in_(scopes))
        with self._database.read(scopes) as connection:
            return [_job(row) for row in connection.execute(statement)]

    def next_due(self) -> datetime | None:
        """When the next job can be begun, as far as it is known now; `None` when none waits."""
        moment = sa.case((_columns.state == "queued", _columns.not_before), else_=_columns.lease_until)
        statement = sa.select(sa.func.min(moment)).where(_columns.sequence.in_(_heads()))
        with self._database.read() as connection:
            value = connection.execute(statement).scalar()
        return clock.of_driver(value) if value is not None else None

    def counts(self) -> dict[str, int]:
        """How many jobs are in each state."""
        statement = sa.select(_columns.state, sa.func.count()).group_by(_columns.state)
        with self._database.read() as connection:
            return {state: int(number) for state, number in connection.execute(statement)}

    def purge(self, *, before: datetime, limit: int = 500) -> int:
        """Delete jobs that were done before this time, a few at once; returns how many."""
        old = (
            sa.select(_columns.sequence)
            .where(_columns.state == "done", _columns.finished_at < before)
            .order_by(_columns.sequence)
            .limit(limit)
        )
        purged = 0
        while True:
            with self._database.write() as connection:
                gone = connection.execute(jobs.delete().where(_columns.sequence.in_(old.scalar_subquery()))).rowcount
            purged += gone
            if gone < limit:
                return purged


def _heads() -> sa.Select[Any]:
    """The first unfinished job of each scope."""
    return sa.select(sa.func.min(_columns.sequence)).where(_columns.state.in_(_OPEN)).group_by(_columns.scope)


def _due(now: datetime, scopes: Sequence[str] | None) -> sa.Select[Any]:
    waiting = sa.and_(_columns.state == "queued", _columns.not_before <= now)
    abandoned = sa.and_(_columns.state == "running", _columns.lease_until <= now)
    return (
        sa.select(_columns.id, _columns.scope, _columns.state, _columns.attempt)
        .where(_columns.sequence.in_(_heads()), sa.or_(waiting, abandoned))
        .where(*(() if scopes is None else (_columns.scope.in_(scopes),)))
        .order_by(_columns.sequence)
        .limit(1)
    )


def _job(row: sa.Row[Any]) -> Job:
    return Job(
        id=row.id,
        kind=row.kind,
        scope=row.scope,
        payload=json.loads(row.payload),
        state=row.state,
        attempt=row.attempt,
        not_before=row.not_before,
        lease_until=row.lease_until,
        lease_by=row.lease_by,
        reason=row.reason,
        created_at=row.created_at,
        finished_at=row.finished_at,
    )

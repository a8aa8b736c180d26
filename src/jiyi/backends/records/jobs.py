"""Background work in SQL. A job is claimed by a guarded update, so that several processes can share one queue."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from jiyi.backends.records.codec import to_json
from jiyi.backends.records.requests import keep_request
from jiyi.backends.records.schema import jobs
from jiyi.backends.records.sql import Connection, Database, Row, moment
from jiyi.model import clock
from jiyi.model.job import Job, JobDraft
from jiyi.model.storable import storable

_FIELDS: Final = (
    *("id", "kind", "scope", "payload", "state", "attempt", "not_before"),
    *("lease_until", "lease_by", "reason", "created_at", "finished_at"),
)
_SELECT = f"SELECT {', '.join(_FIELDS)} FROM jobs"
_QUEUED_DUPLICATE = "SELECT id FROM jobs WHERE dedupe_key = :dedupe_key AND scope = :scope AND state = 'queued'"
# A worker that has lost the lease meanwhile changes nothing.
_HELD = "id = :id AND state = 'running' AND attempt = :attempt AND lease_by = :lease_by"
_FINISH = f"UPDATE jobs SET state = 'done', finished_at = :now, lease_until = NULL, reason = '' WHERE {_HELD}"
_POSTPONE = f"UPDATE jobs SET state = 'queued', not_before = :until, reason = :reason, lease_by = NULL WHERE {_HELD}"
# As if it had not been tried: the machine had no resources for it.
_POSTPONE_UNCOUNTED = _POSTPONE.replace("SET state", "SET attempt = attempt - 1, state", 1)
_DEAD_LETTER = f"UPDATE jobs SET state = 'dead', finished_at = :now, reason = :reason WHERE {_HELD}"
_CLAIM = (
    "UPDATE jobs SET state = 'running', attempt = attempt + 1, lease_by = :worker, lease_until = :lease_until "
    "WHERE id = :id AND state = :state AND attempt = :attempt"
)
_REQUEUE = (
    "UPDATE jobs SET state = 'queued', attempt = 0, not_before = :now, finished_at = NULL, lease_by = NULL "
    "WHERE id = :id AND state = 'dead'"
)
_IN_SCOPES = " AND scope IN :scopes"
# The first unfinished job of each scope.
_HEADS = "SELECT min(sequence) FROM jobs WHERE state IN ('queued', 'running') GROUP BY scope"
_DUE = (
    f"SELECT id, scope, state, attempt FROM jobs WHERE sequence IN ({_HEADS}) AND "
    "((state = 'queued' AND (not_before <= :now OR not_before > :horizon)) "
    "OR (state = 'running' AND (lease_until <= :now OR lease_until > :horizon)))"
)
_NEXT_DUE = (
    "SELECT min(CASE WHEN state = 'queued' THEN not_before ELSE lease_until END) "
    f"FROM jobs WHERE sequence IN ({_HEADS})"
)
_MAX_WAIT: Final = timedelta(hours=2)
"""No retry and no lease is longer: see `Backoff.max_retry_after` and the lease of `JobRunner`."""
_PURGE = (
    "DELETE FROM jobs WHERE sequence IN (SELECT sequence FROM jobs WHERE state = 'done' AND finished_at < :before "
    "ORDER BY sequence LIMIT :limit)"
)


def insert_job(connection: Connection, draft: JobDraft, now: datetime) -> bool:
    """Add a job inside the caller's transaction; `False` when one with its dedupe key waits already."""
    if draft.dedupe_key is not None:
        duplicate = {"dedupe_key": draft.dedupe_key, "scope": draft.scope}
        if connection.row(_QUEUED_DUPLICATE, duplicate) is not None:
            return False
    leased = draft.lease_by is not None
    connection.execute(
        jobs.insert,
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
    keep_request(connection, [draft.id])
    return True


def finish_job(connection: Connection, job: Job, now: datetime) -> bool:
    """Mark a job as done inside the caller's transaction; `False` when it is no longer the caller's."""
    return connection.execute(_FINISH, {**_held(job), "now": now}).rowcount == 1


def _held(job: Job) -> dict[str, Any]:
    return {"id": job.id, "attempt": job.attempt, "lease_by": job.lease_by}


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
        out means that its holder has died. A job that would wait longer than any is put off was written by a clock that
        was ahead: it is due.
        """
        sql, params = _of_scopes(_DUE, {"now": now, "horizon": now + _MAX_WAIT}, scopes)
        while True:
            with self._database.read() as connection:
                row = connection.row(f"{sql} ORDER BY sequence LIMIT 1", params)
            if row is None:
                return None
            job_id, scope, state, attempt = row
            taken = {"id": job_id, "state": state, "attempt": attempt, "worker": worker, "lease_until": lease_until}
            with self._database.write((scope,)) as connection:
                if connection.execute(_CLAIM, taken).rowcount == 1:
                    return _job(connection.rows(f"{_SELECT} WHERE id = :id", {"id": job_id})[0])

    def finish(self, job: Job, *, now: datetime) -> bool:
        """Mark it as done; `False` when it is no longer this worker's."""
        with self._database.write((job.scope,)) as connection:
            return finish_job(connection, job, now)

    def postpone(self, job: Job, *, until: datetime, reason: str, counts: bool = True) -> bool:
        """Give it back, to be tried again later. Unless it `counts`, as if it had not been tried."""
        with self._database.write((job.scope,)) as connection:
            params = {**_held(job), "until": until, "reason": storable(reason)}
            return connection.execute(_POSTPONE if counts else _POSTPONE_UNCOUNTED, params).rowcount == 1

    def dead_letter(self, job: Job, *, now: datetime, reason: str) -> bool:
        """Put it on the dead-letter list."""
        with self._database.write((job.scope,)) as connection:
            params = {**_held(job), "now": now, "reason": storable(reason)}
            return connection.execute(_DEAD_LETTER, params).rowcount == 1

    def requeue(self, job_id: str, scopes: Sequence[str] | None, *, now: datetime) -> bool:
        """Queue a dead job again, as if it were new; `False` when there is no such dead job."""
        sql, params = _of_scopes(_REQUEUE, {"id": job_id, "now": now}, scopes)
        with self._database.write(scopes) as connection:
            return connection.execute(sql, params).rowcount == 1

    def list(self, *, states: Sequence[str], scopes: Sequence[str] | None, limit: int) -> list[Job]:
        """Jobs in these states, newest first."""
        sql, params = _of_scopes(f"{_SELECT} WHERE state IN :states", {"states": list(states)}, scopes)
        with self._database.read(scopes) as connection:
            rows = connection.rows(f"{sql} ORDER BY sequence DESC LIMIT :limit", {**params, "limit": limit})
        return [_job(row) for row in rows]

    def next_due(self) -> datetime | None:
        """When the next job can be begun, as far as it is known now; `None` when none waits."""
        with self._database.read() as connection:
            return moment(connection.scalar(_NEXT_DUE))

    def counts(self, scopes: Sequence[str] | None = None) -> dict[str, int]:
        """How many jobs of these scopes, or of all, are in each state."""
        only = "" if scopes is None else "WHERE scope IN :scopes "
        params = {} if scopes is None else {"scopes": list(scopes)}
        with self._database.read(scopes) as connection:
            rows = connection.rows(f"SELECT state, count(*) FROM jobs {only}GROUP BY state", params)
        return {state: int(number) for state, number in rows}

    def purge(self, *, before: datetime, limit: int = 500) -> int:
        """Delete jobs that were done before this time, a few at once; returns how many."""
        purged = 0
        while True:
            with self._database.write() as connection:
                deleted = connection.execute(_PURGE, {"before": before, "limit": limit}).rowcount
            purged += deleted
            if deleted < limit:
                return purged


def _of_scopes(sql: str, params: dict[str, Any], scopes: Sequence[str] | None) -> tuple[str, dict[str, Any]]:
    """A statement that ends with conditions, restricted to these scopes if there are any."""
    return (sql, params) if scopes is None else (sql + _IN_SCOPES, {**params, "scopes": [*scopes]})


def _job(row: Row) -> Job:
    values = dict(zip(_FIELDS, row, strict=True))
    for name in ("not_before", "lease_until", "created_at", "finished_at"):
        values[name] = moment(values[name])
    values["payload"] = json.loads(values["payload"])
    return Job(**values)

"""Durable background work."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from datetime import datetime

    from jiyi.model.job import Job, JobDraft


class JobStore(Protocol):
    """Background work that survives a restart. Several processes may share one queue."""

    def add(self, draft: JobDraft) -> bool:
        """Queue a job; `False` when one with its dedupe key waits already."""
        ...

    def claim(
        self, worker: str, *, now: datetime, lease_until: datetime, scopes: Sequence[str] | None = None
    ) -> Job | None:
        """The oldest job (of these scopes) that is due, now this worker's; jobs of one scope in their order."""
        ...

    def finish(self, job: Job, *, now: datetime) -> bool:
        """Mark it as done; `False` when it is no longer this worker's."""
        ...

    def postpone(self, job: Job, *, until: datetime, reason: str, counts: bool = True) -> bool:
        """Give it back, to be tried again later."""
        ...

    def dead_letter(self, job: Job, *, now: datetime, reason: str) -> bool:
        """Put it on the dead-letter list."""
        ...

    def requeue(self, job_id: str, scopes: Sequence[str] | None, *, now: datetime) -> bool:
        """Queue a dead job again, as if it were new; `False` when there is no such dead job."""
        ...

    def list(self, *, states: Sequence[str], scopes: Sequence[str] | None, limit: int) -> list[Job]:
        """Jobs in these states, newest first."""
        ...

    def next_due(self) -> datetime | None:
        """When the next job can be begun, as far as it is known now; `None` when none waits."""
        ...

    def counts(self, scopes: Sequence[str] | None = None) -> dict[str, int]:
        """How many jobs of these scopes, or of all, are in each state."""
        ...

    def purge(self, *, before: datetime, limit: int = 500) -> int:
        """Delete jobs that were done before this time; returns how many."""
        ...

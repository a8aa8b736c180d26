"""JobWorker: one thread that does what is due. Several processes may each have one."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, TypeAlias

from jiyi.errors import JiyiError, StorageError
from jiyi.execution import BackgroundThread
from jiyi.jobs.backoff import Backoff, may_succeed_later
from jiyi.model import clock
from jiyi.model.identity import new_id
from jiyi.model.job import Job
from jiyi.resource_limits import resource_limit

if TYPE_CHECKING:
    from jiyi.ports import JobStore

_log = logging.getLogger("jiyi.jobs")

Handler: TypeAlias = Callable[[Job], bool]
"""Does a job. `True` when it has also marked it as done, in the transaction of its results."""

_LEASE = timedelta(minutes=10)
_IDLE_SECONDS = 60.0
_AFTER_TROUBLE_SECONDS = 5.0


class JobFailedError(JiyiError):
    """A job cannot be done, now or later: the reason goes to the dead-letter list."""


class JobRunner:
    """Claims jobs one after the other and decides what becomes of each."""

    def __init__(
        self,
        store: JobStore,
        *,
        backoff: Backoff | None = None,
        now: Callable[[], datetime] = clock.utc_now,
        lease: timedelta = _LEASE,
    ) -> None:
        self.worker = f"{os.getpid()}-{new_id()}"
        self.now = now
        self.lease = lease
        self._store = store
        self._backoff = backoff or Backoff()
        self._handlers: dict[str, Handler] = {}
        self._ended = threading.Condition()
        self._busy = 0
        """How many threads of this process look for a job or do one."""
        self._ends = 0
        """How often one of them was done with that."""
        self.load_handlers: Callable[[], object] | None = None
        """Called when a job has a kind without a handler: rooms are made when they are needed."""

    def handle(self, handlers: Mapping[str, Handler]) -> None:
        """Register the handlers of some kinds of jobs."""
        self._handlers.update(handlers)

    def run_one(self, scopes: Sequence[str] | None = None) -> bool:
        """Do the next job (of these scopes) that is due; `False` when there is none."""
        with self._ended:
            self._busy += 1
        try:
            return self._run_one(scopes)
        finally:
            with self._ended:
                self._busy -= 1
                self._ends += 1
                self._ended.notify_all()

    def _run_one(self, scopes: Sequence[str] | None) -> bool:
        now = self.now()
        job = self._store.claim(self.worker, now=now, lease_until=now + self.lease, scopes=scopes)
        if job is None:
            return False
        if job.attempt > self._backoff.attempts:
            before = job.attempt - 1
            self._store.dead_letter(
                job, now=now, reason=f"begun {before} times and never finished: the process ended each time"
            )
            return True
        if job.kind not in self._handlers and self.load_handlers is not None:
            self.load_handlers()
        handler = self._handlers.get(job.kind, _unknown_kind)
        try:
            if not handler(job):
                self._store.finish(job, now=self.now())
        except StorageError as error:
            # The store cannot be written: recording the failure would fail as well. The lease runs out.
            if not self._settle(job, error):
                raise
        except Exception as error:  # noqa: BLE001 - whatever it is, it becomes the reason, and the thread continues
            self._settle(job, error)
        return True

    def settle(self, job: Job, error: BaseException) -> bool:
        """Note a failed attempt: the job is tried again, or goes to the dead-letter list. Whether it is tried again."""
        reason = f"{type(error).__name__}: {error}"
        # Without resources nothing was tried: however often that happens, the job is not given up.
        limited = resource_limit(error) is not None
        again = limited or (may_succeed_later(error) and job.attempt < self._backoff.attempts)
        if again:
            until = self.now() + timedelta(seconds=self._backoff.pause(job.attempt, error))
            self._store.postpone(job, until=until, reason=reason, counts=not limited)
            # The reason is in the job. A log line must not carry what somebody said.
            _log.warning("job %s (%s) failed (%s) and is tried again", job.id, job.kind, type(error).__name__)
        else:
            self._store.dead_letter(job, now=self.now(), reason=reason)
            _log.error(
                "job %s (%s) moved to the dead-letter list (%s); see: jiyi doctor",
                job.id,
                job.kind,
                type(error).__name__,
            )
        return again

    def _settle(self, job: Job, error: BaseException) -> bool:
        try:
            self.settle(job, error)
        except StorageError:
            return False
        return True

    def run_due(self, limit: int | None = None, scopes: Sequence[str] | None = None, *, waits: bool = False) -> int:
        """Do everything (of these scopes) that is due now; returns how many jobs were begun.

        With `waits` the jobs that other threads of this process are doing are done as well when it returns.
        """
        done = 0
        while limit is None or done < limit:
            if self.run_one(scopes):
                done += 1
            elif not waits or not self._wait_for_another():
                break
        return done

    def _wait_for_another(self) -> bool:
        """Wait until a thread that is doing a job is done with it; `False` when none is.

        The jobs of a scope are done one after the other: the next one is due only then.
        """
        with self._ended:
            if not self._busy:
                return False
            seen = self._ends
            self._ended.wait_for(lambda: self._ends != seen)
        return True


def _unknown_kind(job: Job) -> bool:
    raise JobFailedError(f"there is no handler for jobs of the kind {job.kind!r}; a newer jiyi may have queued it")


class JobWorker(BackgroundThread):
    """Sleeps until a job is due or was announced."""

    def __init__(self, store: JobStore, runner: JobRunner) -> None:
        super().__init__("jiyi-jobs")
        self._store = store
        self._runner = runner
        self.last_error: str | None = None
        self.when_idle: Callable[[], None] | None = None
        """Called in the thread whenever no job is due any more."""

    def _run(self) -> None:
        while not self._stop.is_set():
            self._wake.wait(self._pause())
            self._wake.clear()
            while not self._stop.is_set() and self._run_one():
                pass

    def _run_one(self) -> bool:
        """Run one job, or wait for a store that fails; `False` when no job is due any more."""
        try:
            if self._runner.run_one():
                self.last_error = None
                return True
            if self.when_idle is not None:
                self.when_idle()
        except StorageError as error:
            self.last_error = f"{type(error).__name__}: {error}"
            _log.warning("background work waits: %s", self.last_error)
            self._stop.wait(_AFTER_TROUBLE_SECONDS)
            return True
        except Exception as error:  # noqa: BLE001 - whatever a room or a model raises, the thread continues
            self.last_error = f"{type(error).__name__}: {error}"
            # The kind of error only: its text may quote what somebody said.
            _log.error("background work failed: %s", type(error).__name__)
            self._stop.wait(_AFTER_TROUBLE_SECONDS)
        return False

    def _pause(self) -> float:
        try:
            due = self._store.next_due()
        except StorageError:
            return _AFTER_TROUBLE_SECONDS
        if due is None:
            return _IDLE_SECONDS
        return min(_IDLE_SECONDS, max(0.05, (due - self._runner.now()).total_seconds()))

"""The conformance suite of job stores: claims, order, retries, leases."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta

import pytest

from jiyi.model.job import JOB_STATES, Job, JobDraft
from jiyi.ports import JobStore, RecordStore
from jiyi.testing.conformance.examples import LOOK_ALIKE_SCOPES, NOON
from jiyi.testing.conformance.records import StoreFixtures

LEASE = timedelta(minutes=10)
LATER = NOON + timedelta(days=36_500)
"""Later than the creation time of any job, also in a store that uses the clock of its server."""


def claim(
    jobs: JobStore, worker: str = "me", *, now: datetime = LATER, scopes: tuple[str, ...] | None = None
) -> Job | None:
    """The next job, for ten minutes."""
    return jobs.claim(worker, now=now, lease_until=now + LEASE, scopes=scopes)


def claimed(jobs: JobStore, worker: str = "me", *, now: datetime = LATER, scopes: tuple[str, ...] | None = None) -> Job:
    """The next job; there has to be one."""
    job = claim(jobs, worker, now=now, scopes=scopes)
    assert job is not None
    return job


def everything(jobs: JobStore) -> list[Job]:
    """All jobs, newest first."""
    return jobs.list(states=JOB_STATES, scopes=None, limit=1_000)


class JobStoreConformance(StoreFixtures):
    """Define `make_store(folder)` and `make_jobs(store)`, and run it."""

    def make_jobs(self, store: RecordStore) -> JobStore:
        """The job store over the same data."""
        raise NotImplementedError(f"{type(self).__name__} must say how jobs are made: define make_jobs(store)")

    @pytest.fixture
    def jobs(self, store: RecordStore) -> JobStore:
        """The job store of `store`."""
        return self.make_jobs(store)

    @pytest.fixture
    def second(self, second_handle: RecordStore) -> JobStore:
        """Another handle on the same jobs, as another process has one."""
        return self.make_jobs(second_handle)

    # --- one job ----------------------------------------------------------------------------------------------------

    def test_a_job_is_claimed_once_and_with_everything_it_was_given(self, jobs: JobStore, second: JobStore) -> None:
        draft = JobDraft("learn", "用户 1", {"messages": ["一", "b"], "deep": {"n": 1, "none": None}})
        assert jobs.add(draft)
        job = claimed(second, "worker 7")
        assert (job.id, job.kind, job.scope, job.payload) == (draft.id, "learn", "用户 1", dict(draft.payload))
        assert (job.state, job.attempt, job.lease_by, job.lease_until) == ("running", 1, "worker 7", LATER + LEASE)
        assert job.not_before.utcoffset() == timedelta(0)
        assert claim(jobs, "another") is None

    def test_a_finished_job_is_done(self, jobs: JobStore) -> None:
        jobs.add(JobDraft("learn", "main", {}))
        job = claimed(jobs)
        assert jobs.finish(job, now=NOON)
        assert not jobs.finish(job, now=NOON)
        [done] = everything(jobs)
        assert (done.id, done.state, done.reason, done.finished_at) == (job.id, "done", "", NOON)
        assert claim(jobs) is None

    def test_a_job_whose_holder_is_gone_is_taken_over_and_the_holder_can_do_no_harm(
        self, jobs: JobStore, second: JobStore
    ) -> None:
        jobs.add(JobDraft("learn", "main", {}))
        lost = claimed(jobs, "dead process")
        assert claim(second, now=LATER + LEASE - timedelta(seconds=1)) is None
        taken = claimed(second, now=LATER + LEASE)
        assert (taken.id, taken.attempt) == (lost.id, 2)
        assert not jobs.finish(lost, now=NOON)
        assert not jobs.dead_letter(lost, now=NOON, reason="x")
        assert not jobs.postpone(lost, until=NOON, reason="x")
        assert second.finish(taken, now=NOON)

    def test_a_job_can_be_the_callers_from_the_beginning(self, jobs: JobStore) -> None:
        jobs.add(JobDraft("learn", "main", {}, lease_by="me", lease_until=LATER + LEASE))
        assert claim(jobs, "another") is None
        [mine] = everything(jobs)
        assert (mine.state, mine.attempt, mine.lease_by) == ("running", 1, "me")
        assert jobs.finish(mine, now=NOON)

    def test_a_postponed_job_waits_and_says_why(self, jobs: JobStore) -> None:
        jobs.add(JobDraft("learn", "main", {}))
        until = LATER + timedelta(minutes=5)
        assert jobs.postpone(claimed(jobs), until=until, reason="the model\x00is away\ud800")
        [waiting] = everything(jobs)
        assert (waiting.state, waiting.reason, waiting.not_before, waiting.attempt) == (
            "queued",
            "the model is away?",
            until,
            1,
        )
        assert jobs.next_due() == until
        assert claim(jobs) is None
        assert claimed(jobs, now=until).attempt == 2
        assert jobs.next_due() == until + LEASE

    def test_a_dead_job_is_not_done_until_it_is_retried(self, jobs: JobStore) -> None:
        jobs.add(JobDraft("learn", "main", {"n": 1}))
        job = claimed(jobs)
        assert jobs.dead_letter(job, now=NOON, reason="no use")
        assert claim(jobs) is None
        assert jobs.next_due() is None
        [dead] = jobs.list(states=("dead",), scopes=("main",), limit=10)
        assert (dead.id, dead.reason, dead.finished_at) == (job.id, "no use", NOON)
        assert not jobs.requeue(job.id, ("other",), now=NOON)
        assert not jobs.requeue("unknown", None, now=NOON)
        assert jobs.requeue(job.id, ("other", "main"), now=NOON)
        assert not jobs.requeue(job.id, ("main",), now=NOON)
        again = claimed(jobs, now=NOON)
        assert (again.id, again.attempt, again.payload) == (job.id, 1, {"n": 1})

    # --- several ----------------------------------------------------------------------------------------------------

    def test_jobs_of_a_scope_are_done_in_their_order_and_hold_up_nobody_else(self, jobs: JobStore) -> None:
        first, second, other = (JobDraft("learn", scope, {}) for scope in ("main", "main", "other"))
        for draft in (first, second, other):
            assert jobs.add(draft)
        one, two = claimed(jobs), claimed(jobs)
        assert [one.id, two.id] == [first.id, other.id]
        assert claim(jobs) is None
        jobs.postpone(one, until=LATER + LEASE, reason="later")
        assert claim(jobs) is None
        jobs.finish(claimed(jobs, now=LATER + LEASE), now=NOON)
        assert claimed(jobs).id == second.id

    def test_of_the_jobs_of_a_scope_with_one_dedupe_key_one_waits(self, jobs: JobStore, second: JobStore) -> None:
        assert jobs.add(JobDraft("reflect", "main", {}, dedupe_key="once"))
        assert not second.add(JobDraft("reflect", "main", {}, dedupe_key="once"))
        assert second.add(JobDraft("reflect", "other", {}, dedupe_key="once"))
        assert second.add(JobDraft("reflect", "main", {}, dedupe_key="twice"))
        claimed(jobs, scopes=("main",))
        assert jobs.add(JobDraft("reflect", "main", {}, dedupe_key="once"))

    def test_a_worker_can_keep_to_some_scopes(self, jobs: JobStore) -> None:
        ids = {}
        for scope in LOOK_ALIKE_SCOPES:
            draft = JobDraft("learn", scope, {})
            jobs.add(draft)
            ids[scope] = draft.id
        assert claim(jobs, scopes=("nobody",)) is None
        assert {scope: claimed(jobs, scopes=(scope,)).id for scope in reversed(LOOK_ALIKE_SCOPES)} == ids
        assert claim(jobs) is None

    def test_jobs_are_listed_newest_first_by_state_and_scope(self, jobs: JobStore) -> None:
        ids = []
        for number in range(5):
            draft = JobDraft("learn", "other" if number == 3 else "main", {"n": number})
            jobs.add(draft)
            ids.append(draft.id)
        jobs.finish(claimed(jobs), now=NOON)
        assert [job.id for job in everything(jobs)] == ids[::-1]
        assert [job.id for job in jobs.list(states=("queued",), scopes=("main",), limit=2)] == [ids[4], ids[2]]
        assert [job.id for job in jobs.list(states=("done", "dead"), scopes=None, limit=9)] == [ids[0]]
        assert jobs.list(states=("queued",), scopes=("nobody",), limit=9) == []
        assert jobs.counts() == {"queued": 4, "done": 1}

    def test_old_jobs_that_are_done_are_purged_and_nothing_else(self, jobs: JobStore) -> None:
        for number in range(7):
            jobs.add(JobDraft("learn", f"scope {number}", {}))
        for number in range(5):
            jobs.finish(claimed(jobs), now=NOON + timedelta(days=number))
        jobs.dead_letter(claimed(jobs), now=NOON, reason="no use")
        assert jobs.purge(before=NOON) == 0
        assert jobs.purge(before=NOON + timedelta(days=3), limit=2) == 3
        assert jobs.counts() == {"done": 2, "dead": 1, "queued": 1}

    def test_workers_at_once_never_do_the_same_job(self, jobs: JobStore, second: JobStore) -> None:
        wanted = set()
        for number in range(24):
            draft = JobDraft("learn", f"scope {number % 6}", {})
            jobs.add(draft)
            wanted.add(draft.id)

        def work(worker: int) -> list[str]:
            handle = (jobs, second)[worker % 2]
            done: list[str] = []
            while (job := claim(handle, f"worker {worker}")) is not None:
                done.append(job.id)
                assert handle.finish(job, now=NOON)
            return done

        with ThreadPoolExecutor(4) as threads:
            done = [job_id for ids in threads.map(work, range(4)) for job_id in ids]
        # A worker that found every scope busy has gone home early: the others may have left work behind.
        done += work(0)
        assert sorted(done) == sorted(wanted)
        assert jobs.counts() == {"done": 24}

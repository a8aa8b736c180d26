"""Background work: claimed by one, done in order, tried again, and never lost."""

import multiprocessing
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jiyi.backends.embedded.database import SqliteDatabase
from jiyi.backends.records.jobs import SqlJobStore
from jiyi.errors import InvalidInputError, ModelRejectedError, ModelUnavailableError
from jiyi.jobs import Backoff, JobRunner, JobWorker
from jiyi.model.job import Job, JobDraft
from tests.longterm.conftest import FakeClock

LEASE = timedelta(minutes=10)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(datetime(2026, 3, 1, tzinfo=UTC))


@pytest.fixture
def store(tmp_path: Path, clock: FakeClock) -> Iterator[SqlJobStore]:
    database = SqliteDatabase(tmp_path / "memory.db", busy_timeout=10)
    yield SqlJobStore(database, clock)
    database.close()


def add(store: SqlJobStore, scope: str = "alice", kind: str = "work", **payload: object) -> str:
    draft = JobDraft(kind, scope, payload)
    assert store.add(draft)
    return draft.id


def claim(store: SqlJobStore, clock: FakeClock, worker: str = "me") -> Job | None:
    return store.claim(worker, now=clock(), lease_until=clock() + LEASE)


def state(store: SqlJobStore, job_id: str) -> tuple[str, int, str]:
    jobs = store.list(states=("queued", "running", "done", "dead"), scopes=None, limit=1_000)
    found = next(job for job in jobs if job.id == job_id)
    return found.state, found.attempt, found.reason


class Work:
    """A handler that fails as often as it is told."""

    def __init__(self, *failures: Exception) -> None:
        self.failures = list(failures)
        self.done: list[Job] = []

    def __call__(self, job: Job) -> bool:
        if self.failures:
            raise self.failures.pop(0)
        self.done.append(job)
        return False


def runner(store: SqlJobStore, clock: FakeClock, work: Work, attempts: int = 3) -> JobRunner:
    made = JobRunner(store, backoff=Backoff(first=10, factor=2, attempts=attempts, draw=lambda: 1.0), now=clock)
    made.handle({"work": work})
    return made


def test_a_job_is_claimed_once(store: SqlJobStore, clock: FakeClock) -> None:
    job_id = add(store, place=1)
    job = claim(store, clock)
    assert job is not None
    assert (job.id, job.payload, job.attempt, job.state) == (job_id, {"place": 1}, 1, "running")
    assert claim(store, clock, "other") is None


def test_a_job_of_a_process_that_died_is_taken_over_when_its_lease_has_run_out(
    store: SqlJobStore, clock: FakeClock
) -> None:
    add(store)
    lost = claim(store, clock, "dead process")
    assert lost is not None
    clock.advance(minutes=9)
    assert claim(store, clock) is None
    clock.advance(minutes=2)
    taken = claim(store, clock)
    assert taken is not None
    assert taken.attempt == 2
    # Whoever comes back from the dead changes nothing any more.
    assert not store.finish(lost, now=clock())
    assert not store.dead_letter(lost, now=clock(), reason="x")
    assert not store.postpone(lost, until=clock(), reason="x")
    assert store.finish(taken, now=clock())


def test_jobs_of_one_scope_are_done_in_order_and_do_not_hold_up_others(store: SqlJobStore, clock: FakeClock) -> None:
    first, second, other = add(store), add(store), add(store, "bob")
    one, two = claim(store, clock), claim(store, clock)
    assert one is not None
    assert two is not None
    assert [one.id, two.id] == [first, other]
    assert claim(store, clock) is None
    store.postpone(one, until=clock() + timedelta(minutes=5), reason="later")
    assert claim(store, clock) is None
    clock.advance(minutes=6)
    again = claim(store, clock)
    assert again is not None
    store.finish(again, now=clock())
    last = claim(store, clock)
    assert last is not None
    assert last.id == second


def test_of_jobs_with_one_dedupe_key_only_one_waits(store: SqlJobStore, clock: FakeClock) -> None:
    draft = JobDraft("work", "alice", {}, dedupe_key="once")
    assert store.add(draft)
    assert not store.add(JobDraft("work", "alice", {}, dedupe_key="once"))
    claim(store, clock)
    assert store.add(JobDraft("work", "alice", {}, dedupe_key="once"))


def test_a_failure_is_tried_again_after_growing_pauses(store: SqlJobStore, clock: FakeClock) -> None:
    job_id = add(store)
    work = Work(ModelUnavailableError("down"), ModelUnavailableError("still down"))
    run = runner(store, clock, work)
    assert run.run_due() == 1
    assert state(store, job_id) == ("queued", 1, "ModelUnavailableError: down")
    clock.advance(seconds=9)
    assert run.run_due() == 0
    clock.advance(seconds=2)
    assert run.run_due() == 1
    clock.advance(seconds=15)
    assert run.run_due() == 0
    clock.advance(seconds=6)
    assert run.run_due() == 1
    assert state(store, job_id) == ("done", 3, "")
    assert [job.id for job in work.done] == [job_id]


def test_after_the_last_attempt_it_is_dead_with_its_reason_and_can_be_retried(
    store: SqlJobStore, clock: FakeClock
) -> None:
    job_id = add(store)
    work = Work(*[ModelUnavailableError(f"down {n}") for n in range(3)])
    run = runner(store, clock, work)
    for _ in range(5):
        run.run_due()
        clock.advance(hours=1)
    assert state(store, job_id) == ("dead", 3, "ModelUnavailableError: down 2")
    assert store.next_due() is None
    assert not store.requeue(job_id, ("bob",), now=clock())
    assert store.requeue(job_id, ("alice",), now=clock())
    assert not store.requeue(job_id, None, now=clock())
    run.run_due()
    assert state(store, job_id)[0] == "done"


@pytest.mark.parametrize("error", [ModelRejectedError("wrong key"), InvalidInputError("no")])
def test_what_cannot_succeed_is_not_tried_again(store: SqlJobStore, clock: FakeClock, error: Exception) -> None:
    job_id = add(store)
    runner(store, clock, Work(error)).run_due()
    assert state(store, job_id) == ("dead", 1, f"{type(error).__name__}: {error}")


def test_an_error_that_nobody_foresaw_is_a_reason_too(store: SqlJobStore, clock: FakeClock) -> None:
    job_id = add(store)
    runner(store, clock, Work(ZeroDivisionError("oops")), attempts=1).run_due()
    assert state(store, job_id) == ("dead", 1, "ZeroDivisionError: oops")


def test_a_job_that_kills_its_process_each_time_ends_dead(store: SqlJobStore, clock: FakeClock) -> None:
    job_id = add(store)
    for _ in range(3):
        claim(store, clock)
        clock.advance(minutes=11)
    runner(store, clock, Work()).run_due()
    found = state(store, job_id)
    assert found[0] == "dead"
    assert "never finished" in found[2]


def test_a_kind_that_nobody_knows_is_dead_at_once(store: SqlJobStore, clock: FakeClock) -> None:
    job_id = add(store, kind="unheard of")
    runner(store, clock, Work()).run_due()
    assert "unheard of" in state(store, job_id)[2]


def test_done_jobs_are_purged_after_a_while(store: SqlJobStore, clock: FakeClock) -> None:
    add(store)
    add(store)
    runner(store, clock, Work()).run_due()
    waiting = add(store)
    clock.advance(days=10)
    assert store.purge(before=clock() - timedelta(days=11)) == 0
    assert store.purge(before=clock(), limit=1) == 2
    assert store.counts() == {"queued": 1}
    assert state(store, waiting)[0] == "queued"


@given(st.integers(1, 20), st.floats(0, 1), st.floats(0, 1e6))
def test_a_pause_is_bounded_and_never_shorter_than_the_server_asked_for(
    attempt: int, drawn: float, wish: float
) -> None:
    backoff = Backoff(draw=lambda: drawn)
    plain = backoff.pause(attempt, ModelUnavailableError("x"))
    assert 1.0 <= plain <= 600.0
    asked = backoff.pause(attempt, ModelUnavailableError("x", retry_after=wish))
    assert asked >= min(wish, 3600.0)
    assert asked <= 3600.0


def _work_alone(path: str, marks: str) -> None:
    database = SqliteDatabase(Path(path), busy_timeout=30)
    run = JobRunner(SqlJobStore(database))

    def note(job: Job) -> bool:
        with Path(marks).open("a") as file:
            file.write(job.id + "\n")
        return False

    run.handle({"work": note})
    run.run_due()
    database.close()


def test_several_processes_share_a_queue_and_do_each_job_once(store: SqlJobStore, tmp_path: Path) -> None:
    ids = [add(store, f"user{number % 7}") for number in range(40)]
    # The clock of the fixture is in the past: due for everybody.
    context = multiprocessing.get_context("spawn")
    marks = tmp_path / "marks"
    arguments = (str(tmp_path / "memory.db"), str(marks))
    processes = [context.Process(target=_work_alone, args=arguments) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    assert sorted(marks.read_text().split()) == sorted(ids)
    assert store.counts() == {"done": 40}


def test_a_worker_does_what_is_announced(store: SqlJobStore) -> None:
    import threading

    seen = threading.Event()
    run = JobRunner(store)

    def note(_job: Job) -> bool:
        seen.set()
        return False

    run.handle({"work": note})
    worker = JobWorker(store, run)
    worker.start()
    try:
        add(store)
        worker.notify()
        assert seen.wait(30)
    finally:
        worker.stop()
    assert store.counts() == {"done": 1}


def test_a_worker_goes_on_whatever_is_raised_in_its_thread(store: SqlJobStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jiyi.jobs.worker._AFTER_TROUBLE_SECONDS", 0.0)
    raised, seen = threading.Event(), threading.Event()
    run = JobRunner(store)

    def note(_job: Job) -> bool:
        seen.set()
        return False

    def idle() -> None:
        raised.set()
        raise ValueError("of a model that somebody wrote")

    run.handle({"work": note})
    worker = JobWorker(store, run)
    worker.when_idle = idle
    worker.start()
    try:
        assert raised.wait(30)
        add(store)
        worker.notify()
        assert seen.wait(5)
    finally:
        worker.stop()


def test_what_another_thread_is_doing_is_done_when_the_call_returns(store: SqlJobStore, clock: FakeClock) -> None:
    begun, may_end = threading.Event(), threading.Event()
    done: list[str] = []

    def work(job: Job) -> bool:
        if not done:
            begun.set()
            assert may_end.wait(30)
        done.append(job.id)
        return False

    runner = JobRunner(store, now=clock)
    runner.handle({"work": work})
    # Of one scope: the second is not due before the first is done.
    ids = [add(store), add(store)]
    first = threading.Thread(target=runner.run_one)
    first.start()
    assert begun.wait(30)
    assert runner.run_due() == 0
    waiting = threading.Timer(0.0, may_end.set)
    waiting.start()
    assert runner.run_due(waits=True) == 1
    assert done == ids
    first.join()
    waiting.join()
    assert runner.run_due(waits=True) == 0

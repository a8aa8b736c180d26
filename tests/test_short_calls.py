"""Small writes on the event loop itself: while they are quick, and never at the cost of the loop's other tasks."""

from __future__ import annotations

import asyncio
import contextvars
import sqlite3
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager, closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from jiyi import AgentMemory
from jiyi.errors import MemoryClosedError
from jiyi.execution import Pace, Workers, WouldWaitError, may_wait, must_be_patient, wait_from_now_on
from jiyi.file_lock import FileLock

HERE = "MainThread"
NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)


@pytest.fixture
def workers() -> Iterator[Workers]:
    workers = Workers(2, name="test")
    yield workers
    workers.close()


def quick() -> Pace:
    """As after many calls that took no time."""
    pace = Pace(1.0)
    for _ in range(40):
        pace.took(0.0)
    return pace


def where() -> str:
    return threading.current_thread().name


def test_the_first_calls_go_to_a_thread_and_quick_ones_then_stay_on_the_loop(workers: Workers) -> None:
    pace = Pace(1.0)

    async def many() -> list[str]:
        return [await workers.run_short(pace, where) for _ in range(40)]

    places = asyncio.run(many())
    assert places[0] == "test-0"
    assert places[-1] == HERE
    # Once they are quick they stay: nothing goes back and forth.
    assert places == sorted(places, key=lambda place: place == HERE)


def test_after_a_slow_call_the_next_ones_go_to_a_thread_until_they_are_quick_again(workers: Workers) -> None:
    pace = quick()
    assert asyncio.run(workers.run_short(pace, where)) == HERE
    pace.took(60.0)
    assert asyncio.run(workers.run_short(pace, where)) == "test-0"
    for _ in range(60):
        pace.took(0.0)
    assert asyncio.run(workers.run_short(pace, where)) == HERE


def test_a_slow_call_that_fails_counts_as_slow_and_one_that_was_only_begun_does_not_count(workers: Workers) -> None:
    clock = iter([0.0, 60.0])

    def fail() -> None:
        raise LookupError("nothing here")

    def wait() -> str:
        must_be_patient()
        return where()

    pace = quick()
    assert asyncio.run(workers.run_short(pace, wait)) == "test-0"
    assert pace.quick
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("jiyi.execution.time.perf_counter", lambda: next(clock))
        with pytest.raises(LookupError):
            asyncio.run(workers.run_short(pace, fail))
    assert not pace.quick


def test_with_no_time_allowed_every_call_goes_to_a_thread(workers: Workers) -> None:
    pace = Pace(0.0)

    async def many() -> set[str]:
        return {await workers.run_short(pace, where) for _ in range(40)}

    assert asyncio.run(many()) == {"test-0"}


def test_other_tasks_have_their_turn_after_each_call(workers: Workers) -> None:
    pace = quick()
    turns: list[str] = []

    async def calls() -> None:
        for _ in range(3):
            await workers.run_short(pace, lambda: turns.append("call"))

    async def other() -> None:
        for _ in range(3):
            turns.append("other")
            await asyncio.sleep(0)

    async def both() -> None:
        await asyncio.gather(calls(), other())

    asyncio.run(both())
    assert turns == ["call", "other"] * 3


def test_of_many_callers_at_once_one_stays_on_the_loop_and_the_others_use_threads(workers: Workers) -> None:
    pace = quick()

    async def crowd() -> list[str]:
        return list(await asyncio.gather(*(workers.run_short(pace, where) for _ in range(5))))

    places = asyncio.run(crowd())
    assert places.count(HERE) == 1
    assert all(place.startswith("test-") for place in places if place != HERE)


def test_a_call_that_would_have_to_wait_is_made_by_a_thread_that_may(workers: Workers) -> None:
    tries: list[tuple[str, bool]] = []

    def write() -> str:
        tries.append((where(), may_wait()))
        if not may_wait():
            raise WouldWaitError
        return "written"

    assert asyncio.run(workers.run_short(quick(), write)) == "written"
    assert tries == [(HERE, False), ("test-0", True)]


def test_what_has_begun_on_the_loop_may_wait_and_the_loop_may_again_afterwards(workers: Workers) -> None:
    seen: list[bool] = []

    def write() -> None:
        seen.append(may_wait())
        wait_from_now_on()
        seen.append(may_wait())

    asyncio.run(workers.run_short(quick(), write))
    assert seen == [False, True]
    assert may_wait()


def test_what_a_short_call_raises_reaches_its_caller_and_other_tasks_still_have_their_turn(workers: Workers) -> None:
    pace = quick()
    turns: list[int] = []

    def fail() -> None:
        raise LookupError("nothing here")

    async def stubborn() -> None:
        for _ in range(3):
            with pytest.raises(LookupError, match="nothing here"):
                await workers.run_short(pace, fail)

    async def both() -> None:
        failing = asyncio.create_task(stubborn())
        while not failing.done():
            turns.append(1)
            await asyncio.sleep(0)
        await failing

    asyncio.run(both())
    assert len(turns) > 3
    assert may_wait()


def test_a_caller_that_is_cancelled_after_its_call_leaves_the_loop_to_the_next(workers: Workers) -> None:
    pace = quick()
    done: list[str] = []

    async def impatient() -> str:
        task = asyncio.create_task(workers.run_short(pace, lambda: done.append(where())))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return await workers.run_short(pace, where)

    assert asyncio.run(impatient()) == HERE
    assert done == [HERE]


def test_closing_waits_for_a_call_on_the_loop_of_another_thread() -> None:
    workers = Workers(1, name="test")
    pace = quick()
    inside, go_on = threading.Event(), threading.Event()
    done: list[str] = []

    def write() -> None:
        inside.set()
        go_on.wait(30)
        done.append("written")

    loop = threading.Thread(target=lambda: asyncio.run(workers.run_short(pace, write)))
    loop.start()
    inside.wait(30)

    def close() -> None:
        workers.close()
        done.append("closed")

    closing_thread = threading.Thread(target=close)
    closing_thread.start()
    go_on.set()
    closing_thread.join(30)
    loop.join(30)
    assert done == ["written", "closed"]
    with pytest.raises(MemoryClosedError):
        asyncio.run(workers.run_short(quick(), where))


def test_a_lock_that_another_thread_holds_is_not_waited_for_on_the_loop(tmp_path: Path, workers: Workers) -> None:
    lock = FileLock(tmp_path / "test.lock", timeout=30)
    held, give_back = threading.Event(), threading.Event()

    def keep() -> None:
        with lock.hold():
            held.set()
            give_back.wait(30)

    def write() -> str:
        with lock.hold():
            return where()

    async def write_meanwhile() -> str:
        writing = asyncio.create_task(workers.run_short(quick(), write))
        await asyncio.sleep(0)
        # The loop is free: otherwise nobody would let the lock go.
        give_back.set()
        return await writing

    keeper = threading.Thread(target=keep)
    keeper.start()
    held.wait(30)
    assert asyncio.run(write_meanwhile()) == "test-0"
    keeper.join()
    assert asyncio.run(workers.run_short(quick(), write)) == HERE
    lock.close()


# --- a memory ---------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def quick_memory(folder: Path) -> AsyncIterator[AgentMemory]:
    """A memory whose writes have been quick for a while, whatever the disk is like."""
    options: dict[str, Any] = {"embedder": "none", "background_indexing": False, "loop_seconds": 1.0}
    async with AgentMemory.open(folder, **options) as memory:
        for number in range(30):
            await memory.store(f"warm {number}", "warm")
        yield memory


def test_stores_stay_on_the_loop_while_they_are_quick(tmp_path: Path) -> None:
    async def story() -> int:
        async with quick_memory(tmp_path) as memory:
            turns = 0

            async def count() -> None:
                nonlocal turns
                while True:
                    turns += 1
                    await asyncio.sleep(0)

            counting = asyncio.create_task(count())
            await asyncio.sleep(0)
            before = turns
            await memory.store("tea", "she drinks green tea")
            counting.cancel()
            return turns - before

    # A way to a thread and back would have given the other task a great many turns.
    assert asyncio.run(story()) == 1


@pytest.mark.parametrize("writer", ["store", "put"])
def test_a_program_that_holds_the_database_does_not_hold_the_event_loop(tmp_path: Path, writer: str) -> None:
    async def story() -> None:
        async with quick_memory(tmp_path) as memory:
            chat = memory.chat("s")
            await chat.put({"role": "user", "content": "before"})
            with closing(sqlite3.connect(tmp_path / "memory.db", isolation_level=None)) as foreign:
                foreign.execute("BEGIN IMMEDIATE")
                if writer == "store":
                    begun: Coroutine[Any, Any, object] = memory.store("tea", "she drinks green tea")
                else:
                    begun = chat.put({"role": "user", "content": "green tea"})
                writing = asyncio.create_task(begun)
                for _ in range(3):
                    await asyncio.sleep(0)
                assert not writing.done()
                foreign.execute("ROLLBACK")
            await writing
            if writer == "store":
                found = await memory.get("tea")
                assert found is not None
                assert found.content == "she drinks green tea"
            else:
                assert [message.content for message in await chat.get_all()] == ["before", "green tea"]

    asyncio.run(story())


def test_bad_input_on_the_loop_changes_nothing_and_the_next_store_works(tmp_path: Path) -> None:
    from jiyi.errors import InvalidInputError

    async def story() -> None:
        async with quick_memory(tmp_path) as memory:
            before = await memory.count()
            with pytest.raises(InvalidInputError):
                await memory.store("", "no key")
            assert await memory.count() == before
            await memory.store("tea", "green")
            assert await memory.count() == before + 1

    asyncio.run(story())


def test_context_variables_are_seen_by_writes_on_the_loop(workers: Workers) -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="none")
    seen: list[str] = []

    async def story() -> None:
        variable.set("mine")
        await workers.run_short(quick(), lambda: seen.append(variable.get()))

    asyncio.run(story())
    assert seen == ["mine"]


def test_a_note_that_has_to_be_read_first_is_appended_to_by_a_thread_and_the_next_entry_is_not(tmp_path: Path) -> None:
    async def story() -> list[str]:
        options: dict[str, Any] = {"embedder": "none", "background_indexing": False, "loop_seconds": 1.0}
        (tmp_path / "notes").mkdir()
        async with AgentMemory.open(tmp_path / "data", workspace=tmp_path / "notes", **options) as memory:
            for _ in range(30):
                await memory.notes.memory_append("warm", at=NOON)
            appender = memory._notes_service().appender
            places: list[str] = []
            journal = appender._journal
            intend = journal.intend

            def noted(record: Any) -> None:
                places.append(where())
                intend(record)

            journal.intend = noted  # type: ignore[method-assign]
            await memory.notes.memory_append("to the note of the day", at=NOON)
            await memory.notes.memory_append("to another note", kind="group", at=NOON)
            await memory.notes.memory_append("to that one again", kind="group", at=NOON)
            return places

    first, new, again = asyncio.run(story())
    assert (first, again) == (HERE, HERE)
    assert new.startswith("jiyi-")

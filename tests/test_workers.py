"""Blocking work in threads, awaited from event loops."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from functools import partial

import pytest

from jiyi.errors import MemoryClosedError
from jiyi.execution import Lazy, Workers

MAX_THREADS = 3


@pytest.fixture
def workers() -> Iterator[Workers]:
    workers = Workers(MAX_THREADS, name="test")
    yield workers
    workers.close()


def test_the_caller_gets_what_the_call_returns_and_another_thread_did_it(workers: Workers) -> None:
    name = asyncio.run(workers.run(lambda: threading.current_thread().name))
    assert name == "test-0"


def test_the_caller_gets_what_the_call_raises(workers: Workers) -> None:
    def fail() -> None:
        raise LookupError("nothing here")

    with pytest.raises(LookupError, match="nothing here"):
        asyncio.run(workers.run(fail))
    assert asyncio.run(workers.run(lambda: "still at work")) == "still at work"


def test_calls_run_side_by_side_but_never_more_than_the_limit(workers: Workers) -> None:
    together = threading.Barrier(MAX_THREADS)
    running: list[int] = []
    most = 0

    def meet() -> None:
        nonlocal most
        running.append(1)
        most = max(most, len(running))
        together.wait(30)
        running.pop()

    async def many() -> None:
        await asyncio.gather(*(workers.run(meet) for _ in range(2 * MAX_THREADS)))

    asyncio.run(many())
    assert most == MAX_THREADS


def test_one_call_after_another_needs_one_thread(workers: Workers) -> None:
    async def in_turn() -> set[str]:
        return {await workers.run(lambda: threading.current_thread().name) for _ in range(20)}

    assert asyncio.run(in_turn()) == {"test-0"}


def test_a_call_goes_on_when_its_caller_stops_waiting(workers: Workers) -> None:
    go_on, done = threading.Event(), threading.Event()

    def slow() -> None:
        go_on.wait(30)
        done.set()

    async def impatient() -> None:
        waiting = asyncio.create_task(workers.run(slow))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    asyncio.run(impatient())
    go_on.set()
    assert done.wait(30)


def test_two_loops_in_two_threads_share_the_workers(workers: Workers) -> None:
    found: list[int] = []

    def loop(number: int) -> None:
        found.append(asyncio.run(workers.run(lambda: number)))

    threads = [threading.Thread(target=loop, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [0, 1, 2, 3]


def test_closing_does_what_waits_and_refuses_what_comes_later() -> None:
    workers = Workers(1, name="test")
    go_on = threading.Event()
    done: list[int] = []

    def work(number: int) -> None:
        go_on.wait(30)
        done.append(number)

    async def close_while_busy() -> None:
        calls = [asyncio.create_task(workers.run(partial(work, number))) for number in range(3)]
        await asyncio.sleep(0)
        closing = asyncio.create_task(asyncio.to_thread(workers.close))
        go_on.set()
        await asyncio.gather(*calls, closing)
        with pytest.raises(MemoryClosedError):
            await workers.run(lambda: None)

    asyncio.run(close_while_busy())
    assert done == [0, 1, 2]


def test_an_answer_that_comes_after_the_loop_has_ended_is_dropped(workers: Workers) -> None:
    go_on, done = threading.Event(), threading.Event()

    def late() -> None:
        go_on.wait(30)
        done.set()

    async def leave() -> None:
        waiting = asyncio.create_task(workers.run(late))
        await asyncio.sleep(0)
        waiting.cancel()

    asyncio.run(leave())
    go_on.set()
    assert done.wait(30)
    assert asyncio.run(workers.run(lambda: "still at work")) == "still at work"


def test_what_is_made_once_is_the_same_for_all_threads_that_ask_at_the_same_time() -> None:
    together = threading.Barrier(MAX_THREADS)
    made: list[object] = []

    def make() -> object:
        made.append(object())
        return made[-1]

    once = Lazy(make)
    assert not once.made
    got: list[object] = []

    def ask() -> None:
        together.wait(30)
        got.append(once())

    threads = [threading.Thread(target=ask) for _ in range(MAX_THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == made * MAX_THREADS
    assert once.made


def test_what_could_not_be_made_is_tried_again() -> None:
    tries: list[int] = []

    def make() -> str:
        tries.append(1)
        if len(tries) == 1:
            raise LookupError("not yet")
        return "there"

    once = Lazy(make)
    with pytest.raises(LookupError):
        once()
    assert once() == "there"

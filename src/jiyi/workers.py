"""Threads that do blocking work for event loops, and things that are made once.

What `loop.run_in_executor` does, with fewer hand-overs: a small write is so quick that the way to a thread and back is
a good part of it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, Generic, TypeAlias, TypeVar

from jiyi.errors import MemoryClosedError

R = TypeVar("R")
_Job: TypeAlias = tuple[Callable[[], Any], asyncio.AbstractEventLoop, "asyncio.Future[Any]"]


class Once(Generic[R]):
    """Makes something when it is first asked for, and then gives the same to everybody."""

    def __init__(self, make: Callable[[], R]) -> None:
        self._make: Callable[[], R] | None = make
        self._guard = threading.Lock()
        self._made: R

    @property
    def made(self) -> bool:
        """Whether anybody has asked for it."""
        return self._make is None

    def __call__(self) -> R:
        """What was made, now or before."""
        if self._make is not None:
            with self._guard:
                if self._make is not None:
                    self._made = self._make()
                    self._make = None
        return self._made


class Workers:
    """At most `most` threads, started when they are needed."""

    def __init__(self, most: int, *, name: str) -> None:
        self._most = most
        self._name = name
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._guard = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._unfinished = 0
        self._closed = False

    async def run(self, call: Callable[[], R]) -> R:
        """Call it in one of the threads and wait for what it returns or raises.

        Who stops waiting does not stop the call.
        """
        loop = asyncio.get_running_loop()
        outcome: asyncio.Future[R] = loop.create_future()
        with self._guard:
            if self._closed:
                raise MemoryClosedError("this memory was closed meanwhile; open it again")
            self._unfinished += 1
            if self._unfinished > len(self._threads) < self._most:
                self._start()
            self._jobs.put((call, loop, outcome))
        return await outcome

    def close(self) -> None:
        """Take no more calls, do those that wait, and end the threads."""
        with self._guard:
            self._closed = True
            for _ in self._threads:
                self._jobs.put(None)
        for thread in self._threads:
            thread.join()

    def _start(self) -> None:
        # Daemons: a program that forgets to close its memory ends all the same, and what was acknowledged is on disk.
        thread = threading.Thread(target=self._work, name=f"{self._name}-{len(self._threads)}", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _free(self) -> None:
        """Count this thread as free, before its caller hears: the next call needs no other one."""
        with self._guard:
            self._unfinished -= 1

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            call, loop, outcome = job
            try:
                result = call()
            except BaseException as error:  # noqa: BLE001 - whatever it is belongs to the one who waits
                self._free()
                _tell(loop, _fail, outcome, error)
            else:
                self._free()
                _tell(loop, _succeed, outcome, result)
                del result
            # An idle thread must not keep alive what the last caller has long forgotten.
            del job, call, loop, outcome


class Waker:
    """A thread that sleeps until it is told that there is work. A subclass says in `_run` what the work is."""

    def __init__(self, name: str) -> None:
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin, with whatever is left over from before."""
        self._wake.set()
        self._thread.start()

    def notify(self) -> None:
        """There is something to do."""
        self._wake.set()

    def stop(self) -> None:
        """End after the work in hand. What is left is stored, and done after the next opening."""
        self._stop.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        """Work until `_stop` is set."""
        raise NotImplementedError


def _tell(
    loop: asyncio.AbstractEventLoop, how: Callable[..., None], outcome: asyncio.Future[Any], value: object
) -> None:
    # The loop may be closed by now: then nobody waits.
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(how, outcome, value)


def _succeed(outcome: asyncio.Future[Any], value: object) -> None:
    if not outcome.cancelled():
        outcome.set_result(value)


def _fail(outcome: asyncio.Future[Any], error: BaseException) -> None:
    if not outcome.cancelled():
        outcome.set_exception(error)

"""Threads that do blocking work for event loops, and things that are made once.

What `loop.run_in_executor` does, with fewer hand-overs: a small write is so quick that the way to a thread and back is
a good part of it, on virtual machines more than half. So short calls can be made on the event loop itself, as long as
they are quick (`Workers.run_short`).
"""

from __future__ import annotations

import asyncio
import functools
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, Generic, TypeAlias, TypeVar

from jiyi.errors import MemoryClosedError

R = TypeVar("R")
_WEIGHT = 1 / 8
_CLOSED = "this memory was closed meanwhile; open it again"
_Job: TypeAlias = tuple[Callable[[], Any], asyncio.AbstractEventLoop, "asyncio.Future[Any]"]


class Lazy(Generic[R]):
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


class WouldWaitError(Exception):
    """What was begun on an event loop would have to wait; nothing was done, and a thread may do it from the start."""


class _Manners(threading.local):
    """What a thread may do just now."""

    waits = True


_manners = _Manners()


def may_wait() -> bool:
    """Whether this thread may wait for others: not at the beginning of a call that is made on an event loop.

    Who may not, and would have to, raises `WouldWaitError` before anything is done.
    """
    return _manners.waits


def must_be_patient() -> None:
    """What follows may take long: `WouldWaitError` for a thread that may not wait."""
    if not _manners.waits:
        raise WouldWaitError


def wait_from_now_on() -> None:
    """What this thread does has begun, and is done to its end, even if that means waiting."""
    _manners.waits = True


class Pace:
    """How long calls of one kind take lately, and whether that is short enough for an event loop to wait for them."""

    def __init__(self, limit: float) -> None:
        """`limit` in seconds; with 0 no call is short enough."""
        self._limit = limit
        # Not known yet: some calls have to be quick first.
        self._typical = 4 * limit
        self.here = False
        """Whether such a call is being made on an event loop, or was in this very turn of it."""

    @property
    def quick(self) -> bool:
        """Whether the next one may be made on the loop."""
        return not self.here and self._typical < self._limit

    def took(self, seconds: float) -> None:
        """One more call; those of before count less and less."""
        self._typical += _WEIGHT * (seconds - self._typical)


class Workers:
    """At most `most` threads, started when they are needed."""

    def __init__(self, most: int, *, name: str) -> None:
        self._most = most
        self._name = name
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._guard = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._unfinished = 0
        self._here = 0
        self._nobody_here = threading.Condition(self._guard)
        self._closed = False

    async def run(self, call: Callable[[], R]) -> R:
        """Call it in one of the threads and wait for what it returns or raises.

        Who stops waiting does not stop the call.
        """
        loop = asyncio.get_running_loop()
        outcome: asyncio.Future[R] = loop.create_future()
        with self._guard:
            if self._closed:
                raise MemoryClosedError(_CLOSED)
            self._unfinished += 1
            if self._unfinished > len(self._threads) < self._most:
                self._start()
            self._jobs.put((call, loop, outcome))
        return await outcome

    async def run_short(self, pace: Pace, call: Callable[[], R]) -> R:
        """The same for a call that is short: while the last ones of its kind were, it is made here, on the event loop.

        One in each turn of the loop, so that others have theirs. A call that would have to wait for a lock goes to a
        thread, and so do the next ones after a slow one.
        """
        if not pace.quick:
            return await self.run(functools.partial(_timed, pace, call))
        pace.here = True
        try:
            return self._call_here(pace, call)
        except WouldWaitError:
            pass
        finally:
            try:
                await asyncio.sleep(0)
            finally:
                pace.here = False
        # How long it waits says nothing about calls that need not.
        return await self.run(call)

    def _call_here(self, pace: Pace, call: Callable[[], R]) -> R:
        with self._guard:
            if self._closed:
                raise MemoryClosedError(_CLOSED)
            self._here += 1
        _manners.waits = False
        try:
            return _timed(pace, call)
        finally:
            _manners.waits = True
            with self._guard:
                self._here -= 1
                self._nobody_here.notify_all()

    def close(self) -> None:
        """Take no more calls, do those that wait, and end the threads."""
        with self._guard:
            self._closed = True
            self._nobody_here.wait_for(lambda: self._here == 0)
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


class BackgroundThread:
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


def _timed(pace: Pace, call: Callable[[], R]) -> R:
    """Make the call, and count how long it takes, also if it fails; not if it was only begun."""
    begin, begun_only = time.perf_counter(), False
    try:
        return call()
    except WouldWaitError:
        begun_only = True
        raise
    finally:
        if not begun_only:
            pace.took(time.perf_counter() - begin)


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

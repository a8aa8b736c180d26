"""Blocking work for event loops: thread pools, background threads, values made on first use.

`Workers` does what `loop.run_in_executor` does, with fewer hand-overs between threads. For a small write the way to a
thread and back is a good part of its time, on virtual machines more than half. So short calls can be made on the event
loop itself, as long as they are quick (`Workers.run_short`).
"""

from __future__ import annotations

import asyncio
import functools
import os
import threading
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from contextvars import copy_context
from queue import SimpleQueue
from typing import Any, Generic, ParamSpec, Protocol, TypeAlias, TypeVar

from jiyi.errors import MemoryClosedError
from jiyi.exhaustion import resource_limit, thread_limit

P = ParamSpec("P")
R = TypeVar("R")
CLOSED = "this memory is closed; open it again with create_memory or AgentMemory.open"
_CLOSED_MEANWHILE = "this memory was closed meanwhile; open it again"
_WEIGHT = 1 / 8
_Job: TypeAlias = tuple[Callable[[], Any], asyncio.AbstractEventLoop, "asyncio.Future[Any]"]


class Run(Protocol):
    """Runs a blocking function without blocking the event loop."""

    def __call__(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, R]:
        """Call the function with these arguments and wait for its result."""
        ...


class Lazy(Generic[R]):
    """A value that is made on first use; later calls return the same value. Safe for threads."""

    def __init__(self, make: Callable[[], R]) -> None:
        self._make: Callable[[], R] | None = make
        self._guard = threading.Lock()
        self._made: R

    @property
    def made(self) -> bool:
        """Whether the value exists."""
        return self._make is None

    def __call__(self) -> R:
        """Returns the value."""
        if self._make is not None:
            with self._guard:
                if self._make is not None:
                    self._made = self._make()
                    self._make = None
        return self._made


class WouldWaitError(Exception):
    """Raised when a call on an event loop would have to wait. Nothing was done; a thread can repeat it."""


class _Manners(threading.local):
    """Whether the current thread may wait."""

    waits = True


_manners = _Manners()


def may_wait() -> bool:
    """Whether this thread may wait for a lock. It may not at the start of a call that runs on an event loop.

    A caller that may not wait, and would have to, raises `WouldWaitError` before it changes anything.
    """
    return _manners.waits


def must_be_patient() -> None:
    """Raise `WouldWaitError` if this thread may not wait: what follows may take long."""
    if not _manners.waits:
        raise WouldWaitError


def wait_from_now_on() -> None:
    """Allow this thread to wait: its work has begun and has to be finished."""
    _manners.waits = True


class Pace:
    """A moving average of how long calls of one kind take, to decide whether the next may run on the event loop."""

    def __init__(self, limit: float) -> None:
        """`limit` in seconds; with 0 no call is short enough."""
        self._limit = limit
        # Nothing is known yet, so the first calls go to threads.
        self._typical = 4 * limit
        self.here = False
        """Whether such a call runs on an event loop now, or has run in the current iteration of it."""

    @property
    def quick(self) -> bool:
        """Whether the next call may run on the loop."""
        return not self.here and self._typical < self._limit

    def took(self, seconds: float) -> None:
        """Take one more call into the average."""
        self._typical += _WEIGHT * (seconds - self._typical)


class Workers:
    """A pool of at most `most` threads, started when they are needed."""

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

        Cancelling the wait does not cancel the call.
        """
        loop = asyncio.get_running_loop()
        outcome: asyncio.Future[R] = loop.create_future()
        with self._guard:
            if self._closed:
                raise MemoryClosedError(_CLOSED_MEANWHILE)
            self._unfinished += 1
            if self._unfinished > len(self._threads) < self._most:
                self._start()
            self._jobs.put((call, loop, outcome))
        return await outcome

    async def run_short(self, pace: Pace, call: Callable[[], R]) -> R:
        """The same for a short call: it runs here, on the event loop, while calls of its kind have been quick.

        At most one runs in each iteration of the loop, so that other tasks make progress. A call that would have to
        wait for a lock goes to a thread, and so do the next ones after a slow one.
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
        # Not timed: waiting for a lock says nothing about calls that do not wait.
        return await self.run(call)

    def _call_here(self, pace: Pace, call: Callable[[], R]) -> R:
        with self._guard:
            if self._closed:
                raise MemoryClosedError(_CLOSED_MEANWHILE)
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
        """Refuse new calls, finish those that are queued, and end the threads."""
        with self._guard:
            self._closed = True
            self._nobody_here.wait_for(lambda: self._here == 0)
            for _ in self._threads:
                self._jobs.put(None)
        for thread in self._threads:
            thread.join()

    def _start(self) -> None:
        # Daemon threads: a program that does not close its memory still ends, and acknowledged writes are on disk.
        thread = threading.Thread(target=self._work, name=f"{self._name}-{len(self._threads)}", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            # With one thread the calls wait for each other; without one they would wait for ever.
            if not self._threads:
                self._unfinished -= 1
                raise thread_limit() from error
        else:
            self._threads.append(thread)

    def _free(self) -> None:
        """Count this thread as idle before its caller gets the result, so that the next call reuses it."""
        with self._guard:
            self._unfinished -= 1

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            call, loop, outcome = job
            try:
                result = call()
            except BaseException as error:  # noqa: BLE001 - every error is raised in the caller
                self._free()
                _report(loop, _fail, outcome, error)
            else:
                self._free()
                _report(loop, _succeed, outcome, result)
                del result
            # An idle thread must not keep the arguments and results of its last call alive.
            del job, call, loop, outcome


class BlockingCalls:
    """How the methods of one memory run blocking work: on threads, and not after the memory was closed.

    Work that may wait for a model has threads of its own, so that slow models do not delay reads and writes.
    """

    def __init__(self) -> None:
        self._threads = Workers(8, name="jiyi")
        self._model_threads = Workers(8, name="jiyi-model")
        self._deferred: set[asyncio.Task[object]] = set()
        self._process = os.getpid()
        self.closed = False

    async def run(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run it on a thread."""
        await self._ready()
        return await self._threads.run(_in_context(function, *args, **kwargs))

    def short(self, pace: Pace) -> Run:
        """Returns the way to run one small write: on the event loop itself while such writes are quick."""

        async def run(function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
            await self._ready()
            return await self._threads.run_short(pace, _in_context(function, *args, **kwargs))

        return run

    async def run_model(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run what may wait for a model."""
        self._check_open()
        return await self._model_threads.run(_in_context(function, *args, **kwargs))

    def defer(self, function: Callable[..., object], *args: Any) -> None:
        """Run it after the current call has returned; the next call of this memory waits for it."""
        if self.closed or self.is_inherited:
            return
        task = asyncio.get_running_loop().create_task(self._threads.run(functools.partial(function, *args)))
        self._deferred.add(task)
        task.add_done_callback(self._deferred.discard)

    async def finish_deferred(self) -> None:
        """Wait for the deferred calls of this event loop."""
        own = [task for task in self._deferred if task.get_loop() is asyncio.get_running_loop()]
        if own:
            await asyncio.wait(own)

    @property
    def is_inherited(self) -> bool:
        """Whether this is a process that was forked from the one that opened the memory."""
        return self._process != os.getpid()

    def close(self) -> None:
        """Finish what is queued and end the threads."""
        self._threads.close()
        self._model_threads.close()

    async def _ready(self) -> None:
        self._check_open()
        if self._deferred:
            await self.finish_deferred()

    def _check_open(self) -> None:
        if self.closed:
            raise MemoryClosedError(CLOSED)
        if self.is_inherited:
            raise inherited(self._process)


async def on_a_thread(function: Callable[[], R], *, or_here: bool = False) -> R:
    """Run it on a thread of the event loop; if none can be started, `or_here` or `ResourceLimitError`."""
    try:
        return await asyncio.get_running_loop().run_in_executor(None, function)
    except RuntimeError as error:
        if resource_limit(error) is None:
            raise
        if not or_here:
            raise thread_limit() from error
    return function()


def inherited(owner: int) -> MemoryClosedError:
    """The error of a memory that a forked process uses: threads and locks of its owner are not in this process."""
    return MemoryClosedError(
        f"this memory was opened by process {owner} and inherited by process {os.getpid()} through fork; "
        "open it again in this process (or open it after the fork only)"
    )


class BackgroundThread:
    """A thread that sleeps until it is notified. A subclass implements the work in `_run`."""

    def __init__(self, name: str) -> None:
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Start, with the work that an earlier process left."""
        self._wake.set()
        try:
            self._thread.start()
        except RuntimeError as error:
            raise thread_limit() from error

    def notify(self) -> None:
        """Wake the thread: there is work."""
        self._wake.set()

    def stop(self) -> None:
        """Stop after the current piece of work. What is left is stored, and done after the next opening."""
        self._stop.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        """Work until `_stop` is set."""
        raise NotImplementedError


def _in_context(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> Callable[[], R]:
    """The call with the context variables of the caller."""
    return functools.partial(copy_context().run, function, *args, **kwargs)


def _timed(pace: Pace, call: Callable[[], R]) -> R:
    """Make the call and record its time, also if it fails; not if it raised `WouldWaitError`."""
    begin, begun_only = time.perf_counter(), False
    try:
        return call()
    except WouldWaitError:
        begun_only = True
        raise
    finally:
        if not begun_only:
            pace.took(time.perf_counter() - begin)


def _report(
    loop: asyncio.AbstractEventLoop, how: Callable[..., None], outcome: asyncio.Future[Any], value: object
) -> None:
    # RuntimeError: the loop is closed, so nothing waits for the result.
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(how, outcome, value)


def _succeed(outcome: asyncio.Future[Any], value: object) -> None:
    if not outcome.cancelled():
        outcome.set_result(value)


def _fail(outcome: asyncio.Future[Any], error: BaseException) -> None:
    if not outcome.cancelled():
        outcome.set_exception(error)

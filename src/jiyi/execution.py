"""Blocking work for event loops: thread pools, background threads, lazy values.

Nothing that may wait for a disk, a lock or a server runs on an event loop. `Workers` does what `loop.run_in_executor`
does, with fewer hand-overs between threads; writes go to the `GroupWriter` of `group_writer`.
"""

from __future__ import annotations

import asyncio
import functools
import os
import threading
from collections.abc import Callable, Coroutine, Iterable, Sequence
from contextvars import copy_context
from queue import SimpleQueue
from typing import Any, Generic, NoReturn, ParamSpec, Protocol, Self, TypeAlias, TypeVar

from jiyi.errors import MemoryClosedError
from jiyi.group_writer import CLOSED_MEANWHILE, GroupWriter, Transaction, report
from jiyi.resource_limits import resource_limit, thread_limit

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
CLOSED = "this memory is closed; open it again with create_memory or AgentMemory.open"
_GATHERING_SECONDS = 0.2
"""How long `defer_batched` waits for more of the same."""
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


class OpenHandle:
    """Base of objects with open files and threads: a copy is the same object, and another process opens its own."""

    def __copy__(self) -> Self:
        """The same object, so that what uses an open memory can be copied."""
        return self

    def __deepcopy__(self, memo: object) -> Self:
        """The same object, see `__copy__`."""
        return self

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled."""
        raise TypeError(f"{self!r} is open and cannot be pickled; open it in the other process by its path")


class Workers:
    """A pool of at most `max_threads` threads, started when they are needed."""

    def __init__(self, max_threads: int, *, name: str) -> None:
        self._max_threads = max_threads
        self._name = name
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._guard = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._unfinished = 0
        self._closed = False

    async def run(self, call: Callable[[], R]) -> R:
        """Call it in one of the threads and wait for what it returns or raises.

        Cancelling the wait does not cancel the call.
        """
        loop = asyncio.get_running_loop()
        outcome: asyncio.Future[R] = loop.create_future()
        with self._guard:
            if self._closed:
                raise MemoryClosedError(CLOSED_MEANWHILE)
            self._unfinished += 1
            if self._unfinished > len(self._threads) < self._max_threads:
                self._start()
            self._jobs.put((call, loop, outcome))
        return await outcome

    def close(self) -> None:
        """Refuse new calls, finish those that are queued, and end the threads."""
        with self._guard:
            self._closed = True
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
                report(loop, _fail, outcome, error)
            else:
                self._free()
                report(loop, _succeed, outcome, result)
                del result
            # An idle thread must not keep the arguments and results of its last call alive.
            del job, call, loop, outcome


class BlockingCalls:
    """How the methods of one memory run blocking work: on threads, and not after the memory was closed.

    Work that may wait for a model has threads of its own, so that slow models do not delay reads and writes.
    """

    def __init__(self, transaction: Transaction | None = None, written: Callable[[], None] = lambda: None) -> None:
        """`transaction` makes the transactions of groups of writes; without it each write makes its own.

        `written` is called when a group was committed.
        """
        self._written = written
        self._threads = Workers(8, name="jiyi")
        self._writer = self._threads if transaction is None else GroupWriter(transaction, written)
        self._model_threads = Workers(8, name="jiyi-model")
        self._deferred: set[asyncio.Task[object]] = set()
        self._gathered: dict[Callable[[list[Any]], object], dict[Any, None]] = {}
        self._gathering: tuple[asyncio.AbstractEventLoop, asyncio.TimerHandle] | None = None
        self._process = os.getpid()
        self.closed = False

    async def run(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run it on a thread."""
        await self._ready()
        return await self._threads.run(_in_context(function, *args, **kwargs))

    async def run_unordered(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run it on a thread, before what was deferred: for what does not read what that writes."""
        self._check_open()
        return await self._threads.run(_in_context(function, *args, **kwargs))

    async def write(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run a function whose only effect is one write to the records; durable when this returns.

        Where the store has group commit, it shares a transaction with the other writes that are waiting.
        """
        await self._ready()
        return await self._writer.run(_in_context(function, *args, **kwargs))

    async def write_item(self, function: Callable[[list[T]], Sequence[R]], item: T) -> R:
        """Write one item with a function that writes several, as `write` does.

        Where the store has group commit, items that wait for the same function are written by one call of it. It is
        not called in the context of the caller.
        """
        await self._ready()
        if isinstance(self._writer, GroupWriter):
            return await self._writer.run_item(function, item)
        written = (await self._writer.run(functools.partial(function, [item])))[0]
        self._written()
        return written

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

    def defer_batched(self, function: Callable[[list[T]], object], items: Iterable[T]) -> None:
        """Run it with these items after the current call has returned, together with those of the calls after it.

        The next call of this memory that is not run by `run_unordered` has it run and waits for it. If there is none,
        it runs a little later.
        """
        if self.closed or self.is_inherited:
            return
        self._gathered.setdefault(function, {}).update(dict.fromkeys(items))
        loop = asyncio.get_running_loop()
        # The timer of another event loop may never fire: that loop may have ended.
        if self._gathering is None or self._gathering[0] is not loop:
            self._gathering = loop, loop.call_later(_GATHERING_SECONDS, self._defer_gathered)

    def _defer_gathered(self) -> None:
        if self._gathering is not None:
            self._gathering[1].cancel()
            self._gathering = None
        gathered, self._gathered = self._gathered, {}
        for function, items in gathered.items():
            self.defer(function, list(items))

    async def finish_deferred(self) -> None:
        """Run what was gathered, and wait for the deferred calls of this event loop."""
        self._defer_gathered()
        own = [task for task in self._deferred if task.get_loop() is asyncio.get_running_loop()]
        if own:
            await asyncio.wait(own)

    @property
    def is_inherited(self) -> bool:
        """Whether this is a process that was forked from the one that opened the memory."""
        return self._process != os.getpid()

    def close(self) -> None:
        """Finish what is queued and end the threads."""
        self._writer.close()
        self._threads.close()
        self._model_threads.close()

    async def _ready(self) -> None:
        self._check_open()
        if self._deferred or self._gathered:
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


def _succeed(outcome: asyncio.Future[Any], value: object) -> None:
    if not outcome.cancelled():
        outcome.set_result(value)


def _fail(outcome: asyncio.Future[Any], error: BaseException) -> None:
    if not outcome.cancelled():
        outcome.set_exception(error)

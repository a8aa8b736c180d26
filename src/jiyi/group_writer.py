"""GroupWriter: one thread for the writes of a store, which commits the writes of many callers together."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from copy import copy
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, Final, TypeAlias, TypeVar

from jiyi.errors import JiyiError, MemoryClosedError
from jiyi.resource_limits import thread_limit

R = TypeVar("R")
T = TypeVar("T")
CLOSED_MEANWHILE: Final = "this memory was closed meanwhile; open it again"
Transaction: TypeAlias = Callable[[], AbstractContextManager[None]]
"""Begins a transaction that the writes of this thread take part in; committed when the block ends."""
_GROUP_CALLS: Final = 256
_GROUP_SECONDS: Final = 0.02
_ANSWERED_AT_ONCE: Final = 32
_ALONE: Final = object()
"""In the place of an item: the write shares its call with no other."""


@dataclass(slots=True)
class _Write:
    """One write that waits for its commit: the call, who waits for it, and what came of it."""

    call: Callable[..., Any]
    loop: asyncio.AbstractEventLoop
    outcome: asyncio.Future[Any]
    item: Any = _ALONE
    """What is written by a call that takes several of these and returns as many results."""
    result: Any = None
    error: BaseException | None = None

    def run(self) -> None:
        """Make the call and keep what it returns or raises."""
        try:
            self.result = self.call() if self.item is _ALONE else self.call([self.item])[0]
            self.error = None
        except BaseException as error:  # noqa: BLE001 - every error is raised in the caller
            self.error = error

    def joins(self, other: _Write) -> bool:
        """Whether both can be written by one call."""
        return self.item is not _ALONE and other.item is not _ALONE and self.call is other.call

    def settle(self) -> None:
        """On the event loop of the caller: hand over what came of it."""
        if self.outcome.done():
            return
        if self.error is not None:
            self.outcome.set_exception(self.error)
        else:
            self.outcome.set_result(self.result)


class GroupWriter:
    """One thread for the writes of a store, with group commit.

    It takes the writes that are waiting, in their order, runs them in one transaction, commits it once, and then
    answers all of them. A single write does not wait for others to come. A call that fails is answered with its error
    and has no part in the commit; if the transaction itself is lost, each call is run again in one of its own.
    """

    def __init__(self, transaction: Transaction, committed: Callable[[], None]) -> None:
        self._transaction = transaction
        self._committed = committed
        self._writes: SimpleQueue[_Write | None] = SimpleQueue()
        self._guard = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed = False

    def run(self, call: Callable[[], R]) -> asyncio.Future[R]:
        """Run a write; await it until it is committed.

        Cancelling the wait withdraws a write that is still queued; one that has begun happens whole.
        """
        loop = asyncio.get_running_loop()
        return self._queue(_Write(call, loop, loop.create_future()))

    def run_item(self, call: Callable[[list[T]], Sequence[R]], item: T) -> asyncio.Future[R]:
        """The same for a call that writes items: those that are waiting one behind the other are written by one call.

        If that fails, each is written alone, so that the error reaches the caller it belongs to.
        """
        loop = asyncio.get_running_loop()
        return self._queue(_Write(call, loop, loop.create_future(), item))

    def _queue(self, write: _Write) -> asyncio.Future[Any]:
        with self._guard:
            if self._closed:
                raise MemoryClosedError(CLOSED_MEANWHILE)
            if self._thread is None:
                thread = threading.Thread(target=self._work, name="jiyi-writer", daemon=True)
                try:
                    thread.start()
                except RuntimeError as error:
                    raise thread_limit() from error
                self._thread = thread
            self._writes.put(write)
        return write.outcome

    def close(self) -> None:
        """Refuse new writes, finish those that are queued, and end the thread."""
        with self._guard:
            self._closed = True
            self._writes.put(None)
        if self._thread is not None:
            self._thread.join()

    def _work(self) -> None:
        while (first := self._writes.get()) is not None:
            _answer(self._commit(first))
            # An idle thread must not keep the arguments and results of its last calls alive.
            del first

    def _commit(self, first: _Write) -> list[_Write]:
        """Run a group that begins with this write; returns all writes that were taken, with what came of them."""
        group: list[_Write] = []
        try:
            with self._transaction():
                for together in _joined(self._waiting(first, group)):
                    _run_together(together)
        except BaseException as error:  # noqa: BLE001 - every error is raised in the caller
            if not group:
                # The lock could not be had in time. Those who wait behind this one must not wait as long again.
                group = [first, *self._rest()]
                for write in group:
                    write.error = copy(error)
            elif len(group) == 1:
                group[0].error = group[0].error or error
            else:
                for write in group:
                    self._commit_alone(write)
        self._committed()
        return group

    def _commit_alone(self, write: _Write) -> None:
        try:
            with self._transaction():
                write.run()
        except BaseException as error:  # noqa: BLE001 - every error is raised in the caller
            write.error = write.error or error

    def _waiting(self, first: _Write, taken: list[_Write]) -> Iterator[_Write]:
        """The writes that are waiting, as many as one transaction shall have.

        Each is in `taken` as soon as it has left the queue: whatever fails then, its caller gets an answer.
        """
        deadline = time.monotonic() + _GROUP_SECONDS
        write: _Write | None = first
        count = 0
        while write is not None:
            # Whoever was cancelled before the write began has withdrawn it.
            if not write.outcome.cancelled():
                taken.append(write)
                yield write
                count += 1
            # Mostly there is no other. To ask for one that is not there would raise an error.
            if self._writes.empty() or count >= _GROUP_CALLS or time.monotonic() >= deadline:
                return
            write = self._next()

    def _rest(self) -> Iterator[_Write]:
        while (write := self._next()) is not None:
            yield write

    def _next(self) -> _Write | None:
        """The next write that is waiting already."""
        try:
            write = self._writes.get_nowait()
        except Empty:
            return None
        if write is None:
            # The end of the queue, for `_work` to find.
            self._writes.put(None)
        return write


def report(loop: asyncio.AbstractEventLoop, how: Callable[..., None], *values: object) -> None:
    """Call a function on an event loop, from any thread."""
    try:  # noqa: SIM105 - every write passes here, and `suppress` takes longer
        loop.call_soon_threadsafe(how, *values)
    except RuntimeError:
        # The loop is closed, so nothing waits for the result.
        pass


def _joined(writes: Iterator[_Write]) -> Iterator[list[_Write]]:
    """The writes in their order; neighbours that can be written by one call are one list."""
    together: list[_Write] = []
    for write in writes:
        if together and not write.joins(together[0]):
            yield together
            together = []
        together.append(write)
    if together:
        yield together


def _run_together(writes: Sequence[_Write]) -> None:
    if len(writes) > 1:
        # The error of one of them comes again when it is written alone.
        with suppress(JiyiError):
            results = writes[0].call([write.item for write in writes])
            for write, result in zip(writes, results, strict=True):
                write.result, write.error = result, None
            return
    for write in writes:
        write.run()


def _answer(group: list[_Write]) -> None:
    """Hand over what came of these writes: one message for each event loop, however many callers it has."""
    if len(group) == 1:
        report(group[0].loop, group[0].settle)
        return
    for loop in {write.loop for write in group}:
        report(loop, _settle, loop, [write for write in group if write.loop is loop])


def _settle(loop: asyncio.AbstractEventLoop, writes: list[_Write]) -> None:
    """Answer some of the callers, and the others in the next iterations: each wakes a task, and others must run too."""
    for write in writes[:_ANSWERED_AT_ONCE]:
        write.settle()
    if len(writes) > _ANSWERED_AT_ONCE:
        loop.call_soon(_settle, loop, writes[_ANSWERED_AT_ONCE:])

"""Blocking classes: the methods of an asynchronous class, for code without async.

Every call goes to an event loop in a thread of its own, so that nothing is written twice.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import os
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from contextlib import suppress
from typing import Any, Self, TypeVar

from jiyi.errors import InvalidInputError, MemoryClosedError
from jiyi.execution import CLOSED, OpenHandle, inherited
from jiyi.resource_limits import resource_limit, thread_limit

R = TypeVar("R")


class Portal:
    """An event loop in a thread of its own, on which any thread may run a coroutine and wait for the result.

    The term is anyio's (`BlockingPortal`).
    """

    def __init__(self) -> None:
        try:
            self._loop = asyncio.new_event_loop()
        except OSError as error:
            raise resource_limit(error) or error from error
        self._process = os.getpid()
        self._guard = threading.Lock()
        self._stopped = False
        self._thread = threading.Thread(target=self._loop.run_forever, name="jiyi-portal", daemon=True)
        try:
            self._thread.start()
        except RuntimeError as error:
            self._loop.close()
            raise thread_limit() from error

    def call(self, coroutine: Coroutine[Any, Any, R]) -> R:
        """Run the coroutine and return its result."""
        if threading.current_thread() is self._thread:
            coroutine.close()
            raise InvalidInputError(
                "a callback of jiyi.sync called the memory that is waiting for the callback, which would never end; "
                "call the memory after the callback has returned"
            )
        if self._process != os.getpid():
            coroutine.close()
            raise inherited(self._process)
        with self._guard:
            if self._stopped:
                coroutine.close()
                raise MemoryClosedError(CLOSED)
            waiting = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        return waiting.result()

    def stop(self) -> None:
        """End the loop and its thread; stopping again does nothing, nor does a forked process that inherited it."""
        if self._process != os.getpid():
            return
        with self._guard:
            if self._stopped:
                return
            self._stopped = True
            last = asyncio.run_coroutine_threadsafe(self._finish(), self._loop)
        last.result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _finish(self) -> None:
        """Finish every call in progress. The executor threads of the loop must end before it may be closed."""
        others = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.gather(*others, return_exceptions=True)
        await self._loop.shutdown_default_executor()


class Blocking(OpenHandle):
    """Base of the blocking classes: an asynchronous object, and the portal to its event loop."""

    def __init__(self, target: Any, portal: Portal) -> None:
        self._target = target
        self._portal = portal

    def __repr__(self) -> str:
        return f"<blocking {self._target!r}>"


class BlockingMemory(Blocking):
    """A memory: closing it also ends its event loop."""

    def close(self) -> None:
        """Release files and threads; closing again does nothing."""
        with suppress(MemoryClosedError):
            self._portal.call(self._target.close())
        self._portal.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def blocking_class(
    name: str, interface: type, *, base: type[Blocking] = Blocking, rooms: Mapping[str, type[Blocking]] | None = None
) -> type[Any]:
    """A class with the public methods of the interface, each blocking until it is done.

    `rooms` are the blocking classes of what the methods return, by the name of the return annotation.
    """
    members: dict[str, Any] = {"__doc__": interface.__doc__, "__module__": "jiyi.sync"}
    made = type(name, (base,), members)
    # A method may return an object of the same class.
    known = {**(rooms or {}), interface.__name__: made}
    for member_name in dir(interface):
        if not member_name.startswith("_") and not hasattr(base, member_name):
            setattr(made, member_name, _member(member_name, inspect.getattr_static(interface, member_name), known))
    return made


def _member(name: str, member: Any, rooms: Mapping[str, type[Blocking]]) -> Any:
    if isinstance(member, property):
        room = _room(member.fget, rooms)

        def get(self: Blocking) -> Any:
            value = getattr(self._target, name)
            return value if room is None or value is None else room(value, self._portal)

        return property(functools.wraps(member.fget)(get) if member.fget is not None else get)
    room = _room(member, rooms)
    is_async = inspect.iscoroutinefunction(member)

    @functools.wraps(member)
    def call(self: Blocking, *args: Any, **kwargs: Any) -> Any:
        value = getattr(self._target, name)(*args, **kwargs)
        if is_async:
            value = self._portal.call(value)
        if isinstance(value, AsyncIterator):
            return _each(value, self._portal)
        return value if room is None or value is None else room(value, self._portal)

    return call


def _each(values: AsyncIterator[Any], portal: Portal) -> Iterator[Any]:
    """The values of an asynchronous iterator, each waited for."""

    async def following() -> tuple[Any, ...]:
        async for value in values:
            return (value,)
        return ()

    try:
        while found := portal.call(following()):
            yield found[0]
    finally:
        close = getattr(values, "aclose", None)
        if close is not None:
            # A feed that nobody reads any more may outlive its memory, which has closed what it used.
            with suppress(MemoryClosedError):
                portal.call(close())


def _room(function: Callable[..., Any] | None, rooms: Mapping[str, type[Blocking]]) -> type[Blocking] | None:
    returned = str(getattr(function, "__annotations__", {}).get("return"))
    return rooms.get(returned.removesuffix(" | None"))

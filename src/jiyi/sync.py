"""The same names for code without async. Nothing is written twice: every call goes through one portal.

from jiyi.sync import AgentMemory

with AgentMemory.open("./data") as memory:
    memory.store("name", "她叫小明")
    hits = memory.recall("叫什么名字")
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import os
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

from jiyi import noop, opening
from jiyi.errors import InvalidInputError, MemoryClosedError

if TYPE_CHECKING:
    from jiyi.model.migration import MigrationReport
    from jiyi.ports import Progress

__all__ = ["AgentMemory", "NoopMemory", "create_memory", "migrate_store"]


class _Portal:
    """An event loop in a thread of its own; any thread may send a coroutine through and wait."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._guard = threading.Lock()
        self._stopped = False
        self._thread = threading.Thread(target=self._loop.run_forever, name="jiyi-portal", daemon=True)
        self._thread.start()

    def call(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        if threading.current_thread() is self._thread:
            coroutine.close()
            raise InvalidInputError(
                "a callback of jiyi.sync was about to wait for the memory that waits for it; "
                "note what you need and call the memory after the callback has returned"
            )
        with self._guard:
            if self._stopped:
                coroutine.close()
                raise MemoryClosedError("this memory is closed; open it again with create_memory or AgentMemory.open")
            waiting = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        return waiting.result()

    def stop(self) -> None:
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
        """Answer every thread that still waits; the loop's executor threads must end before it may be closed."""
        others = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.gather(*others, return_exceptions=True)
        await self._loop.shutdown_default_executor()


class _Blocking:
    """Stands for an asynchronous object; its coroutine methods block until they are done."""

    def __init__(self, target: Any, portal: _Portal) -> None:
        self._target = target
        self._portal = portal

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        value = getattr(self._target, name)
        if inspect.iscoroutinefunction(value):
            return self._blocking(value)
        if inspect.ismethod(value):
            return self._wrapping(value)
        return self._without_async(value)

    def __dir__(self) -> list[str]:
        return dir(self._target)

    def __repr__(self) -> str:
        return f"<blocking {self._target!r}>"

    def _without_async(self, value: Any) -> Any:
        """A room of the memory, such as a chat, in the same form as the memory itself."""
        return _Blocking(value, self._portal) if getattr(value, "asynchronous", False) is True else value

    def _wrapping(self, method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def call(*args: Any, **kwargs: Any) -> Any:
            return self._without_async(method(*args, **kwargs))

        return call

    def _blocking(self, method: Callable[..., Coroutine[Any, Any, Any]]) -> Callable[..., Any]:
        @functools.wraps(method)
        def call(*args: Any, **kwargs: Any) -> Any:
            return self._portal.call(method(*args, **kwargs))

        return call


class AgentMemory(_Blocking):
    """`jiyi.AgentMemory` without async: the same methods, blocking."""

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str] | None = None,
        *,
        config: str | os.PathLike[str] | None = None,
        **settings: Any,
    ) -> Self:
        """Open (and create) a data directory; use it with `with`, or call `close()`."""
        portal = _Portal()
        try:
            target = portal.call(opening.create_memory(path, config=config, **settings))
        except BaseException:
            portal.stop()
            raise
        return cls(target, portal)

    def close(self) -> None:
        """Let go of files and threads; closing again does nothing."""
        with suppress(MemoryClosedError):
            self._portal.call(self._target.close())
        self._portal.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class NoopMemory(_Blocking):
    """`jiyi.NoopMemory` without async."""

    def __init__(self) -> None:
        super().__init__(noop.NoopMemory(), _Portal())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the thread."""
        self._portal.stop()


def create_memory(
    path: str | os.PathLike[str] | None = None,
    *,
    config: str | os.PathLike[str] | None = None,
    **settings: Any,
) -> AgentMemory:
    """Open the memory in `path`; the same as `AgentMemory.open`."""
    return AgentMemory.open(path, config=config, **settings)


def migrate_store(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    config: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> MigrationReport:
    """Copy a whole memory to another place; the same as `jiyi.migrate_store`."""
    from jiyi.wiring.migrate import migrate_store

    return migrate_store(source, target, config=config, progress=progress, **settings)

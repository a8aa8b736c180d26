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
from typing import Any, Self

from jiyi import memory as asynchronous
from jiyi import noop

__all__ = ["AgentMemory", "NoopMemory", "create_memory"]


class _Portal:
    """An event loop in a thread of its own; any thread may send a coroutine through and wait."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="jiyi-portal", daemon=True)
        self._thread.start()

    def call(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def stop(self) -> None:
        if self._loop.is_closed():
            return
        # The loop's own executor threads must end before the loop may be closed.
        self.call(self._loop.shutdown_default_executor())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


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
        return value

    def __dir__(self) -> list[str]:
        return dir(self._target)

    def __repr__(self) -> str:
        return f"<blocking {self._target!r}>"

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
            target = portal.call(asynchronous.create_memory(path, config=config, **settings))
        except BaseException:
            portal.stop()
            raise
        return cls(target, portal)

    def close(self) -> None:
        """Let go of files and threads."""
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

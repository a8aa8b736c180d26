"""Values that take long to compute, kept until something has changed: no page waits long, and none waits twice."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Generic, TypeVar

from jiyi.model import clock

T = TypeVar("T")
MAX_WAIT: Final = 0.08
"""How many seconds a page waits for a value. After that it shows the last one, or says that it is being computed."""
_SHARE: Final = 10.0
"""At most one part in so many of the time goes into computing a value again."""
_MAX_AGE: Final = 600.0
"""Some values change with time alone, such as what is forgotten."""
MAX_CACHED: Final = 200


@dataclass(frozen=True, slots=True)
class CachedValue(Generic[T]):
    """A value, and when it was true."""

    value: T
    at: datetime
    current: bool
    """Whether nothing has changed since."""


@dataclass(slots=True)
class _State(Generic[T]):
    task: asyncio.Task[T] | None = None
    """Computing the next value."""
    kept: CachedValue[T] | None = None
    position: int = -1
    rest_until: float = 0.0
    old_from: float = 0.0


class CachedValues(Generic[T]):
    """Values by name that hold for one position of the change feed."""

    def __init__(
        self, position: Callable[[], Awaitable[int]], *, max_wait: float = MAX_WAIT, max_size: int = MAX_CACHED
    ) -> None:
        self._position = position
        self._max_size = max_size
        self._max_wait = max_wait
        self._known: OrderedDict[str, _State[T]] = OrderedDict()

    async def get(self, name: str, compute: Callable[[], Awaitable[T]]) -> CachedValue[T] | None:
        """The value of now; or the last one while the next is being computed; `None` when there is none yet."""
        position = await self._position()
        state = self._known.setdefault(name, _State())
        self._known.move_to_end(name)
        while len(self._known) > self._max_size:
            self._known.popitem(last=False)
        if state.kept is not None and state.position == position and time.monotonic() < state.old_from:
            return state.kept
        if state.task is None and (state.kept is None or time.monotonic() >= state.rest_until):
            state.task = asyncio.get_running_loop().create_task(self._compute(state, position, compute))
        if state.task is not None:
            await asyncio.wait({state.task}, timeout=self._max_wait)
        if state.task is not None and state.task.done():
            task, state.task = state.task, None
            task.result()  # raises what computing has raised
        kept = state.kept
        return None if kept is None else CachedValue(kept.value, kept.at, current=state.position == position)

    async def _compute(self, state: _State[T], position: int, compute: Callable[[], Awaitable[T]]) -> T:
        begun, at = time.monotonic(), clock.utc_now()
        value = await compute()
        seconds = time.monotonic() - begun
        state.kept, state.position = CachedValue(value, at, current=True), position
        state.old_from = time.monotonic() + _MAX_AGE
        # What is quick is computed at every change.
        state.rest_until = time.monotonic() + (_SHARE * seconds if seconds > self._max_wait else 0.0)
        return value

    async def close(self) -> None:
        """End what is being computed."""
        tasks = [state.task for state in self._known.values() if state.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

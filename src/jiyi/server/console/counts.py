"""Counts of a scope, kept until something has changed: no page waits for the same scan twice."""

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
_QUICK: Final = 0.05
"""What took less is computed again at once; what took longer is computed while the page shows the last value."""
_SHARE: Final = 20.0
"""At most one part in so many of the time goes into computing again."""
_MAX_KEPT: Final = 200


@dataclass(frozen=True, slots=True)
class Kept(Generic[T]):
    """A value, and when it was true."""

    value: T
    at: datetime
    current: bool
    """Whether nothing has changed since."""


@dataclass(slots=True)
class _State(Generic[T]):
    value: T
    position: int
    at: datetime
    seconds: float
    ended: float
    task: asyncio.Task[None] | None = None


class KeptByPosition(Generic[T]):
    """Values by name that hold for one position of the change feed."""

    def __init__(self, position: Callable[[], Awaitable[int]]) -> None:
        self._position = position
        self._known: OrderedDict[str, _State[T]] = OrderedDict()

    async def get(self, name: str, compute: Callable[[], Awaitable[T]]) -> Kept[T]:
        """The value of now; or, where computing takes long, the last one, while the next is being computed."""
        position = await self._position()
        state = self._known.get(name)
        if state is not None and state.position == position:
            self._known.move_to_end(name)
            return Kept(state.value, state.at, current=True)
        if state is None or (state.seconds < _QUICK and state.task is None):
            state = await self._compute(name, position, compute)
            return Kept(state.value, state.at, current=True)
        resting = time.monotonic() - state.ended < _SHARE * state.seconds
        if state.task is None and not resting:
            state.task = asyncio.get_running_loop().create_task(self._again(name, position, compute))
        return Kept(state.value, state.at, current=False)

    async def _again(self, name: str, position: int, compute: Callable[[], Awaitable[T]]) -> None:
        try:
            await self._compute(name, position, compute)
        finally:
            state = self._known.get(name)
            if state is not None:
                state.task = None

    async def _compute(self, name: str, position: int, compute: Callable[[], Awaitable[T]]) -> _State[T]:
        begun, at = time.monotonic(), clock.utc_now()
        value = await compute()
        ended = time.monotonic()
        state = _State(value, position, at, ended - begun, ended)
        self._known[name] = state
        self._known.move_to_end(name)
        while len(self._known) > _MAX_KEPT:
            self._known.popitem(last=False)
        return state

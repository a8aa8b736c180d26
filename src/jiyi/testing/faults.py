"""Fault injection: make a chosen call of a real object fail, block, or end the process.

faults = Faults()
index = faults.wrap(index, "text")
faults.fail("text.apply", OSError("disk full"), calls=[1, 2])     # the next two calls fail, the third works
faults.before("text.apply", started.set)                          # or run a function before the call
"""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Collection
from typing import Any, TypeVar, cast

__all__ = ["Faults"]

T = TypeVar("T")
Hook = Callable[[int], None]


class Faults:
    """Named points, `<object>.<method>`, at which calls are counted and can be made to fail. Safe for threads."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._calls: Counter[str] = Counter()
        self._before: defaultdict[str, list[Hook]] = defaultdict(list)
        self._after: defaultdict[str, list[Hook]] = defaultdict(list)

    def wrap(self, target: T, name: str) -> T:
        """The same object with a fault point, `<name>.<method>`, at each of its methods."""
        return cast(T, _FaultProxy(target, name, self))

    def fail(self, point: str, error: BaseException, *, calls: Collection[int] = (1,)) -> None:
        """Raise `error` in place of these calls, counted from now on; the first is 1."""
        made = self.calls(point)

        def hook(number: int) -> None:
            if number - made in calls:
                raise error

        self._add(self._before, point, hook)

    def before(self, point: str, action: Callable[[], object]) -> None:
        """Run `action` before each call; an exception replaces the call."""
        self._add(self._before, point, lambda _number: cast(None, action()))

    def after(self, point: str, action: Callable[[], object]) -> None:
        """Run `action` after each call that returned."""
        self._add(self._after, point, lambda _number: cast(None, action()))

    def clear(self, point: str) -> None:
        """Remove all faults and actions of this point."""
        with self._guard:
            self._before.pop(point, None)
            self._after.pop(point, None)

    def calls(self, point: str) -> int:
        """The number of calls at this point, failed ones included."""
        with self._guard:
            return self._calls[point]

    def _add(self, hooks: defaultdict[str, list[Hook]], point: str, hook: Hook) -> None:
        with self._guard:
            hooks[point].append(hook)

    def _call(self, point: str, call: Callable[[], T]) -> T:
        with self._guard:
            self._calls[point] += 1
            number = self._calls[point]
            before, after = list(self._before[point]), list(self._after[point])
        for hook in before:
            hook(number)
        result = call()
        for hook in after:
            hook(number)
        return result


class _FaultProxy:
    """A proxy with fault points at the methods; other attributes are passed through."""

    def __init__(self, target: Any, name: str, faults: Faults) -> None:
        self._target = target
        self._name = name
        self._faults = faults

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._target, name)
        if name.startswith("_") or not callable(value):
            return value

        def method(*args: Any, **kwargs: Any) -> Any:
            return self._faults._call(f"{self._name}.{name}", lambda: value(*args, **kwargs))  # noqa: SLF001 - its own proxy

        return method

    def __repr__(self) -> str:
        return f"<fault proxy of {self._target!r}>"

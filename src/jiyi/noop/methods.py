"""Methods of objects that keep nothing, with the signatures of the real ones."""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from typing import Any, ParamSpec, TypeVar, cast

from jiyi.errors import InvalidInputError
from jiyi.model import clock
from jiyi.model.category import MemoryCategory
from jiyi.model.change import MemoryChange
from jiyi.model.entry import DEFAULT_IMPORTANCE, MemoryEntry
from jiyi.model.identity import new_id

P = ParamSpec("P")
R = TypeVar("R")
M = TypeVar("M", bound=Callable[..., Any])


def returns(method: Callable[P, Coroutine[Any, Any, R]], value: Callable[[], R]) -> Callable[P, Coroutine[Any, Any, R]]:
    """A method with the signature of another that ignores its arguments."""

    @functools.wraps(method)
    async def call(*_: P.args, **__: P.kwargs) -> R:
        return value()

    return call


def raises(method: Callable[P, Coroutine[Any, Any, R]], message: str) -> Callable[P, Coroutine[Any, Any, R]]:
    """A method with the signature of another that finds nothing to work on."""

    @functools.wraps(method)
    async def call(*_: P.args, **__: P.kwargs) -> R:
        raise InvalidInputError(message)

    return call


def signed_as(method: M) -> Callable[[Callable[[Any, Mapping[str, Any]], Any]], M]:
    """Gives a function the signature of a method; the function gets the object, and the arguments by their names."""
    signature = inspect.signature(method)

    def decorate(function: Callable[[Any, Mapping[str, Any]], Any]) -> M:
        def arguments(*args: Any, **kwargs: Any) -> tuple[Any, Mapping[str, Any]]:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            return args[0], bound.arguments

        async def answer(*args: Any, **kwargs: Any) -> Any:
            return await function(*arguments(*args, **kwargs))

        def call(*args: Any, **kwargs: Any) -> Any:
            return function(*arguments(*args, **kwargs))

        signed: Any = functools.wraps(method)(answer if inspect.iscoroutinefunction(method) else call)
        signed.__doc__ = function.__doc__
        return cast("M", signed)

    return decorate


def returns_entry(
    method: Callable[P, Coroutine[Any, Any, MemoryEntry]],
) -> Callable[P, Coroutine[Any, Any, MemoryEntry]]:
    """A method with the signature of another that returns the entry which would have been stored."""
    parameters = inspect.signature(method)

    @functools.wraps(method)
    async def call(*args: P.args, **kwargs: P.kwargs) -> MemoryEntry:
        given = {name: value for name, value in parameters.bind(*args, **kwargs).arguments.items() if value is not None}
        now = clock.utc_now()
        return MemoryEntry(
            id=new_id(),
            scope=given.get("scope", "main"),
            key=given.get("key"),
            content=given["content"],
            category=MemoryCategory(given.get("category", MemoryCategory.CORE)),
            importance_score=given.get("importance", DEFAULT_IMPORTANCE),
            tags=tuple(dict.fromkeys(given.get("tags", ()))),
            metadata=dict(given.get("metadata", {})),
            namespace=tuple(given.get("namespace", ())),
            created_at=now,
            updated_at=now,
            last_accessed_at=now,
            **{name: given[name] for name in _UNCHANGED if name in given},
        )

    return call


_UNCHANGED = ("memory_type", "domain", "conversation_id", "occurred_at", "position", "expires_at")


def none() -> None:
    """The answer of a method that found nothing."""
    return


async def no_changes() -> AsyncIterator[MemoryChange]:
    """A change feed that is empty."""
    none: tuple[MemoryChange, ...] = ()
    for change in none:
        yield change


def empty() -> list[Any]:
    """For classes whose own `list` hides the type."""
    return []

"""What the integrations share: the memory that they work on, and the hint for a framework that is not installed."""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import Awaitable, Callable
from typing import ParamSpec, TypeAlias, TypeVar, cast

import jiyi
from jiyi.errors import InvalidInputError, MissingDependencyError
from jiyi.sync import AgentMemory

P = ParamSpec("P")
R = TypeVar("R")

AnyMemory: TypeAlias = jiyi.AgentMemory | AgentMemory
"""An open memory, with async or without."""


def check_any_memory(owner: str, memory: object) -> AnyMemory:
    """A memory that is open, with async or without."""
    if isinstance(memory, jiyi.AgentMemory | AgentMemory):
        return memory
    raise InvalidInputError(
        f"{owner} needs an open AgentMemory, not {type(memory).__module__}.{type(memory).__name__}; "
        "open it with jiyi.AgentMemory.open(path) or jiyi.sync.AgentMemory.open(path)"
    )


def use_memory(owner: str, memory: AgentMemory | str | os.PathLike[str], scope: str | None) -> tuple[AgentMemory, bool]:
    """A memory of `jiyi.sync` that is open, and whether `owner` has opened it and has to close it.

    An owner with a `scope` is one of several: what asks the memory that it opens has to name one too.
    """
    if isinstance(memory, AgentMemory):
        return memory, False
    if isinstance(memory, str | os.PathLike):
        return AgentMemory.open(memory, strict_scope=scope is not None), True
    raise InvalidInputError(
        f"{owner} needs a memory of jiyi.sync or the path of one, not {type(memory).__module__}."
        f"{type(memory).__name__}; open it with jiyi.sync.AgentMemory.open(path)"
    )


def check_memory(owner: str, memory: object) -> AgentMemory:
    """A memory of `jiyi.sync` that is open, and stays the caller's to close."""
    if isinstance(memory, AgentMemory):
        return memory
    raise InvalidInputError(
        f"{owner} needs a memory of jiyi.sync, not {type(memory).__module__}.{type(memory).__name__}; "
        "open it with jiyi.sync.AgentMemory.open(path)"
    )


def missing_framework(error: ModuleNotFoundError, package: str, name: str, extra: str) -> BaseException:
    """The error with the install hint, if it is `package` that is missing; otherwise the error itself."""
    if (error.name or "").split(".")[0] != package:
        return error
    return MissingDependencyError(f"{name} is not installed; install it with: pip install 'jiyi[{extra}]'")


async def finished(call: Callable[P, Awaitable[R]] | Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """What a method of a memory returns, with async or without: a blocking one runs in another thread."""
    if inspect.iscoroutinefunction(call):
        return cast(R, await call(*args, **kwargs))
    return cast(R, await asyncio.to_thread(call, *args, **kwargs))

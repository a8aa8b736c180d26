"""What the integrations share: the memory that they work on, and the hint for a framework that is not installed."""

from __future__ import annotations

import os

from jiyi.errors import InvalidInputError, MissingDependencyError
from jiyi.sync import AgentMemory


def use_memory(owner: str, memory: AgentMemory | str | os.PathLike[str]) -> tuple[AgentMemory, bool]:
    """A memory of `jiyi.sync` that is open, and whether `owner` has opened it and has to close it."""
    if isinstance(memory, AgentMemory):
        return memory, False
    if isinstance(memory, str | os.PathLike):
        return AgentMemory.open(memory), True
    raise InvalidInputError(
        f"{owner} needs a memory of jiyi.sync or the path of one, not {type(memory).__module__}."
        f"{type(memory).__name__}; open it with jiyi.sync.AgentMemory.open(path)"
    )


def missing_framework(error: ModuleNotFoundError, package: str, name: str, extra: str) -> BaseException:
    """The error with the install hint, if it is `package` that is missing; otherwise the error itself."""
    if (error.name or "").split(".")[0] != package:
        return error
    return MissingDependencyError(f"{name} is not installed; install it with: pip install 'jiyi[{extra}]'")

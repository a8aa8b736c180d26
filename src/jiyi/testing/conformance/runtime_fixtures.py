"""The fixtures of the runtime suites."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from jiyi.runtime import BaseMemory, MemoryRuntime

ONE_DAY = timedelta(days=1)


class BlockingRuntime:
    """A runtime whose coroutine methods are run to completion, so that the tests need no `await`."""

    def __init__(self, target: MemoryRuntime) -> None:
        self.target = target

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.target, name)
        if not inspect.iscoroutinefunction(value):
            return value

        @functools.wraps(value)
        def call(*args: Any, **kwargs: Any) -> Any:
            return asyncio.run(value(*args, **kwargs))

        return call


def judgments(found: list[BaseMemory]) -> list[str]:
    """The judgments of memories."""
    return [memory.judgment for memory in found]


class RuntimeFixtures:
    """An empty runtime as a fixture. A subclass defines `make_runtime`."""

    def make_runtime(self, folder: Path) -> MemoryRuntime:
        """A runtime whose data belongs to this folder; the scope it is opened with is `main`."""
        raise NotImplementedError(f"{type(self).__name__} must say how a runtime is made: define make_runtime(folder)")

    def close_runtime(self) -> None:
        """Close what `make_runtime` opened."""

    @pytest.fixture
    def runtime(self, tmp_path: Path) -> Iterator[Any]:
        """An empty runtime."""
        yield BlockingRuntime(self.make_runtime(tmp_path / "one"))
        self.close_runtime()

"""What the tests of the long-term room share: a clock that only moves when told, and models that answer by task."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from jiyi.model.clock import utc_now
from jiyi.sync import AgentMemory
from jiyi.testing.fakes import HashEmbedder
from tests.support import QUICK

OpenMemory = Callable[..., AgentMemory]


class FakeClock:
    """Tells the time it was set to."""

    def __init__(self, start: datetime | None = None) -> None:
        self.time = start or utc_now()

    def __call__(self) -> datetime:
        return self.time

    def advance(self, **how_long: float) -> datetime:
        self.time += timedelta(**how_long)
        return self.time


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def open_room(tmp_path: Path, clock: FakeClock) -> Iterator[OpenMemory]:
    """Opens memories with the fake clock, a quick embedder and no threads; closed when the test ends."""
    opened: list[AgentMemory] = []

    def open_one(folder: str = "data", **settings: Any) -> AgentMemory:
        given = {**QUICK, "embedder": HashEmbedder(), "clock": clock, **settings}
        memory = AgentMemory.open(tmp_path / folder, **given)
        opened.append(memory)
        return memory

    yield open_one
    for memory in opened:
        memory.close()


@pytest.fixture
def room(open_room: OpenMemory) -> AgentMemory:
    """A memory without a model."""
    return open_room()

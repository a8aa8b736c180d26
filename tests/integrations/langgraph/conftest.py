"""The stores that LangGraph's behaviours are asked of, and a clock for items that expire."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from jiyi.integrations.langgraph import JiyiStore
from jiyi.model import clock
from jiyi.sync import AgentMemory


@pytest.fixture
def ours(memory: AgentMemory) -> JiyiStore:
    return JiyiStore(memory)


@pytest.fixture(params=["langgraph", "jiyi"])
def store(request: pytest.FixtureRequest) -> BaseStore:
    """LangGraph's own store first: what holds for ours must hold for it, or it would be our invention."""
    return InMemoryStore() if request.param == "langgraph" else JiyiStore(request.getfixturevalue("memory"))


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Moves the clock on by minutes."""
    real, passed = clock.utc_now, [timedelta()]
    monkeypatch.setattr(clock, "utc_now", lambda: real() + passed[0])

    def move(minutes: float) -> None:
        passed[0] += timedelta(minutes=minutes)

    return move

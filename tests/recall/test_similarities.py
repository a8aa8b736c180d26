"""How near entries are to texts, for whoever draws or groups many of them."""

from __future__ import annotations

import asyncio
import math
from pathlib import Path

import pytest

from jiyi import AgentMemory
from jiyi.errors import InvalidInputError, SimpleModeError


def test_each_entry_is_compared_with_each_text_and_what_is_unseen_is_nan(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with AgentMemory.open(tmp_path, scope="alice") as memory:
            tea = await memory.add("Alice drinks green tea every morning")
            car = await memory.add("The car needs new tyres before winter")
            foreign = await memory.add("Bob drinks green tea", scope="bob")
            shared = await memory.add("Everybody likes green tea", scope="public")
            ids = [tea.id, car.id, foreign.id, shared.id, "unknown"]
            rows = await memory.similarities(["What tea does she drink?", "repairing a car"], ids=ids)
            assert len(rows) == 5
            assert rows[0][0] > rows[1][0] + 0.1
            assert rows[1][1] > rows[0][1] + 0.1
            assert not math.isnan(rows[3][0])
            assert all(math.isnan(value) for value in [*rows[2], *rows[4]])
            assert all(-1 <= value <= 1 for value in [*rows[0], *rows[1], *rows[3]])

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"embedder": "none"}, InvalidInputError, "no embedder"),
        ({"enable_simple_memory": True}, SimpleModeError, "off"),
    ],
)
def test_without_vectors_the_error_says_what_to_change(
    tmp_path: Path, settings: dict[str, object], error: type[Exception], words: str
) -> None:
    async def scenario() -> None:
        async with AgentMemory.open(tmp_path, **settings) as memory:  # type: ignore[arg-type]
            with pytest.raises(error, match=words):
                await memory.similarities(["tea"], ids=["x"])

    asyncio.run(scenario())

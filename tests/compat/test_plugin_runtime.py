"""The calls of chat bot plugins reach the runtime room."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from jiyi import AgentMemory
from jiyi.compat.plugin_runtime import PluginMemoryRuntime
from jiyi.errors import InvalidInputError
from tests.support import QUICK


def with_runtime(folder: Path, work: Callable[[PluginMemoryRuntime, AgentMemory], Coroutine[Any, Any, Any]]) -> Any:
    async def use() -> Any:
        async with AgentMemory.open(folder / "data", enable_simple_memory=True, **QUICK) as memory:
            plugin = PluginMemoryRuntime(memory, memory_scope="user:ann")
            await plugin.remember("fact", "小明喜欢吃火锅", "他说的", tags=["小明", "火锅"])
            await plugin.remember("event", "小明去了北京", tags=["小明", "北京"])
            return await work(plugin, memory)

    return asyncio.run(use())


def judgments(found: Any) -> set[str]:
    return {memory.judgment for memory in found}


def test_a_type_a_query_and_a_limit(tmp_path: Path) -> None:
    async def work(plugin: PluginMemoryRuntime, memory: AgentMemory) -> None:
        assert judgments(await plugin.recall("fact", "小明说晚上去吃火锅", 5)) == {"小明喜欢吃火锅"}
        assert judgments(await plugin.recall("", "小明", 5)) == {"小明喜欢吃火锅", "小明去了北京"}
        assert judgments(await plugin.recall("小明")) == {"小明喜欢吃火锅", "小明去了北京"}
        assert judgments(await plugin.recall(memory_type="event", query="小明", limit=1)) == {"小明去了北京"}
        assert judgments(await plugin.recall("fact", "小明", 5, memory_scope="user:bob")) == set()
        with pytest.raises(InvalidInputError, match="needs a query"):
            await plugin.recall()

    with_runtime(tmp_path, work)


def test_entities_and_the_other_calls(tmp_path: Path) -> None:
    async def work(plugin: PluginMemoryRuntime, memory: AgentMemory) -> None:
        assert "小明喜欢吃火锅" in judgments(await plugin.chained_recall(entities=["火锅"]))
        assert "小明去了北京" in judgments(await plugin.chained_recall("去了哪里", 5, entities=["北京"]))
        assert judgments(await plugin.comprehensive_recall("小明")) == {"小明喜欢吃火锅", "小明去了北京"}
        first = next(iter(await plugin.recall("fact", "火锅")))
        await plugin.feedback(useful_memory_ids=[first.id])
        again = next(iter(await plugin.recall("fact", "火锅")))
        assert again.strength > first.strength
        await plugin.consolidate_memories()
        for entities in ((), [""]):
            with pytest.raises(InvalidInputError, match="needs entities"):
                await plugin.chained_recall(entities=entities)
        with pytest.raises(InvalidInputError, match="list of names"):
            await plugin.chained_recall(entities="火锅")

    with_runtime(tmp_path, work)

"""MemoryClient: the same program runs on a memory here and on one behind a server."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest

from jiyi import AgentMemory, errors
from jiyi.client import MemoryClient
from jiyi.server.access import Access
from jiyi.server.app import build_app
from jiyi.server.gate import GateRules


async def program(memory: Any) -> list[object]:
    """What a user of a memory does, and what it sees."""
    seen: list[object] = []
    first = await memory.store("tea", "她爱喝绿茶", tags=["茶"], metadata={"cups": 3})
    seen.append((first.key, first.version, first.tags, dict(first.metadata)))
    changed = await memory.update("tea", content="她爱喝红茶")
    seen.append((changed.content, changed.version, changed.tags))
    await memory.add("The car is in the garage")
    hits = await memory.recall("她喝什么？", 1)
    seen.append([(hit.content, hit.confident, round(hit.relevance_score, 3), hit.matched) for hit in hits])
    seen.append([version.operation for version in await memory.history("tea")])
    page = await memory.list(limit=1)
    following = await memory.list(limit=1, cursor=page.next_cursor)
    seen.append([entry.content for entry in [*page, *following]])
    seen.append([change.operation for change in await memory.changes(after=0)])
    seen.append((await memory.forget("tea"), await memory.forget("tea"), await memory.get("tea"), await memory.count()))
    for wrong in (memory.store("", "x"), memory.recall("x", limit=0), memory.update("nothing", content="x")):
        with pytest.raises(errors.InvalidInputError):
            await wrong
    return seen


def test_one_program_sees_the_same_here_and_behind_a_server(tmp_path: Path) -> None:
    async def here() -> list[object]:
        async with AgentMemory.open(tmp_path / "here", scope="alice") as memory:
            return await program(memory)

    async def there() -> list[object]:
        async with AgentMemory.open(tmp_path / "there", scope="main") as memory:
            app = build_app(memory, rules=GateRules(anonymous=Access("alice")))
            transport = httpx.ASGITransport(app=app)
            async with MemoryClient("http://127.0.0.1", transport=transport) as client:
                return await program(client)

    assert asyncio.run(there()) == asyncio.run(here())


def test_a_request_that_got_lost_on_the_way_is_sent_again_and_doubles_nothing(tmp_path: Path) -> None:
    class Lossy(httpx.AsyncBaseTransport):
        """Loses every answer once, after the server has done what was asked."""

        def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
            self.inner, self.lost = inner, 0

        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            answer = await self.inner.handle_async_request(request)
            self.lost += 1
            if self.lost % 2:
                raise httpx.ReadError("the connection broke")
            return answer

    async def scenario() -> None:
        async with AgentMemory.open(tmp_path, scope="main") as memory:
            app = build_app(memory, rules=GateRules(anonymous=Access("alice")))
            transport = Lossy(httpx.ASGITransport(app=app))
            async with MemoryClient("http://127.0.0.1", transport=transport) as client:
                for number in range(3):
                    await client.add(f"number {number}")
                assert await memory.count(scope="alice") == 3

    asyncio.run(scenario())


def test_a_wrong_key_and_an_absent_server_are_errors_with_a_remedy(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with AgentMemory.open(tmp_path) as memory:
            transport = httpx.ASGITransport(app=build_app(memory, rules=GateRules()))
            async with MemoryClient("http://127.0.0.1", key="jy_wrong", transport=transport) as client:
                with pytest.raises(errors.ConfigError, match="jiyi keys add"):
                    await client.count()
        async with MemoryClient("http://127.0.0.1:9") as client:
            with pytest.raises(errors.StoreUnavailableError, match="jiyi serve"):
                await client.put_messages("talk", [{"role": "user", "content": "x"}])

    asyncio.run(scenario())

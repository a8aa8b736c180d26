"""Several worker processes on PostgreSQL: one that dies is replaced, and stopping them loses nothing."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import httpx
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from jiyi import AgentMemory
from tests.apps.command_line import CommandLine
from tests.server.test_http import serving
from tests.servers.fixtures import NewDatabase


def children(pid: int) -> set[int]:
    """The workers of a server, without the helper process of Python's own."""
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split()
    return {int(each) for each in found if b"spawn_main" in Path(f"/proc/{each}/cmdline").read_bytes()}


def test_several_workers_are_refused_where_one_process_is_meant(jiyi: CommandLine) -> None:
    refused = jiyi("serve", "--workers", "2", "--check")
    assert (refused.code, "PostgreSQL" in refused.err) == (2, True)
    assert "between 1 and 64" in jiyi("serve", "--workers", "0", "--check").err


@pytest.mark.server
def test_workers_share_the_requests_and_one_that_dies_is_replaced(new_postgres: NewDatabase, tmp_path: Path) -> None:
    url = new_postgres()
    acknowledged: list[str] = []

    async def load(address: str, number: int) -> None:
        async with httpx.AsyncClient(base_url=address, timeout=60) as client:
            for turn in range(5):
                for _ in range(50):
                    body, key = {"content": f"client {number} turn {turn}"}, {"Idempotency-Key": f"{number}-{turn}"}
                    try:
                        made = await client.post("/v1/entries", json=body, headers=key)
                    except httpx.TransportError:
                        # The worker was killed: the same request goes to another one.
                        await asyncio.sleep(0.1)
                        continue
                    assert made.status_code == 201, made.text
                    acknowledged.append(made.json()["id"])
                    break

    async def call(address: str, mode: str) -> str:
        async with (
            httpx.AsyncClient(timeout=60) as http,
            Client(streamable_http_client(f"{address}/mcp", http_client=http), mode=mode) as client,  # type: ignore[arg-type]
        ):
            return (await client.call_tool("recall", {"query": "client turn"})).model_dump_json()

    async def all_of_it(address: str, parent: int) -> None:
        workers = children(parent)
        assert len(workers) == 2
        killed = next(iter(workers))
        tasks = [asyncio.ensure_future(load(address, number)) for number in range(6)]
        while len(acknowledged) < 5:  # noqa: ASYNC110 - other processes tell of nothing
            await asyncio.sleep(0.01)
        os.kill(killed, signal.SIGKILL)
        await asyncio.gather(*tasks)
        for mode in ("auto", "legacy"):
            assert "client" in await call(address, mode)
        async with httpx.AsyncClient(base_url=address, timeout=60) as client:
            assert (await client.get("/console")).status_code == 404
            assert "jiyi_jobs" in (await client.get("/metrics")).text
        while len(children(parent)) < 2 or children(parent) == workers:  # noqa: ASYNC110
            await asyncio.sleep(0.1)

    with serving(url, "--workers", "2", "--rate-limit", "100000") as (address, process):
        asyncio.run(all_of_it(address, process.pid))
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        assert process.stderr is not None
        assert "Traceback" not in process.stderr.read()

    async def stored() -> set[str]:
        async with AgentMemory.open(url, background_jobs=False) as memory:
            return {entry.id for entry in await memory.list(limit=1000)}

    assert len(acknowledged) == 30
    assert asyncio.run(stored()) == set(acknowledged)

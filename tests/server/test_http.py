"""`jiyi serve` as a process: MCP and REST over real HTTP, keys, kills."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import mcp_types as types
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from jiyi import AgentMemory
from jiyi.apps.server.keys import Keys
from jiyi.config import load_settings
from jiyi.errors import InvalidScopeError
from jiyi.wiring.keys import open_key_store
from tests.apps.command_line import CommandLine

MODES = ["auto", "legacy"]


@contextmanager
def serving(data: Path | str, *options: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A server on a free port; its address and process."""
    command = [sys.executable, "-m", "jiyi.apps.cli", "serve", "--port", "0", "--data", str(data), *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=dict(os.environ)) as process:
        assert process.stderr is not None
        try:
            line = next(each for each in process.stderr if "serving" in each)
            yield line.split("serving ")[1].split(": MCP")[0], process
        finally:
            process.kill()


def token_for(data: Path, scope: str, rights: str = "read,write") -> str:
    """A new key of the store, made without a process of its own."""
    keys = Keys(open_key_store(load_settings(data)))
    try:
        return keys.add("test", scope, rights)[1]
    finally:
        keys.close()


@pytest.mark.parametrize("mode", MODES)
def test_two_keys_on_one_server_never_see_each_other(tmp_path: Path, mode: str) -> None:
    tokens = {scope: token_for(tmp_path, scope) for scope in ("alice", "alice2")}

    async def act(address: str, scope: str) -> str:
        headers = {"Authorization": f"Bearer {tokens[scope]}"}
        async with (
            httpx.AsyncClient(headers=headers, timeout=30) as http,
            Client(streamable_http_client(f"{address}/mcp", http_client=http), mode=mode) as client,  # type: ignore[arg-type]
        ):
            await client.call_tool("remember", {"content": f"The word of {scope} is {scope[::-1]}"})
            found = await client.call_tool("recall", {"query": "What is the word of alice?"})
            assert isinstance(found, types.CallToolResult)
            return found.model_dump_json()

    with serving(tmp_path, "--require-keys") as (address, _):
        first = asyncio.run(act(address, "alice"))
        second = asyncio.run(act(address, "alice2"))
        assert "ecila" in first
        assert "2ecila" in second
        assert "2ecila" not in first
        assert httpx.get(f"{address}/v1/entries").status_code == 401
        assert httpx.get(f"{address}/healthz").json() == {"status": "ok"}


def test_what_was_acknowledged_is_there_after_a_kill(tmp_path: Path) -> None:
    acknowledged = []
    with serving(tmp_path) as (address, process), httpx.Client(base_url=address) as client:
        for number in range(20):
            made = client.post("/v1/entries", json={"content": f"number {number}"})
            assert made.status_code == 201
            acknowledged.append(made.json()["id"])
        process.send_signal(signal.SIGKILL)
        process.wait(30)

    async def kept() -> set[str]:
        async with AgentMemory.open(tmp_path) as memory:
            return {entry.id for entry in await memory.list(limit=100)}

    assert asyncio.run(kept()) == set(acknowledged)


def test_changes_come_as_events_and_go_on_after_the_last_one(tmp_path: Path) -> None:
    def first_event(address: str, headers: dict[str, str]) -> dict[str, str]:
        url = f"{address}/v1/changes?after=0"
        with httpx.stream("GET", url, headers={"Accept": "text/event-stream", **headers}, timeout=30) as stream:
            found: dict[str, str] = {}
            for line in stream.iter_lines():
                name, _, value = line.partition(": ")
                if not line and found:
                    return found
                if name:
                    found[name] = value
        raise AssertionError("the stream ended")

    with serving(tmp_path) as (address, _), httpx.Client(base_url=address) as client:
        for key in ("tea", "coffee"):
            client.post("/v1/entries", json={"key": key, "content": f"She drinks {key}"})
        first = first_event(address, {})
        assert (first["event"], json.loads(first["data"])["key"]) == ("create", "tea")
        following = first_event(address, {"Last-Event-ID": first["id"]})
        assert json.loads(following["data"])["key"] == "coffee"


def test_the_server_stops_cleanly_when_it_is_told_to(tmp_path: Path) -> None:
    with serving(tmp_path) as (address, process):
        assert httpx.get(f"{address}/readyz").status_code == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) in {0, -signal.SIGTERM}
        assert process.stderr is not None
        assert "Traceback" not in process.stderr.read()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--host", "0.0.0.0"], "no valid key"),
        (["--require-keys"], "no valid key"),
        (["--tls-cert", "a.pem"], "belong together"),
    ],
)
def test_a_server_that_would_be_open_to_all_does_not_start(jiyi: CommandLine, options: list[str], told: str) -> None:
    refused = jiyi("serve", "--check", *options)
    assert refused.code == 2
    assert told in refused.err


def test_an_address_that_others_reach_needs_a_name_besides_a_key(jiyi: CommandLine) -> None:
    jiyi("keys", "add", "laptop")
    refused = jiyi("serve", "--check", "--host", "0.0.0.0")
    assert refused.code == 2
    assert "--allow-host" in refused.err
    assert jiyi("serve", "--check", "--host", "0.0.0.0", "--allow-host", "memory.example").code == 0


def test_a_server_for_many_chats_refuses_a_call_of_the_runtime_that_names_no_scope(
    jiyi: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused: list[str] = []

    async def serve(memory: AgentMemory, *_: object, **__: object) -> str:
        try:
            await memory.runtime.remember("fact", "tea", "", ["tea"])
        except InvalidScopeError as error:
            refused.append(str(error))
        return ""

    monkeypatch.setattr("jiyi.apps.server.serving.serve_http", serve)
    assert jiyi("serve", "--check").code == 0
    assert len(refused) == 1
    assert "name the scope of the chat" in refused[0]

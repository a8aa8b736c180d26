"""`jiyi mcp`: the server as a desktop client starts it, in a process of its own."""

from __future__ import annotations

import asyncio
import json
import os
import select
import subprocess
import sys
from pathlib import Path

import mcp_types as types
import pytest
from mcp import Client, StdioServerParameters

from jiyi import AgentMemory
from jiyi.apps.server.mcp.client_config import CLIENTS
from tests.apps.command_line import CommandLine

COMMAND = [sys.executable, "-m", "jiyi.apps.cli", "mcp"]


def server(data: Path, *options: str) -> StdioServerParameters:
    words = [*COMMAND[1:], "--data", str(data), *options]
    return StdioServerParameters(command=COMMAND[0], args=words, env=dict(os.environ))


async def remember(client: Client, content: str) -> None:
    result = await client.call_tool("remember", {"content": content})
    assert isinstance(result, types.CallToolResult)
    assert not result.is_error, result


def test_several_clients_use_one_data_directory_at_once(tmp_path: Path) -> None:
    async def client(number: int) -> None:
        async with Client(server(tmp_path)) as connected:
            for turn in range(2):
                await remember(connected, f"client {number} says {turn}")

    async def scenario() -> None:
        await asyncio.gather(*(client(number) for number in range(6)))
        async with AgentMemory.open(tmp_path) as memory:
            contents = {entry.content for entry in await memory.list(limit=100)}
        assert contents == {f"client {number} says {turn}" for number in range(6) for turn in range(2)}

    asyncio.run(scenario())


def test_over_stdio_nothing_of_the_other_protocols_is_imported() -> None:
    program = "import sys, jiyi.apps.server.mcp.stdio; print('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "jiyi.apps.server.mcp.endpoint" in loaded
    others = (
        "fastapi",
        "jinja2",
        "markdown_it",
        "jiyi.apps.server.rest",
        "jiyi.apps.server.console",
        "jiyi.apps.server.app",
    )
    assert loaded.isdisjoint(others), "the client waits for every import when it starts the server"


STARTER = """
import subprocess, sys
subprocess.Popen(sys.argv[1:]).wait()
"""


def test_a_server_ends_with_its_client_though_somebody_holds_its_pipe_open(tmp_path: Path) -> None:
    held_read, held_write = os.pipe()
    out_read, out_write = os.pipe()
    words = [sys.executable, "-c", STARTER, *COMMAND, "--data", str(tmp_path)]
    starter = subprocess.Popen(words, stdin=held_read, stdout=out_write, env=dict(os.environ))
    os.close(out_write)
    try:
        with os.fdopen(out_read, "rb") as output:
            begin = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
            request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": begin}
            os.write(held_write, json.dumps(request).encode() + b"\n")
            assert b"serverInfo" in output.readline()
            starter.kill()
            starter.wait(30)
            # The pipe to the server is still open here; its output ends because the server does.
            assert select.select([output], [], [], 60)[0]
            assert output.read() == b""
    finally:
        starter.kill()
        starter.wait(30)
        os.close(held_write)
        os.close(held_read)


def test_only_the_protocol_is_written_to_standard_output(tmp_path: Path) -> None:
    request = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    }
    done = subprocess.run(
        [*COMMAND, "--data", str(tmp_path)],
        input=json.dumps(request) + "\nthis is no JSON\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines[0]["result"]["serverInfo"]["name"] == "jiyi"
    assert all(line["jsonrpc"] == "2.0" for line in lines)
    assert done.returncode == 0
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("client", CLIENTS)
def test_the_printed_settings_start_the_server_as_they_stand(jiyi: CommandLine, tmp_path: Path, client: str) -> None:
    printed = jiyi("mcp", "--print-config", client, "--data", str(tmp_path / "d"), "--scope", "alice", "--read-only")
    assert printed.code == 0
    settings = json.loads(printed.out)
    (servers,) = settings.values()
    entry = servers["jiyi"]
    assert entry["args"][-5:] == ["--data", str(tmp_path / "d"), "--scope", "alice", "--read-only"]
    done = subprocess.run(
        [entry["command"], *entry["args"]], stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (0, b"")


def test_an_unknown_client_is_refused_with_the_known_ones(jiyi: CommandLine) -> None:
    refused = jiyi("mcp", "--print-config", "emacs")
    assert refused.code == 2
    assert "claude, cursor, vscode, zed" in refused.err

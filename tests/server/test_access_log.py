"""Who did what through the server: the access log, and a server that only reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx

from jiyi.apps.server.keys import Keys
from jiyi.config import load_settings
from jiyi.model.access_key import AccessLine
from jiyi.wiring.keys import open_key_store
from tests.server.socket_server import SocketServer, socket_server

VERSION = "2026-07-28"


def call(server: SocketServer, token: str, method: str, **params: Any) -> dict[str, Any]:
    meta = {
        "io.modelcontextprotocol/protocolVersion": VERSION,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "x", "version": "1"},
    }
    headers = {
        "Authorization": f"Bearer {token}",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": VERSION,
        "Mcp-Method": method,
        **({"Mcp-Name": params["name"]} if "name" in params else {}),
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
    answer = httpx.post(f"{server.address}/mcp", json=body, headers=headers, timeout=30).raise_for_status()
    result: dict[str, Any] = answer.json()["result"]
    return result


def logged(folder: Path) -> list[AccessLine]:
    """The log after the server has stopped, oldest first."""
    keys = Keys(open_key_store(load_settings(folder)))
    try:
        return keys.logged()[::-1]
    finally:
        keys.close()


def test_a_call_of_a_tool_stands_in_the_log_with_its_name_and_the_id(tmp_path: Path) -> None:
    with socket_server(tmp_path) as server:
        key, token = server.keys.add("laptop", "alice", "read,write")
        call(server, token, "tools/call", name="remember", arguments={"content": "She drinks green tea"})
        (entry,) = httpx.get(f"{server.address}/v1/entries", headers={"Authorization": f"Bearer {token}"}).json()[
            "entries"
        ]
        call(server, token, "tools/call", name="recall", arguments={"query": "tea"})
        call(server, token, "tools/call", name="forget", arguments={"id": entry["id"]})
        assert call(server, token, "tools/call", name="update", arguments={"id": "nothing", "content": "x"})["isError"]
    found = [(line.key_id, line.scope, line.action, line.target, line.status) for line in logged(tmp_path)]
    assert found == [
        (key.id, "alice", "tool remember", entry["id"], 200),
        (key.id, "alice", "tool forget", entry["id"], 200),
        (key.id, "alice", "tool update", "nothing", 400),
    ]
    assert "tea" not in str(found)


def test_a_server_that_only_reads_hides_and_refuses_the_same_tools_and_routes(tmp_path: Path) -> None:
    with socket_server(tmp_path, read_only=True) as server:
        token = server.token("alice", "read,write,erase,admin")
        listed = {tool["name"] for tool in call(server, token, "tools/list")["tools"]}
        assert listed == {"recall", "list"}
        for name, arguments in (
            ("remember", {"content": "x"}),
            ("forget", {"id": "x"}),
            ("update", {"id": "x", "content": "y"}),
            ("feedback", {"useful_ids": ["x"]}),
            ("core_memory_forget", {"memory_id": "x"}),
        ):
            refused = call(server, token, "tools/call", name=name, arguments=arguments)
            assert refused["isError"], name
            assert "only reading is allowed" in refused["content"][0]["text"]
        headers = {"Authorization": f"Bearer {token}"}
        written = httpx.post(f"{server.address}/v1/entries", json={"content": "x"}, headers=headers)
        assert (written.status_code, written.json()["code"]) == (403, "read_only")
        assert httpx.get(f"{server.address}/v1/entries", headers=headers).json()["entries"] == []
    refused_lines = {(line.action, line.status) for line in logged(tmp_path)}
    assert ("tool forget", 400) in refused_lines

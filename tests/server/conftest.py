"""A memory and an MCP server on it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from jiyi import AgentMemory
from jiyi.apps.server.access import READ, WRITE, Access
from jiyi.apps.server.mcp.endpoint import McpEndpoint
from tests.apps.command_line import CommandLine

OpenClient = Callable[..., AbstractAsyncContextManager[tuple[Client, AgentMemory]]]


@pytest.fixture
def mcp_client(tmp_path: Path) -> OpenClient:
    """Opens a memory, an MCP server on it and a client of that server, in one process."""

    @asynccontextmanager
    async def opened(
        *,
        scope: str = "alice",
        rights: frozenset[str] = frozenset({READ, WRITE}),
        kind: str = "main",
        mode: Any = "auto",
        workspace: Path | None = None,
        **client: Any,
    ) -> AsyncIterator[tuple[Client, AgentMemory]]:
        settings: dict[str, Any] = {"workspace": workspace} if workspace is not None else {}
        async with AgentMemory.open(tmp_path / "data", scope="alice", **settings) as memory:
            access = Access(scope, rights, kind)
            endpoint = McpEndpoint(memory, lambda _context: access)
            async with Client(endpoint.server, mode=mode, **client) as connected:
                yield connected, memory
            await endpoint.changes.close()

    return opened


@pytest.fixture
def jiyi(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path / "data")

"""MCP over standard input and output, as desktop clients start it: one process for each client."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from typing import TYPE_CHECKING

from mcp.server.stdio import stdio_server

from jiyi.apps.server.access import READ, WRITE, Access
from jiyi.apps.server.mcp.endpoint import McpEndpoint

if TYPE_CHECKING:
    from jiyi.memory import AgentMemory

_PARENT_INTERVAL = 1.0


async def serve_stdio(memory: AgentMemory, *, read_only: bool = False, kind: str = "main") -> None:
    """Serve until the client closes its end, or is gone. Only the protocol is written to standard output."""
    rights = frozenset({READ} if read_only else {READ, WRITE})
    access = Access(memory.settings.scope, rights, kind)
    endpoint = McpEndpoint(memory, lambda _context: access, read_only=read_only)
    async with stdio_server() as (reading, writing):
        with contextlib.redirect_stdout(sys.stderr):
            serving = asyncio.ensure_future(
                endpoint.server.run(reading, writing, endpoint.server.create_initialization_options())
            )
            orphaned = asyncio.ensure_future(_parent_gone())
            try:
                await asyncio.wait({serving, orphaned}, return_when=asyncio.FIRST_COMPLETED)
                if serving.done():
                    serving.result()
                else:
                    await _leave(memory, endpoint)
            finally:
                for task in (serving, orphaned):
                    task.cancel()
                await asyncio.gather(serving, orphaned, return_exceptions=True)
                await endpoint.changes.close()


async def _leave(memory: AgentMemory, endpoint: McpEndpoint) -> None:
    """End the process. A thread waits for the next line of the client, and nothing can wake it."""
    await endpoint.changes.close()
    await memory.close()
    sys.stderr.flush()
    os._exit(0)


async def _parent_gone() -> None:
    """Returns when the process that started this one has ended while something else holds the pipe open."""
    first = os.getppid()
    while os.getppid() == first:  # noqa: ASYNC110 - nothing tells a process that its parent has ended
        await asyncio.sleep(_PARENT_INTERVAL)

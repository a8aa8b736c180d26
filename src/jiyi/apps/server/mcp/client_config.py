"""What to paste into the settings of MCP clients."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
from typing import Any, Final

from jiyi.errors import InvalidInputError

CLIENTS: Final = ("claude", "cursor", "vscode", "zed")
_FILES: Final = {
    "claude": "claude_desktop_config.json, or .mcp.json of a project for Claude Code",
    "cursor": ".cursor/mcp.json of a project, or ~/.cursor/mcp.json",
    "vscode": ".vscode/mcp.json of a project",
    "zed": "settings.json of Zed",
}


def command_line() -> list[str]:
    """How this `jiyi` is started: clients do not search the directories that a shell does."""
    script = shutil.which("jiyi")
    return [script] if script is not None else [sys.executable, "-m", "jiyi.apps.cli"]


def client_config(client: str, options: Sequence[str]) -> tuple[str, str]:
    """The JSON for a client, and where it belongs. `options` follow `jiyi mcp`."""
    if client not in CLIENTS:
        raise InvalidInputError(f"there is no client {client[:40]!a}; known are {', '.join(CLIENTS)}")
    words = [*command_line(), "mcp", *options]
    server: dict[str, Any] = {"command": words[0], "args": words[1:]}
    if client == "vscode":
        config: dict[str, Any] = {"servers": {"jiyi": {"type": "stdio", **server}}}
    elif client == "zed":
        config = {"context_servers": {"jiyi": {"source": "custom", **server}}}
    else:
        config = {"mcpServers": {"jiyi": server}}
    return json.dumps(config, indent=2, ensure_ascii=False), _FILES[client]

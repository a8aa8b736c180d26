"""jiyi for Anthropic's memory tool: the files that Claude keeps are entries of a memory, with every version.

    from jiyi.integrations.anthropic import JiyiMemoryTool

    tool = JiyiMemoryTool(memory, scope="alice")
    client.beta.messages.run_tools(model=..., messages=[...], tools=[tool])

Install it with `pip install 'jiyi[anthropic]'`.
"""

from __future__ import annotations

from jiyi.integrations.opened import missing_framework

try:
    from jiyi.integrations.anthropic.memory_tool import AsyncJiyiMemoryTool, JiyiMemoryTool
except ModuleNotFoundError as error:
    raise missing_framework(error, "anthropic", "Anthropic's SDK", "anthropic") from error

__all__ = ["AsyncJiyiMemoryTool", "JiyiMemoryTool"]

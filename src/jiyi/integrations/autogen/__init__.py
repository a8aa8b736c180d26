"""jiyi for AutoGen: a `Memory` of autogen-core that recalls what fits the conversation.

    from jiyi.integrations.autogen import JiyiMemory

    memory = JiyiMemory("./data", scope="alice")
    agent = AssistantAgent("assistant", model_client=..., memory=[memory])

Install it with `pip install 'jiyi[autogen]'`.
"""

from __future__ import annotations

from jiyi.integrations.opened import missing_framework

try:
    from jiyi.integrations.autogen.memory import JiyiMemory, JiyiMemoryConfig
except ModuleNotFoundError as error:
    raise missing_framework(error, "autogen_core", "AutoGen", "autogen") from error

__all__ = ["JiyiMemory", "JiyiMemoryConfig"]

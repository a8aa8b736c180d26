"""jiyi (记忆): the memory that AI agents can trust."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jiyi.config import load_memory_config
    from jiyi.memory import AgentMemory, create_memory, migrate_store
    from jiyi.model.category import MemoryCategory
    from jiyi.model.entry import MemoryEntry
    from jiyi.model.forgetting_curve import EbbinghausForgetting
    from jiyi.model.message import Message
    from jiyi.noop import NoopMemory

__all__ = [
    "AgentMemory",
    "EbbinghausForgetting",
    "MemoryCategory",
    "MemoryEntry",
    "Message",
    "NoopMemory",
    "create_memory",
    "load_memory_config",
    "migrate_store",
]

_HOMES = {
    "AgentMemory": "jiyi.memory",
    "EbbinghausForgetting": "jiyi.model.forgetting_curve",
    "MemoryCategory": "jiyi.model.category",
    "MemoryEntry": "jiyi.model.entry",
    "Message": "jiyi.model.message",
    "NoopMemory": "jiyi.noop",
    "create_memory": "jiyi.memory",
    "load_memory_config": "jiyi.config",
    "migrate_store": "jiyi.memory",
}


def __getattr__(name: str) -> Any:
    # Loaded when first used: importing jiyi stays quick for programs that may never need a memory.
    if name in _HOMES:
        from importlib import import_module

        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'jiyi' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__

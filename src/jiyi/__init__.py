"""jiyi (记忆): the memory that AI agents can trust."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jiyi.config import load_memory_config
    from jiyi.interfaces import Memory
    from jiyi.memory import AgentMemory
    from jiyi.model.category import MemoryCategory
    from jiyi.model.entry import MemoryEntry
    from jiyi.model.forgetting_curve import EbbinghausForgetting
    from jiyi.model.message import Message
    from jiyi.noop import NoopMemory
    from jiyi.opening import create_memory, migrate_store

__all__ = [
    "AgentMemory",
    "EbbinghausForgetting",
    "Memory",
    "MemoryCategory",
    "MemoryEntry",
    "Message",
    "NoopMemory",
    "create_memory",
    "load_memory_config",
    "migrate_store",
]

_MODULES = {
    "AgentMemory": "jiyi.memory",
    "EbbinghausForgetting": "jiyi.model.forgetting_curve",
    "Memory": "jiyi.interfaces",
    "MemoryCategory": "jiyi.model.category",
    "MemoryEntry": "jiyi.model.entry",
    "Message": "jiyi.model.message",
    "NoopMemory": "jiyi.noop",
    "create_memory": "jiyi.opening",
    "load_memory_config": "jiyi.config",
    "migrate_store": "jiyi.opening",
}


def __getattr__(name: str) -> Any:
    # Loaded on first use, so that importing jiyi is quick for programs that may never need a memory.
    if name in _MODULES:
        from importlib import import_module

        value = getattr(import_module(_MODULES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'jiyi' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__

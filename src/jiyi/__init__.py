"""jiyi (记忆): the memory that AI agents can trust."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jiyi.lazy_names import load_on_first_use

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

__getattr__ = load_on_first_use(
    __name__,
    {
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
    },
)


def __dir__() -> list[str]:
    return __all__

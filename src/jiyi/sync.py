"""The same names for code without async. Its types are in `sync.pyi`, which is generated (`make interfaces`).

from jiyi.sync import AgentMemory

with AgentMemory.open("./data") as memory:
    memory.store("name", "她叫小明")
    hits = memory.recall("叫什么名字")
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Self

from jiyi import interfaces, noop, opening, tools
from jiyi.blocking import BlockingMemory, Portal, blocking_class
from jiyi.contexts import on_error
from jiyi.runtime import api as runtime

if TYPE_CHECKING:
    from jiyi.config import Settings
    from jiyi.model.migration import MigrationReport
    from jiyi.ports import Progress

__all__ = [
    "Agent",
    "AgentMemory",
    "Chat",
    "Longterm",
    "Memory",
    "MemoryRuntime",
    "NoopMemory",
    "Notes",
    "Toolbox",
    "Turn",
    "create_memory",
    "migrate_store",
]

Chat = blocking_class("Chat", interfaces.ChatInterface)
Notes = blocking_class("Notes", interfaces.NotesInterface)
Longterm = blocking_class("Longterm", interfaces.LongtermInterface)
MemoryRuntime = blocking_class("MemoryRuntime", runtime.MemoryRuntime)
Toolbox = blocking_class("Toolbox", tools.Toolbox)
Turn = blocking_class("Turn", interfaces.TurnInterface, rooms={"Toolbox": Toolbox})
Agent = blocking_class("Agent", interfaces.AgentInterface, rooms={"TurnInterface": Turn})
Memory = blocking_class(
    "Memory",
    interfaces.Memory,
    base=BlockingMemory,
    rooms={
        "ChatInterface": Chat,
        "NotesInterface": Notes,
        "LongtermInterface": Longterm,
        "MemoryRuntime": MemoryRuntime,
        "Toolbox": Toolbox,
        "AgentInterface": Agent,
    },
)


class AgentMemory(Memory):
    """`jiyi.AgentMemory` without async: the same methods, blocking."""

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str] | None = None,
        *,
        config: str | os.PathLike[str] | None = None,
        **settings: Any,
    ) -> Self:
        """Open (and create) a data directory; use it with `with`, or call `close()`."""
        portal = Portal()
        with on_error(portal.stop):
            target = portal.call(opening.create_memory(path, config=config, **settings))
        return cls(target, portal)

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self._target.settings


class NoopMemory(Memory):
    """`jiyi.NoopMemory` without async."""

    def __init__(self) -> None:
        super().__init__(noop.NoopMemory(), Portal())


def create_memory(
    path: str | os.PathLike[str] | None = None,
    *,
    config: str | os.PathLike[str] | None = None,
    **settings: Any,
) -> AgentMemory:
    """Open the memory in `path`; the same as `AgentMemory.open`."""
    return AgentMemory.open(path, config=config, **settings)


def migrate_store(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    config: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> MigrationReport:
    """Copy a whole memory to another place; the same as `jiyi.migrate_store`."""
    from jiyi.wiring.migrate import migrate_store

    return migrate_store(source, target, config=config, progress=progress, **settings)

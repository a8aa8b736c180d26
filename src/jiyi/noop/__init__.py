"""NoopMemory: takes the calls of an agent and keeps nothing."""

from jiyi.noop.memory import NoopMemory
from jiyi.noop.rooms import NoopChat, NoopLongterm, NoopNotes, NoopRuntime

__all__ = ["NoopChat", "NoopLongterm", "NoopMemory", "NoopNotes", "NoopRuntime"]

"""Interfaces: what an agent can rely on, whatever memory it is given. The modules are generated (`make interfaces`)."""

from jiyi.interfaces.chat import ChatInterface
from jiyi.interfaces.longterm import LongtermInterface
from jiyi.interfaces.memory import Memory
from jiyi.interfaces.notes import NotesInterface

__all__ = ["ChatInterface", "LongtermInterface", "Memory", "NotesInterface"]

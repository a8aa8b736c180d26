"""Interfaces: what an agent can rely on, whatever memory it is given. The modules are generated (`make interfaces`)."""

from jiyi.interfaces.agent import AgentInterface
from jiyi.interfaces.chat import ChatInterface
from jiyi.interfaces.longterm import LongtermInterface
from jiyi.interfaces.memory import Memory
from jiyi.interfaces.notes import NotesInterface
from jiyi.interfaces.turn import TurnInterface

__all__ = ["AgentInterface", "ChatInterface", "LongtermInterface", "Memory", "NotesInterface", "TurnInterface"]

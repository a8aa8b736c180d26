"""The chat room: the running conversation inside a token limit, with nothing ever lost."""

from jiyi.chat.compaction import Compaction
from jiyi.chat.room import ChatRoom, ChatStatus, RoomParts, SessionLocks, TokenCounts, check_state
from jiyi.chat.session import Chat
from jiyi.chat.window import ChatWindow, make_budget

__all__ = [
    "Chat",
    "ChatRoom",
    "ChatStatus",
    "ChatWindow",
    "Compaction",
    "RoomParts",
    "SessionLocks",
    "TokenCounts",
    "check_state",
    "make_budget",
]

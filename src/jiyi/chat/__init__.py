"""The chat room: the running conversation inside a token limit, with nothing ever lost."""

from jiyi.chat.api import Chat
from jiyi.chat.compaction import Compaction
from jiyi.chat.service import ChatDeps, ChatService, ChatStatus, check_state
from jiyi.chat.session_window import SessionLocks, TokenCounts
from jiyi.chat.window import ChatWindow, make_budget

__all__ = [
    "Chat",
    "ChatDeps",
    "ChatService",
    "ChatStatus",
    "ChatWindow",
    "Compaction",
    "SessionLocks",
    "TokenCounts",
    "check_state",
    "make_budget",
]

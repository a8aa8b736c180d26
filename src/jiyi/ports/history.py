"""Conversation history: the messages of a session, exactly as saved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from datetime import datetime

    from jiyi.model.message import Message


class HistoryStore(Protocol):
    """Saves and loads the messages of sessions."""

    def save_history(
        self,
        scope: str,
        session_id: str,
        messages: Sequence[Message],
        *,
        actor: str,
        recallable: bool = True,
        said_at: datetime | None = None,
    ) -> int:
        """Make `messages` the record of the session; with `recallable` what was said becomes entries as well.

        New messages were said at `said_at`, at the time that they name themselves, or now.
        """
        ...

    def load_history(self, scope: str, session_id: str) -> list[Message]:
        """The record of the session, exactly as saved."""
        ...

    def sessions(self, scope: str) -> list[str]:
        """Ids of the sessions, the one last written to first."""
        ...

"""What the chat room needs of the record store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from datetime import datetime

    from jiyi.model.chat import Attempt, Candidate, Epoch, Erased, Snapshot, Span, StoredMessage, Summary
    from jiyi.model.message import Message


class ChatStore(Protocol):
    """What the chat room needs of the record store. Each change is one short transaction, durable when it returns.

    Messages are the rows of the conversation history; positions grow over the life of a session.
    """

    def append(
        self, scope: str, session_id: str, messages: Sequence[Message], *, actor: str, recallable: bool
    ) -> list[str]:
        """Add messages to the current epoch; returns their ids. Positions are given out in the transaction."""
        ...

    def snapshot(self, scope: str, session_id: str, enough: Callable[[StoredMessage], bool]) -> Snapshot:
        """The newest messages that no summary stands for, read backwards until `enough`, and all prompts before them.

        What lies behind the pointer is not read, however much it is.
        """
        ...

    def following(
        self,
        scope: str,
        session_id: str,
        *,
        after: int,
        before: int,
        enough: Callable[[StoredMessage], bool] | None = None,
    ) -> tuple[list[StoredMessage], bool]:
        """Messages between two positions, oldest first, until `enough`; and whether these are all."""
        ...

    def count_between(self, scope: str, session_id: str, *, after: int, before: int) -> int:
        """How many messages stand between two positions, prompts not counted."""
        ...

    def epochs(self, scope: str, session_id: str) -> list[Epoch]:
        """The epochs that are there, oldest first, at least one."""
        ...

    def epoch_messages(self, scope: str, session_id: str, epoch: int | None) -> list[StoredMessage]:
        """Every message of an epoch in order; `None` means the current one."""
        ...

    def start_epoch(self, scope: str, session_id: str) -> Epoch:
        """Begin a new epoch; one in which nothing was said yet goes on."""
        ...

    def delete_epoch(self, scope: str, session_id: str, epoch: int, *, actor: str) -> Erased:
        """Delete an epoch before the current one for good, with everything that was made of it."""
        ...

    def forget_session(self, scope: str, session_id: str, *, actor: str) -> Erased:
        """Delete a session for good, with everything that was made of it."""
        ...

    def summaries(self, scope: str, session_id: str, epoch: int) -> list[Summary]:
        """The summaries of an epoch that stand, oldest first; the last one is the pointer."""
        ...

    def summary(self, scope: str, session_id: str, summary_id: str) -> Summary | None:
        """One summary by its id."""
        ...

    def next_generation(self, scope: str, session_id: str, epoch: int) -> int:
        """The generation that the next summary takes."""
        ...

    def add_summary(self, summary: Summary, span: Span, *, trigger: str) -> bool:
        """Move the pointer, and write the attempt down as done.

        `False`, and nothing changed, when the pointer has moved, the messages under it have changed, or the session was
        reset meanwhile.
        """
        ...

    def flushed_to(self, scope: str, session_id: str, epoch: Epoch) -> int:
        """The last position of the epoch that was looked through; the one before its first when none was."""
        ...

    def add_flush(
        self,
        scope: str,
        session_id: str,
        span: Span,
        candidates: Sequence[Candidate],
        *,
        trigger: str,
        made_by: str,
    ) -> bool:
        """Mark a span as looked through and keep what was found; `False`, and nothing changed, when it already is."""
        ...

    def candidates(
        self, scope: str, *, session_id: str | None = None, state: str | None = None, limit: int = 1_000
    ) -> list[Candidate]:
        """Candidates of the scope, oldest first."""
        ...

    def settle_candidate(self, scope: str, candidate_id: str, *, state: str, by: str) -> bool:
        """Take or reject a new candidate; `False` when it is not there or somebody else was first."""
        ...

    def add_attempt(self, scope: str, session_id: str, epoch: int, attempt: Attempt) -> None:
        """Write down how a try to compact went."""
        ...

    def last_attempt(self, scope: str, session_id: str, epoch: int) -> Attempt | None:
        """The last try in this epoch."""
        ...

    def failing_sessions(self, since: datetime) -> int:
        """How many sessions of all scopes have failed in their last try, in their current epoch, since then."""
        ...

"""ChatStore: the storage of the chat room."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from datetime import datetime

    from jiyi.model.chat import Attempt, Candidate, Epoch, Erased, Snapshot, Span, StoredMessage, Summary
    from jiyi.model.message import Message


class CompactionStore(Protocol):
    """What a window and its compactions need: messages, summaries, flushes and attempts of one session."""

    def snapshot(self, scope: str, session_id: str, stop_at: Callable[[StoredMessage], bool]) -> Snapshot:
        """The newest messages that no summary covers, read backwards until `stop_at` is true, and all system messages.

        Messages under the summary are not read.
        """
        ...

    def following(
        self,
        scope: str,
        session_id: str,
        *,
        after: int,
        before: int,
        stop_at: Callable[[StoredMessage], bool] | None = None,
    ) -> tuple[list[StoredMessage], bool]:
        """Messages between two positions, oldest first, until `stop_at` is true; and whether these are all."""
        ...

    def count_between(self, scope: str, session_id: str, *, after: int, before: int) -> int:
        """How many messages stand between two positions, system messages not counted."""
        ...

    def summaries(self, scope: str, session_id: str, epoch: int) -> list[Summary]:
        """The valid summaries of an epoch, oldest first; the last one is the pointer."""
        ...

    def next_generation(self, scope: str, session_id: str, epoch: int) -> int:
        """The generation that the next summary takes."""
        ...

    def add_summary(self, summary: Summary, span: Span, *, trigger: str) -> bool:
        """Add a summary, which moves the pointer, and record the attempt as done.

        `False`, and nothing changed, when the pointer has moved, the messages under it have changed, or the session was
        reset meanwhile.
        """
        ...

    def flushed_to(self, scope: str, session_id: str, epoch: Epoch) -> int:
        """The last position of the epoch that was searched for candidates; the one before its first when none was."""
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
        """Mark a span as searched and keep its candidates; `False`, and nothing changed, when it already is."""
        ...

    def add_attempt(self, scope: str, session_id: str, epoch: int, attempt: Attempt) -> None:
        """Record how an attempt at a compaction went."""
        ...

    def last_attempt(self, scope: str, session_id: str, epoch: int) -> Attempt | None:
        """The last attempt in this epoch."""
        ...


class ChatStore(CompactionStore, Protocol):
    """The storage of the chat room. Each change is one short transaction, durable when it returns.

    Messages are the rows of the conversation history; positions grow over the life of a session.
    """

    def append(
        self,
        scope: str,
        session_id: str,
        messages: Sequence[Message],
        *,
        actor: str,
        recallable: bool,
        said_at: datetime | None = None,
    ) -> list[str]:
        """Add messages to the current epoch; returns their ids. Positions are assigned in the transaction.

        Each was said at `said_at`, at the time that it names itself, or now.
        """
        ...

    def insert(
        self, scope: str, session_id: str, index: int, message: Message, *, actor: str, recallable: bool
    ) -> None:
        """Put a message before the one at an index of the current epoch, as `list.insert` does."""
        ...

    def remove(self, scope: str, session_id: str, index: int, *, actor: str, recallable: bool) -> Message | None:
        """Take the message at an index of the current epoch out; `None` when there is none."""
        ...

    def newest(self, scope: str, session_id: str, count: int) -> list[StoredMessage]:
        """The newest messages of the current epoch, at most `count`, oldest first. Summaries hide none of them."""
        ...

    def epochs(self, scope: str, session_id: str) -> list[Epoch]:
        """The epochs that are there, oldest first, at least one."""
        ...

    def epoch_messages(self, scope: str, session_id: str, epoch: int | None) -> list[StoredMessage]:
        """Every message of an epoch in order; `None` means the current one."""
        ...

    def start_epoch(self, scope: str, session_id: str) -> Epoch:
        """Begin a new epoch; an empty current epoch is kept."""
        ...

    def delete_epoch(self, scope: str, session_id: str, epoch: int, *, actor: str) -> Erased:
        """Delete an epoch before the current one for good, with everything derived from it."""
        ...

    def forget_session(self, scope: str, session_id: str, *, actor: str, facts: bool = False) -> Erased:
        """Delete a session for good, with everything derived from it; with `facts` also those made of it alone."""
        ...

    def forgotten_sessions(self, scope: str, session_ids: Sequence[str]) -> set[str]:
        """Which of these sessions were deleted by `forget_session`, and have no message now."""
        ...

    def summary(self, scope: str, session_id: str, summary_id: str) -> Summary | None:
        """One summary by its id."""
        ...

    def candidates(
        self, scope: str, *, session_id: str | None = None, state: str | None = None, limit: int = 1_000
    ) -> list[Candidate]:
        """Candidates of the scope, oldest first."""
        ...

    def settle_candidate(self, scope: str, candidate_id: str, *, state: str, by: str) -> bool:
        """Take or reject a new candidate; `False` when it is not there or was settled before."""
        ...

    def unflushed_sessions(
        self, *, since: datetime, before: datetime, scopes: Sequence[str] | None = None
    ) -> list[tuple[str, str]]:
        """(scope, session) whose last message was said in this time and was not searched for candidates yet."""
        ...

    def failing_sessions(self, since: datetime) -> int:
        """How many sessions of all scopes have failed in the last attempt of their current epoch, since then."""
        ...

"""Values of the chat room: stored messages, epochs, summaries, candidates, attempts, snapshots and receipts."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from jiyi.model import clock
from jiyi.model.message import Message

SYSTEM_ROLES = ("system", "developer")
"""Roles of system messages, which are never summarised away. `SYSTEM_ROLES_SQL` of the record store says the same."""
CANDIDATE_STATES = ("new", "taken", "rejected")
MADE_BY_RULES = "rules"
"""The value of `made_by` when no model was asked."""


class _JsonReady:
    """Values that can be written as JSON."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        data: dict[str, Any] = {}
        for f in fields(self):  # type: ignore[arg-type] # subclasses are dataclasses
            value = getattr(self, f.name)
            if isinstance(value, datetime):
                value = clock.to_text(value)
            elif isinstance(value, Message | _JsonReady):
                value = value.to_dict()
            data[f.name] = value
        return data


@dataclass(frozen=True, slots=True)
class StoredMessage(_JsonReady):
    """A message and its position in the session."""

    id: str
    position: int
    """Grows over the whole life of the session."""
    message: Message
    row: int = 0
    """The number of its row: a later one is greater, also at the same position."""
    created_at: datetime | None = None
    """When it was said."""

    @property
    def is_system(self) -> bool:
        """Whether it is a system message, which stays in the window."""
        return self.message.role in SYSTEM_ROLES


@dataclass(frozen=True, slots=True)
class Epoch(_JsonReady):
    """What was said from one reset to the next."""

    epoch: int
    first_position: int
    started_at: datetime | None
    """`None` when the session was never reset."""


FIRST_EPOCH = Epoch(1, 0, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary(_JsonReady):
    """A summary of everything that an epoch holds up to `last_position`, but for its system messages."""

    id: str
    scope: str
    session_id: str
    epoch: int
    generation: int
    """Grows by one with each summary of the epoch; two compactions cannot both take the same."""
    first_position: int
    """From here on it has summarised messages itself; what is before came with the previous summary."""
    last_position: int
    first_message_id: str
    last_message_id: str
    previous_id: str | None
    content: str
    tokens: int
    made_by: str
    created_at: datetime
    replaced_at: datetime | None = None
    """When the conversation under it was rewritten; it is no longer valid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate(_JsonReady):
    """What a flush proposes to keep, and where it was said."""

    id: str
    scope: str
    session_id: str
    epoch: int
    content: str
    kind: str
    confidence: float
    domain: str | None = None
    importance: float | None = None
    first_message_id: str
    last_message_id: str
    first_position: int
    last_position: int
    made_by: str
    state: str = "new"
    """`new`, `taken` or `rejected`."""
    state_at: datetime | None = None
    taken_by: str | None = None
    """Who took or rejected it."""
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt(_JsonReady):
    """One attempt at a compaction."""

    id: str
    trigger: str
    state: str
    """`done` or `failed`."""
    reason: str
    """Why it failed, in words."""
    attempt: int
    """How many failed in a row, this one included; 0 when it is done."""
    next_attempt_at: datetime | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Backlog(_JsonReady):
    """Messages that no longer fit into the window and are not yet under a summary."""

    messages: int
    """How many are still to be summarised."""
    done: int = 0
    """How many the running work has summarised so far."""
    running: bool = False
    """Whether this process is summarising them in the background."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A consistent read of a session: the summary in force and the newest messages behind it."""

    epoch: Epoch
    summary: Summary | None
    system_messages: tuple[StoredMessage, ...]
    """Those that stand before the recent ones."""
    recent: tuple[StoredMessage, ...]
    """Messages that no summary covers, oldest first."""
    complete: bool
    """Whether `recent` has all of them, and not only the newest."""

    @property
    def pointer(self) -> int:
        """The last position that a summary covers."""
        return self.summary.last_position if self.summary is not None else self.epoch.first_position - 1


@dataclass(frozen=True, slots=True)
class Span:
    """Messages that are about to leave the window; count and row number tell whether they have changed meanwhile."""

    epoch: int
    first_position: int
    last_position: int
    count: int
    """How many rows it has, system messages included."""
    last_row: int
    """The greatest row number in it."""


@dataclass(frozen=True, slots=True)
class Erased(_JsonReady):
    """A receipt: what was deleted for good."""

    session_id: str
    epoch: int | None
    """The epoch that was deleted; `None` for the whole session."""
    messages: int = 0
    entries: int = 0
    """Memories that recall had of these messages."""
    summaries: int = 0
    candidates: int = 0
    facts: int = 0
    """Facts that were made of these messages alone, and were deleted with them."""
    facts_kept: int = 0
    """Facts that were made of these messages and stay."""

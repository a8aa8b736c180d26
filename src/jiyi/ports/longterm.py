"""What the long-term room needs of the record store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from datetime import datetime

    from jiyi.model.entry import MemoryEntry
    from jiyi.model.job import Job, JobDraft
    from jiyi.model.message import Message


@dataclass(frozen=True, slots=True)
class Amendment:
    """A change of an entry that is not a new text: whether it is active or pinned, and what it is linked to."""

    entry_id: str
    values: Mapping[str, Any]
    operation: str = "update"
    version: int | None = None
    """The version it was decided on; an entry that has changed since is left alone."""
    because: str | None = None
    """The id of the new entry that is the reason: if that is not stored, nothing is changed."""


class MessagesDeletedError(Exception):
    """What was to be kept is made of messages that were deleted meanwhile. Nothing was changed."""


ForgettingPosition: TypeAlias = "tuple[datetime, str]"


@dataclass(frozen=True, slots=True)
class ForgettingCandidate:
    """What the curve of forgetting needs to know of an entry."""

    id: str
    created_at: datetime
    last_accessed_at: datetime
    access_count: int
    importance_score: float
    attribute: str = ""
    """What the fact is about, if that is known: some attributes are not forgotten."""
    statement: str = ""
    """The text of a fact that was read from a conversation: some kinds of facts are not forgotten."""
    content: str = ""
    """The text, whatever it is: what names a day that is still ahead is not forgotten."""
    event_time: datetime | None = None
    """When it was said or happened."""
    lasting: str = ""
    """Why the fact was to last, if that is known: somebody asked to remember it, or it is a decision."""

    @property
    def position(self) -> ForgettingPosition:
        """Where it stands in the order of pages."""
        return self.created_at, self.id


class LongtermStore(Protocol):
    """What the long-term room needs beyond the records. Each change is one short transaction, durable on return."""

    def append_messages(
        self,
        scope: str,
        session_id: str,
        messages: Sequence[Message],
        *,
        actor: str,
        recallable: bool,
        job: JobDraft | None = None,
        rounds: Sequence[tuple[JobDraft, range]] = (),
        said_at: datetime | None = None,
    ) -> list[str]:
        """Add messages to a session, and the job that is about them; returns the message ids.

        `rounds` are jobs about some of the messages, by their places. They were said at `said_at`, or now.
        """
        ...

    def messages(self, scope: str, ids: Sequence[str]) -> list[tuple[str, Message, datetime]]:
        """(id, message, when it was said) of these messages of the scope; also of those that were replaced since."""
        ...

    def undeleted_messages(self, scope: str, ids: Sequence[str]) -> list[tuple[str, Message, datetime]]:
        """The same without those that were forgotten or taken out of their conversation."""
        ...

    def commit(
        self,
        scope: str,
        entries: Sequence[MemoryEntry],
        amendments: Sequence[Amendment] = (),
        *,
        actor: str,
        finished: Job | None = None,
        jobs: Sequence[JobDraft] = (),
        all_or_nothing: bool = False,
        made_of: Sequence[str] = (),
    ) -> list[MemoryEntry] | None:
        """New entries, changes of old ones and what becomes of the jobs, all in one transaction.

        An entry whose key is taken is left out. `None`, and nothing changed, when the finished job is no longer the
        caller's. With `all_or_nothing` only the job is finished when an entry that is to be changed has another version
        than expected, or is gone. `MessagesDeletedError`, and nothing changed, when one of the messages that it is
        `made_of` was deleted.
        """
        ...

    def amend(self, scope: str, amendments: Sequence[Amendment], *, actor: str) -> list[MemoryEntry]:
        """Change entries of a scope; returns those that were as expected, changed."""
        ...

    def by_ids(self, scope: str, ids: Sequence[str]) -> list[MemoryEntry]:
        """Entries of a scope by id, active or not, in the order asked for."""
        ...

    def by_keys(self, scope: str, keys: Sequence[str]) -> dict[str, MemoryEntry]:
        """Entries of a scope by key, active or not."""
        ...

    def facts(self, scope: str, *, limit: int) -> list[MemoryEntry]:
        """The newest active facts of a scope, newest first."""
        ...

    def profile_facts(self, scope: str, now: datetime, *, limit: int) -> list[MemoryEntry]:
        """The active facts of a scope that have not expired: the pinned first, then the most important, then newer."""
        ...

    def conflicting(self, scope: str, *, limit: int) -> list[MemoryEntry]:
        """The newest active facts that may contradict older ones, newest first."""
        ...

    def unsummarized(self, scope: str, *, limit: int) -> list[MemoryEntry]:
        """The newest facts that no reflection covers yet, without those that are pinned or expire, newest first."""
        ...

    def last_reflection(self, scope: str) -> datetime | None:
        """When the newest reflection of a scope was made."""
        ...

    def superseded(self, scopes: Sequence[str], before: datetime, *, limit: int) -> list[tuple[MemoryEntry, datetime]]:
        """Entries that were known before a time and corrected after it, with the time of the correction."""
        ...

    def replaced_by(self, scope: str, entry_id: str, *, limit: int) -> list[MemoryEntry]:
        """The entries that this one has superseded, the last changed first."""
        ...

    def rests(self, whole: MemoryEntry) -> list[MemoryEntry]:
        """The active facts that were left of this one when a part of it was replaced."""
        ...

    def inactive(self, scope: str, *, limit: int) -> list[MemoryEntry]:
        """Long-term memories of a scope that were forgotten or corrected, the last changed first."""
        ...

    def scopes(self) -> list[str]:
        """Every scope that has entries."""
        ...

    def forgetting_candidates(
        self, scope: str, without_types: Sequence[str], *, after: ForgettingPosition | None, limit: int
    ) -> list[ForgettingCandidate]:
        """A page of the long-term memories that may be forgotten, oldest first."""
        ...

    def forget_candidates(self, scope: str, candidates: Sequence[ForgettingCandidate], *, actor: str) -> int:
        """Take these out of recall; those that were touched, pinned or changed since are left. Returns how many."""
        ...

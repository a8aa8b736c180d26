"""ChatService: the running conversation of one session, synchronous. `jiyi.chat.api.Chat` is what callers see."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from jiyi.chat.session_window import SessionWindow, WindowDeps
from jiyi.chat.summarizers import Summarizer
from jiyi.chat.window import Budget
from jiyi.errors import InvalidInputError
from jiyi.model.chat import CANDIDATE_STATES, Backlog, Candidate, Epoch, Erased, StoredMessage, Summary
from jiyi.model.message import Message
from jiyi.ports import ChatStore


@dataclass(frozen=True, slots=True)
class ChatStatus:
    """The state of a session."""

    session_id: str
    scope: str
    epoch: int
    tokens: int
    """System messages, summary and every message that no summary covers; above the limit while a compaction is due."""
    token_limit: int
    messages: int
    """How many messages no summary covers, system messages not counted."""
    summary: Summary | None
    """The summary in force. What follows its `last_position` is the window."""
    flushed_to: int
    """The last position that was searched for candidates; -1 before the first."""
    new_candidates: int
    trouble: str | None
    """Why the last compaction failed; `None` when it did not."""
    failures: int
    """How many have failed in a row."""
    next_attempt_at: datetime | None
    backlog: Backlog | None = None
    """Messages that do not fit into the window and are not yet summarised; `None` when there are none."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing was said since the last reset."""
        return not self.messages and self.summary is None and not self.tokens


@dataclass(frozen=True, slots=True)
class ChatDeps:
    """What all sessions of a memory share."""

    store: ChatStore
    make_summarizer: Callable[[Budget, str | None], Summarizer]
    """Makes the summarizer for a budget and the caller's own prompt, if there is one."""
    window: WindowDeps
    actor: str
    recallable: bool


class ChatService(SessionWindow):
    """One session: its window, and everything else that is kept of it."""

    def __init__(self, deps: ChatDeps, scope: str, session_id: str, budget: Budget, prompt: str | None) -> None:
        super().__init__(
            deps.store,
            scope,
            session_id,
            deps=deps.window,
            budget=budget,
            summarizer=deps.make_summarizer(budget, prompt),
        )
        self._deps = deps
        self._chats = deps.store

    def put(self, messages: Sequence[Message], said_at: datetime | None = None) -> list[str]:
        """Add messages at the end; on disk when this returns."""
        deps = self._deps
        return self._chats.append(
            *self._session, messages, actor=deps.actor, recallable=deps.recallable, said_at=said_at
        )

    def insert(self, index: int, message: Message) -> None:
        """Put a message before the one at an index."""
        deps = self._deps
        self._chats.insert(*self._session, index, message, actor=deps.actor, recallable=deps.recallable)

    def remove(self, index: int) -> Message | None:
        """Take the message at an index out."""
        deps = self._deps
        return self._chats.remove(*self._session, index, actor=deps.actor, recallable=deps.recallable)

    def messages(self, epoch: int | None) -> list[StoredMessage]:
        """Every message of an epoch, in order."""
        return self._chats.epoch_messages(*self._session, epoch)

    def reset(self) -> int:
        """Begin a new epoch; returns its number."""
        return self._chats.start_epoch(*self._session).epoch

    def epochs(self) -> list[Epoch]:
        """The epochs that are there, oldest first."""
        return self._chats.epochs(*self._session)

    def delete_epoch(self, epoch: int) -> Erased:
        """Delete an epoch before the current one, for good."""
        return self._chats.delete_epoch(*self._session, epoch, actor=self._deps.actor)

    def summaries(self, epoch: int | None) -> list[Summary]:
        """The valid summaries of an epoch, oldest first; the last one is in force."""
        known = [one.epoch for one in self.epochs()]
        if epoch is not None and epoch not in known:
            there = ", ".join(map(str, known))
            raise InvalidInputError(f"session {self.session_id!r} has no epoch {epoch}; there are {there}")
        return self._chats.summaries(*self._session, known[-1] if epoch is None else epoch)

    def expand(self, summary_id: str) -> list[StoredMessage]:
        """The messages that a summary covers, those of the summaries before it included."""
        summary = self._chats.summary(*self._session, summary_id) if isinstance(summary_id, str) else None
        if summary is None:
            raise InvalidInputError(f"session {self.session_id!r} has no summary {summary_id!r}; see summaries()")
        if summary.replaced_at is not None:
            raise InvalidInputError(
                f"summary {summary_id!r} stands for nothing: what was said there was rewritten; see summaries()"
            )
        first = next((one.first_position for one in self.epochs() if one.epoch == summary.epoch), 0)
        found, _ = self._chats.following(*self._session, after=first - 1, before=summary.last_position + 1)
        return [one for one in found if not one.is_system]

    def candidates(self, state: str | None) -> list[Candidate]:
        """What flushes of this session propose to keep, oldest first."""
        return self._chats.candidates(self.scope, session_id=self.session_id, state=check_state(state))

    def status(self) -> ChatStatus:
        """The state of the session."""
        snapshot = self._chats.snapshot(*self._session, lambda _message: False)
        last = self._chats.last_attempt(*self._session, snapshot.epoch.epoch)
        failed = last is not None and last.state == "failed"
        return ChatStatus(
            session_id=self.session_id,
            scope=self.scope,
            epoch=snapshot.epoch.epoch,
            tokens=self._tokens(snapshot),
            token_limit=self.budget.limit,
            messages=sum(not one.is_system for one in snapshot.recent),
            summary=snapshot.summary,
            flushed_to=self._chats.flushed_to(*self._session, snapshot.epoch),
            new_candidates=len(self.candidates("new")),
            trouble=last.reason if last is not None and failed else None,
            failures=last.attempt if last is not None else 0,
            next_attempt_at=last.next_attempt_at if last is not None and failed else None,
            backlog=self.backlog(snapshot),
        )


def check_state(state: object) -> str | None:
    """A state of candidates, or `None` for all of them."""
    if state is not None and state not in CANDIDATE_STATES:
        raise InvalidInputError(f"state {state!r} is none of {', '.join(CANDIDATE_STATES)}; None means all")
    return None if state is None else str(state)

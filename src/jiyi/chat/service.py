"""ChatService: the running conversation of one session, without async. `session.Chat` is its front."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from weakref import WeakValueDictionary

from jiyi.chat.compaction import Compaction, Compactor, until
from jiyi.chat.summarizers import Summarizer
from jiyi.chat.window import Budget, ChatWindow, fit
from jiyi.errors import InvalidInputError
from jiyi.model.chat import CANDIDATE_STATES, Candidate, Epoch, Erased, Snapshot, StoredMessage, Summary
from jiyi.model.message import Message
from jiyi.ports import ChatStore
from jiyi.prompts.chat import summary_message

_MAX_PORTIONS = 4
_REMEMBERED_COUNTS = 50_000


@dataclass(frozen=True, slots=True)
class ChatStatus:
    """How a session stands."""

    session_id: str
    scope: str
    epoch: int
    tokens: int
    """Prompts, summary and everything that no summary stands for; may be above the limit while trouble lasts."""
    token_limit: int
    messages: int
    """How many messages no summary stands for, prompts not counted."""
    summary: Summary | None
    """The summary that is in force. What follows its `last_position` is the window."""
    flushed_to: int
    """The last position that was looked through for candidates; -1 before the first."""
    new_candidates: int
    trouble: str | None
    """Why the last compaction failed; `None` when it did not."""
    failures: int
    """How many have failed in a row."""
    next_attempt_at: datetime | None

    @property
    def is_empty(self) -> bool:
        """Whether nothing was said since the last reset."""
        return not self.messages and self.summary is None and not self.tokens


class TokenCounts:
    """How many tokens messages and summaries have; each is counted once, as long as it is remembered."""

    def __init__(self, count: Callable[[Message], int]) -> None:
        self._count = count
        self._known: OrderedDict[str, int] = OrderedDict()
        self._guard = threading.Lock()

    def of(self, stored: StoredMessage) -> int:
        """The tokens of a message."""
        return self._of(stored.id, stored.message)

    def of_summary(self, summary: Summary | str) -> int:
        """The tokens of a summary as it is shown; a text that is none yet is counted as one."""
        if isinstance(summary, str):
            return self._count(summary_message(summary))
        return self._of(summary.id, summary_message(summary.content))

    def _of(self, name: str, message: Message) -> int:
        with self._guard:
            known = self._known.get(name)
            if known is not None:
                self._known.move_to_end(name)
                return known
        counted = self._count(message)
        with self._guard:
            self._known[name] = counted
            while len(self._known) > _REMEMBERED_COUNTS:
                self._known.popitem(last=False)
        return counted


@dataclass(frozen=True, slots=True)
class ChatDeps:
    """What all sessions of a memory share."""

    store: ChatStore
    maker: Callable[[Budget, str | None], Summarizer]
    """Makes the maker for a budget and a prompt of the caller's own, or none."""
    counts: TokenCounts
    now: Callable[[], datetime]
    actor: str
    recallable: bool
    locks: SessionLocks


class SessionLocks:
    """One lock for each session in use: two compactions of one process would only do the same work twice."""

    def __init__(self) -> None:
        # A lock is gone with the last chat of its session.
        self._locks: WeakValueDictionary[tuple[str, str], threading.Lock] = WeakValueDictionary()
        self._guard = threading.Lock()

    def of(self, scope: str, session_id: str) -> threading.Lock:
        """The lock of a session."""
        with self._guard:
            lock = self._locks.get((scope, session_id))
            if lock is None:
                lock = self._locks[scope, session_id] = threading.Lock()
            return lock


class ChatService:
    """One session. Nothing is kept here but its name: every call looks at the store."""

    def __init__(self, parts: ChatDeps, scope: str, session_id: str, budget: Budget, prompt: str | None) -> None:
        self.scope = scope
        self.session_id = session_id
        self.budget = budget
        self._parts = parts
        self._store = parts.store
        self._place = (scope, session_id)
        self._counts = parts.counts
        self._lock = parts.locks.of(scope, session_id)
        # Once between two compactions is enough, and asking the store each time would double the cost of a get.
        self._looked_through: tuple[int, int] | None = None
        self._compactor = Compactor(
            parts.store,
            scope,
            session_id,
            budget=budget,
            maker=parts.maker(budget, prompt),
            count=parts.counts.of,
            summary_tokens=parts.counts.of_summary,
            now=parts.now,
        )

    def put(self, messages: Sequence[Message]) -> list[str]:
        """Add messages at the end; on disk when this returns."""
        return self._store.append(*self._place, messages, actor=self._parts.actor, recallable=self._parts.recallable)

    def look(self, initial_tokens: int) -> ChatWindow | None:
        """The window if nothing has to be done first; `None` when messages have to leave or to be looked through."""
        room = self.budget.limit - initial_tokens
        snapshot, total = self._look(room)
        if not snapshot.complete or total > room or self._nearly_full(snapshot, total, room):
            return None
        return self._window(snapshot, room, compacted=False, trouble=None)

    def get(self, initial_tokens: int) -> ChatWindow:
        """The window, within the limit, after what has to be done; may ask a model."""
        room = self.budget.limit - initial_tokens
        snapshot, total = self._look(room)
        done = Compaction()
        compacted = False
        if not snapshot.complete or total > room:
            for _ in range(_MAX_PORTIONS):
                done = self._compact("limit", initial_tokens, wait=False)
                if not done.compacted:
                    break
                compacted = True
                snapshot, total = self._look(room)
                if snapshot.complete and total <= room:
                    break
        elif self._nearly_full(snapshot, total, room):
            done = self._compact("soft", initial_tokens, wait=False)
            if done.trouble is None:
                self._looked_through = _place_of(snapshot)
        return self._window(snapshot, room, compacted=compacted, trouble=done.trouble)

    def _nearly_full(self, snapshot: Snapshot, total: int, room: int) -> bool:
        return total > min(self.budget.soft, room) and self._looked_through != _place_of(snapshot)

    def _window(self, snapshot: Snapshot, room: int, *, compacted: bool, trouble: str | None) -> ChatWindow:
        summary = snapshot.summary
        summary_tokens = self._counts.of_summary(summary) if summary is not None else 0
        chosen = fit(snapshot, room=room, summary_tokens=summary_tokens, count=self._counts.of)
        left_out = chosen.left_out
        if not snapshot.complete:
            first = snapshot.recent[0].position
            left_out += self._store.count_between(*self._place, after=snapshot.pointer, before=first)
        if summary is not None and not chosen.with_summary and trouble is None:
            trouble = "the prompts and the newest message leave no room for the summary"
        messages = [stored.message for stored in chosen.messages]
        if summary is not None and chosen.with_summary:
            # Behind the prompts that open the window; prompts further on stay where they were said.
            place = next((i for i, one in enumerate(chosen.messages) if not one.is_system), len(messages))
            messages.insert(place, summary_message(summary.content))
        return ChatWindow(
            messages,
            summary=summary if chosen.with_summary else None,
            tokens=chosen.tokens,
            token_limit=self.budget.limit,
            left_out=left_out,
            over_limit=chosen.over_limit,
            compacted=compacted,
            trouble=trouble,
        )

    def _look(self, room: int) -> tuple[Snapshot, int]:
        """A snapshot, and how many tokens it has."""
        snapshot = self._store.snapshot(*self._place, until(room, self._counts.of))
        total = sum(map(self._counts.of, snapshot.prompts)) + sum(map(self._counts.of, snapshot.recent))
        if snapshot.summary is not None:
            total += self._counts.of_summary(snapshot.summary)
        return snapshot, total

    def _compact(self, trigger: str, initial_tokens: int = 0, *, wait: bool) -> Compaction:
        # Who only wants to read does not stand in line behind a slow model.
        if not self._lock.acquire(blocking=wait):
            return Compaction(trouble="a compaction of this session is under way")
        try:
            return self._compactor.run(trigger, initial_tokens=initial_tokens)
        finally:
            self._lock.release()

    def compact(self, trigger: str) -> Compaction:
        """Move what is older under a summary now; what the maker raises is raised after it was written down."""
        done = self._compact(trigger, wait=True)
        if done.error is not None:
            raise done.error
        return done

    def messages(self, epoch: int | None) -> list[StoredMessage]:
        """Every message of an epoch, in order."""
        return self._store.epoch_messages(*self._place, epoch)

    def reset(self) -> int:
        """Begin a new epoch; returns its number."""
        return self._store.start_epoch(*self._place).epoch

    def epochs(self) -> list[Epoch]:
        """The epochs that are there, oldest first."""
        return self._store.epochs(*self._place)

    def delete_epoch(self, epoch: int) -> Erased:
        """Delete an epoch before the current one, for good."""
        return self._store.delete_epoch(*self._place, epoch, actor=self._parts.actor)

    def summaries(self, epoch: int | None) -> list[Summary]:
        """The summaries that stand in an epoch, oldest first; the last one is in force."""
        known = [one.epoch for one in self.epochs()]
        if epoch is not None and epoch not in known:
            there = ", ".join(map(str, known))
            raise InvalidInputError(f"session {self.session_id!r} has no epoch {epoch}; there are {there}")
        return self._store.summaries(*self._place, known[-1] if epoch is None else epoch)

    def expand(self, summary_id: str) -> list[StoredMessage]:
        """The messages that a summary stands for, those of the summaries before it included."""
        summary = self._store.summary(*self._place, summary_id)
        if summary is None:
            raise InvalidInputError(f"session {self.session_id!r} has no summary {summary_id!r}; see summaries()")
        if summary.replaced_at is not None:
            raise InvalidInputError(
                f"summary {summary_id!r} stands for nothing: what was said there was rewritten; see summaries()"
            )
        first = next((one.first_position for one in self.epochs() if one.epoch == summary.epoch), 0)
        found, _ = self._store.following(*self._place, after=first - 1, before=summary.last_position + 1)
        return [one for one in found if not one.is_system]

    def candidates(self, state: str | None) -> list[Candidate]:
        """What flushes of this session propose to keep, oldest first."""
        return self._store.candidates(self.scope, session_id=self.session_id, state=check_state(state))

    def status(self) -> ChatStatus:
        """How the session stands."""
        snapshot = self._store.snapshot(*self._place, lambda _message: False)
        tokens = sum(self._counts.of(one) for one in (*snapshot.prompts, *snapshot.recent))
        if snapshot.summary is not None:
            tokens += self._counts.of_summary(snapshot.summary)
        last = self._store.last_attempt(*self._place, snapshot.epoch.epoch)
        failed = last is not None and last.state == "failed"
        return ChatStatus(
            session_id=self.session_id,
            scope=self.scope,
            epoch=snapshot.epoch.epoch,
            tokens=tokens,
            token_limit=self.budget.limit,
            messages=sum(not one.is_system for one in snapshot.recent),
            summary=snapshot.summary,
            flushed_to=self._store.flushed_to(*self._place, snapshot.epoch),
            new_candidates=len(self.candidates("new")),
            trouble=last.reason if last is not None and failed else None,
            failures=last.attempt if last is not None else 0,
            next_attempt_at=last.next_attempt_at if last is not None and failed else None,
        )


def _place_of(snapshot: Snapshot) -> tuple[int, int]:
    return snapshot.epoch.epoch, snapshot.pointer


def check_state(state: object) -> str | None:
    """A state of candidates, or `None` for all of them."""
    if state is not None and state not in CANDIDATE_STATES:
        raise InvalidInputError(f"state {state!r} is none of {', '.join(CANDIDATE_STATES)}; None means all")
    return None if state is None else str(state)

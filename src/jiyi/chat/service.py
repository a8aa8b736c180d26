"""ChatService: the running conversation of one session, synchronous. `jiyi.chat.api.Chat` is what callers see."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from weakref import WeakValueDictionary

from jiyi.chat.compaction import Compaction, Compactor, Outcome, tokens_reached
from jiyi.chat.summarizers import Summarizer
from jiyi.chat.window import Budget, ChatWindow, choose_window
from jiyi.errors import InvalidInputError
from jiyi.model.chat import CANDIDATE_STATES, Candidate, Epoch, Erased, Snapshot, StoredMessage, Summary
from jiyi.model.message import Message
from jiyi.ports import ChatStore
from jiyi.prompts.chat import summary_message

_MAX_PORTIONS = 4
_MAX_CACHED_COUNTS = 50_000


@dataclass(frozen=True, slots=True)
class ChatStatus:
    """How a session stands."""

    session_id: str
    scope: str
    epoch: int
    tokens: int
    """Prompts, summary and every message that no summary stands for; above the limit while a compaction is due."""
    token_limit: int
    messages: int
    """How many messages no summary stands for, prompts not counted."""
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

    @property
    def is_empty(self) -> bool:
        """Whether nothing was said since the last reset."""
        return not self.messages and self.summary is None and not self.tokens


class TokenCounts:
    """The tokens of messages and summaries, with a cache by id."""

    def __init__(self, count: Callable[[Message], int]) -> None:
        self._count = count
        self._cache: OrderedDict[str, int] = OrderedDict()
        self._guard = threading.Lock()

    def of(self, stored: StoredMessage) -> int:
        """The tokens of a message."""
        return self._of(stored.id, stored.message)

    def of_summary(self, summary: Summary | str) -> int:
        """The tokens of a summary in the form in which it is shown; a plain text is counted as a new summary."""
        if isinstance(summary, str):
            return self._count(summary_message(summary))
        return self._of(summary.id, summary_message(summary.content))

    def _of(self, name: str, message: Message) -> int:
        with self._guard:
            cached = self._cache.get(name)
            if cached is not None:
                self._cache.move_to_end(name)
                return cached
        counted = self._count(message)
        with self._guard:
            self._cache[name] = counted
            while len(self._cache) > _MAX_CACHED_COUNTS:
                self._cache.popitem(last=False)
        return counted


@dataclass(frozen=True, slots=True)
class ChatDeps:
    """What all sessions of a memory share."""

    store: ChatStore
    make_summarizer: Callable[[Budget, str | None], Summarizer]
    """Makes the summarizer for a budget and the caller's own prompt, if there is one."""
    counts: TokenCounts
    now: Callable[[], datetime]
    actor: str
    recallable: bool
    locks: SessionLocks


class SessionLocks:
    """One lock for each session in use: two compactions of one process would only do the same work twice."""

    def __init__(self) -> None:
        # A lock is dropped with the last chat of its session.
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
    """One session. It has no state but its name: every call reads the store."""

    def __init__(self, deps: ChatDeps, scope: str, session_id: str, budget: Budget, prompt: str | None) -> None:
        self.scope = scope
        self.session_id = session_id
        self.budget = budget
        self._deps = deps
        self._store = deps.store
        self._session = (scope, session_id)
        self._counts = deps.counts
        self._lock = deps.locks.of(scope, session_id)
        # The soft flush comes once between two compactions. Asking the store each time would double the cost of a get.
        self._soft_flushed: tuple[int, int] | None = None
        self._compactor = Compactor(
            deps.store,
            scope,
            session_id,
            budget=budget,
            summarizer=deps.make_summarizer(budget, prompt),
            count=deps.counts.of,
            summary_tokens=deps.counts.of_summary,
            now=deps.now,
        )

    def put(self, messages: Sequence[Message]) -> list[str]:
        """Add messages at the end; on disk when this returns."""
        return self._store.append(*self._session, messages, actor=self._deps.actor, recallable=self._deps.recallable)

    # --- the window -----------------------------------------------------------------------------------------------

    def look(self, initial_tokens: int) -> ChatWindow | Snapshot:
        """The window if nothing has to be done first; otherwise the snapshot, with which `get` goes on."""
        available = self.budget.limit - initial_tokens
        snapshot = self._snapshot(available)
        if not self._fits(snapshot, available) or self._soft_flush_is_due(snapshot, available):
            return snapshot
        return self._window(snapshot, available)

    def get(self, initial_tokens: int, snapshot: Snapshot | None = None) -> ChatWindow:
        """The window, within the limit, after the compaction that is due; may ask a model."""
        available = self.budget.limit - initial_tokens
        if snapshot is None:
            snapshot = self._snapshot(available)
        done = Compaction()
        compacted = False
        if not self._fits(snapshot, available):
            for _ in range(_MAX_PORTIONS):
                outcome = self._compact("limit", snapshot, initial_tokens, wait=False)
                done, snapshot = outcome.compaction, outcome.snapshot or snapshot
                compacted = compacted or done.compacted
                if not done.compacted or self._fits(snapshot, available):
                    break
        elif self._soft_flush_is_due(snapshot, available):
            done = self._compact("soft", snapshot, initial_tokens, wait=False).compaction
            if done.trouble is None:
                self._soft_flushed = _pointer_of(snapshot)
        return self._window(snapshot, available, compacted=compacted, trouble=done.trouble)

    def _snapshot(self, available: int) -> Snapshot:
        return self._store.snapshot(*self._session, tokens_reached(available, self._counts.of))

    def _tokens(self, snapshot: Snapshot) -> int:
        total = sum(map(self._counts.of, snapshot.prompts)) + sum(map(self._counts.of, snapshot.recent))
        return total + (self._counts.of_summary(snapshot.summary) if snapshot.summary is not None else 0)

    def _fits(self, snapshot: Snapshot, available: int) -> bool:
        return snapshot.complete and self._tokens(snapshot) <= available

    def _soft_flush_is_due(self, snapshot: Snapshot, available: int) -> bool:
        if self._soft_flushed == _pointer_of(snapshot):
            return False
        return self._tokens(snapshot) > min(self.budget.soft, available)

    def _window(
        self, snapshot: Snapshot, available: int, *, compacted: bool = False, trouble: str | None = None
    ) -> ChatWindow:
        summary = snapshot.summary
        summary_tokens = self._counts.of_summary(summary) if summary is not None else 0
        chosen = choose_window(snapshot, available=available, summary_tokens=summary_tokens, count=self._counts.of)
        left_out = chosen.left_out
        if not snapshot.complete:
            first = snapshot.recent[0].position
            left_out += self._store.count_between(*self._session, after=snapshot.pointer, before=first)
        if summary is not None and not chosen.with_summary and trouble is None:
            trouble = "the prompts and the newest message leave no room for the summary"
        messages = [stored.message for stored in chosen.messages]
        if summary is not None and chosen.with_summary:
            # Behind the prompts that open the window; later prompts stay where they were said.
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

    # --- compaction -----------------------------------------------------------------------------------------------

    def _compact(
        self, trigger: str, snapshot: Snapshot | None = None, initial_tokens: int = 0, *, wait: bool
    ) -> Outcome:
        # A reader does not wait for the model that another call is waiting for.
        if not self._lock.acquire(blocking=wait):
            return Outcome(Compaction(trouble="a compaction of this session is under way"))
        try:
            return self._compactor.run(trigger, snapshot, initial_tokens=initial_tokens)
        finally:
            self._lock.release()

    def compact(self, trigger: str) -> Compaction:
        """Move older messages under a summary now; an error of the summarizer is recorded, then raised."""
        done = self._compact(trigger, wait=True).compaction
        if done.error is not None:
            raise done.error
        return done

    # --- reading --------------------------------------------------------------------------------------------------

    def messages(self, epoch: int | None) -> list[StoredMessage]:
        """Every message of an epoch, in order."""
        return self._store.epoch_messages(*self._session, epoch)

    def reset(self) -> int:
        """Begin a new epoch; returns its number."""
        return self._store.start_epoch(*self._session).epoch

    def epochs(self) -> list[Epoch]:
        """The epochs that are there, oldest first."""
        return self._store.epochs(*self._session)

    def delete_epoch(self, epoch: int) -> Erased:
        """Delete an epoch before the current one, for good."""
        return self._store.delete_epoch(*self._session, epoch, actor=self._deps.actor)

    def summaries(self, epoch: int | None) -> list[Summary]:
        """The valid summaries of an epoch, oldest first; the last one is in force."""
        known = [one.epoch for one in self.epochs()]
        if epoch is not None and epoch not in known:
            there = ", ".join(map(str, known))
            raise InvalidInputError(f"session {self.session_id!r} has no epoch {epoch}; there are {there}")
        return self._store.summaries(*self._session, known[-1] if epoch is None else epoch)

    def expand(self, summary_id: str) -> list[StoredMessage]:
        """The messages that a summary stands for, those of the summaries before it included."""
        summary = self._store.summary(*self._session, summary_id)
        if summary is None:
            raise InvalidInputError(f"session {self.session_id!r} has no summary {summary_id!r}; see summaries()")
        if summary.replaced_at is not None:
            raise InvalidInputError(
                f"summary {summary_id!r} stands for nothing: what was said there was rewritten; see summaries()"
            )
        first = next((one.first_position for one in self.epochs() if one.epoch == summary.epoch), 0)
        found, _ = self._store.following(*self._session, after=first - 1, before=summary.last_position + 1)
        return [one for one in found if not one.is_system]

    def candidates(self, state: str | None) -> list[Candidate]:
        """What flushes of this session propose to keep, oldest first."""
        return self._store.candidates(self.scope, session_id=self.session_id, state=check_state(state))

    def status(self) -> ChatStatus:
        """How the session stands."""
        snapshot = self._store.snapshot(*self._session, lambda _message: False)
        last = self._store.last_attempt(*self._session, snapshot.epoch.epoch)
        failed = last is not None and last.state == "failed"
        return ChatStatus(
            session_id=self.session_id,
            scope=self.scope,
            epoch=snapshot.epoch.epoch,
            tokens=self._tokens(snapshot),
            token_limit=self.budget.limit,
            messages=sum(not one.is_system for one in snapshot.recent),
            summary=snapshot.summary,
            flushed_to=self._store.flushed_to(*self._session, snapshot.epoch),
            new_candidates=len(self.candidates("new")),
            trouble=last.reason if last is not None and failed else None,
            failures=last.attempt if last is not None else 0,
            next_attempt_at=last.next_attempt_at if last is not None and failed else None,
        )


def _pointer_of(snapshot: Snapshot) -> tuple[int, int]:
    return snapshot.epoch.epoch, snapshot.pointer


def check_state(state: object) -> str | None:
    """A state of candidates, or `None` for all of them."""
    if state is not None and state not in CANDIDATE_STATES:
        raise InvalidInputError(f"state {state!r} is none of {', '.join(CANDIDATE_STATES)}; None means all")
    return None if state is None else str(state)

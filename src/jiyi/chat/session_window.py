"""SessionWindow: the window of one session, and the compactions that keep it within its limit."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from weakref import WeakValueDictionary

from jiyi.chat.background import BackgroundCompactions
from jiyi.chat.compaction import Compaction, Compactor, Outcome, tokens_reached
from jiyi.chat.summarizers import Summarizer
from jiyi.chat.window import Budget, ChatWindow, choose_window
from jiyi.model.chat import Backlog, Snapshot, StoredMessage, Summary
from jiyi.model.message import Message
from jiyi.ports.chat import CompactionStore
from jiyi.prompts.chat import summary_message

DEFAULT_MAX_WAIT = 10.0
"""How many seconds a `get` compacts before it answers; the rest is done in the background."""
_MAX_CACHED_COUNTS = 50_000


class TokenCounts:
    """The tokens of messages and summaries, with a cache by id."""

    def __init__(self, count: Callable[[Message], int]) -> None:
        self._count = count
        self._cache: dict[str, int] = {}
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
        cached = self._cache.get(name)
        if cached is not None:
            return cached
        counted = self._count(message)
        with self._guard:
            self._cache[name] = counted
            while len(self._cache) > _MAX_CACHED_COUNTS:
                del self._cache[next(iter(self._cache))]
        return counted


class SessionLock:
    """The lock of the compactions of one session in this process."""

    def __init__(self) -> None:
        self.held = threading.Lock()
        self.compactions = 0
        """How many there were; a snapshot that was read before the last one is out of date."""


class SessionLocks:
    """One lock for each session in use: two compactions of one process would only do the same work twice."""

    def __init__(self) -> None:
        # A lock is dropped with the last chat of its session.
        self._locks: WeakValueDictionary[tuple[str, str], SessionLock] = WeakValueDictionary()
        self._guard = threading.Lock()

    def of(self, scope: str, session_id: str) -> SessionLock:
        """The lock of a session."""
        with self._guard:
            lock = self._locks.get((scope, session_id))
            if lock is None:
                lock = self._locks[scope, session_id] = SessionLock()
            return lock


@dataclass(frozen=True, slots=True)
class Reading:
    """A snapshot, and how many compactions of this process came before it."""

    snapshot: Snapshot
    compactions: int


@dataclass(frozen=True, slots=True)
class WindowDeps:
    """What the windows of all sessions share."""

    counts: TokenCounts
    now: Callable[[], datetime]
    locks: SessionLocks
    background: BackgroundCompactions


class SessionWindow:
    """The window of one session. It has no state but its name: every call reads the store."""

    def __init__(
        self,
        store: CompactionStore,
        scope: str,
        session_id: str,
        *,
        deps: WindowDeps,
        budget: Budget,
        summarizer: Summarizer,
    ) -> None:
        self.scope = scope
        self.session_id = session_id
        self.budget = budget
        self.background = deps.background
        self._store = store
        self._session = (scope, session_id)
        self._counts = deps.counts
        self._now = deps.now
        self._lock = deps.locks.of(scope, session_id)
        # The soft flush comes once between two compactions. Asking the store each time would double the cost of a get.
        self._soft_flushed: tuple[int, int] | None = None
        self._compactor = Compactor(
            store,
            scope,
            session_id,
            budget=budget,
            summarizer=summarizer,
            count=deps.counts.of,
            summary_tokens=deps.counts.of_summary,
            now=deps.now,
        )

    def look(self, initial_tokens: int) -> ChatWindow | Reading:
        """The window if nothing has to be done first; otherwise what was read, with which `get` goes on."""
        available = self.budget.limit - initial_tokens
        reading = self._read(available)
        tokens = self._tokens(reading.snapshot)
        if not (reading.snapshot.complete and tokens <= available):
            return reading
        if self._soft_flush_is_due(reading.snapshot, tokens, available):
            return reading
        return self._window(reading.snapshot, available)

    def get(
        self, initial_tokens: int, reading: Reading | None = None, *, max_wait: float | None = DEFAULT_MAX_WAIT
    ) -> ChatWindow:
        """The window, within the limit, after the compaction that is due; may ask a model.

        After `max_wait` seconds no further portion is begun and the window says what is pending; `None` means until
        everything is done.
        """
        available = self.budget.limit - initial_tokens
        if reading is None:
            reading = self._read(available)
        # Not the wall clock, which may be set while this waits.
        deadline = None if max_wait is None else time.monotonic() + max_wait
        trouble: str | None = None
        compacted = unfinished = False
        while not self._fits(reading.snapshot, available):
            if deadline is not None and time.monotonic() >= deadline:
                unfinished = True
                break
            done, reading = self._compact("limit", reading, initial_tokens, wait=deadline is None)
            if done is None:
                continue
            trouble = done.trouble
            if not done.compacted:
                unfinished = trouble is not None
                break
            compacted = True
        else:
            in_time = deadline is None or time.monotonic() < deadline
            if (
                in_time
                and not compacted
                and self._soft_flush_is_due(reading.snapshot, self._tokens(reading.snapshot), available)
            ):
                done, reading = self._compact("soft", reading, initial_tokens, wait=False)
                if done is not None and done.trouble is None:
                    self._soft_flushed = _pointer_of(reading.snapshot)
                trouble = None if done is None else done.trouble
        window = self._window(reading.snapshot, available, compacted=compacted, trouble=trouble)
        if unfinished:
            window.pending = self._backlog(window.left_out)
        return window

    def compact_portion(self, initial_tokens: int) -> int:
        """Compact one portion of what does not fit; returns how many messages, 0 when it failed or nothing is left."""
        available = self.budget.limit - initial_tokens
        with self._lock.held:
            snapshot = self._snapshot(available)
            if self._fits(snapshot, available):
                return 0
            return self._run("limit", snapshot, initial_tokens).compaction.messages

    def compact(self, trigger: str) -> Compaction:
        """Move older messages under a summary now; an error of the summarizer is recorded, then raised."""
        with self._lock.held:
            done = self._run(trigger).compaction
        if done.error is not None:
            raise done.error
        return done

    def flush(self, trigger: str) -> Compaction:
        """Search what was not searched yet for candidates; an error of the summarizer is recorded, then raised."""
        done = self.try_flush(trigger)
        if done.error is not None:
            raise done.error
        return done

    def try_flush(self, trigger: str) -> Compaction:
        """The same; an error of the summarizer, whatever it is, is recorded and stands in what is returned."""
        with self._lock.held:
            return self._compactor.flush(trigger)

    def _compact(
        self, trigger: str, reading: Reading, initial_tokens: int, *, wait: bool
    ) -> tuple[Compaction | None, Reading]:
        """What a compaction did, and the session after it; `None` when the session has changed and was read again.

        A reader that does not wait for the lock does not wait for the model that another thread is waiting for.
        """
        if not self._lock.held.acquire(blocking=wait):
            return Compaction(trouble="a compaction of this session is under way"), reading
        try:
            if self._lock.compactions != reading.compactions:
                return None, self._read(self.budget.limit - initial_tokens)
            outcome = self._run(trigger, reading.snapshot, initial_tokens)
            return outcome.compaction, Reading(outcome.snapshot or reading.snapshot, self._lock.compactions)
        finally:
            self._lock.held.release()

    def _run(self, trigger: str, snapshot: Snapshot | None = None, initial_tokens: int = 0) -> Outcome:
        outcome = self._compactor.run(trigger, snapshot, initial_tokens=initial_tokens)
        self._lock.compactions += outcome.compaction.compacted
        return outcome

    def _read(self, available: int) -> Reading:
        compactions = self._lock.compactions
        return Reading(self._snapshot(available), compactions)

    def _snapshot(self, available: int) -> Snapshot:
        return self._store.snapshot(*self._session, tokens_reached(available, self._counts.of))

    def _tokens(self, snapshot: Snapshot) -> int:
        total = sum(map(self._counts.of, (*snapshot.system_messages, *snapshot.recent)))
        return total + (self._counts.of_summary(snapshot.summary) if snapshot.summary is not None else 0)

    def _fits(self, snapshot: Snapshot, available: int) -> bool:
        return snapshot.complete and self._tokens(snapshot) <= available

    def _soft_flush_is_due(self, snapshot: Snapshot, tokens: int, available: int) -> bool:
        return tokens > min(self.budget.soft, available) and self._soft_flushed != _pointer_of(snapshot)

    def _window(
        self,
        snapshot: Snapshot,
        available: int,
        *,
        compacted: bool = False,
        trouble: str | None = None,
    ) -> ChatWindow:
        summary = snapshot.summary
        summary_tokens = self._counts.of_summary(summary) if summary is not None else 0
        chosen = choose_window(snapshot, available=available, summary_tokens=summary_tokens, count=self._counts.of)
        left_out = chosen.left_out
        if not snapshot.complete:
            first = snapshot.recent[0].position
            left_out += self._store.count_between(*self._session, after=snapshot.pointer, before=first)
        if summary is not None and not chosen.with_summary and trouble is None:
            trouble = "the system messages and the newest message leave no room for the summary"
        messages = [stored.message for stored in chosen.messages]
        if summary is not None and chosen.with_summary:
            # Behind the system messages that open the window; later ones stay where they were said.
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
            message_ids=(stored.id for stored in chosen.messages),
        )

    def _backlog(self, left_out: int) -> Backlog | None:
        done = self.background.done(self._session)
        return Backlog(left_out, done or 0, running=done is not None) if left_out else None

    def backlog(self, snapshot: Snapshot) -> Backlog | None:
        """The messages of a complete snapshot that do not fit into the window."""
        summary_tokens = self._counts.of_summary(snapshot.summary) if snapshot.summary is not None else 0
        available = self.budget.limit
        shown = choose_window(snapshot, available=available, summary_tokens=summary_tokens, count=self._counts.of)
        return self._backlog(shown.left_out)


def _pointer_of(snapshot: Snapshot) -> tuple[int, int]:
    return snapshot.epoch.epoch, snapshot.pointer

"""Compaction: the one path by which messages leave the window, whatever starts it.

1. Read a snapshot. 2. Choose what leaves. 3. Search it for candidates and commit those. 4. Make the summary, outside
any transaction. 5. Commit the summary, which is also the new pointer, unless another process has moved the pointer.

No message leaves before both products are on disk. A failure changes nothing; it is recorded and retried later.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TypeVar

from jiyi.chat.summarizers import EarlierSummaries, Proposal, Summarizer
from jiyi.chat.window import Budget, Count, choose_leaving, first_portion, oldest_groups
from jiyi.errors import ContextOverflowError, ModelReplyError, ModelUnavailableError
from jiyi.model.chat import Attempt, Candidate, Snapshot, Span, StoredMessage, Summary
from jiyi.model.identity import new_id
from jiyi.model.storable import storable
from jiyi.model.thinking import strip_thinking_reply
from jiyi.ports.chat import CompactionStore

T = TypeVar("T")

_log = logging.getLogger("jiyi.chat")

_MAX_RACES = 20
_ENDLESS = 1 << 62
_MIN_BACKOFF = timedelta(seconds=5)
_MAX_BACKOFF = timedelta(hours=1)
_MAX_REASON = 500


@dataclass(frozen=True, slots=True)
class Compaction:
    """What a compaction did."""

    compacted: bool = False
    """Whether messages went under a summary."""
    messages: int = 0
    """How many."""
    candidates: int = 0
    """How many candidates it has found."""
    summary: Summary | None = None
    trouble: str | None = None
    """Why it has not happened, in words; `None` when it has or when there was nothing to do."""
    next_attempt_at: datetime | None = None
    """When it is tried again at the earliest."""
    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a compaction did, and the session after it."""

    compaction: Compaction
    snapshot: Snapshot | None = None
    """`None` when the snapshot that it began with is the last one known."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """What leaves, and the snapshot in which that was decided."""

    snapshot: Snapshot
    leaving: list[StoredMessage]
    known: Sequence[StoredMessage]
    """What was read of the messages behind the pointer, system messages included; without a gap from the pointer on."""
    complete: bool
    """Whether that is all of them."""

    def span(self, after: int) -> Span:
        """The messages that leave and stand behind a position, with the system messages between them."""
        last = self.leaving[-1].position
        inside = [one for one in self.known if after < one.position <= last]
        return Span(self.snapshot.epoch.epoch, after + 1, last, len(inside), max(one.row for one in inside))

    def snapshot_after(self, summary: Summary) -> Snapshot:
        """The session once the summary is in force, without reading it again."""
        before = self.snapshot
        if not self.complete:
            return replace(before, summary=summary)
        pointer = summary.last_position
        known = (*before.system_messages, *self.known)
        system = {one.position: one for one in known if one.is_system}
        return replace(
            before,
            summary=summary,
            system_messages=tuple(system[position] for position in sorted(system) if position <= pointer),
            recent=tuple(one for one in self.known if one.position > pointer),
            complete=True,
        )


class Compactor:
    """Compacts one session."""

    def __init__(
        self,
        store: CompactionStore,
        scope: str,
        session_id: str,
        *,
        budget: Budget,
        summarizer: Summarizer,
        count: Count,
        summary_tokens: Callable[[Summary | str], int],
        now: Callable[[], datetime],
    ) -> None:
        self._store = store
        self._session = (scope, session_id)
        self._budget = budget
        self._summarizer = summarizer
        self._count = count
        self._summary_tokens = summary_tokens
        self._now = now

    def run(self, trigger: str, snapshot: Snapshot | None = None, *, initial_tokens: int = 0) -> Outcome:
        """Compact one portion at most; `soft` only searches what will leave next for candidates.

        Begins with a snapshot that was read just before, or with a new one.
        """
        portion = self._budget.portion
        available = self._budget.limit - initial_tokens
        for _ in range(_MAX_RACES):
            if snapshot is None:
                snapshot = self._store.snapshot(*self._session, tokens_reached(available, self._count))
            plan = self._plan(trigger, snapshot, available, portion)
            if plan is None:
                return Outcome(Compaction(), snapshot)
            waiting = self._backoff(trigger, plan)
            if waiting is not None:
                return Outcome(waiting, snapshot)
            try:
                outcome = self._carry_out(trigger, plan)
            except ContextOverflowError as error:
                # Too much at once for the model that summarises: try with half of it, while there is more than one.
                size = sum(map(self._count, plan.leaving))
                if len(plan.leaving) == 1 or portion < 2:
                    return Outcome(self._failed(trigger, snapshot, error), snapshot)
                portion = min(portion, size) // 2
                continue
            except _SummarizerError as error:
                return Outcome(self._failed(trigger, snapshot, error.cause), snapshot)
            if outcome is not None:
                return outcome
            # Another process was faster: read again.
            snapshot = None
        return Outcome(Compaction(trouble="other processes are compacting this session"))

    def flush(self, trigger: str) -> Compaction:
        """Search everything that was not searched yet for candidates, portion by portion; nothing leaves the window.

        An error of the summarizer is recorded and returned; what was searched before it stays searched.
        """
        portion, candidates, races = self._budget.portion, 0, 0
        while races < _MAX_RACES:
            snapshot = self._store.snapshot(*self._session, lambda _: True)
            done = max(self._store.flushed_to(*self._session, snapshot.epoch), snapshot.epoch.first_position - 1)
            head, complete = self._store.following(
                *self._session, after=done, before=_ENDLESS, stop_at=tokens_reached(portion, self._count)
            )
            said = [one for one in head if not one.is_system]
            due = said if complete else first_portion(head, portion=portion, count=self._count) or said
            if not due:
                return Compaction(candidates=candidates)
            try:
                found = self._candidates(snapshot, due)
            except ContextOverflowError as error:
                if len(due) == 1 or portion < 2:
                    return self._failed(trigger, snapshot, error)
                portion = min(portion, sum(map(self._count, due))) // 2
                continue
            except _SummarizerError as error:
                return self._failed(trigger, snapshot, error.cause)
            span = _Plan(snapshot, due, head, complete=complete).span(done)
            made_by = self._summarizer.made_by
            if self._store.add_flush(*self._session, span, found, trigger=trigger, made_by=made_by):
                candidates += len(found)
            else:
                races += 1  # another process was faster: read again
        return Compaction(candidates=candidates, trouble="other processes are searching this session")

    # --- choosing -------------------------------------------------------------------------------------------------

    def _plan(self, trigger: str, snapshot: Snapshot, available: int, portion: int) -> _Plan | None:
        said = [one for one in snapshot.recent if not one.is_system]
        if trigger == "soft":
            due = oldest_groups(said, tokens=self._budget.reserve, count=self._count) if snapshot.complete else []
            return _Plan(snapshot, due, snapshot.recent, complete=True) if due else None
        keep = self._tokens_to_keep(trigger, snapshot, available)
        if snapshot.complete:
            due = choose_leaving(said, keep=keep, portion=portion, count=self._count)
            return _Plan(snapshot, due, snapshot.recent, complete=True) if due else None
        while True:
            head, complete = self._store.following(
                *self._session,
                after=snapshot.pointer,
                before=snapshot.recent[0].position,
                stop_at=tokens_reached(portion, self._count),
            )
            if complete:
                known = [*head, *snapshot.recent]
                due = choose_leaving(known, keep=keep, portion=portion, count=self._count)
                return _Plan(snapshot, due, known, complete=True) if due else None
            due = first_portion(head, portion=portion, count=self._count)
            if due:
                return _Plan(snapshot, due, head, complete=False)
            # One group is larger than the portion: read on until its end is known.
            portion *= 2

    def _tokens_to_keep(self, trigger: str, snapshot: Snapshot, available: int) -> int:
        """How many tokens of messages may stay in the window."""
        system_messages = [*snapshot.system_messages, *(one for one in snapshot.recent if one.is_system)]
        summary = self._budget.max_summary + self._summary_tokens("")
        keep = available - self._budget.reserve - sum(map(self._count, system_messages)) - summary
        # A summary that was made for a larger limit is too long for this one: something leaves, so that a shorter
        # one is made.
        too_long = snapshot.summary is not None and self._summary_tokens(snapshot.summary) > summary
        if trigger in {"explicit", "overflow"} or too_long:
            keep = min(keep, sum(self._count(one) for one in snapshot.recent if not one.is_system) // 2)
        return keep

    def _backoff(self, trigger: str, plan: _Plan) -> Compaction | None:
        """After a failure nothing is tried before its time, unless the caller asks for it."""
        if trigger in {"explicit", "overflow"}:
            return None
        last = self._store.last_attempt(*self._session, plan.snapshot.epoch.epoch)
        if last is None or last.next_attempt_at is None or last.next_attempt_at <= self._now():
            return None
        return Compaction(trouble=last.reason, next_attempt_at=last.next_attempt_at)

    # --- doing ----------------------------------------------------------------------------------------------------

    def _carry_out(self, trigger: str, plan: _Plan) -> Outcome | None:
        """`None` when another process was faster and everything has to be read again."""
        snapshot = plan.snapshot
        flushed_to = max(self._store.flushed_to(*self._session, snapshot.epoch), snapshot.epoch.first_position - 1)
        if trigger == "soft" and flushed_to > snapshot.pointer:
            return Outcome(Compaction())
        candidates = 0
        unflushed = [one for one in plan.leaving if one.position > flushed_to]
        if unflushed:
            found = self._candidates(snapshot, unflushed)
            made_by = self._summarizer.made_by
            span = plan.span(flushed_to)
            if not self._store.add_flush(*self._session, span, found, trigger=trigger, made_by=made_by):
                return None
            candidates = len(found)
        if trigger == "soft":
            return Outcome(Compaction(candidates=candidates))
        summary = self._summary(plan)
        if not self._store.add_summary(summary, plan.span(snapshot.pointer), trigger=trigger):
            return None
        done = Compaction(compacted=True, messages=len(plan.leaving), candidates=candidates, summary=summary)
        return Outcome(done, plan.snapshot_after(summary))

    def _candidates(self, snapshot: Snapshot, unflushed: Sequence[StoredMessage]) -> list[Candidate]:
        proposals: list[Proposal] = _call_summarizer(lambda: self._summarizer.propose(unflushed))
        scope, session_id = self._session
        now = self._now()
        # The same sentence twice of one person in a stretch is one candidate.
        distinct = {(one.kind, one.content, one.first.message.name): one for one in reversed(proposals)}
        return [
            Candidate(
                id=new_id(),
                scope=scope,
                session_id=session_id,
                epoch=snapshot.epoch.epoch,
                content=proposal.content,
                kind=proposal.kind,
                confidence=proposal.confidence,
                domain=proposal.domain,
                importance=proposal.importance,
                first_message_id=proposal.first.id,
                last_message_id=proposal.last.id,
                first_position=proposal.first.position,
                last_position=proposal.last.position,
                made_by=self._summarizer.made_by,
                created_at=now,
            )
            for proposal in reversed(distinct.values())
        ]

    def _summary(self, plan: _Plan) -> Summary:
        snapshot = plan.snapshot
        content = self._summary_text(plan)
        scope, session_id = self._session
        return Summary(
            id=new_id(),
            scope=scope,
            session_id=session_id,
            epoch=snapshot.epoch.epoch,
            generation=self._store.next_generation(scope, session_id, snapshot.epoch.epoch),
            first_position=snapshot.pointer + 1,
            last_position=plan.leaving[-1].position,
            first_message_id=plan.leaving[0].id,
            last_message_id=plan.leaving[-1].id,
            previous_id=snapshot.summary.id if snapshot.summary is not None else None,
            content=content,
            tokens=self._summary_tokens(content),
            made_by=self._summarizer.made_by,
            created_at=self._now(),
        )

    def _summary_text(self, plan: _Plan) -> str:
        snapshot, budget = plan.snapshot, self._budget
        epoch = snapshot.epoch.epoch
        earlier = EarlierSummaries(snapshot.summary, lambda: self._store.summaries(*self._session, epoch))
        text = _call_summarizer(
            lambda: self._summarizer.summarize(earlier, plan.leaving, max_tokens=budget.target_summary)
        )
        content = storable(strip_thinking_reply(text)).strip() if isinstance(text, str) else ""
        if not content:
            raise _SummarizerError(
                ModelReplyError("the summary that was made is empty; nothing was changed", reason="empty")
            )
        # An exact count of a text that is far too long would take long as well.
        size = len(content) if len(content) > 50 * budget.max_summary else self._summary_tokens(content)
        size -= self._summary_tokens("")
        if size > budget.max_summary:
            raise _SummarizerError(
                ModelReplyError(
                    f"the summary that was made has about {size:,} tokens, and at most {budget.max_summary:,} are "
                    "taken; nothing was changed",
                    reason="too long",
                )
            )
        return content

    def _failed(self, trigger: str, snapshot: Snapshot, error: Exception) -> Compaction:
        """Record the failure, with the time before which nothing is tried again."""
        epoch = snapshot.epoch.epoch
        last = self._store.last_attempt(*self._session, epoch)
        number = last.attempt + 1 if last is not None else 1
        pause = min(_MIN_BACKOFF * 2 ** min(number - 1, 20), _MAX_BACKOFF)
        if isinstance(error, ModelUnavailableError) and error.retry_after is not None:
            pause = max(pause, min(timedelta(seconds=error.retry_after), _MAX_BACKOFF))
        now = self._now()
        attempt = Attempt(
            id=new_id(),
            trigger=trigger,
            state="failed",
            reason=storable(f"{type(error).__name__}: {error}"[:_MAX_REASON]),
            attempt=number,
            next_attempt_at=now + pause,
            created_at=now,
        )
        self._store.add_attempt(*self._session, epoch, attempt)
        # The kind of error only: its text may quote the conversation.
        _log.warning(
            "a compaction failed (%s), attempt %d; the next after %s", type(error).__name__, number, now + pause
        )
        return Compaction(trouble=attempt.reason, next_attempt_at=attempt.next_attempt_at, error=error)


def tokens_reached(tokens: int, count: Count) -> Callable[[StoredMessage], bool]:
    """A predicate that ends a read: true once the messages read so far, without system messages, have more tokens."""
    total = 0

    def reached(stored: StoredMessage) -> bool:
        nonlocal total
        if not stored.is_system:
            total += count(stored)
        return total > tokens

    return reached


class _SummarizerError(Exception):
    """The summarizer failed."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


def _call_summarizer(call: Callable[[], T]) -> T:
    """Summarizers may belong to the caller: whatever one raises is a failure of the compaction."""
    try:
        return call()
    except ContextOverflowError:
        raise
    except Exception as error:
        raise _SummarizerError(error) from error

"""Compaction: the one path by which messages leave the window, whatever sets it off.

1. Read a snapshot. 2. Choose what leaves. 3. Look it through for what is worth keeping and commit that. 4. Make the
summary, outside any transaction. 5. Commit the summary and with it the new pointer, unless somebody else was first.

Nothing leaves before both products are on disk. What fails changes nothing, is written down, and is tried again later.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

from jiyi.chat.summarizers import Proposal, Summarizer
from jiyi.chat.window import Budget, Count, first_portion, leaving, oldest
from jiyi.errors import ContextOverflowError, ModelReplyError, ModelUnavailableError
from jiyi.model.chat import Attempt, Candidate, Snapshot, Span, StoredMessage, Summary
from jiyi.model.identity import new_id
from jiyi.model.storable import storable
from jiyi.ports import ChatStore

T = TypeVar("T")

_log = logging.getLogger("jiyi.chat")

_LOST_RACES = 20
_FIRST_PAUSE = timedelta(seconds=5)
_LONGEST_PAUSE = timedelta(hours=1)
_LONGEST_REASON = 500


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
class _Plan:
    """What leaves, and the state in which that was decided."""

    snapshot: Snapshot
    goes: list[StoredMessage]
    rows: list[StoredMessage]
    """Everything that stands in the same stretch, prompts too."""

    def span(self, after: int) -> Span:
        """The stretch that follows a position."""
        inside = [one for one in self.rows if one.position > after]
        return Span(
            self.snapshot.epoch.epoch,
            after + 1,
            self.goes[-1].position,
            len(inside),
            max(one.row for one in inside),
        )


class Compactor:
    """Compacts one session."""

    def __init__(
        self,
        store: ChatStore,
        scope: str,
        session_id: str,
        *,
        budget: Budget,
        maker: Summarizer,
        count: Count,
        summary_tokens: Callable[[Summary | str], int],
        now: Callable[[], datetime],
    ) -> None:
        self._store = store
        self._place = (scope, session_id)
        self._budget = budget
        self._maker = maker
        self._count = count
        self._summary_tokens = summary_tokens
        self._now = now

    def run(self, trigger: str, *, initial_tokens: int = 0) -> Compaction:
        """One portion at most; `soft` only looks through what will leave next."""
        portion = self._budget.portion
        for _ in range(_LOST_RACES):
            plan = self._plan(trigger, initial_tokens, portion)
            if plan is None:
                return Compaction()
            waiting = self._waits(trigger, plan)
            if waiting is not None:
                return waiting
            try:
                outcome = self._carry_out(trigger, plan)
            except ContextOverflowError as error:
                # Too much at once for the model that summarises: less, as long as it can be less.
                size = sum(map(self._count, plan.goes))
                if len(plan.goes) == 1 or portion < 2:
                    return self._failed(trigger, plan.snapshot, error)
                portion = min(portion, size) // 2
                continue
            except _SummarizerError as error:
                return self._failed(trigger, plan.snapshot, error.cause)
            if outcome is not None:
                return outcome
        return Compaction(trouble="other processes are compacting this session")

    # --- choosing -------------------------------------------------------------------------------------------------

    def _plan(self, trigger: str, initial_tokens: int, portion: int) -> _Plan | None:
        room = self._budget.limit - initial_tokens
        snapshot = self._store.snapshot(*self._place, until(room, self._count))
        known = [one for one in snapshot.recent if not one.is_system]
        prompts = sum(map(self._count, snapshot.prompts)) + sum(
            self._count(one) for one in snapshot.recent if one.is_system
        )
        said = sum(map(self._count, known))
        keep = room - self._budget.reserve - prompts - self._budget.longest_summary - self._summary_tokens("")
        if trigger in {"explicit", "overflow"} or self._summary_is_too_long(snapshot):
            keep = min(keep, said // 2)
        if trigger == "soft":
            goes = oldest(known, tokens=self._budget.reserve, count=self._count) if snapshot.complete else []
            return _made(snapshot, goes, snapshot.recent)
        if snapshot.complete:
            goes = leaving(known, keep=keep, portion=portion, count=self._count)
            return _made(snapshot, goes, snapshot.recent)
        while True:
            head, whole = self._store.following(
                *self._place,
                after=snapshot.pointer,
                before=snapshot.recent[0].position,
                enough=until(portion, self._count),
            )
            if whole:
                together = [*head, *snapshot.recent]
                goes = leaving(together, keep=keep, portion=portion, count=self._count)
                return _made(snapshot, goes, together)
            goes = first_portion(head, portion=portion, count=self._count)
            if goes:
                return _made(snapshot, goes, head)
            # One group is larger than the portion: read on until its end is seen.
            portion *= 2

    def _summary_is_too_long(self, snapshot: Snapshot) -> bool:
        """Whether the summary was made for a larger limit: then something has to leave, so that a shorter is made."""
        if snapshot.summary is None:
            return False
        longest = self._budget.longest_summary + self._summary_tokens("")
        return self._summary_tokens(snapshot.summary) > longest

    def _waits(self, trigger: str, plan: _Plan) -> Compaction | None:
        """After a failure nothing is tried before its time, unless somebody asks for it."""
        if trigger in {"explicit", "overflow"}:
            return None
        last = self._store.last_attempt(*self._place, plan.snapshot.epoch.epoch)
        if last is None or last.next_attempt_at is None or last.next_attempt_at <= self._now():
            return None
        return Compaction(trouble=last.reason, next_attempt_at=last.next_attempt_at)

    # --- doing ----------------------------------------------------------------------------------------------------

    def _carry_out(self, trigger: str, plan: _Plan) -> Compaction | None:
        """`None` when somebody else was quicker and everything has to be looked at again."""
        snapshot = plan.snapshot
        flushed_to = max(self._store.flushed_to(*self._place, snapshot.epoch), snapshot.epoch.first_position - 1)
        if trigger == "soft" and flushed_to > snapshot.pointer:
            return Compaction()
        candidates = 0
        unseen = [one for one in plan.goes if one.position > flushed_to]
        if unseen:
            found = self._candidates(snapshot, unseen)
            made_by = self._maker.made_by
            span = plan.span(flushed_to)
            if not self._store.add_flush(*self._place, span, found, trigger=trigger, made_by=made_by):
                return None
            candidates = len(found)
        if trigger == "soft":
            return Compaction(candidates=candidates)
        summary = self._summary(plan)
        if not self._store.add_summary(summary, plan.span(snapshot.pointer), trigger=trigger):
            return None
        return Compaction(compacted=True, messages=len(plan.goes), candidates=candidates, summary=summary)

    def _candidates(self, snapshot: Snapshot, unseen: Sequence[StoredMessage]) -> list[Candidate]:
        proposals: list[Proposal] = _asked(lambda: self._maker.propose(unseen))
        scope, session_id = self._place
        now = self._now()
        # The same sentence twice in a stretch is one candidate.
        distinct = {(proposal.kind, proposal.content): proposal for proposal in reversed(proposals)}
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
                made_by=self._maker.made_by,
                created_at=now,
            )
            for proposal in reversed(distinct.values())
        ]

    def _summary(self, plan: _Plan) -> Summary:
        snapshot, budget = plan.snapshot, self._budget
        previous = snapshot.summary.content if snapshot.summary is not None else None
        text = _asked(lambda: self._maker.summarize(previous, plan.goes, max_tokens=budget.summary))
        if not isinstance(text, str) or not text.strip():
            raise _SummarizerError(
                ModelReplyError("the summary that was made is empty; nothing was changed", reason="empty")
            )
        content = storable(text).strip()
        # Counting what is far too long would take long as well.
        size = len(content) if len(content) > 50 * budget.longest_summary else self._summary_tokens(content)
        size -= self._summary_tokens("")
        if size > budget.longest_summary:
            raise _SummarizerError(
                ModelReplyError(
                    f"the summary that was made has about {size:,} tokens, and at most {budget.longest_summary:,} are "
                    "taken; nothing was changed",
                    reason="too long",
                )
            )
        scope, session_id = self._place
        return Summary(
            id=new_id(),
            scope=scope,
            session_id=session_id,
            epoch=snapshot.epoch.epoch,
            generation=self._store.next_generation(scope, session_id, snapshot.epoch.epoch),
            first_position=snapshot.pointer + 1,
            last_position=plan.goes[-1].position,
            first_message_id=plan.goes[0].id,
            last_message_id=plan.goes[-1].id,
            previous_id=snapshot.summary.id if snapshot.summary is not None else None,
            content=content,
            tokens=self._summary_tokens(content),
            made_by=self._maker.made_by,
            created_at=self._now(),
        )

    def _failed(self, trigger: str, snapshot: Snapshot, error: Exception) -> Compaction:
        """Write the failure down, with the time before which nothing is tried again."""
        epoch = snapshot.epoch.epoch
        last = self._store.last_attempt(*self._place, epoch)
        number = last.attempt + 1 if last is not None else 1
        pause = min(_FIRST_PAUSE * 2 ** min(number - 1, 20), _LONGEST_PAUSE)
        if isinstance(error, ModelUnavailableError) and error.retry_after is not None:
            pause = max(pause, timedelta(seconds=error.retry_after))
        reason = f"{type(error).__name__}: {error}"[:_LONGEST_REASON]
        now = self._now()
        attempt = Attempt(
            id=new_id(),
            trigger=trigger,
            state="failed",
            reason=storable(reason),
            attempt=number,
            next_attempt_at=now + pause,
            created_at=now,
        )
        self._store.add_attempt(*self._place, epoch, attempt)
        # The kind of error only: its text may quote the conversation.
        _log.warning(
            "a compaction failed (%s), attempt %d; the next after %s", type(error).__name__, number, now + pause
        )
        return Compaction(trouble=attempt.reason, next_attempt_at=attempt.next_attempt_at, error=error)


def until(tokens: int, count: Count) -> Callable[[StoredMessage], bool]:
    """Says that there is enough when what was said has more than these tokens."""
    total = 0

    def enough(stored: StoredMessage) -> bool:
        nonlocal total
        if not stored.is_system:
            total += count(stored)
        return total > tokens

    return enough


class _SummarizerError(Exception):
    """The maker of summaries and candidates failed."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


def _made(snapshot: Snapshot, goes: list[StoredMessage], known: Sequence[StoredMessage]) -> _Plan | None:
    if not goes:
        return None
    rows = [one for one in known if snapshot.pointer < one.position <= goes[-1].position]
    return _Plan(snapshot, goes, rows)


def _asked(ask: Callable[[], T]) -> T:
    try:
        return ask()
    except ContextOverflowError:
        raise
    except Exception as error:
        raise _SummarizerError(error) from error

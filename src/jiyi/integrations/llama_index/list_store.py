"""The chat room's window over any chat store of LlamaIndex, which keeps a list of messages and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.bridge.pydantic import BaseModel, Field

from jiyi.integrations.llama_index.messages import to_message
from jiyi.model.chat import FIRST_EPOCH, Attempt, Candidate, Epoch, Snapshot, Span, StoredMessage, Summary
from jiyi.model.message import encode_message

_NOWHERE = ""
_ALL = 1 << 62


class SummaryState(BaseModel):
    """How far a conversation is summarised. The messages themselves stay in the chat store."""

    generation: int = 0
    """Grows with every change; a change on top of another generation is refused."""
    summary: str | None = None
    covered: int = 0
    """How many of the stored messages, from the first one on, the summary covers."""
    digest: str = ""
    """Of those messages: if they were changed, the summary is no longer valid."""
    first: int = 0
    """The index of the first message that the last compaction has summarised."""
    made_by: str = ""
    made_at: float = 0.0
    earlier: list[tuple[int, int, str]] = Field(default_factory=list)
    """(first, last, lines): where the lines of the summary that are word for word were said."""
    failures: int = 0
    trouble: str | None = None
    next_attempt_at: float = 0.0


class ListChatStore:
    """The storage of one conversation for `SessionWindow`: positions are indexes of the list.

    Made for one call: it remembers the messages of its last read, so that a change meanwhile is noticed. Candidates are
    not kept.
    """

    def __init__(
        self,
        read: Callable[[], Sequence[ChatMessage]],
        load: Callable[[], SummaryState],
        save: Callable[[int, SummaryState], bool],
    ) -> None:
        """`save` takes the generation that is expected, and says whether it still was."""
        self._read = read
        self._load = load
        self._save = save
        self._messages: list[StoredMessage] = []

    def snapshot(self, scope: str, session_id: str, stop_at: Callable[[StoredMessage], bool]) -> Snapshot:
        """All messages behind the summary."""
        self._messages = self._stored()
        summary = self._summary(self._valid_state())
        pointer = summary.last_position if summary is not None else -1
        system_messages = tuple(one for one in self._messages[: pointer + 1] if one.is_system)
        return Snapshot(FIRST_EPOCH, summary, system_messages, tuple(self._messages[pointer + 1 :]), complete=True)

    def following(
        self,
        scope: str,
        session_id: str,
        *,
        after: int,
        before: int,
        stop_at: Callable[[StoredMessage], bool] | None = None,
    ) -> tuple[list[StoredMessage], bool]:
        """The messages between two positions."""
        return self._messages[after + 1 : before], True

    def count_between(self, scope: str, session_id: str, *, after: int, before: int) -> int:
        """How many messages stand between two positions, system messages not counted."""
        return sum(not one.is_system for one in self._messages[after + 1 : before])

    def summaries(self, scope: str, session_id: str, epoch: int) -> list[Summary]:
        """The stretches of which the summary has lines, oldest first, and the summary itself."""
        state = self._valid_state()
        last = self._summary(state)
        if last is None:
            return []
        return [*(_summary(state, first, end, lines) for first, end, lines in state.earlier), last]

    def next_generation(self, scope: str, session_id: str, epoch: int) -> int:
        """The generation that the next summary takes."""
        return self._load().generation + 1

    def add_summary(self, summary: Summary, span: Span, *, trigger: str) -> bool:
        """Keep the summary, unless the messages under it or the state have changed since they were read."""
        covered = summary.last_position + 1
        now = self._stored()
        if now[:covered] != self._messages[:covered]:
            return False
        before = self._valid_state()
        if before.generation + 1 != summary.generation:
            return False
        kept = set(summary.content.splitlines())
        stretches = [*before.earlier, (before.first, before.covered - 1, before.summary or "")]
        earlier, known = [], set[str]()
        for first, last, text in stretches:
            lines = [line for line in text.splitlines() if line in kept and line not in known]
            known.update(lines)
            if lines:
                earlier.append((first, last, "\n".join(lines)))
        done = SummaryState(
            generation=summary.generation,
            summary=summary.content,
            covered=covered,
            digest=_digest(now[:covered]),
            first=summary.first_position,
            made_by=summary.made_by,
            made_at=summary.created_at.timestamp(),
            earlier=earlier,
        )
        return self._save(before.generation, done)

    def flushed_to(self, scope: str, session_id: str, epoch: Epoch) -> int:
        """The end: candidates are not searched for."""
        return _ALL

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
        """Refused: `flushed_to` says that everything was searched."""
        return False

    def add_attempt(self, scope: str, session_id: str, epoch: int, attempt: Attempt) -> None:
        """Record a failure; without effect when another process has changed the state meanwhile."""
        state = self._valid_state()
        due = attempt.next_attempt_at
        noted = state.model_copy(
            update={
                "generation": state.generation + 1,
                "failures": attempt.attempt,
                "trouble": attempt.reason,
                "next_attempt_at": 0.0 if due is None else due.timestamp(),
            }
        )
        self._save(state.generation, noted)

    def last_attempt(self, scope: str, session_id: str, epoch: int) -> Attempt | None:
        """The last failure, if there was none but failures since the last summary."""
        state = self._valid_state()
        if state.trouble is None:
            return None
        due = datetime.fromtimestamp(state.next_attempt_at, UTC)
        return Attempt(
            id=str(state.generation),
            trigger="limit",
            state="failed",
            reason=state.trouble,
            attempt=state.failures,
            next_attempt_at=due,
            created_at=due,
        )

    def _stored(self) -> list[StoredMessage]:
        messages = [to_message(message) for message in self._read()]
        # The id of the token count's cache: equal messages have the same.
        return [
            StoredMessage(
                blake2b(encode_message(message).encode(), digest_size=16).hexdigest(), position, message, position
            )
            for position, message in enumerate(messages)
        ]

    def _valid_state(self) -> SummaryState:
        """The state; without its summary if the messages that it covers were replaced by others."""
        state = self._load()
        covered = self._messages[: state.covered]
        if state.covered and (len(covered) < state.covered or _digest(covered) != state.digest):
            return SummaryState(generation=state.generation)
        return state

    @staticmethod
    def _summary(state: SummaryState) -> Summary | None:
        if state.summary is None:
            return None
        return _summary(state, state.first, state.covered - 1, state.summary)


def _summary(state: SummaryState, first: int, last: int, content: str) -> Summary:
    fields: dict[str, Any] = dict.fromkeys(("scope", "session_id", "first_message_id", "last_message_id"), _NOWHERE)
    return Summary(
        **fields,
        id=f"{state.generation}:{state.digest}:{last}",
        epoch=FIRST_EPOCH.epoch,
        generation=state.generation,
        first_position=first,
        last_position=last,
        previous_id=None,
        content=content,
        tokens=0,
        made_by=state.made_by,
        created_at=datetime.fromtimestamp(state.made_at, UTC),
    )


def _digest(messages: Sequence[StoredMessage]) -> str:
    found = blake2b(digest_size=16)
    for stored in messages:
        found.update(stored.id.encode())
    return found.hexdigest()

"""Jobs: background work that survives a restart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal, TypeAlias

from jiyi.model import clock
from jiyi.model.identity import new_id

JobState: TypeAlias = Literal["queued", "running", "done", "dead"]
JOB_STATES: tuple[JobState, ...] = ("queued", "running", "done", "dead")
ROUND_JOB: Final = "longterm.round"
"""Extracts the facts of one round of a conversation."""
REFLECTION_JOB: Final = "longterm.reflection"
"""Draws a reflection from the facts of a scope."""


@dataclass(frozen=True, slots=True)
class JobDraft:
    """Work to be done later."""

    kind: str
    scope: str
    payload: Mapping[str, Any]
    id: str = field(default_factory=new_id)
    dedupe_key: str | None = None
    """At most one queued job per scope has this key."""
    lease_by: str | None = None
    """The worker that starts it at once. No other worker claims it before the lease expires."""
    lease_until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """One background job and its state."""

    id: str
    kind: str
    scope: str
    payload: Mapping[str, Any]
    state: JobState
    attempt: int
    """How often it was started."""
    not_before: datetime
    lease_until: datetime | None
    lease_by: str | None
    reason: str
    """Why it failed the last time, or why it is dead."""
    created_at: datetime
    finished_at: datetime | None

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {
            "id": self.id,
            "kind": self.kind,
            "scope": self.scope,
            "payload": dict(self.payload),
            "state": self.state,
            "attempt": self.attempt,
            "not_before": clock.to_text(self.not_before),
            "reason": self.reason,
            "created_at": clock.to_text(self.created_at),
            "finished_at": None if self.finished_at is None else clock.to_text(self.finished_at),
        }

"""What the long-term room is made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

from jiyi.model import clock
from jiyi.model.forgetting_curve import DEFAULT_EXEMPT

if TYPE_CHECKING:
    from jiyi.jobs import JobRunner
    from jiyi.model.entry import MemoryEntry
    from jiyi.model.limits import Limits
    from jiyi.ports import (
        ChatModel,
        ChatStore,
        Embedder,
        JobStore,
        LongtermStore,
        RecordStore,
        TextReader,
        TokenCounter,
    )
    from jiyi.recall import RecallEngine, Request
    from jiyi.text import Analyzer

MADE_BY_RULES = "rules"
TASKS = ("scorer", "router", "reflection", "compression")


@dataclass(frozen=True, slots=True)
class TaskModels:
    """A model for each task; `None` means rules."""

    scorer: ChatModel | None = None
    router: ChatModel | None = None
    reflection: ChatModel | None = None
    compression: ChatModel | None = None

    def usage(self) -> dict[str, Any]:
        """What each task has used so far, where that is counted."""
        found = {task: getattr(getattr(self, task), "usage", None) for task in TASKS}
        return {task: usage.to_dict() for task, usage in found.items() if usage is not None}


class Similar(Protocol):
    """Finds the memories that a new fact is to be compared with."""

    def answer(self, request: Request) -> list[MemoryEntry]:
        """Those that are most like the query, best first."""
        ...


@dataclass(frozen=True, slots=True)
class LongtermDeps:
    """The stores, the recall and the models that the room works with."""

    records: RecordStore
    store: LongtermStore
    jobs: JobStore
    chats: ChatStore
    """Where conversations leave what they propose to keep."""
    runner: JobRunner
    engine: RecallEngine | None
    """Answers questions; `None` in simple mode, which has no index to ask."""
    similar: Similar
    analyzer: Analyzer
    embedder: Embedder | None
    judging: Callable[[], Embedder]
    """Gives the embedder by whose vectors texts are judged, whatever embedder memories are found with."""
    pairs: Callable[[], TextReader]
    """Gives the embedder by which a message is compared with what it may replace."""
    models: TaskModels
    counter: TokenCounter
    limits: Limits
    actor: str
    recallable: bool
    """Whether what is said can be recalled as well."""
    exempt: tuple[str, ...] = DEFAULT_EXEMPT
    """The kinds of facts that are not forgotten."""
    now: Callable[[], datetime] = clock.utc_now

    @property
    def given_now(self) -> datetime | None:
        """The time by a clock that the caller gave; `None` by that of the system."""
        return None if self.now is clock.utc_now else self.now()


def made_by(model: ChatModel | None) -> str:
    """What `source` says about who made an entry."""
    return MADE_BY_RULES if model is None else f"model:{model.name}"

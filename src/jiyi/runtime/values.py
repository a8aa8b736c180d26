"""The values that the runtime takes and returns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, TypeAlias

from jiyi.model import clock
from jiyi.model.entry import MemoryEntry
from jiyi.model.feedback import MERGE, SUPERSEDED


@dataclass(frozen=True, slots=True)
class MemoryLink:
    """How a memory came into a chained answer."""

    memory_id: str
    """The memory of the first step that led to it."""
    kind: str
    """`tags` when they share some, `meaning` when one is near the other."""
    tags: tuple[str, ...] = ()
    """The tags they share."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseMemory:
    """One memory of the runtime: a judgment, why, and the tags by which it is found."""

    id: str
    memory_type: str
    judgment: str
    reasoning: str = ""
    tags: tuple[str, ...] = ()
    strength: int = 1
    is_active: bool = True
    memory_scope: str
    created_at: datetime
    updated_at: datetime
    version: int = 1
    """Grows by one with each change."""
    merged_from: tuple[str, ...] = ()
    """Ids of the memories it was merged from."""
    superseded_by: str | None = None
    """The memory it was merged into."""
    score: float | None = None
    """In an answer: 0 to 1, comparable with the others of the same answer."""
    matched: tuple[str, ...] = ()
    """In an answer: the tags (or words) of the question that it was found by."""
    link: MemoryLink | None = None
    """In a chained answer: how it came in; `None` for what answers the question itself."""

    @classmethod
    def of(cls, entry: MemoryEntry, link: MemoryLink | None = None) -> BaseMemory:
        """An entry as the runtime shows it."""
        source = entry.source
        return cls(
            id=entry.id,
            memory_type=entry.memory_type,
            judgment=entry.content,
            reasoning=entry.reasoning,
            tags=entry.tags,
            strength=entry.strength,
            is_active=entry.is_active,
            memory_scope=entry.scope,
            created_at=entry.created_at,
            updated_at=entry.updated_at,
            version=entry.version,
            merged_from=source.references if source.kind == MERGE else (),
            superseded_by=source.references[0] if source.kind == SUPERSEDED and source.references else None,
            score=entry.relevance_score,
            matched=entry.explanation.matched_terms if entry.explanation is not None else (),
            link=link,
        )

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping; what only an answer carries is left out elsewhere."""
        data: dict[str, Any] = {}
        for f in fields(self):
            value = getattr(self, f.name)
            if isinstance(value, datetime):
                data[f.name] = clock.to_text(value)
            elif isinstance(value, MemoryLink):
                data[f.name] = {"memory_id": value.memory_id, "kind": value.kind, "tags": list(value.tags)}
            elif isinstance(value, tuple):
                data[f.name] = list(value)
            else:
                data[f.name] = value
        if self.score is None:
            del data["score"], data["matched"]
        for name in ("link", "superseded_by"):
            if data[name] is None:
                del data[name]
        return data


NewMemory: TypeAlias = Mapping[str, Any] | BaseMemory
"""A memory to be added: the argument names of `remember`, without the scope."""
MergeLike: TypeAlias = Sequence[str] | Mapping[str, Any]
"""Ids to be merged, or a mapping with `memory_ids` and the `judgment` and `reasoning` of the merged memory."""


class RecalledMemories(list[BaseMemory]):
    """Recalled memories, best first. `notes` says what the answer lacks, such as that meanings were not compared."""

    def __init__(self, memories: Iterable[BaseMemory] = (), *, notes: tuple[str, ...] = ()) -> None:
        super().__init__(memories)
        self.notes = notes


class FeedbackResult(list[BaseMemory]):
    """What came of feedback: a list of the memories that are new, the added and the merged ones."""

    def __init__(
        self,
        memories: Iterable[BaseMemory] = (),
        *,
        strengthened: tuple[str, ...] = (),
        created: tuple[str, ...] = (),
        merged: Mapping[str, tuple[str, ...]] | None = None,
        unknown_ids: tuple[str, ...] = (),
        refused: tuple[tuple[tuple[str, ...], str], ...] = (),
        repeated: bool = False,
    ) -> None:
        super().__init__(memories)
        self.strengthened = strengthened
        """Ids of the useful memories, each one stronger now."""
        self.created = created
        self.merged = dict(merged or {})
        """Id of each merged memory with the ids of its sources."""
        self.unknown_ids = unknown_ids
        """Ids that no active memory visible to the scope has; everything else was done."""
        self.refused = refused
        """Groups that were not merged, each with the reason."""
        self.repeated = repeated
        """The request id had been answered before: the same answer again, and nothing was changed."""

    @property
    def memories(self) -> tuple[BaseMemory, ...]:
        """The memories that are new."""
        return tuple(self)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {
            "memories": [memory.to_dict() for memory in self.memories],
            "strengthened": list(self.strengthened),
            "created": list(self.created),
            "merged": {new: list(sources) for new, sources in self.merged.items()},
            "unknown_ids": list(self.unknown_ids),
            "refused": [{"memory_ids": list(ids), "reason": why} for ids, why in self.refused],
            "repeated": self.repeated,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationReport:
    """What consolidation did, or would do. The lists show the first ones; the counts are complete."""

    dry_run: bool
    scopes: int = 0
    groups: int = 0
    """How many groups of near-duplicates were merged."""
    merged: int = 0
    """How many memories were merged away."""
    faded: int = 0
    """How many lost strength."""
    deactivated: int = 0
    """How many of those have none left and are inactive now."""
    archived: int = 0
    """How many inactive ones were past their grace."""
    examples: Mapping[str, tuple[tuple[str, ...], ...]]
    """Ids by `merged`, `faded` and `archived`."""

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        data = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "examples"}
        return {**data, "examples": {name: [list(ids) for ids in found] for name, found in self.examples.items()}}

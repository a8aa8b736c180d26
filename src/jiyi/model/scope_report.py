"""Scopes as objects of administration: what a scope holds, and the receipt of forgetting one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from jiyi.model import clock


@dataclass(frozen=True, slots=True)
class ScopeInfo:
    """What one scope holds."""

    scope: str
    entries: int = 0
    """Entries that can be recalled, the messages of conversations not counted."""
    messages: int = 0
    """Messages of its conversations."""
    sessions: int = 0
    jobs: int = 0
    """Background jobs that are not done."""
    last_change: datetime | None = None
    """When an entry of the scope was last changed."""

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        last = None if self.last_change is None else clock.to_text(self.last_change)
        return {**asdict(self), "last_change": last}


@dataclass(frozen=True, slots=True)
class ScopeStatistics:
    """How many entries a scope sees, by what they are and by the day on which they were stored."""

    scope: str
    entries: int = 0
    """All that can be recalled, the messages of conversations not counted."""
    messages: int = 0
    memory_types: Mapping[str, int] = field(default_factory=dict)
    """Messages included."""
    categories: Mapping[str, int] = field(default_factory=dict)
    domains: Mapping[str, int] = field(default_factory=dict)
    """By the first domain of each entry that has one."""
    days: Mapping[str, int] = field(default_factory=dict)
    """Entries that are there now, by the day in UTC on which they were stored, such as `2026-01-31`, in order."""

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        data = asdict(self)
        return {name: dict(value) if isinstance(value, Mapping) else value for name, value in data.items()}


@dataclass(frozen=True, slots=True)
class ScopeReceipt:
    """What forgetting a scope removed, and what of it remains."""

    scope: str
    erased: bool
    """Whether the texts were deleted for good; otherwise the entries left recall and their history stays readable."""
    at: datetime
    removed: Mapping[str, int] = field(default_factory=dict)
    """How many rows were removed, by table, and files, by folder of the data directory."""
    remaining: Mapping[str, int] = field(default_factory=dict)
    """How many rows of the scope a second look found afterwards, by table; empty when there are none."""
    note_workspaces: tuple[str, ...] = ()
    """Workspaces with notes of the scope. Their files belong to the user and are not deleted."""
    note_files: tuple[str, ...] = ()
    """The files in these workspaces that are left, as far as they are on this machine: delete them yourself. A memory
    that is opened with such a workspace reads them again."""

    @property
    def found(self) -> bool:
        """Whether there was anything of the scope. A receipt for a name that was mistyped says `False`."""
        return bool(any(self.removed.values()) or self.remaining or self.note_workspaces)

    @property
    def complete(self) -> bool:
        """Whether nothing of the scope was left in the store. The files of the user are named in `note_files`."""
        return self.erased and not self.remaining

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {
            **asdict(self),
            "removed": dict(self.removed),
            "remaining": dict(self.remaining),
            "note_workspaces": list(self.note_workspaces),
            "note_files": list(self.note_files),
            "at": clock.to_text(self.at),
            "found": self.found,
            "complete": self.complete,
        }

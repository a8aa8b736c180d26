"""What a migration of a store to another engine did."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class MigrationReport:
    """A migration that was completed: both stores were compared row by row."""

    source: str
    target: str
    rows: dict[str, int] = field(default_factory=dict)
    """How many rows each table has, in both."""
    digests: dict[str, str] = field(default_factory=dict)
    """SHA-256 of the rows of each table in the order of their keys, the same in both."""
    resumed: bool = False
    """An earlier run had copied a part."""
    copied_again: tuple[str, ...] = ()
    """Tables that had changed at the source since that run, and were copied a second time."""

    @property
    def total(self) -> int:
        """How many rows there are in all."""
        return sum(self.rows.values())

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {
            "source": self.source,
            "target": self.target,
            "total": self.total,
            "rows": self.rows,
            "digests": self.digests,
            "resumed": self.resumed,
            "copied_again": list(self.copied_again),
        }

"""The report of a migration of a store to another engine."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class MigrationReport:
    """The result of a completed migration: both stores were compared row by row."""

    source: str
    target: str
    rows: dict[str, int] = field(default_factory=dict)
    """The number of rows of each table, the same in both stores."""
    digests: dict[str, str] = field(default_factory=dict)
    """SHA-256 of the rows of each table in key order, the same in both stores."""
    resumed: bool = False
    """Whether an earlier run had copied a part."""
    copied_again: tuple[str, ...] = ()
    """Tables that had changed in the source since the earlier run, and were copied again."""

    @property
    def total(self) -> int:
        """The number of rows of all tables."""
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

"""MemoryChange: one change of an entry, as the change feed tells it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from jiyi.model import clock


@dataclass(frozen=True, slots=True)
class MemoryChange:
    """One change of an entry. Positions grow, are never used twice and stay the same after a restart."""

    position: int
    """To be given as `after`, to go on behind this change."""
    operation: str
    """`create`, `update`, `forget`, `restore`, `archive`, `erase` or `import`.

    In a feed of certain scopes also `erase_scope`: everything of the scope before it is gone.
    """
    entry_id: str
    """Empty for `erase_scope`."""
    scope: str
    key: str | None
    version: int
    """The version of the entry that the change has made."""
    changed_at: datetime
    changed_by: str

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {**asdict(self), "changed_at": clock.to_text(self.changed_at)}

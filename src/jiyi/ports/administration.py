"""Scopes and ids for those who operate a memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from jiyi.model.change import MemoryChange
    from jiyi.model.entry import MemoryEntry
    from jiyi.model.filters import Filters
    from jiyi.model.scope_report import ScopeInfo, ScopeReceipt, ScopeStatistics


class ChangeSignal(Protocol):
    """Notifications that something was written. They are a hint: what has changed is in the log."""

    def fileno(self) -> int:
        """A descriptor that is readable when a notification has come."""
        ...

    def drain(self) -> bool:
        """Read the notifications; `False` when no more can come."""
        ...

    def close(self) -> None:
        """Stop listening."""
        ...


class AdministrationStore(Protocol):
    """Looks at scopes as a whole, and deletes them."""

    def scopes(self) -> list[ScopeInfo]:
        """Every scope with what it holds, in the order of their names."""
        ...

    def statistics(self, filters: Filters) -> ScopeStatistics:
        """How many entries these conditions admit, by what they are and when they were stored; in one pass."""
        ...

    def changes(self, after: int, scopes: Sequence[str] | None, limit: int) -> list[MemoryChange]:
        """The changes behind this position, in order; `None` as scopes means all of them."""
        ...

    def listen(self) -> ChangeSignal | None:
        """A signal for changes; `None` where the engine sends no notifications and has to be polled."""
        ...

    def entries_by_id_prefix(self, prefix: str, scopes: Sequence[str], limit: int) -> list[MemoryEntry]:
        """The active entries of these scopes whose ids begin with the prefix, oldest first."""
        ...

    def forget_scope(self, scope: str, *, actor: str, erase: bool) -> ScopeReceipt:
        """Remove every entry of the scope; with `erase` everything else of it as well, for good."""
        ...

    def forget_name(self, scope: str) -> dict[str, int]:
        """Replace the name of an erased scope in the change log, once every index has read the log.

        Returns how many rows of each table still belong to the scope.
        """
        ...

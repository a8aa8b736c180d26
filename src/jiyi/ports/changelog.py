"""The change log: every change of an entry in order. Indexes follow it as an outbox."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class Change(NamedTuple):
    """One line of the change log, as indexers read it."""

    sequence: int
    entry_id: str
    scope: str
    version: int
    fingerprint: str
    erased: bool = False
    """Whether it removed an entry for good: then nothing of it may stay in the files of an index."""

    @property
    def log_position(self) -> LogPosition:
        """This place of the log."""
        return LogPosition(self.sequence, self.fingerprint)


class LogPosition(NamedTuple):
    """A place in the change log. The fingerprint tells two logs apart that have the same length."""

    sequence: int
    fingerprint: str


START = LogPosition(0, "")


class ChangeLog(Protocol):
    """Reads the change log."""

    def head(self) -> LogPosition:
        """The last place of the change log."""
        ...

    def log_position_at(self, sequence: int) -> LogPosition | None:
        """The log position with this sequence number; `None` when the log has none."""
        ...

    def changes_after(self, sequence: int, *, limit: int, scopes: Sequence[str] | None = None) -> list[Change]:
        """What follows this place of the change log, in these scopes or in all."""
        ...

    def pending(self, sequence: int, scopes: Sequence[str] | None = None) -> int:
        """How many changes follow this place."""
        ...

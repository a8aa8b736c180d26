"""Tags of entries, and entries by tags."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from jiyi.model.entry import MemoryEntry
    from jiyi.model.filters import Filters


class TagPosition(NamedTuple):
    """A state of the set of tags: tags are only added, until a collection begins a new generation."""

    generation: int
    last_id: int


class TagPage(NamedTuple):
    """Tags that somebody who knew an earlier state has not seen."""

    log_position: TagPosition
    tags: Sequence[tuple[int, str]]
    """(id, name)."""
    whole: bool
    """Whether these are all tags there are, and not only the new ones."""


class TaggedEntries(NamedTuple):
    """Entries found by tags."""

    found: Sequence[tuple[MemoryEntry, int]]
    """Each with how many of the tags it has, in order."""
    candidates: int
    """How many entries of the scopes have any of the tags, whatever else the filters ask for."""


class TagStore(Protocol):
    """Tags, and the entries that have them."""

    def tags_since(self, known: TagPosition | None) -> TagPage:
        """Tags that were added after this state; all of them when it is none or some were removed since."""
        ...

    def tagged(
        self,
        tag_ids: Iterable[int],
        filters: Filters,
        *,
        limit: int,
        each_type: bool = False,
        day_shift: int = 0,
    ) -> TaggedEntries:
        """Entries with any of these tags: most tags first, then newer day, strength, newest.

        With `each_type` the limit holds for every memory type by itself.
        """
        ...

    def tag_usage(self, scopes: Sequence[str], *, limit: int, offset: int) -> list[tuple[str, int]]:
        """Tags of the active entries of these scopes with how many have each; the most used first."""
        ...

    def collect_tags(self) -> int:
        """Remove the tags that no entry has; returns how many."""
        ...

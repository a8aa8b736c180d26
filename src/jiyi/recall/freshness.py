"""Bringing an index up to date before it is asked, and saying in the coverage how that went."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jiyi.errors import IndexDamagedError, IndexingError, ModelError
from jiyi.model.entry import IndexCoverage
from jiyi.ports import StatesMode

if TYPE_CHECKING:
    from jiyi.indexing import Drainer
    from jiyi.ports import DerivedIndex, LogPosition


@dataclass(frozen=True, slots=True)
class Freshness:
    """Lets an index take in what the visible scopes have written, for a limited time."""

    drainer: Drainer
    seconds: float

    def catch_up(self, index: DerivedIndex, scopes: Sequence[str], head: LogPosition) -> IndexCoverage:
        """The coverage of an index that was brought up to `head`; `answered` says whether it can be asked."""
        try:
            state = self.drainer.catch_up(index, scopes, seconds=self.seconds, head=head)
        except IndexDamagedError:
            raise
        except (ModelError, IndexingError) as error:
            # The embedder or the server of the index cannot be reached: the other index answers alone.
            return not_answered(IndexCoverage(index.name, answered=False), error)
        mode = index.mode if isinstance(index, StatesMode) else ""
        note = mode if state.usable else "missing or being rebuilt"
        return IndexCoverage(state.name, answered=state.usable, behind=state.behind, note=note)


def not_answered(coverage: IndexCoverage, error: Exception) -> IndexCoverage:
    """The coverage of an index that failed."""
    return replace(coverage, answered=False, note=f"{type(error).__name__}: {error}")

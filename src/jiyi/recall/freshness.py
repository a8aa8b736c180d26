"""What an index lacks before it is asked: a few entries are compared beside it, more are taken in first.

Either way the answer knows every write that was acknowledged before the question.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from jiyi.errors import IndexDamagedError, IndexingError, ModelError
from jiyi.model.entry import IndexCoverage
from jiyi.ports import ComparesEntries, OverlaidText, ReadForRecall
from jiyi.ports.optional import provides

if TYPE_CHECKING:
    from jiyi.indexing import Drainer
    from jiyi.ports import (
        DerivedIndex,
        IndexBatch,
        LogPosition,
        TextIndex,
        TextSource,
        VectorIndex,
        Vectors,
        VectorScan,
    )

_MAX_CHARACTERS = 200_000
"""More text than this is taken in and not compared beside the index: analysing it takes longer than a commit."""


class Freshness(NamedTuple):
    """Makes up for what an index lacks of the visible scopes."""

    drainer: Drainer
    seconds: float
    """How long a recall waits for an index that takes in more."""
    overlaid: int
    """So many changes are compared beside an index; with 0 it always takes them in first."""

    def text(self, index: TextIndex, scopes: Sequence[str], head: LogPosition) -> tuple[IndexCoverage, TextSource]:
        """The coverage of the text index, and what to ask: the index, or the index with what it lacks."""
        if self.overlaid and provides(index, OverlaidText):
            if self.drainer.is_current(index, head):
                return _current(index), _for_recall(index)
            batch = self._pending(index, scopes, head)
            if batch is not None:
                return _current(index), index.overlaid(batch)
        coverage = self.catch_up(index, scopes, head)
        return coverage, _for_recall(index) if coverage.answered else index

    def vectors(
        self, index: VectorIndex, scopes: Sequence[str], head: LogPosition
    ) -> tuple[IndexCoverage, IndexBatch | None]:
        """The coverage of the vector index, and what has to be compared beside it."""
        if self.overlaid and provides(index, ComparesEntries):
            if self.drainer.is_current(index, head):
                return _current(index), None
            batch = self._pending(index, scopes, head)
            if batch is not None:
                return _current(index), batch
        return self.catch_up(index, scopes, head), None

    def overlay(self, index: VectorIndex, scan: VectorScan, vector: Vectors, batch: IndexBatch | None) -> VectorScan:
        """The scan of this question together with what has to be compared beside it."""
        if batch is None or not provides(index, ComparesEntries):
            return scan
        from jiyi.recall.overlay import ScanOverlay

        return ScanOverlay(scan, batch, index.similarities(vector, batch.upserts))

    def overlay_since(
        self, index: VectorIndex, scan: VectorScan, vector: Vectors, scopes: Sequence[str], log_position: LogPosition
    ) -> VectorScan | None:
        """The scan, made at this position, together with later changes; `None` where the index has to be asked anew."""
        if not self.overlaid or not provides(index, ComparesEntries):
            return None
        batch = _if_short(self.drainer.changed_since(log_position, scopes, limit=self.overlaid))
        try:
            return None if batch is None else self.overlay(index, scan, vector, batch)
        except (ModelError, IndexingError):
            # The same error is met when the index is asked by itself, and is told to the caller there.
            return None

    def _pending(self, index: DerivedIndex, scopes: Sequence[str], head: LogPosition) -> IndexBatch | None:
        return _if_short(self.drainer.pending(index, scopes, head=head, limit=self.overlaid))

    def catch_up(self, index: DerivedIndex, scopes: Sequence[str], head: LogPosition) -> IndexCoverage:
        """The coverage of an index that was brought up to `head`; `answered` says whether it can be asked."""
        try:
            state = self.drainer.catch_up(index, scopes, seconds=self.seconds, head=head)
        except IndexDamagedError:
            raise
        except (ModelError, IndexingError) as error:
            # The embedder or the server of the index cannot be reached: the other index answers alone.
            return not_answered(IndexCoverage(index.name, answered=False), error)
        note = _mode(index) if state.usable else "missing or being rebuilt"
        return IndexCoverage(state.name, answered=state.usable, behind=state.behind, note=note)


def _if_short(batch: IndexBatch | None) -> IndexBatch | None:
    if batch is None or sum(len(entry.content) for entry in batch.upserts) > _MAX_CHARACTERS:
        return None
    return batch


def _current(index: DerivedIndex) -> IndexCoverage:
    return IndexCoverage(index.name, answered=True, note=_mode(index))


def _for_recall(index: TextIndex) -> TextSource:
    return index.for_recall() if provides(index, ReadForRecall) else index


def _mode(index: DerivedIndex) -> str:
    # Not by `StatesMode`: comparing an object with a protocol takes longer than asking a small index.
    return str(getattr(index, "mode", ""))


def not_answered(coverage: IndexCoverage, error: Exception) -> IndexCoverage:
    """The coverage of an index that failed."""
    return replace(coverage, answered=False, note=f"{type(error).__name__}: {error}")

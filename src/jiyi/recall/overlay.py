"""`ScanOverlay`: the similarities of an index together with those of a few entries that it has not taken in yet."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np

from jiyi.ports import ComparesLists
from jiyi.ports.optional import provides

if TYPE_CHECKING:
    from jiyi.ports import IndexBatch, Vectors, VectorScan


class ScanOverlay:
    """A `VectorScan` that answers as that of the index will when it has taken the batch in.

    The index may take it in at any moment: what it has of the batch already is left out of its answer.
    """

    def __init__(self, scan: VectorScan, batch: IndexBatch, similarities: Vectors) -> None:
        """`similarities` are those of the entries of the batch."""
        self._scan = scan
        self._own = dict(zip([entry.id for entry in batch.upserts], similarities.tolist(), strict=True))
        self._times = {entry.id: entry.event_time for entry in batch.upserts}
        self._hidden = {entry.id for entry in batch.upserts} | {entry_id for _, entry_id in batch.removals}
        old = scan.of(sorted(self._hidden))
        old = old[np.isfinite(old)].astype(np.float64)
        self.count = scan.count - len(old) + len(self._own)
        total = scan.mean * scan.count - float(old.sum()) + sum(self._own.values())
        self.mean = total / self.count if self.count else 0.0

    def best(
        self,
        limit: int,
        *,
        allowed: Sequence[str] | None = None,
        periods: Sequence[tuple[datetime, datetime]] = (),
    ) -> list[str]:
        """Ids of the most similar, best first; ties by id."""
        found = self._scan.best(limit + len(self._hidden), allowed=allowed, periods=periods)
        return self._with_own(found, limit, None if allowed is None else set(allowed), periods)

    def best_listed(
        self, limit: int, listed: frozenset[str], *, periods: Sequence[tuple[datetime, datetime]] = ()
    ) -> list[str] | None:
        """Ids of the most similar of these; `None` if the index does not have them in memory."""
        if not provides(self._scan, ComparesLists):
            return None
        found = self._scan.best_listed(limit + len(self._hidden), listed, periods=periods)
        return None if found is None else self._with_own(found, limit, listed, periods)

    def _with_own(
        self,
        found: Sequence[str],
        limit: int,
        admitted: AbstractSet[str] | None,
        periods: Sequence[tuple[datetime, datetime]],
    ) -> list[str]:
        """What the index has found, together with the entries beside it."""
        kept = [entry_id for entry_id in found if entry_id not in self._hidden]
        ranked = list(zip(self._scan.of(kept).tolist(), kept, strict=True))
        for entry_id, similarity in self._own.items():
            moment = self._times[entry_id]
            inside = not periods or any(start <= moment < end for start, end in periods)
            if inside and (admitted is None or entry_id in admitted):
                ranked.append((similarity, entry_id))
        ranked.sort(key=lambda pair: (-pair[0], pair[1]))
        return [entry_id for _, entry_id in ranked[:limit]]

    def of(self, ids: Sequence[str], *, rough: bool = False) -> Vectors:
        """The similarity of each of these; NaN where there is no vector."""
        found = self._scan.of(ids, rough=rough)
        for place, entry_id in enumerate(ids):
            if entry_id in self._hidden:
                found[place] = self._own.get(entry_id, np.nan)
        return found

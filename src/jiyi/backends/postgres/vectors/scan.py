"""`PostgresScan`: one query to the vectors in PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from jiyi.backends.postgres.session import Settings
from jiyi.backends.postgres.vectors.dated import MAX_NAMED, MIN_SHARE, DatedEntries
from jiyi.backends.postgres.vectors.halfvec import Floats, Reals
from jiyi.backends.postgres.vectors.tables import VectorTables
from jiyi.backends.records.sql import Params
from jiyi.backends.shared.vector_matrix import MatrixScan
from jiyi.model import clock

Fetch: TypeAlias = Callable[[str, Params, Settings], list[tuple[Any, ...]]]
"""Returns the rows of a statement with parameters, under settings that hold for it alone."""

CompareListed: TypeAlias = Callable[[Floats, frozenset[str]], MatrixScan | None]
"""Compares a vector with those of a list of entries, if they are in memory."""

_EF_SEARCH, _EF_SEARCH_ROWS, _EF_SEARCH_POWER = 400, 50, 0.27
"""`hnsw.ef_search` for 50 rows, and by which power it grows with the rows: then about the same share of them is found.
A larger value finds more and takes longer. 100,000 random vectors, the hardest case: four fifths; real ones: nearly
all."""
_MAX_EF_SEARCH = 1_000
"""The greatest value that pgvector takes."""
_MIN_ENTRIES_FACTOR = 10
"""An HNSW index is used only if the scope has so many times the entries that are wanted."""


@dataclass(frozen=True, slots=True)
class LargeScope:
    """A scope that is queried for each call, instead of scanned once."""

    scope: str
    entries: int
    mean: float
    has_hnsw: bool


class PostgresScan:
    """The similarities of one query to all entries of one or more scopes.

    Small scopes were scanned at once, in one snapshot. Large scopes are queried by each call; in their mean a text of
    several chunks counts by the mean of its chunks.
    """

    def __init__(
        self,
        fetch: Fetch,
        tables: VectorTables,
        vector: Floats,
        small: Iterable[tuple[Sequence[str], Sequence[float], Sequence[int]]],
        large: Sequence[LargeScope],
        compare_listed: CompareListed | None = None,
        dated: DatedEntries | None = None,
    ) -> None:
        self._fetch = fetch
        self._tables = tables
        self._vector = vector
        self._large = large
        self._compare_listed = compare_listed
        self._dated = dated
        self._listed: tuple[frozenset[str], MatrixScan | None] = (frozenset(), None)
        self._ids, self._similarities, self._times = _joined(small)
        self._ordinals = {entry_id: place for place, entry_id in enumerate(self._ids)}
        self._known: dict[str, float] = {}
        self.count = len(self._ids) + sum(part.entries for part in large)
        total = float(self._similarities.sum(dtype=np.float64)) + sum(part.entries * part.mean for part in large)
        self.mean = total / self.count if self.count else 0.0

    def best(
        self,
        limit: int,
        *,
        allowed: Sequence[str] | None = None,
        periods: Sequence[tuple[datetime, datetime]] = (),
    ) -> list[str]:
        """Ids of the most similar, best first; ties by id."""
        bounds = [(clock.microseconds(start), clock.microseconds(end)) for start, end in periods]
        found = self._best_small(limit, allowed, bounds)
        if self._large and limit > 0 and (allowed is None or allowed):
            more = self._best_large(limit, allowed, bounds, periods)
            self._known.update((entry_id, similarity) for similarity, entry_id in more)
            found += more
        found.sort(key=lambda pair: (-pair[0], pair[1]))
        return [entry_id for _, entry_id in found[:limit]]

    def best_listed(
        self, limit: int, listed: frozenset[str], *, periods: Sequence[tuple[datetime, datetime]] = ()
    ) -> list[str] | None:
        """Ids of the most similar of a list that other questions share; `None` if its vectors are not in memory.

        Their similarities are not kept for `of`: they may differ in the last digit from those of pgvector.
        """
        if not self._large or self._compare_listed is None:
            return None
        if self._listed[0] is not listed:
            self._listed = (listed, self._compare_listed(self._vector, listed))
        scan = self._listed[1]
        return None if scan is None else scan.best(limit, periods=periods)

    def of(self, ids: Sequence[str], *, rough: bool = False) -> Floats:  # noqa: ARG002 - always exact
        """The similarity of each id, the same for equal texts; NaN if there is no vector."""
        found = np.full(len(ids), np.nan, dtype=np.float32)
        in_large: list[int] = []
        for row, entry_id in enumerate(ids):
            place = self._ordinals.get(entry_id)
            if place is not None:
                found[row] = self._similarities[place]
            elif self._large:
                in_large.append(row)
        unknown = list({ids[row] for row in in_large if ids[row] not in self._known})
        if unknown:
            rows = self._exact([part.scope for part in self._large], len(unknown), unknown, ())
            self._known.update((entry_id, similarity) for similarity, entry_id in rows)
        for row in in_large:
            found[row] = self._known.get(ids[row], np.nan)
        return found

    # --- small scopes ---------------------------------------------------------------------------------

    def _best_small(
        self, limit: int, allowed: Sequence[str] | None, bounds: Sequence[tuple[int, int]]
    ) -> list[tuple[float, str]]:
        if allowed is None:
            usable = np.arange(len(self._ids))
        else:
            known = {place for entry_id in allowed if (place := self._ordinals.get(entry_id)) is not None}
            usable = np.fromiter(known, dtype=np.int64, count=len(known))
        if bounds:
            inside = np.zeros(len(usable), dtype=np.bool_)
            for start, end in bounds:
                inside |= (self._times[usable] >= start) & (self._times[usable] < end)
            usable = usable[inside]
        if limit <= 0:
            return []
        if limit < len(usable):
            values = self._similarities[usable]
            # All values equal to the last one are kept: the ids decide between them.
            least = np.partition(values, len(values) - limit)[len(values) - limit]
            usable = usable[values >= least]
        return [(float(self._similarities[place]), self._ids[place]) for place in usable.tolist()]

    # --- large scopes --------------------------------------------------------------------------------

    def _best_large(
        self,
        limit: int,
        allowed: Sequence[str] | None,
        bounds: Sequence[tuple[int, int]],
        periods: Sequence[tuple[datetime, datetime]],
    ) -> list[tuple[float, str]]:
        found: list[tuple[float, str]] = []
        scanned: list[str] = []
        for part in self._large:
            nearest = None
            if allowed is None and bounds:
                nearest = self._best_dated(part, limit, bounds, periods)
            elif allowed is None and part.has_hnsw and limit * _MIN_ENTRIES_FACTOR <= part.entries:
                nearest = self._nearest(part.scope, limit)
                if len(nearest) < limit:
                    # The index returned too few; the scope has more.
                    nearest = None
            if nearest is None:
                scanned.append(part.scope)
            else:
                found += nearest
        return found + self._exact(scanned, limit, allowed, bounds) if scanned else found

    def _best_dated(
        self,
        part: LargeScope,
        limit: int,
        bounds: Sequence[tuple[int, int]],
        periods: Sequence[tuple[datetime, datetime]],
    ) -> list[tuple[float, str]] | None:
        """The nearest inside the periods, where that is found without a scan of the whole scope."""
        if self._dated is None:
            return None
        many = max(part.entries // MIN_SHARE, MAX_NAMED + 1)
        # Half of the scope and all of it are searched alike.
        inside = self._dated.count(part.scope, periods, max(many, part.entries // 2))
        if inside is None:
            return None
        if inside <= MAX_NAMED:
            ids = self._dated.ids(part.scope, periods)
            return self._exact([part.scope], limit, ids, bounds) if ids else []
        if inside < many or not part.has_hnsw or not self._tables.extension.iterative:
            return None
        found = self._nearest(part.scope, limit, bounds, part.entries / inside)
        return found if len(found) == limit else None

    def _nearest(
        self, scope: str, limit: int, bounds: Sequence[tuple[int, int]] = (), wider: float = 1.0
    ) -> list[tuple[float, str]]:
        """By the HNSW index. An entry of several chunks may occur several times, first with its greatest similarity.

        `wider`: so many times the rows are searched, because most of them are not inside the bounds.
        """
        rows = limit
        while True:
            answered = self._fetch(
                self._tables.nearest(scope, rows, bounds),
                {"vector": Reals(self._vector)},
                hnsw_settings(round(rows * wider), iterative=self._tables.extension.iterative),
            )
            found: dict[str, float] = {}
            for entry_id, similarity in answered:
                found.setdefault(entry_id, _clipped(similarity))
            if len(found) >= limit or len(answered) < rows:
                return [(similarity, entry_id) for entry_id, similarity in found.items()][:limit]
            rows *= 2

    def _exact(
        self,
        scopes: Sequence[str],
        limit: int,
        allowed: Sequence[str] | None,
        bounds: Sequence[tuple[int, int]],
    ) -> list[tuple[float, str]]:
        parameters = {
            "vector": Reals(self._vector),
            "scopes": list(scopes),
            "limit": limit,
            "allowed": None if allowed is None else list(allowed),
            "starts": [start for start, _ in bounds],
            "ends": [end for _, end in bounds],
        }
        statement = self._tables.exact(allowed=allowed is not None, periods=bool(bounds))
        return [(_clipped(similarity), entry_id) for entry_id, similarity in self._fetch(statement, parameters, ())]


def hnsw_settings(rows: int, *, iterative: bool) -> list[tuple[str, str]]:
    """The settings for a search of an HNSW index for so many rows."""
    growth = max(1.0, rows / _EF_SEARCH_ROWS) ** _EF_SEARCH_POWER
    ef_search = min(round(_EF_SEARCH * growth), _MAX_EF_SEARCH)
    # If the planner estimates few rows, it would sort all rows of the scope instead.
    settings = [("enable_sort", "off"), ("hnsw.ef_search", str(ef_search))]
    if iterative:
        settings.append(("hnsw.iterative_scan", "strict_order"))
    return settings


def _joined(
    parts: Iterable[tuple[Sequence[str], Sequence[float], Sequence[int]]],
) -> tuple[list[str], Floats, NDArray[np.int64]]:
    """All parts as one, each entry once with its greatest similarity."""
    ids: list[str] = []
    values: list[float] = []
    moments: list[int] = []
    for some_ids, some_values, some_moments in parts:
        ids += some_ids
        values += some_values
        moments += some_moments
    # A vector that was rounded to 16 bits may be a little longer than 1.
    similarities = np.clip(np.asarray(values, dtype=np.float32), -1.0, 1.0)
    times = np.asarray(moments, dtype=np.int64)
    places = {entry_id: place for place, entry_id in enumerate(ids)}
    if len(places) < len(ids):
        firsts = np.fromiter(places.values(), dtype=np.int64, count=len(places))
        order = {entry_id: number for number, entry_id in enumerate(places)}
        number_of = np.fromiter((order[entry_id] for entry_id in ids), dtype=np.int64, count=len(ids))
        greatest = np.full(len(places), -np.inf, dtype=np.float32)
        np.maximum.at(greatest, number_of, similarities)
        return list(places), greatest, times[firsts]
    return ids, similarities, times


def _clipped(similarity: float) -> float:
    return min(1.0, max(-1.0, float(similarity)))

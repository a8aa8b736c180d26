"""One question to the vectors in PostgreSQL: small scopes are compared as a whole at once, large ones when asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from psycopg.abc import Params, QueryNoTemplate

from jiyi.backends.postgres.session import Settings
from jiyi.backends.postgres.vectors.halfvec import Floats, Reals
from jiyi.backends.postgres.vectors.tables import VectorTables
from jiyi.model import clock

Ask: TypeAlias = Callable[[Settings, QueryNoTemplate, Params], list[tuple[Any, ...]]]
"""Rows of a statement with parameters, under settings that hold for it alone."""

_MIN_SEARCH, _MAX_SEARCH = 400, 1_000
"""How many neighbours the search of a graph keeps in sight: more find more and take longer. pgvector takes 1,000."""
_SEARCH_FACTOR = 8
_WIDE = 10
"""To find more than one in so many, a graph has no advantage."""


@dataclass(frozen=True, slots=True)
class LargeScope:
    """A scope that is not compared as a whole before it is asked what for."""

    scope: str
    entries: int
    mean: float
    graph: bool


class PostgresScan:
    """The similarities of one question to everything in one or more scopes.

    What is said of small scopes is all from one moment. Large scopes answer each question as they are then, and their
    mean counts a text of several chunks by the mean of its chunks.
    """

    def __init__(
        self,
        ask: Ask,
        tables: VectorTables,
        vector: Floats,
        small: Iterable[tuple[Sequence[str], Sequence[float], Sequence[int]]],
        large: Sequence[LargeScope],
    ) -> None:
        self._ask = ask
        self._tables = tables
        self._vector = vector
        self._large = large
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
            more = self._best_large(limit, allowed, bounds)
            self._known.update((entry_id, similarity) for similarity, entry_id in more)
            found += more
        found.sort(key=lambda pair: (-pair[0], pair[1]))
        return [entry_id for _, entry_id in found[:limit]]

    def of(self, ids: Sequence[str]) -> Floats:
        """The similarity of each of these, the same for equal texts; NaN where there is no vector."""
        found = np.full(len(ids), np.nan, dtype=np.float32)
        elsewhere: list[int] = []
        for row, entry_id in enumerate(ids):
            place = self._ordinals.get(entry_id)
            if place is not None:
                found[row] = self._similarities[place]
            elif self._large:
                elsewhere.append(row)
        unknown = list({ids[row] for row in elsewhere if ids[row] not in self._known})
        if unknown:
            rows = self._exact([part.scope for part in self._large], len(unknown), unknown, ())
            self._known.update((entry_id, similarity) for similarity, entry_id in rows)
        for row in elsewhere:
            found[row] = self._known.get(ids[row], np.nan)
        return found

    # --- the scopes that are here ---------------------------------------------------------------------------------

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
            for start, behind in bounds:
                inside |= (self._times[usable] >= start) & (self._times[usable] < behind)
            usable = usable[inside]
        if limit <= 0:
            return []
        if limit < len(usable):
            values = self._similarities[usable]
            # Whatever is as good as the last one stays in: which of them is taken is decided by the ids.
            least = np.partition(values, len(values) - limit)[len(values) - limit]
            usable = usable[values >= least]
        return [(float(self._similarities[place]), self._ids[place]) for place in usable.tolist()]

    # --- the scopes that are asked --------------------------------------------------------------------------------

    def _best_large(
        self, limit: int, allowed: Sequence[str] | None, bounds: Sequence[tuple[int, int]]
    ) -> list[tuple[float, str]]:
        narrowed = allowed is not None or bool(bounds)
        by_graph = [] if narrowed else [part for part in self._large if part.graph and limit * _WIDE <= part.entries]
        found: list[tuple[float, str]] = []
        compared = [part.scope for part in self._large if part not in by_graph]
        for part in by_graph:
            nearest = self._nearest(part.scope, limit)
            if len(nearest) < limit:
                # The search came to an end too soon; there are more.
                compared.append(part.scope)
            else:
                found += nearest
        return found + self._exact(compared, limit, allowed, bounds) if compared else found

    def _nearest(self, scope: str, limit: int) -> list[tuple[float, str]]:
        """By the graph. An entry of several chunks may come several times, first with the similarity that counts."""
        rows = limit
        while True:
            answered = self._ask(
                graph_settings(rows, iterative=self._tables.extension.iterative),
                self._tables.nearest(scope, rows),
                {"vector": Reals(self._vector)},
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
            "ends": [behind for _, behind in bounds],
        }
        statement = self._tables.exact(allowed=allowed is not None, periods=bool(bounds))
        return [(_clipped(similarity), entry_id) for entry_id, similarity in self._ask((), statement, parameters)]


def graph_settings(rows: int, *, iterative: bool) -> list[tuple[str, str]]:
    """How a graph is searched for so many rows."""
    wide = min(max(_MIN_SEARCH, _SEARCH_FACTOR * rows), _MAX_SEARCH)
    # Sorting all rows of the scope is what the planner would do instead, where it thinks that they are few.
    settings = [("enable_sort", "off"), ("hnsw.ef_search", str(wide))]
    if iterative:
        settings.append(("hnsw.iterative_scan", "strict_order"))
    return settings


def _joined(
    parts: Iterable[tuple[Sequence[str], Sequence[float], Sequence[int]]],
) -> tuple[list[str], Floats, NDArray[np.int64]]:
    """All parts in one, each entry once with its greatest similarity."""
    ids: list[str] = []
    values: list[float] = []
    moments: list[int] = []
    for some_ids, some_values, some_moments in parts:
        ids += some_ids
        values += some_values
        moments += some_moments
    # Rounded to 16 bits, a vector may be a little longer than 1.
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

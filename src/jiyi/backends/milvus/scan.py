"""`MilvusScan`: one query to the vectors in Milvus. Small scopes are in memory, large ones are searched by Milvus."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import numpy as np

from jiyi.backends.milvus.connection import MAX_ROWS, MilvusConnection
from jiyi.backends.milvus.expressions import any_of, in_periods, in_scope
from jiyi.backends.milvus.rows import blocks_of, row_id
from jiyi.backends.milvus.state import State
from jiyi.backends.shared.vector_matrix import Floats, MatrixScan, ScopeMatrix

_PAGE = 2_000
_ROWS_FACTOR = 2
"""Rows searched for each wanted entry: a long text may have several of the nearest rows."""
_MIN_ROWS = 256
_EF_FACTOR, _MAX_EF = 4, 32_768
"""`ef` of the HNSW search: a larger value finds more and takes longer."""
_MAX_FETCHED = 20_000
"""Up to so many allowed entries are fetched and compared exactly; for more, Milvus searches first."""


class MilvusScan:
    """The similarities of one query to all entries of several scopes, small and large."""

    def __init__(self, small: Sequence[MatrixScan], large: Sequence[LargeScope]) -> None:
        self._small = small
        self._large = large
        parts: list[MatrixScan | LargeScope] = [*small, *large]
        self.count = sum(part.count for part in parts)
        self.mean = sum(part.count * part.mean for part in parts) / self.count if self.count else 0.0

    def best(
        self,
        limit: int,
        *,
        allowed: Sequence[str] | None = None,
        periods: Sequence[tuple[datetime, datetime]] = (),
    ) -> list[str]:
        """Ids of the most similar, best first; ties by id."""
        found: list[tuple[float, str]] = []
        for scan in self._small:
            ids = scan.best(limit, allowed=allowed, periods=periods)
            found += zip(scan.of(ids).tolist(), ids, strict=True)
        if limit > 0 and (allowed is None or allowed):
            for part in self._large:
                found += part.best(limit, allowed, periods)
        return [entry_id for _, entry_id in _in_order(found)[:limit]]

    def of(self, ids: Sequence[str], *, rough: bool = False) -> Floats:  # noqa: ARG002 - always exact
        """The similarity of each id, the same for equal texts; NaN if there is no vector."""
        found = np.full(len(ids), np.nan, dtype=np.float32)
        for scan in self._small:
            similarities = scan.of(ids)
            found = np.where(np.isnan(similarities), found, similarities)
        for part in self._large:
            missing = np.flatnonzero(np.isnan(found)).tolist()
            known = part.of([ids[row] for row in missing])
            found[missing] = [known[ids[row]] for row in missing]
        return found


class LargeScope:
    """A scope that Milvus searches. Similarities that were computed for the query are kept."""

    def __init__(
        self, connection: MilvusConnection, state: State, scope: str, query: Floats, *, count: int, mean: float
    ) -> None:
        self._connection = connection
        self._state = state
        self._scope = scope
        self._query = query
        self._known: dict[str, float] = {}
        self.count = count
        """The number of its entries."""
        self.mean = mean
        """The mean similarity, estimated by a sample."""

    def best(
        self, limit: int, allowed: Sequence[str] | None, periods: Sequence[tuple[datetime, datetime]]
    ) -> list[tuple[float, str]]:
        """The most similar, best first."""
        where = in_scope(self._scope) + (f" and {in_periods(periods)}" if periods else "")
        if allowed is None:
            return self._nearest(where, limit, None)
        if len(allowed) > _MAX_FETCHED:
            found = self._nearest(where, limit, frozenset(allowed))
            if len(found) >= limit:
                return found
        inside = self._inside(allowed, where) if periods else allowed
        known = self.of(inside)
        return _in_order((known[one], one) for one in set(inside) if not np.isnan(known[one]))[:limit]

    def of(self, ids: Sequence[str]) -> dict[str, float]:
        """The exact similarity of each; NaN for what is not in the scope."""
        unknown = sorted({entry_id for entry_id in ids if entry_id not in self._known})
        for start in range(0, len(unknown), _PAGE):
            page = unknown[start : start + _PAGE]
            blocks = fetch_blocks(self._connection, self._state, page, in_scope(self._scope))
            self._known.update(dict.fromkeys(page, float("nan")))
            if blocks:
                matrix = ScopeMatrix(len(self._query))
                matrix.update((entry_id, 0, 0, block) for entry_id, block in blocks.items())
                places = np.asarray([matrix.ordinals[entry_id] for entry_id in blocks], dtype=np.int64)
                self._known.update(zip(blocks, matrix.exact(self._query)(places).tolist(), strict=True))
        return {entry_id: self._known[entry_id] for entry_id in ids}

    def _nearest(self, where: str, limit: int, wanted: frozenset[str] | None) -> list[tuple[float, str]]:
        """The nearest entries by Milvus's index.

        The similarity of a text of several chunks is half that of the best chunk and half their mean, so it is at most
        that of the best chunk: if the last wanted entry is at least as similar as the last row found, the rest cannot
        be better.
        """
        rows = MAX_ROWS if wanted is not None else min(MAX_ROWS, max(_ROWS_FACTOR * limit, _MIN_ROWS))
        while True:
            hits = self._connection.search(
                self._state.generation,
                "embedding",
                self._query,
                where,
                ["entry_id", "chunks"],
                self._state.reading,
                limit=rows,
                params=self._params(rows),
            )
            if wanted is not None:
                hits = [(similarity, row) for similarity, row in hits if row["entry_id"] in wanted]
            exact = self.of([str(row["entry_id"]) for _, row in hits if row["chunks"] > 1])
            found: dict[str, float] = {}
            for similarity, row in hits:
                entry_id = str(row["entry_id"])
                found.setdefault(entry_id, exact.get(entry_id, similarity))
            best = _in_order((value, entry_id) for entry_id, value in found.items())[:limit]
            enough = len(best) == limit and best[-1][0] >= hits[-1][0]
            if enough or len(hits) < rows or rows == MAX_ROWS:
                return best
            rows = min(MAX_ROWS, 4 * rows)

    def _params(self, rows: int) -> dict[str, Any]:
        params = {} if self._connection.server.managed else {"ef": min(_EF_FACTOR * rows, _MAX_EF)}
        return {"metric_type": "COSINE", "params": params}

    def _inside(self, ids: Sequence[str], where: str) -> list[str]:
        """The entries, among these, that meet an expression."""
        found: list[str] = []
        for start in range(0, len(ids), _PAGE):
            condition = f"{any_of('id', ids[start : start + _PAGE])} and {where}"
            rows = self._connection.rows(self._state.generation, condition, ["entry_id"], self._state.reading)
            found += [str(row["entry_id"]) for row in rows]
        return found


def fetch_blocks(
    connection: MilvusConnection, state: State, ids: Sequence[str], where: str, *, generation: str | None = None
) -> dict[str, Floats]:
    """The vectors of entries that meet an expression; incomplete entries are left out."""
    collection = generation or state.generation
    fields = ["id", "entry_id", "chunk", "chunks", "embedding"]
    rows = connection.rows(collection, f"{any_of('id', ids)} and {where}", fields, state.reading)
    further = [
        row_id(str(row["entry_id"]), chunk) for row in rows if row["chunks"] > 1 for chunk in range(1, row["chunks"])
    ]
    for start in range(0, len(further), _PAGE):
        condition = f"{any_of('id', further[start : start + _PAGE])} and {where}"
        rows += connection.rows(collection, condition, fields, state.reading)
    return {entry_id: block for entry_id, block, _ in blocks_of(rows)}


def _in_order(found: Iterable[tuple[float, str]]) -> list[tuple[float, str]]:
    return sorted(found, key=lambda pair: (-pair[0], pair[1]))

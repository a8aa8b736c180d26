"""One question to the vectors in Milvus: small scopes are compared here as a whole, large ones are asked for there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import numpy as np

from jiyi.backends.milvus.connection import MAX_ROWS, MilvusConnection, Row
from jiyi.backends.milvus.schema import State, any_of, in_periods, in_scope, row_id
from jiyi.backends.shared.vector_matrix import Floats, MatrixScan, ScopeMatrix

_PAGE = 2_000
_SPARE = 2
"""Chunks looked for, for each entry that is wanted: a long text may fill several places."""
_MIN_SEARCH, _SEARCH_FACTOR = 256, 4
"""How many neighbours the search of a graph keeps in sight: more find more and take longer."""
_WIDEST_SEARCH = 32_768
"""The most that Milvus takes."""
_MAX_COMPARED = 20_000
"""Up to so many allowed entries are fetched and compared one by one; of more, the best ones are looked for first."""


class MilvusScan:
    """The similarities of one question to everything in several scopes, small and large."""

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

    def of(self, ids: Sequence[str]) -> Floats:
        """The similarity of each of these, the same for equal texts; NaN where there is no vector."""
        found = np.full(len(ids), np.nan, dtype=np.float32)
        for scan in self._small:
            here = scan.of(ids)
            found = np.where(np.isnan(here), found, here)
        for part in self._large:
            elsewhere = np.flatnonzero(np.isnan(found)).tolist()
            known = part.of([ids[row] for row in elsewhere])
            found[elsewhere] = [known[ids[row]] for row in elsewhere]
        return found


class LargeScope:
    """A scope that is not read as a whole. What was worked out for the question is kept for it."""

    def __init__(
        self, connection: MilvusConnection, state: State, scope: str, query: Floats, *, count: int, mean: float
    ) -> None:
        self._connection = connection
        self._state = state
        self._scope = scope
        self._query = query
        self._known: dict[str, float] = {}
        self.count = count
        """Entries in it."""
        self.mean = mean
        """Of the similarities, told by a sample of them."""

    def best(
        self, limit: int, allowed: Sequence[str] | None, periods: Sequence[tuple[datetime, datetime]]
    ) -> list[tuple[float, str]]:
        """The most similar, best first."""
        where = in_scope(self._scope) + (f" and {in_periods(periods)}" if periods else "")
        if allowed is None:
            return self._nearest(where, limit, None)
        if len(allowed) > _MAX_COMPARED:
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
        """By Milvus's index.

        A text of several chunks counts by half the best and half the mean of them, which is at most the best: when the
        last entry wanted is at least as good as the last chunk found, nothing better is left.
        """
        rows = MAX_ROWS if wanted is not None else min(MAX_ROWS, max(_SPARE * limit, _MIN_SEARCH))
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
        sight = {} if self._connection.server.managed else {"ef": min(_SEARCH_FACTOR * rows, _WIDEST_SEARCH)}
        return {"metric_type": "COSINE", "params": sight}

    def _inside(self, ids: Sequence[str], where: str) -> list[str]:
        """Those of the entries that meet the condition."""
        found: list[str] = []
        for start in range(0, len(ids), _PAGE):
            condition = f"{any_of('id', ids[start : start + _PAGE])} and {where}"
            rows = self._connection.rows(self._state.generation, condition, ["entry_id"], self._state.reading)
            found += [str(row["entry_id"]) for row in rows]
        return found


def fetch_blocks(
    connection: MilvusConnection, state: State, ids: Sequence[str], where: str, *, generation: str | None = None
) -> dict[str, Floats]:
    """The vectors of entries that meet a condition; those of which a part is missing are left out."""
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


def blocks_of(rows: Iterable[Row]) -> list[tuple[str, Floats, Row]]:
    """Rows put together: id, vectors in order, and the row of the first chunk. Entries with gaps are left out.

    What is left of a longer text, after a crash and before it is drained again, is not looked at.
    """
    parts: dict[str, dict[int, Row]] = {}
    for row in rows:
        parts.setdefault(str(row["entry_id"]), {})[int(row["chunk"])] = row
    found: list[tuple[str, Floats, Row]] = []
    for entry_id, chunks in parts.items():
        first = chunks.get(0)
        places = range(int(first["chunks"])) if first is not None else ()
        if first is not None and all(place in chunks for place in places):
            block = np.asarray([chunks[place]["embedding"] for place in places], dtype=np.float32)
            found.append((entry_id, block, first))
    return found


def _in_order(found: Iterable[tuple[float, str]]) -> list[tuple[float, str]]:
    return sorted(found, key=lambda pair: (-pair[0], pair[1]))

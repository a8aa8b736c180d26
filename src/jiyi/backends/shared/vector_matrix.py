"""`ScopeMatrix`: the vectors of one scope in memory, scanned exactly."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from jiyi.model import clock
from jiyi.resource_limits import resource_limit

Floats = NDArray[np.float32]

_MAX_EXACT = 20_000
_MISSING = -1
_BLOCK = 64
_MAX_SERIAL = 32_768
"""How many numbers a product has at most that OpenBLAS computes in one thread, whatever the number of cores."""
_MAX_ALONE = 20_000
"""Up to so many rows a second thread saves less than a tenth of a recall."""
_PART = 16_384
"""Rows that a thread takes at a time."""
_MIN_COMPACTED = 64
_MIN_LIVE_SHARE = 0.7
"""The matrix is compacted when fewer of its entries are live."""


class ScopeMatrix:
    """Vectors of the entries of one scope. An entry has one row for each chunk of its text, side by side.

    An update appends the new rows and marks the old ones as deleted, so it costs the same in a large scope as in a
    small one. When too many rows are deleted, the matrix is compacted.
    """

    def __init__(self, dimension: int) -> None:
        self._dimension = dimension
        self._matrix: Floats = np.empty((0, dimension), dtype=np.float32)
        self._rows = 0
        self.ids: list[str] = []
        self.ordinals: dict[str, int] = {}
        self._starts: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self._live: NDArray[np.bool_] = np.empty(0, dtype=np.bool_)
        self.times: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self._single = True
        self.sequence = 0
        """The last change that was applied to this matrix."""
        self.log_position: tuple[str | None, ...] = ()
        """The log position of the file when the matrix was last compared with it."""

    @property
    def nbytes(self) -> int:
        """About how much memory the matrix uses."""
        return self._matrix.nbytes + len(self.ids) * 200

    def __len__(self) -> int:
        return len(self.ordinals)

    def update(self, changes: Iterable[tuple[str, int, int, Floats | None]]) -> None:
        """Apply (id, sequence, event time, rows or `None` if removed) in any order."""
        ids: list[str] = []
        times: list[int] = []
        blocks: list[Floats] = []
        for entry_id, sequence, event_time, rows in changes:
            self.sequence = max(self.sequence, sequence)
            old = self.ordinals.pop(entry_id, None)
            if old is not None:
                self._live[old] = False
            if rows is not None and len(rows):
                ids.append(entry_id)
                times.append(event_time)
                blocks.append(rows)
        if ids:
            self._append(ids, times, [len(block) for block in blocks], np.concatenate(blocks))
        if len(self.ids) > _MIN_COMPACTED and len(self.ordinals) < _MIN_LIVE_SHARE * len(self.ids):
            self._compact()

    def load(
        self, ids: Sequence[str], times: Sequence[int], lengths: Sequence[int], rows: Floats, sequence: int
    ) -> None:
        """Fill an empty matrix with all entries of a scope; `lengths` are their numbers of rows."""
        self.sequence = sequence
        if ids:
            self._append(ids, times, lengths, rows)

    def similarities(self, query: Floats) -> Floats:
        """One similarity for each ordinal: half the best chunk, half the mean of the chunks; -inf if deleted."""
        if not self.ids:
            return np.empty(0, dtype=np.float32)
        products = _products(self._matrix[: self._rows], query)
        if self._single:
            found: NDArray[np.floating] = products
        else:
            ends = np.append(self._starts[1:], self._rows)
            means = np.add.reduceat(products, self._starts) / (ends - self._starts)
            found = 0.5 * np.maximum.reduceat(products, self._starts) + 0.5 * means
        similar = found.astype(np.float32, copy=False)
        return np.where(self._live, similar, np.float32(-np.inf)) if len(self.ordinals) < len(self.ids) else similar

    def exact(self, query: Floats) -> Callable[[NDArray[np.int64]], Floats]:
        """A function from ordinals to exact similarities of the current rows.

        `similarities` may differ in the last digit between equal rows, depending on their place in the matrix.
        """
        # An update appends rows or replaces the arrays, so these references stay valid.
        matrix, starts, rows, single = self._matrix, self._starts, self._rows, self._single
        wide = query.astype(np.float64)

        def similarities(places: NDArray[np.int64]) -> Floats:
            if single:
                of_single: Floats = np.clip((matrix[places] * wide).sum(axis=1), -1.0, 1.0).astype(np.float32)
                return of_single
            ends = np.where(places + 1 < len(starts), starts[np.minimum(places + 1, len(starts) - 1)], rows)
            counts = ends - starts[places]
            firsts = np.cumsum(counts) - counts
            chunks = np.repeat(starts[places] - firsts, counts) + np.arange(counts.sum())
            products = (matrix[chunks] * wide).sum(axis=1)
            found = 0.5 * np.maximum.reduceat(products, firsts) + 0.5 * np.add.reduceat(products, firsts) / counts
            # A vector that was rounded to 16 bits may be a little longer than 1.
            return np.clip(found, -1.0, 1.0).astype(np.float32)

        return similarities

    def _append(self, ids: Sequence[str], times: Sequence[int], counts: Sequence[int], rows: Floats) -> None:
        added = len(rows)
        if self._rows + added > len(self._matrix):
            grown = np.empty((max(self._rows + added, int(1.5 * len(self._matrix))), self._dimension), np.float32)
            grown[: self._rows] = self._matrix[: self._rows]
            self._matrix = grown
        lengths = np.asarray(counts, dtype=np.int64)
        starts = self._rows + np.concatenate(([0], np.cumsum(lengths)[:-1]))
        self._matrix[self._rows : self._rows + added] = rows
        self._rows += added
        first = len(self.ids)
        self.ids.extend(ids)
        self.ordinals.update(zip(ids, range(first, len(self.ids)), strict=True))
        self._starts = np.concatenate((self._starts, starts.astype(np.int64)))
        self.times = np.concatenate((self.times, np.asarray(times, dtype=np.int64)))
        self._live = np.concatenate((self._live, np.ones(len(ids), dtype=np.bool_)))
        self._single = self._single and bool((lengths == 1).all())

    def _compact(self) -> None:
        keep = np.flatnonzero(self._live)
        ends = np.append(self._starts[1:], self._rows)
        counts = (ends - self._starts)[keep].tolist()
        live = np.repeat(self._live, ends - self._starts)
        rows = self._matrix[: self._rows][live]
        ids = [self.ids[i] for i in keep]
        times = self.times[keep].tolist()
        self._matrix = np.empty((0, self._dimension), dtype=np.float32)
        self._rows = 0
        self.ids, self.ordinals = [], {}
        self._starts = np.empty(0, dtype=np.int64)
        self._live = np.empty(0, dtype=np.bool_)
        self.times = np.empty(0, dtype=np.int64)
        self._single = True
        if ids:
            self._append(ids, times, counts, rows)


class MatrixScan:
    """The similarities of one query to all entries of one or more scopes."""

    def __init__(self, parts: Sequence[tuple[ScopeMatrix, Floats]], query: Floats) -> None:
        # A matrix replaces its lists and never reorders them, so these references stay valid.
        self._parts = [(matrix.ids, matrix.ordinals, matrix.times, similarities) for matrix, similarities in parts]
        self._exact = [matrix.exact(query) for matrix, _ in parts]
        values = [_finite(similarities) for _, similarities in parts]
        joined = values[0] if len(values) == 1 else np.concatenate(values or [np.empty(0, dtype=np.float32)])
        self.count = len(joined)
        self.mean = float(joined.mean(dtype=np.float64)) if len(joined) else 0.0

    def best(
        self,
        limit: int,
        *,
        allowed: Sequence[str] | None = None,
        periods: Sequence[tuple[datetime, datetime]] = (),
    ) -> list[str]:
        """Ids of the most similar, best first; ties by id."""
        found: list[tuple[float, str]] = []
        for ids, ordinals, times, similarities in self._parts:
            usable = similarities
            if allowed is not None:
                places = np.asarray([ordinals.get(entry_id, _MISSING) for entry_id in allowed], dtype=np.int64)
                mask = np.zeros(len(similarities), dtype=np.bool_)
                mask[places[(places >= 0) & (places < len(similarities))]] = True
                usable = np.where(mask, usable, np.float32(-np.inf))
            if periods:
                inside = np.zeros(len(similarities), dtype=np.bool_)
                for start, end in periods:
                    inside |= (times >= clock.microseconds(start)) & (times < clock.microseconds(end))
                usable = np.where(inside, usable, np.float32(-np.inf))
            if len(usable):
                best = _greatest(usable, limit)
                alike = zip(usable[best].tolist(), best.tolist(), strict=True)
                found += [(similarity, ids[place]) for similarity, place in alike if isfinite(similarity)]
        found.sort(key=lambda pair: (-pair[0], pair[1]))
        return [entry_id for _, entry_id in found[:limit]]

    def of(self, ids: Sequence[str], *, rough: bool = False) -> Floats:
        """The similarity of each id, unless `rough` the same for equal texts; NaN if there is no vector."""
        found = np.full(len(ids), np.nan, dtype=np.float32)
        for (_, ordinals, _, similarities), exact in zip(self._parts, self._exact, strict=True):
            places = np.asarray([ordinals.get(entry_id, _MISSING) for entry_id in ids], dtype=np.int64)
            rows = np.flatnonzero((places >= 0) & (places < len(similarities)))
            rows = rows[np.isfinite(similarities[places[rows]])]
            if len(rows):
                known = places[rows]
                # So many are only averaged, not ranked: the fast similarities are exact enough.
                found[rows] = similarities[known] if rough or len(known) > _MAX_EXACT else exact(known)
        return found


def block_similarities(blocks: Sequence[Floats], query: Floats) -> Floats:
    """The similarity of each block of vectors, as `ScopeMatrix.exact` tells it."""
    wide = query.astype(np.float64)
    products = [(block * wide).sum(axis=1) for block in blocks]
    found = [0.5 * each.max() + 0.5 * each.mean() for each in products]
    return np.clip(np.asarray(found, dtype=np.float64), -1.0, 1.0).astype(np.float32)


def _products(matrix: Floats, query: Floats) -> Floats:
    """The product of each row with the query."""
    found: Floats = np.empty(len(matrix), dtype=np.float32)
    if len(matrix) <= _MAX_ALONE:
        _multiply(matrix, query, found)
        return found
    # Whoever has finished a part takes the next one: a helper that gets no core delays nobody.
    parts = iter(range(0, len(matrix), _PART))
    failures: list[BaseException] = []

    def compute() -> None:
        for start in parts:
            _multiply(matrix[start : start + _PART], query, found[start : start + _PART])

    def help_computing() -> None:
        try:
            compute()
        except BaseException as error:  # noqa: BLE001 - every error is raised in the caller
            failures.append(error)

    helper = threading.Thread(target=help_computing, name="jiyi-vectors", daemon=True)
    try:
        helper.start()
    except RuntimeError as error:
        if resource_limit(error) is None:
            raise
        compute()
        return found
    compute()
    helper.join()
    if failures:
        raise failures[0]
    return found


def _multiply(matrix: Floats, query: Floats, out: Floats) -> None:
    """Put the product of each row with the query into `out`.

    BLAS gives a large product to several threads, which then spin for a while: each recall would occupy all cores. A
    product of a few rows stays in this thread, and takes hardly longer.
    """
    size = max(1, _MAX_SERIAL // matrix.shape[1])
    whole = len(matrix) // size * size
    np.matmul(matrix[:whole].reshape(-1, size, matrix.shape[1]), query, out=out[:whole].reshape(-1, size))
    np.matmul(matrix[whole:], query, out=out[whole:])


def _greatest(values: Floats, limit: int) -> NDArray[np.int64]:
    """Places of the greatest values, the greatest first."""
    places = np.arange(len(values))
    blocks = len(values) // _BLOCK
    if blocks >= 2 * limit:
        # At least `limit` blocks have a maximum of this value or more: smaller values cannot be among the greatest.
        greatest = values[: blocks * _BLOCK].reshape(blocks, _BLOCK).max(axis=1)
        places = np.flatnonzero(values >= np.partition(greatest, blocks - limit)[blocks - limit])
    elif len(values) > limit:
        places = np.flatnonzero(values >= np.partition(values, len(values) - limit)[len(values) - limit])
    return places[np.argsort(-values[places], kind="stable")[:limit]]


def _finite(values: Floats) -> Floats:
    """The values of live entries."""
    finite = np.isfinite(values)
    return values if finite.all() else values[finite]

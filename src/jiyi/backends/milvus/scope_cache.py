"""`ScopeCache`: the vectors of small scopes in memory, read from Milvus once and then kept up to date.

An HNSW index loses right answers for a user who owns a small part of all vectors, so a small scope is read as a whole
and scanned in memory. That is also faster. Measured with 20,000 vectors on a standalone server, in a scope of 200: the
50 best and the similarities of 100 others took 2.7 ms from the cache, and 15 ms by the index, which found 84 % of them.

Writes of this process are applied to its cache; writes of other processes are found by the sequence in each row.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from jiyi.backends.milvus.connection import MAX_ROWS, MilvusConnection, Row
from jiyi.backends.milvus.expressions import in_scope
from jiyi.backends.milvus.rows import BUCKETS, blocks_of
from jiyi.backends.milvus.scan import LargeScope, MilvusScan
from jiyi.backends.milvus.state import State
from jiyi.backends.shared.vector_matrix import Floats, MatrixScan, ScopeMatrix

_FIELDS = ["id", "entry_id", "chunk", "chunks", "event_time", "embedding"]
_PAGE_BYTES = 8 << 20
"""Bytes of vectors in one response; Milvus sends at most 64 MB."""
_SAMPLE = 1_000
"""Entries from which the mean similarity of a large scope is estimated, to about 0.004."""
_MAX_GROWTH = 1.25
"""A new sample is taken when the scope has grown or shrunk by this factor."""

ScopeChanges = Mapping[str, Sequence[tuple[str, int, int, Floats | None]]]
"""For each scope: id, sequence, event time, vectors or `None` if removed."""


@dataclass(slots=True)
class _CachedScope:
    """The data of one scope."""

    guard: threading.Lock = field(default_factory=threading.Lock)
    sequence: int = -1
    """The last change of the log that is included; -1 before the first read."""
    matrix: ScopeMatrix | None = None
    """All vectors of a small scope."""
    sample: ScopeMatrix | None = None
    """Some vectors of a large scope."""
    sampled: int = 0
    """The number of entries when the sample was taken."""
    count: int = 0

    @property
    def nbytes(self) -> int:
        return sum(each.nbytes for each in (self.matrix, self.sample) if each is not None)


class ScopeCache:
    """The scopes that were used last, up to a number of bytes."""

    def __init__(self, connection: MilvusConnection, dimension: int, *, cache_bytes: int, exact_rows: int) -> None:
        self._connection = connection
        self._dimension = dimension
        self._cache_bytes = cache_bytes
        self._exact_rows = exact_rows
        self._page_rows = max(1, min(MAX_ROWS // 2, _PAGE_BYTES // (4 * dimension)))
        self._guard = threading.Lock()
        self._generation = ""
        self._scopes: OrderedDict[str, _CachedScope] = OrderedDict()

    @property
    def scopes(self) -> int:
        """The number of cached scopes."""
        return len(self._scopes)

    @property
    def nbytes(self) -> int:
        """About how much memory they use."""
        with self._guard:
            return sum(cached.nbytes for cached in self._scopes.values())

    def scan(self, state: State, query: Floats, scopes: Sequence[str]) -> MatrixScan | MilvusScan:
        """Compare a query with every text of these scopes."""
        small: list[MatrixScan] = []
        large: list[LargeScope] = []
        for scope in dict.fromkeys(scopes):
            cached = self._cached(state, scope)
            with cached.guard:
                self._refresh(cached, state, scope)
                if cached.matrix is None:
                    mean = _mean(cached.sample, query)
                    large.append(LargeScope(self._connection, state, scope, query, count=cached.count, mean=mean))
                elif len(cached.matrix):
                    # The scan is not affected by later updates of the matrix.
                    small.append(MatrixScan([(cached.matrix, cached.matrix.similarities(query))], query))
        self._shrink()
        return small[0] if len(small) == 1 and not large else MilvusScan(small, large)

    def apply(self, before: State, after: State, changes: ScopeChanges, uncertain: Iterable[str]) -> None:
        """Apply what this process has just written, so that it need not be read back.

        The uncertain scopes may have further changes: they are read again.
        """
        to_read = set(uncertain)
        with self._guard:
            if self._generation != before.generation:
                return
            scopes = list(self._scopes.items())
        for scope, cached in scopes:
            with cached.guard:
                if cached.sequence != before.sequence or scope in to_read:
                    continue
                new = changes.get(scope, ())
                if cached.matrix is not None:
                    cached.matrix.update(new)
                    cached.count = len(cached.matrix)
                elif new:
                    continue
                cached.sequence = after.sequence

    def clear(self) -> None:
        """Empty the cache."""
        with self._guard:
            self._scopes.clear()

    # --- reading --------------------------------------------------------------------------------------------------

    def _cached(self, state: State, scope: str) -> _CachedScope:
        with self._guard:
            if self._generation != state.generation:
                self._generation = state.generation
                self._scopes.clear()
            cached = self._scopes.setdefault(scope, _CachedScope())
            self._scopes.move_to_end(scope)
            return cached

    def _shrink(self) -> None:
        with self._guard:
            while len(self._scopes) > 1 and sum(k.nbytes for k in self._scopes.values()) > self._cache_bytes:
                self._scopes.popitem(last=False)

    def _refresh(self, cached: _CachedScope, state: State, scope: str) -> None:
        if cached.sequence >= state.sequence:
            return
        if self._connection.lite:
            # A file has one process, whose writes are applied to the cache: this is the first read, or another handle
            # has written. Counting takes as long as reading there.
            cached.matrix, cached.count = self._read(state, in_scope(scope), None), 0
        else:
            cached.count = self._connection.count(state.generation, f"{in_scope(scope)} and chunk == 0", state.reading)
            if cached.count > self._exact_rows:
                self._take_sample(cached, state, scope)
            else:
                self._read_changes(cached, state, scope)
        cached.sequence = state.sequence

    def _read_changes(self, cached: _CachedScope, state: State, scope: str) -> None:
        cached.sample = None
        matrix = cached.matrix
        if matrix is not None:
            where = f"{in_scope(scope)} and sequence > {cached.sequence}"
            rows = self._connection.rows(state.generation, where, _FIELDS, state.reading, limit=self._page_rows)
            if len(rows) < self._page_rows:
                matrix.update(_changes(rows))
                # Rows show no removals: if the cache has more entries than the scope, read it again.
                if len(matrix) == cached.count:
                    return
        cached.matrix = self._read(state, in_scope(scope), cached.count)

    def _take_sample(self, cached: _CachedScope, state: State, scope: str) -> None:
        cached.matrix = None
        if cached.sample is None or not 1 / _MAX_GROWTH <= cached.count / max(cached.sampled, 1) <= _MAX_GROWTH:
            least = max(1, BUCKETS * _SAMPLE // cached.count)
            cached.sample = self._read(state, f"{in_scope(scope)} and bucket < {least}", _SAMPLE)
            cached.sampled = cached.count

    def _read(self, state: State, where: str, expected: int | None) -> ScopeMatrix:
        """All vectors that meet an expression, in pages of about the same size."""
        matrix = ScopeMatrix(self._dimension)
        if expected is None:
            matrix.update(_changes(self._connection.rows(state.generation, where, _FIELDS, state.reading)))
            return matrix
        pages = 1 + 2 * expected // self._page_rows
        ranges = [(BUCKETS * page // pages, BUCKETS * (page + 1) // pages) for page in range(pages)]
        while ranges:
            start, end = ranges.pop()
            condition = f"{where} and bucket >= {start} and bucket < {end}" if (start, end) != (0, BUCKETS) else where
            rows = self._connection.rows(state.generation, condition, _FIELDS, state.reading, limit=MAX_ROWS)
            if len(rows) == MAX_ROWS and end - start > 1:
                middle = (start + end) // 2
                ranges += [(start, middle), (middle, end)]
            else:
                matrix.update(_changes(rows))
        return matrix


def _changes(rows: Iterable[Row]) -> list[tuple[str, int, int, Floats | None]]:
    return [(entry_id, 0, int(first["event_time"]), block) for entry_id, block, first in blocks_of(rows)]


def _mean(sample: ScopeMatrix | None, query: Floats) -> float:
    if sample is None or not len(sample):
        return 0.0
    similarities = sample.similarities(query)
    return float(similarities[np.isfinite(similarities)].mean(dtype=np.float64))

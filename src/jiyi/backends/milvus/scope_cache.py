"""ScopeCache: the vectors of small scopes, read from Milvus once and then followed.

Graph indexes lose most of the right answers for a user who owns a small part of all vectors; a small scope is therefore
read as a whole and compared here. It is read again only as far as it has changed: who writes tells the cache of its own
process, and what other processes wrote is found by the number of the change that each row carries.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from jiyi.backends.milvus.connection import MAX_ROWS, MilvusConnection, Row
from jiyi.backends.milvus.scan import LargeScope, MilvusScan, blocks_of
from jiyi.backends.milvus.schema import BUCKETS, State, in_scope
from jiyi.backends.shared.vector_matrix import Floats, MatrixScan, ScopeMatrix

_FIELDS = ["id", "entry_id", "chunk", "chunks", "event_time", "embedding"]
_PAGE_BYTES = 8 << 20
"""Of vectors in one answer; Milvus sends at most 64 MB."""
_SAMPLE = 1_000
"""Entries by which the mean similarity of a large scope is told: to about 0.004."""
_GROWN = 1.25
"""A sample is taken anew when the scope has grown or shrunk by this."""

Followed = Mapping[str, Sequence[tuple[str, int, int, Floats | None]]]
"""For each scope: id, sequence, event time, vectors or `None` when it is gone."""


@dataclass(slots=True)
class _Known:
    """What this process knows of a scope."""

    guard: threading.Lock = field(default_factory=threading.Lock)
    sequence: int = -1
    """The place of the change log up to which it is known; -1 before it was read."""
    matrix: ScopeMatrix | None = None
    """All vectors, of a small scope."""
    sample: ScopeMatrix | None = None
    """Some vectors, of a large scope."""
    sampled: int = 0
    """How many entries it had then."""
    count: int = 0

    @property
    def nbytes(self) -> int:
        return sum(each.nbytes for each in (self.matrix, self.sample) if each is not None)


class ScopeCache:
    """The scopes that were asked about last, up to a number of bytes."""

    def __init__(self, connection: MilvusConnection, dimension: int, *, cache_bytes: int, exact_rows: int) -> None:
        self._connection = connection
        self._dimension = dimension
        self._cache_bytes = cache_bytes
        self._exact_rows = exact_rows
        self._page_rows = max(1, min(MAX_ROWS // 2, _PAGE_BYTES // (4 * dimension)))
        self._guard = threading.Lock()
        self._generation = ""
        self._scopes: OrderedDict[str, _Known] = OrderedDict()

    @property
    def scopes(self) -> int:
        """How many are known."""
        return len(self._scopes)

    @property
    def nbytes(self) -> int:
        """About how much memory they take."""
        with self._guard:
            return sum(known.nbytes for known in self._scopes.values())

    def scan(self, state: State, query: Floats, scopes: Sequence[str]) -> MatrixScan | MilvusScan:
        """Compare a question with every text of these scopes."""
        small: list[MatrixScan] = []
        large: list[LargeScope] = []
        for scope in dict.fromkeys(scopes):
            known = self._known(state, scope)
            with known.guard:
                self._refresh(known, state, scope)
                if known.matrix is None:
                    mean = _mean(known.sample, query)
                    large.append(LargeScope(self._connection, state, scope, query, count=known.count, mean=mean))
                elif len(known.matrix):
                    # What a scan keeps of a matrix stays as it is when the matrix is updated.
                    small.append(MatrixScan([(known.matrix, known.matrix.similarities(query))], query))
        self._shrink()
        return small[0] if len(small) == 1 and not large else MilvusScan(small, large)

    def follow(self, before: State, after: State, changes: Followed, uncertain: Iterable[str]) -> None:
        """Take in what this process has just written, so that it need not be read back.

        In the uncertain scopes there may be more: they are read.
        """
        unknown = set(uncertain)
        with self._guard:
            if self._generation != before.generation:
                return
            followed = list(self._scopes.items())
        for scope, known in followed:
            with known.guard:
                if known.sequence != before.sequence or scope in unknown:
                    continue
                new = changes.get(scope, ())
                if known.matrix is not None:
                    known.matrix.update(new)
                    known.count = len(known.matrix)
                elif new:
                    continue
                known.sequence = after.sequence

    def clear(self) -> None:
        """Forget everything."""
        with self._guard:
            self._scopes.clear()

    # --- reading --------------------------------------------------------------------------------------------------

    def _known(self, state: State, scope: str) -> _Known:
        with self._guard:
            if self._generation != state.generation:
                self._generation = state.generation
                self._scopes.clear()
            known = self._scopes.setdefault(scope, _Known())
            self._scopes.move_to_end(scope)
            return known

    def _shrink(self) -> None:
        with self._guard:
            while len(self._scopes) > 1 and sum(k.nbytes for k in self._scopes.values()) > self._cache_bytes:
                self._scopes.popitem(last=False)

    def _refresh(self, known: _Known, state: State, scope: str) -> None:
        if known.sequence >= state.sequence:
            return
        if self._connection.lite:
            # A file has one process, which follows its own writes: this is the first time, or another handle wrote.
            # Counting there takes as long as reading.
            known.matrix, known.count = self._read(state, in_scope(scope), None), 0
        else:
            known.count = self._connection.count(state.generation, f"{in_scope(scope)} and chunk == 0", state.reading)
            if known.count > self._exact_rows:
                self._take_sample(known, state, scope)
            else:
                self._read_changes(known, state, scope)
        known.sequence = state.sequence

    def _read_changes(self, known: _Known, state: State, scope: str) -> None:
        known.sample = None
        matrix = known.matrix
        if matrix is not None:
            where = f"{in_scope(scope)} and sequence > {known.sequence}"
            rows = self._connection.rows(state.generation, where, _FIELDS, state.reading, limit=self._page_rows)
            if len(rows) < self._page_rows:
                matrix.update(_changes(rows))
                # Changes never take anything away: if more are known than there are, some are gone.
                if len(matrix) == known.count:
                    return
        known.matrix = self._read(state, in_scope(scope), known.count)

    def _take_sample(self, known: _Known, state: State, scope: str) -> None:
        known.matrix = None
        if known.sample is None or not 1 / _GROWN <= known.count / max(known.sampled, 1) <= _GROWN:
            least = max(1, BUCKETS * _SAMPLE // known.count)
            known.sample = self._read(state, f"{in_scope(scope)} and bucket < {least}", _SAMPLE)
            known.sampled = known.count

    def _read(self, state: State, where: str, expected: int | None) -> ScopeMatrix:
        """All vectors that meet a condition, in pages of about the same size."""
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

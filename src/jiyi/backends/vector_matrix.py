"""ScopeMatrix: the vectors of one scope in memory, scanned exactly."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


class ScopeMatrix:
    """Vectors of the entries of one scope. An entry has one row for each chunk of its text, side by side.

    An update appends the new rows and marks the old ones dead; when too many are dead the matrix is packed anew, so an
    update costs the same in a large scope as in a small one.
    """

    def __init__(self, dimension: int) -> None:
        self._dimension = dimension
        self._matrix: Floats = np.empty((0, dimension), dtype=np.float32)
        self._rows = 0
        self.ids: list[str] = []
        self.ordinals: dict[str, int] = {}
        self._starts: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self._alive: NDArray[np.bool_] = np.empty(0, dtype=np.bool_)
        self._single = True
        self.sequence = 0
        """The last change that this matrix has taken in."""

    @property
    def nbytes(self) -> int:
        """About how much memory it takes."""
        return self._matrix.nbytes + len(self.ids) * 200

    def __len__(self) -> int:
        return len(self.ordinals)

    def update(self, changes: Iterable[tuple[str, int, Floats | None]]) -> None:
        """Take in (id, sequence, rows or None when it is gone) in any order."""
        ids: list[str] = []
        blocks: list[Floats] = []
        for entry_id, sequence, rows in changes:
            self.sequence = max(self.sequence, sequence)
            old = self.ordinals.pop(entry_id, None)
            if old is not None:
                self._alive[old] = False
            if rows is not None and len(rows):
                ids.append(entry_id)
                blocks.append(rows)
        if ids:
            self._append(ids, blocks)
        if len(self.ids) > 64 and len(self.ordinals) < 0.7 * len(self.ids):
            self._pack()

    def similarities(self, query: Floats) -> Floats:
        """One similarity for each ordinal: half the best chunk, half the mean of the chunks. Dead ones are -inf."""
        if not self.ids:
            return np.empty(0, dtype=np.float32)
        products = self._matrix[: self._rows] @ query
        if self._single:
            found = products
        else:
            ends = np.append(self._starts[1:], self._rows)
            means = np.add.reduceat(products, self._starts) / (ends - self._starts)
            found = 0.5 * np.maximum.reduceat(products, self._starts) + 0.5 * means
        found = found.astype(np.float32, copy=False)
        if len(self.ordinals) < len(self.ids):
            found = np.where(self._alive, found, np.float32(-np.inf))
        return found

    def _append(self, ids: Sequence[str], blocks: Sequence[Floats]) -> None:
        added = sum(len(block) for block in blocks)
        if self._rows + added > len(self._matrix):
            grown = np.empty(
                (max(self._rows + added, int(1.5 * len(self._matrix))), self._dimension), np.float32
            )
            grown[: self._rows] = self._matrix[: self._rows]
            self._matrix = grown
        lengths = np.fromiter((len(block) for block in blocks), np.int64, len(blocks))
        starts = self._rows + np.concatenate(([0], np.cumsum(lengths)[:-1]))
        np.concatenate(blocks, out=self._matrix[self._rows : self._rows + added])
        self._rows += added
        first = len(self.ids)
        self.ids.extend(ids)
        self.ordinals.update(zip(ids, range(first, len(self.ids)), strict=True))
        self._starts = np.concatenate((self._starts, starts.astype(np.int64)))
        self._alive = np.concatenate((self._alive, np.ones(len(ids), dtype=np.bool_)))
        self._single = self._single and bool((lengths == 1).all())

    def _pack(self) -> None:
        keep = np.flatnonzero(self._alive)
        ends = np.append(self._starts[1:], self._rows)
        blocks = [self._matrix[self._starts[i] : ends[i]].copy() for i in keep]
        ids = [self.ids[i] for i in keep]
        self._matrix = np.empty((0, self._dimension), dtype=np.float32)
        self._rows = 0
        self.ids, self.ordinals = [], {}
        self._starts = np.empty(0, dtype=np.int64)
        self._alive = np.empty(0, dtype=np.bool_)
        self._single = True
        if ids:
            self._append(ids, blocks)

"""`ListedVectors`: the vectors of the entries that meet a condition, in memory, where it is asked for again and again.

An HNSW index knows no conditions. To find the best fifty of a tenth of a scope it has to return the best 750, which
takes more than twice as long as the best fifty, and many of these are missed. To compare 10,000 vectors in memory takes
a millisecond, and misses none. They are read once, and afterwards only those that have changed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from jiyi.backends.postgres.vectors.halfvec import Floats, from_halfvecs
from jiyi.backends.postgres.vectors.tables import vectors_table
from jiyi.backends.records.filters import in_scopes
from jiyi.backends.shared.vector_matrix import MatrixScan, ScopeMatrix

if TYPE_CHECKING:
    from jiyi.backends.postgres.database import PostgresDatabase

_MAX_CHANGES: Final = 512
"""After more changes all vectors are read again."""
_MAX_SHARE: Final = 4
"""One list may use this part of the memory."""
_ENTRY_BYTES: Final = 200
"""About how much memory an entry uses beside its vector."""
_VECTORS: Final = (
    f"SELECT entry_id, event_time, embedding FROM {vectors_table()} WHERE scope = ANY (:scopes) "
    "AND entry_id = ANY (:ids) ORDER BY scope, entry_id, chunk"
)
_CHANGED: Final = (
    f"SELECT entry_id FROM memory_changes WHERE sequence > :after AND sequence <= :until AND {in_scopes(by_id=True)} "
    f"LIMIT {_MAX_CHANGES + 1}"
)


class VectorState(NamedTuple):
    """Which vectors a statement has seen: the table, and how far it follows the change log."""

    table: int
    """Its OID: a rebuild makes a new table."""
    sequence: int
    fingerprint: str


@dataclass(slots=True, eq=False)
class _List:
    """The vectors of one list of entries."""

    scopes: tuple[str, ...]
    listed: frozenset[str]
    state: VectorState
    matrix: ScopeMatrix
    guard: threading.Lock = field(default_factory=threading.Lock)

    def scan(self, vector: Floats, listed: frozenset[str]) -> MatrixScan | None:
        """The similarities; `None` if another thread has brought the list to another state."""
        with self.guard:
            if self.listed is not listed:
                return None
            return MatrixScan([(self.matrix, self.matrix.similarities(vector))], vector)


class ListedVectors:
    """The vectors of the lists that were read or changed last, as far as the memory goes."""

    def __init__(
        self,
        database: PostgresDatabase,
        fetch: Callable[[str, dict[str, Any]], list[tuple[Any, ...]]],
        dimension: int,
        cache_bytes: int,
    ) -> None:
        self._database = database
        self._fetch = fetch
        self._dimension = dimension
        self._cache_bytes = cache_bytes
        self._reading = threading.Lock()
        self._guard = threading.Lock()
        self._kept: list[_List] = []

    def scan(
        self, vector: Floats, scopes: Sequence[str], listed: frozenset[str], state: VectorState
    ) -> MatrixScan | None:
        """The similarities of the listed entries of these scopes, at least as new as `state`.

        `None` if they would take too much memory, or if another thread is reading vectors at this moment: the HNSW
        index answers meanwhile.
        """
        if len(listed) * (4 * self._dimension + _ENTRY_BYTES) * _MAX_SHARE > self._cache_bytes:
            return None
        known = self._find(tuple(scopes), listed)
        if known is not None and known.listed is listed and _is_current(known.state, state):
            return known.scan(vector, listed)
        if not self._reading.acquire(blocking=False):
            return None
        try:
            current = None if known is None else self._brought_up_to_date(known, listed, state)
            if current is None:
                current = self._read(tuple(scopes), listed, state)
            self._keep(current, instead_of=known)
        finally:
            self._reading.release()
        return current.scan(vector, listed)

    def _find(self, scopes: tuple[str, ...], listed: frozenset[str]) -> _List | None:
        """The list, or one that differs by a few changes."""
        with self._guard:
            of_scopes = [each for each in self._kept if each.scopes == scopes]
        for each in of_scopes:
            if each.listed is listed:
                return each
        # Two conditions with hardly a difference may share one list; with more of it they would take it in turns.
        most = min(_MAX_CHANGES, len(listed) // 10)
        for each in of_scopes:
            if abs(len(each.listed) - len(listed)) <= most and len(each.listed ^ listed) <= most:
                return each
        return None

    def _brought_up_to_date(self, known: _List, listed: frozenset[str], state: VectorState) -> _List | None:
        """The same with what has changed since; `None` if that is too much."""
        if known.state.table != state.table:
            return None
        changed = set(known.listed ^ listed)
        if not _is_current(known.state, state):
            params = {"after": known.state.sequence, "until": state.sequence, "scopes": known.scopes}
            changed.update(row[0] for row in self._database.query(_CHANGED, params, known.scopes))
        if len(changed) > _MAX_CHANGES:
            return None
        wanted = changed & listed
        ids, times, lengths, rows = self._vectors(known.scopes, wanted) if wanted else ([], [], [], np.empty((0, 0)))
        blocks = np.split(rows, np.cumsum(lengths)[:-1]) if ids else []
        new = {each: (moment, block) for each, moment, block in zip(ids, times, blocks, strict=True)}
        with known.guard:
            known.matrix.update((each, state.sequence, *new.get(each, (0, None))) for each in changed)
            known.listed = listed
            known.state = max(known.state, state, key=lambda each: each.sequence)
        return known

    def _read(self, scopes: tuple[str, ...], listed: frozenset[str], state: VectorState) -> _List:
        matrix = ScopeMatrix(self._dimension)
        matrix.load(*self._vectors(scopes, listed), state.sequence)
        return _List(scopes, listed, state, matrix)

    def _vectors(
        self, scopes: tuple[str, ...], ids: frozenset[str] | set[str]
    ) -> tuple[list[str], list[int], list[int], Floats]:
        """The entries with their times, their numbers of chunks, and the chunks themselves."""
        found = self._fetch(_VECTORS, {"scopes": list(scopes), "ids": list(ids)})
        counts: dict[str, int] = {}
        for row in found:
            counts[row[0]] = counts.get(row[0], 0) + 1
        times = {row[0]: row[1] for row in found}
        rows = from_halfvecs([row[2] for row in found], self._dimension)
        lengths = list(counts.values())
        return list(counts), list(times.values()), lengths, _chunks(rows, lengths)

    def _keep(self, current: _List, instead_of: _List | None) -> None:
        with self._guard:
            self._kept = [*(each for each in self._kept if each not in (current, instead_of)), current]
            while len(self._kept) > 1 and sum(each.matrix.nbytes for each in self._kept) > self._cache_bytes:
                del self._kept[0]


def _is_current(known: VectorState, state: VectorState) -> bool:
    """Whether what is known is at least as new as this state of the same table."""
    return known.table == state.table and known.sequence >= state.sequence


def _chunks(rows: Floats, lengths: Sequence[int]) -> Floats:
    """The vectors of the chunks from rows of the table, where each is averaged with the mean of its text."""
    if all(length == 1 for length in lengths):
        return rows
    starts = np.concatenate(([0], np.cumsum(lengths)[:-1]))
    means = np.add.reduceat(rows, starts) / np.asarray(lengths, dtype=np.float32)[:, None]
    found: Floats = 2 * rows - np.repeat(means, lengths, axis=0)
    return found

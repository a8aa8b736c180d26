"""BM25 by the numbers of the visible scopes, from packed texts or from the weights of terms that an engine adds up.

It is the formula of the scorer without its additions, so what is proposed is what the scorer ranks high. The BM25 of an
engine is not used: it counts the texts of all scopes, and so tells whether a word occurs in foreign or deleted ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np

from jiyi.backends.shared.term_rows import CollectionStatistics
from jiyi.model.bm25 import LENGTH_FLOOR
from jiyi.text.bm25 import idf, length_norm, saturated

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Lengths: TypeAlias = NDArray[np.int64]

WIDE: Final = 600
"""So many matches at least are compared by their length as well, where an engine only adds up the weights of terms."""
_WEIGHT_UNIT: Final = 256
"""The weights of terms are whole numbers of this fraction: 32-bit floats add them without rounding."""
_MAX_WEIGHT_SUM: Final = 1 << 24


class TermCounts(NamedTuple):
    """How often some terms occur in some texts."""

    tf: Floats
    """Texts × terms."""
    counted: Floats
    """The same without the terms that have no statistics."""


class PackedTexts:
    """The terms of some texts, one after the other."""

    def __init__(self, terms: Sequence[bytes], counts: Sequence[bytes], counted: Sequence[int]) -> None:
        """The first `counted` terms of a text have statistics."""
        self._texts = len(terms)
        self._ids = np.frombuffer(b"".join(terms), dtype="<u4")
        self._times = np.frombuffer(b"".join(counts), dtype=np.uint8)
        sizes = np.fromiter(map(len, counts), dtype=np.int64, count=len(counts))
        self._ends = sizes.cumsum()
        self._counted_ends = self._ends - sizes + np.asarray(counted, dtype=np.int64)

    def count(self, wanted: Sequence[int]) -> TermCounts:
        """Count the wanted terms in every text at once."""
        tf = np.zeros((self._texts, len(wanted)))
        inside = np.zeros((self._texts, len(wanted)))
        if wanted and self._texts:
            # A question has few terms: comparing every term with each of them is faster than sorting. The places are
            # looked for in one row, because `nonzero` takes several times as long in two dimensions.
            same = self._ids == np.asarray(wanted, dtype=np.uint32)[:, None]
            column, match = np.divmod(np.flatnonzero(same), len(self._ids))
            row = self._ends.searchsorted(match, side="right")
            found = self._times[match]
            tf[row, column] = found
            inside[row, column] = found * (match < self._counted_ends[row])
        return TermCounts(tf, inside)


def count_terms(terms: Sequence[bytes], counts: Sequence[bytes], wanted: Sequence[int]) -> Floats:
    """How often the wanted terms occur in each text."""
    return PackedTexts(terms, counts, [0] * len(terms)).count(wanted).tf


def term_weights(terms: Sequence[str], df: Sequence[int], entries: int) -> dict[str, int]:
    """Term -> idf in the visible scopes, as a whole number: their sums are the same in every order."""
    found = np.maximum(1, np.rint(_WEIGHT_UNIT * idf(entries, np.asarray(df, dtype=np.float64)))).astype(np.int64)
    total = int(found.sum())
    if total >= _MAX_WEIGHT_SUM:
        found = np.maximum(1, found * (_MAX_WEIGHT_SUM // 2) // total)
    return dict(zip(terms, found.tolist(), strict=True))


def by_length(weight_sums: Sequence[float], lengths: Sequence[int] | Lengths, mean_length: float) -> Floats:
    """The BM25 of texts that have each of their terms once, from the sums of the weights of these terms."""
    norms = length_norm(np.asarray(lengths, dtype=np.float64), mean_length)
    return np.asarray(weight_sums, dtype=np.float64) * saturated(1.0, norms)


def bm25_order(
    tf: Floats,
    lengths: Lengths,
    times: Sequence[int],
    ids: Sequence[str],
    limit: int,
    statistics: CollectionStatistics | None = None,
) -> list[int]:
    """The places of the texts with the highest BM25, the newest first among equals, then by id.

    Without `statistics` these texts are the whole collection.
    """
    if statistics is None:
        df, entries = (tf > 0).sum(axis=0).astype(np.float64), len(tf)
        mean = float(np.maximum(lengths, LENGTH_FLOOR).mean())
    else:
        df, entries, mean = np.asarray(statistics.df, dtype=np.float64), statistics.entries, statistics.mean_length
    norms = length_norm(lengths.astype(np.float64), mean)
    scores = (saturated(tf, norms[:, None]) * idf(entries, df)).sum(axis=1).tolist()
    places = [place for place, score in enumerate(scores) if score > 0]
    places.sort(key=lambda place: (-scores[place], -times[place], ids[place]))
    return places[:limit]

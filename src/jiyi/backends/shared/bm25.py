"""BM25 for engines that have no BM25 of their own: counts the terms of a question in packed texts and orders the texts.

It is the formula of the scorer without its additions, so what is proposed is what the scorer will like.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from jiyi.model.bm25 import K1, LENGTH_FLOOR, B

Floats: TypeAlias = NDArray[np.float64]
Lengths: TypeAlias = NDArray[np.int64]


class TermCounts(NamedTuple):
    """How often some terms occur in some texts."""

    tf: Floats
    """Texts × terms."""
    counted: Floats
    """The same without the terms that have no statistics."""


@dataclass(frozen=True, slots=True)
class CollectionStatistics:
    """The numbers of all visible texts, where only some of them are compared."""

    df: Sequence[int]
    entries: int
    mean_length: float


def count_terms(
    terms: Sequence[bytes], counts: Sequence[bytes], wanted: Sequence[int], counted: Sequence[int]
) -> TermCounts:
    """Count the wanted terms in every text at once; the first `counted` terms of a text have statistics."""
    tf = np.zeros((len(terms), len(wanted)))
    inside = np.zeros((len(terms), len(wanted)))
    if wanted and terms:
        ids = np.frombuffer(b"".join(terms), dtype="<u4")
        times = np.frombuffer(b"".join(counts), dtype=np.uint8)
        sizes = np.fromiter(map(len, counts), dtype=np.int64, count=len(counts))
        # A question has few terms: comparing every term with each of them is faster than sorting.
        column, match = (ids == np.asarray(wanted, dtype=np.uint32)[:, None]).nonzero()
        ends = sizes.cumsum()
        row = ends.searchsorted(match, side="right")
        found = times[match]
        tf[row, column] = found
        place_in_text = match - (ends - sizes)[row]
        inside[row, column] = found * (place_in_text < np.asarray(counted, dtype=np.int64)[row])
    return TermCounts(tf, inside)


def bm25_order(
    tf: Floats, lengths: Lengths, times: Sequence[int], limit: int, statistics: CollectionStatistics | None = None
) -> list[int]:
    """The places of the texts with the highest BM25, the newest first among equals.

    Without `statistics` these texts are the whole collection.
    """
    floored = np.maximum(lengths, LENGTH_FLOOR)
    if statistics is None:
        df, entries, mean = (tf > 0).sum(axis=0).astype(np.float64), len(tf), float(floored.mean())
    else:
        df, entries, mean = np.asarray(statistics.df, dtype=np.float64), statistics.entries, statistics.mean_length
    idf = np.log(1.0 + (np.maximum(entries - df, 0.0) + 0.5) / (df + 0.5))
    norm = K1 * (1.0 - B + B * floored / max(mean, 1.0))
    scores = ((K1 + 1.0) * tf * idf / (tf + norm[:, None])).sum(axis=1).tolist()
    places = [place for place, score in enumerate(scores) if score > 0]
    places.sort(key=lambda place: (-scores[place], -times[place]))
    return places[:limit]

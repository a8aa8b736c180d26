"""The formula of BM25, for many texts at once; both what proposes candidates and the scorer go by it.

Σ idf·(k1+1)·tf / (tf + k1·(1 − b + b·max(length, floor)/mean))
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from jiyi.model.bm25 import K1, LENGTH_FLOOR, B

if TYPE_CHECKING:
    # Loading numpy.typing takes 20 ms, a tenth of a short command.
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]


def idf(entries: int, df: Floats) -> Floats:
    """How much the terms tell of which `df` of so many texts have each; never below 0."""
    found: Floats = np.log(1.0 + (np.maximum(entries - df, 0.0) + 0.5) / (df + 0.5))
    return found


def length_norm(
    lengths: Floats, mean_length: float, *, k1: float = K1, b: float = B, floor: float = LENGTH_FLOOR
) -> Floats:
    """What the length of each text adds below the fraction; `mean_length` is that of the floored lengths."""
    found: Floats = k1 * (1.0 - b + b * np.maximum(lengths, floor) / max(mean_length, 1.0))
    return found


def saturated(tf: Floats | float, norm: Floats, *, k1: float = K1) -> Floats:
    """What a term counts that occurs `tf` times: from 0 to k1 + 1. A column of norms goes with texts × terms."""
    found: Floats = (k1 + 1.0) * tf / (tf + norm)
    return found

"""When it was: the days around which the good candidates of a question gather."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from jiyi.recall.scorer import Candidates, Floats
    from jiyi.recall.settings import ScoringWeights

_MIN_SHARE: Final = 1e-3


def same_period(
    candidates: Candidates, own_score: Floats, weights: ScoringWeights, *, mixed: bool = False
) -> Floats | None:
    """Several good candidates of a few days: that is when it was. The share of all that is good around each one's day.

    What is told of one event is spread over the days around it, so that other days count less and less by distance.
    `None` where nothing good has a day. Among several kinds (`mixed`) a text without a day is a day of its own.
    """
    best = float(own_score.max(initial=0.0))
    dated = candidates.day >= 0
    if best <= 0 or not dated.any():
        return None
    good = np.maximum(own_score / best, 0.0) ** weights.same_period_power
    days, which = np.unique(candidates.day, return_inverse=True)
    shares = np.bincount(which, weights=good, minlength=len(days)) / good.sum()
    speaking = np.flatnonzero((shares >= _MIN_SHARE) & (days >= 0))
    distance = np.abs(days[:, None] - days[speaking])
    around = np.exp(-distance / weights.same_period_days) @ shares[speaking]
    return np.where(dated, around[which], good / good.sum() if mixed else 0.0)

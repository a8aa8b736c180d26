"""The formula on top of relevance: S_final = α·S_relevance + β·S_time_decay + γ·S_importance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from jiyi.errors import InvalidInputError

ALPHA: Final = 0.5
"""The weight of relevance, where a caller gives no weights."""
BETA: Final = 0.2
"""The weight of the time decay."""
GAMMA: Final = 0.3
"""The weight of importance."""
DECAY_RATE: Final = 0.99
"""What is left of the time decay after each hour without an access."""


@dataclass(frozen=True, slots=True)
class FinalWeights:
    """The weights of α·relevance + β·decay + γ·importance, and the decay rate."""

    alpha: float = ALPHA
    beta: float = BETA
    gamma: float = GAMMA
    decay_rate: float = DECAY_RATE

    def __post_init__(self) -> None:
        for name in ("alpha", "beta", "gamma"):
            value = getattr(self, name)
            if not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
                raise InvalidInputError(f"{name} {value!r} must be a number from 0 on")
        if self.alpha == self.beta == self.gamma == 0:
            raise InvalidInputError("alpha, beta and gamma are all 0, which puts nothing in order: give one a weight")
        if not isinstance(self.decay_rate, int | float) or not 0 < self.decay_rate <= 1:
            raise InvalidInputError(f"decay_rate {self.decay_rate!r} must be above 0 and at most 1")

    def final_score(self, relevance: float, decay: float, importance: float) -> float:
        """The weighted sum."""
        return self.alpha * relevance + self.beta * decay + self.gamma * importance


def time_decay(last_accessed_at: datetime, now: datetime, decay_rate: float = DECAY_RATE) -> float:
    """decay_rate to the power of the hours since the last access; a time in the future counts as now."""
    hours = max(0.0, (now - last_accessed_at).total_seconds() / 3600.0)
    return float(decay_rate**hours)


def final_weights(weights: Any, decay_rate: Any) -> FinalWeights:
    """α, β, γ as a caller gave them, checked."""
    if not isinstance(weights, tuple | list) or len(weights) != 3:
        raise InvalidInputError(f"weights {weights!r} must be three numbers: alpha, beta, gamma")
    alpha, beta, gamma = weights
    return FinalWeights(alpha=alpha, beta=beta, gamma=gamma, decay_rate=decay_rate)

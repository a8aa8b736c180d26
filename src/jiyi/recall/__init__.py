"""Recall: indexes propose, the record store disposes, one pure scorer gives the order."""

from typing import TYPE_CHECKING

from jiyi.lazy_names import load_on_first_use

if TYPE_CHECKING:
    from jiyi.recall.engine import RecallEngine
    from jiyi.recall.proposers import PROPOSERS, Proposer
    from jiyi.recall.request import MODES, Request
    from jiyi.recall.settings import RecallSettings, ScoringWeights

__all__ = ["MODES", "PROPOSERS", "Proposer", "RecallEngine", "RecallSettings", "Request", "ScoringWeights"]

__getattr__ = load_on_first_use(
    __name__,
    {
        "MODES": "jiyi.recall.request",
        "PROPOSERS": "jiyi.recall.proposers",
        "Proposer": "jiyi.recall.proposers",
        "RecallEngine": "jiyi.recall.engine",
        "RecallSettings": "jiyi.recall.settings",
        "Request": "jiyi.recall.request",
        "ScoringWeights": "jiyi.recall.settings",
    },
)

"""Recall: indexes propose, the record store disposes, one pure scorer gives the order."""

from jiyi.recall.engine import MODES, RecallEngine, Request
from jiyi.recall.settings import RecallSettings, ScoringWeights

__all__ = ["MODES", "RecallEngine", "RecallSettings", "Request", "ScoringWeights"]

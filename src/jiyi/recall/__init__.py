"""Recall: indexes propose, the record store disposes, one pure scorer gives the order."""

from jiyi.recall.engine import RecallEngine
from jiyi.recall.proposers import PROPOSERS, Proposer
from jiyi.recall.request import MODES, Request
from jiyi.recall.settings import RecallSettings, ScoringWeights

__all__ = ["MODES", "PROPOSERS", "Proposer", "RecallEngine", "RecallSettings", "Request", "ScoringWeights"]

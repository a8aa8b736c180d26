"""Recall: indexes propose, the record store disposes, one pure scorer gives the order."""

from jiyi.recall.engine import MODES, RecallEngine

__all__ = ["MODES", "RecallEngine"]

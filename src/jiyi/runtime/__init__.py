"""The runtime: `remember`, `recall`, `feedback`, `consolidate`, with tags alone or with the whole recall below."""

from jiyi.model.strength_decay import DecayRules
from jiyi.runtime.api import MemoryRuntime
from jiyi.runtime.values import BaseMemory, ConsolidationReport, FeedbackResult, MemoryLink

__all__ = ["BaseMemory", "ConsolidationReport", "DecayRules", "FeedbackResult", "MemoryLink", "MemoryRuntime"]

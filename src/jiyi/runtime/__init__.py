"""The runtime: `remember`, `recall`, `feedback`, `consolidate`, with tags alone or with the whole recall below."""

from jiyi.model.strength_decay import FadingRules
from jiyi.runtime.api import BaseMemory, ConsolidationReport, FeedbackResult, MemoryLink, MemoryRuntime

__all__ = ["BaseMemory", "ConsolidationReport", "FadingRules", "FeedbackResult", "MemoryLink", "MemoryRuntime"]

"""The long-term room: what is worth keeping of conversations, found again, thought about, and forgotten in time."""

from jiyi.longterm.forgetting import FadingMemory, ForgettingPlan
from jiyi.longterm.parts import LongtermParts, TaskModels
from jiyi.longterm.retrieval import Recollections
from jiyi.longterm.room import Longterm

__all__ = ["FadingMemory", "ForgettingPlan", "Longterm", "LongtermParts", "Recollections", "TaskModels"]

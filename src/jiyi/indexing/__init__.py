"""Bringing derived indexes up to date with the records, and proving that they are."""

from jiyi.indexing.background import BackgroundIndexer
from jiyi.indexing.drain import Drainer, IndexState
from jiyi.indexing.verify import IndexReport, repair, verify

__all__ = ["BackgroundIndexer", "Drainer", "IndexReport", "IndexState", "repair", "verify"]

"""The contracts that rooms speak to. Backends and providers implement them; `jiyi.testing` checks them.

Everything here is synchronous and safe to call from several threads; `AgentMemory` runs it off the event loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jiyi.ports.administration import AdministrationStore
from jiyi.ports.changelog import START, Change, ChangeLog, LogPosition
from jiyi.ports.chat import ChatStore
from jiyi.ports.history import HistoryStore
from jiyi.ports.indexes import (
    ALONE,
    CONVERSATION,
    TIMED,
    DerivedIndex,
    IndexBatch,
    Reading,
    ScopeReader,
    SharesFiles,
    StatesMode,
    TermRow,
    TermStatistics,
    TextIndex,
    TextProposer,
    TextSource,
    VectorIndex,
    VectorScan,
)
from jiyi.ports.jobs import JobStore
from jiyi.ports.longterm import Amendment, Fading, FadingPlace, LongtermStore
from jiyi.ports.models import ChatModel, Embedder, ModelIdentity, TokenCounter
from jiyi.ports.notes import NoteStore
from jiyi.ports.progress import Progress
from jiyi.ports.records import Draft, EntryStore, ImportCounts, RecordStore, TransferStore, UserWordStore
from jiyi.ports.reranking import Reranker, RerankUsage
from jiyi.ports.runtime import RuntimeStore, Sorter
from jiyi.ports.tags import Tagged, TagPage, TagPosition, TagStore

if TYPE_CHECKING:
    from jiyi.ports.models import Vectors as Vectors

__all__ = [
    "ALONE",
    "CONVERSATION",
    "START",
    "TIMED",
    "AdministrationStore",
    "Amendment",
    "Change",
    "ChangeLog",
    "ChatModel",
    "ChatStore",
    "DerivedIndex",
    "Draft",
    "Embedder",
    "EntryStore",
    "Fading",
    "FadingPlace",
    "HistoryStore",
    "ImportCounts",
    "IndexBatch",
    "JobStore",
    "LogPosition",
    "LongtermStore",
    "ModelIdentity",
    "NoteStore",
    "Progress",
    "Reading",
    "RecordStore",
    "RerankUsage",
    "Reranker",
    "RuntimeStore",
    "ScopeReader",
    "SharesFiles",
    "Sorter",
    "StatesMode",
    "TagPage",
    "TagPosition",
    "TagStore",
    "Tagged",
    "TermRow",
    "TermStatistics",
    "TextIndex",
    "TextProposer",
    "TextSource",
    "TokenCounter",
    "TransferStore",
    "UserWordStore",
    "VectorIndex",
    "VectorScan",
]

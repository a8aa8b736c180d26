"""The contracts that rooms speak to. Backends and providers implement them; `jiyi.testing` checks them.

Everything here is synchronous and safe to call from several threads; `AgentMemory` runs it off the event loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jiyi.lazy_names import load_on_first_use

if TYPE_CHECKING:
    from jiyi.ports.administration import AdministrationStore
    from jiyi.ports.changelog import START, Change, ChangeLog, LogPosition
    from jiyi.ports.chat import ChatStore
    from jiyi.ports.history import HistoryStore
    from jiyi.ports.indexes import (
        ALONE,
        CONVERSATION,
        TIMED,
        ComparesEntries,
        ComparesLists,
        Comparison,
        DerivedIndex,
        IndexBatch,
        OverlaidText,
        PreparesBatches,
        ReadForRecall,
        Reading,
        ScopeReader,
        SharesFiles,
        StatesMode,
        TermRow,
        TermStatistics,
        TextIndex,
        TextSource,
        VectorIndex,
        VectorScan,
    )
    from jiyi.ports.jobs import JobStore
    from jiyi.ports.keys import KeyStore
    from jiyi.ports.longterm import Amendment, Fading, FadingPlace, LongtermStore
    from jiyi.ports.models import (
        ChatModel,
        Embedder,
        EmbedsQuestions,
        JudgesQuestions,
        ModelIdentity,
        TokenCounter,
        ToolCall,
        ToolModel,
    )
    from jiyi.ports.models import Vectors as Vectors
    from jiyi.ports.notes import NoteStore
    from jiyi.ports.progress import Progress
    from jiyi.ports.records import Draft, EntryStore, ImportCounts, RecordStore, TransferStore, UserWordStore
    from jiyi.ports.reranking import LOCAL_MODEL_ERRORS, Prepares, Reranker, RerankUsage
    from jiyi.ports.runtime import RuntimeStore, Sorter
    from jiyi.ports.tags import Tagged, TagPage, TagPosition, TagStore

__all__ = [
    "ALONE",
    "CONVERSATION",
    "LOCAL_MODEL_ERRORS",
    "START",
    "TIMED",
    "AdministrationStore",
    "Amendment",
    "Change",
    "ChangeLog",
    "ChatModel",
    "ChatStore",
    "ComparesEntries",
    "ComparesLists",
    "Comparison",
    "DerivedIndex",
    "Draft",
    "Embedder",
    "EmbedsQuestions",
    "EntryStore",
    "Fading",
    "FadingPlace",
    "HistoryStore",
    "ImportCounts",
    "IndexBatch",
    "JobStore",
    "JudgesQuestions",
    "KeyStore",
    "LogPosition",
    "LongtermStore",
    "ModelIdentity",
    "NoteStore",
    "OverlaidText",
    "Prepares",
    "PreparesBatches",
    "Progress",
    "ReadForRecall",
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
    "TextSource",
    "TokenCounter",
    "ToolCall",
    "ToolModel",
    "TransferStore",
    "UserWordStore",
    "VectorIndex",
    "VectorScan",
]

__getattr__ = load_on_first_use(
    __name__,
    {
        "ALONE": "jiyi.ports.indexes",
        "AdministrationStore": "jiyi.ports.administration",
        "Amendment": "jiyi.ports.longterm",
        "CONVERSATION": "jiyi.ports.indexes",
        "Change": "jiyi.ports.changelog",
        "ChangeLog": "jiyi.ports.changelog",
        "ChatModel": "jiyi.ports.models",
        "ChatStore": "jiyi.ports.chat",
        "DerivedIndex": "jiyi.ports.indexes",
        "Draft": "jiyi.ports.records",
        "Embedder": "jiyi.ports.models",
        "EmbedsQuestions": "jiyi.ports.models",
        "ComparesEntries": "jiyi.ports.indexes",
        "ComparesLists": "jiyi.ports.indexes",
        "EntryStore": "jiyi.ports.records",
        "Fading": "jiyi.ports.longterm",
        "FadingPlace": "jiyi.ports.longterm",
        "HistoryStore": "jiyi.ports.history",
        "ImportCounts": "jiyi.ports.records",
        "IndexBatch": "jiyi.ports.indexes",
        "JobStore": "jiyi.ports.jobs",
        "JudgesQuestions": "jiyi.ports.models",
        "KeyStore": "jiyi.ports.keys",
        "LogPosition": "jiyi.ports.changelog",
        "LongtermStore": "jiyi.ports.longterm",
        "ModelIdentity": "jiyi.ports.models",
        "NoteStore": "jiyi.ports.notes",
        "OverlaidText": "jiyi.ports.indexes",
        "PreparesBatches": "jiyi.ports.indexes",
        "Progress": "jiyi.ports.progress",
        "ReadForRecall": "jiyi.ports.indexes",
        "Comparison": "jiyi.ports.indexes",
        "Reading": "jiyi.ports.indexes",
        "RecordStore": "jiyi.ports.records",
        "LOCAL_MODEL_ERRORS": "jiyi.ports.reranking",
        "Prepares": "jiyi.ports.reranking",
        "RerankUsage": "jiyi.ports.reranking",
        "Reranker": "jiyi.ports.reranking",
        "RuntimeStore": "jiyi.ports.runtime",
        "START": "jiyi.ports.changelog",
        "ScopeReader": "jiyi.ports.indexes",
        "SharesFiles": "jiyi.ports.indexes",
        "Sorter": "jiyi.ports.runtime",
        "StatesMode": "jiyi.ports.indexes",
        "TIMED": "jiyi.ports.indexes",
        "TagPage": "jiyi.ports.tags",
        "TagPosition": "jiyi.ports.tags",
        "TagStore": "jiyi.ports.tags",
        "Tagged": "jiyi.ports.tags",
        "TermRow": "jiyi.ports.indexes",
        "TermStatistics": "jiyi.ports.indexes",
        "TextIndex": "jiyi.ports.indexes",
        "TextSource": "jiyi.ports.indexes",
        "TokenCounter": "jiyi.ports.models",
        "ToolCall": "jiyi.ports.models",
        "ToolModel": "jiyi.ports.models",
        "TransferStore": "jiyi.ports.records",
        "UserWordStore": "jiyi.ports.records",
        "VectorIndex": "jiyi.ports.indexes",
        "VectorScan": "jiyi.ports.indexes",
    },
)

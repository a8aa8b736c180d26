"""Recall: the indexes and the engine that answers, with the runtime that uses them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jiyi.errors import JiyiError, RuntimeUnavailableError
from jiyi.model.address import EMBEDDED
from jiyi.wiring.models import reranker_of
from jiyi.wiring.profiles import scope_reader, text_index, vector_index

if TYPE_CHECKING:
    from jiyi.backends.records.sql import Database
    from jiyi.components import Recaller
    from jiyi.config import Settings
    from jiyi.indexing import BackgroundIndexer, Drainer
    from jiyi.model.entry import MemoryEntry
    from jiyi.ports import DerivedIndex, Embedder, RecordStore, TextSource, VectorIndex
    from jiyi.recall import RecallEngine
    from jiyi.recall.tags import TagMirror
    from jiyi.runtime import MemoryRuntime
    from jiyi.runtime.dependencies import RuntimeCalls, RuntimeDeps
    from jiyi.text import Vocabulary

_log = logging.getLogger("jiyi.runtime")


_MAX_OVERLAID = 200
"""So many changes are compared beside an index; taking in more with one commit takes less time than that."""

_PARALLEL_FROM = 20_000
"""Without a server to wait for, two threads of one process take longer for a small scope than one."""


@dataclass(frozen=True, slots=True)
class Recall:
    """The engine that answers recall requests, with its indexes and the runtime on top of it."""

    engine: Recaller
    make_runtime: Callable[[RuntimeCalls], MemoryRuntime]
    hybrid: RecallEngine | None = None
    """The engine if it has indexes; `None` in simple mode."""
    indexes: tuple[DerivedIndex, ...] = ()
    indexer: BackgroundIndexer | None = None


def simple_recall(settings: Settings, store: RecordStore, tags: TagMirror, deps: RuntimeDeps) -> Recall:
    """Recall and runtime by tags alone. An error here fails the opening: there is no fallback."""
    from jiyi.recall.simple_recall import INDEXES, SimpleRecall
    from jiyi.runtime.simple_runtime import SimpleMemoryRuntime

    try:
        tags.refresh()
    except JiyiError as error:
        raise RuntimeUnavailableError(
            f"SimpleMemoryRuntime cannot start, and no other runtime is taken in its place: {error}; "
            "fix that, or set enable_simple_memory to false"
        ) from error
    _log.info("记忆运行时: %s", SimpleMemoryRuntime.__name__)

    def make(calls: RuntimeCalls) -> MemoryRuntime:
        return SimpleMemoryRuntime(deps, tags, calls)

    with_notes = settings.workspace is not None and settings.recall_notes
    return Recall(SimpleRecall(store, tags, settings.zone, (*INDEXES, "notes") if with_notes else INDEXES), make)


def _with_archived(source: TextSource, vocabulary: Vocabulary, entries: Sequence[MemoryEntry]) -> TextSource:
    from jiyi.backends.shared.archived_texts import ArchivedTexts

    return ArchivedTexts(source, vocabulary, entries)


def with_indexes(
    settings: Settings,
    database: Database,
    store: RecordStore,
    vocabulary: Vocabulary,
    tags: TagMirror,
    drainer: Drainer,
    deps: Callable[[], RuntimeDeps],
    embedder: Embedder | None,
) -> Recall:
    """Hybrid recall: a text index, and a vector index if there is an embedder."""
    from jiyi.indexing import BackgroundIndexer
    from jiyi.recall import RecallEngine, RecallSettings

    vectors: VectorIndex | None = None
    if embedder is not None:
        vectors = vector_index(settings, database, embedder, store.store_id, vocabulary.searched)
    text = text_index(settings, database, vocabulary, store.store_id)
    indexes: tuple[DerivedIndex, ...] = (text,) if vectors is None else (text, vectors)
    indexer = None
    if settings.background_indexing:
        indexer = BackgroundIndexer(store, drainer, indexes)
        indexer.start()
    recall = RecallSettings(
        word_candidates=settings.word_candidates,
        bigram_candidates=settings.bigram_candidates,
        dense_candidates=settings.dense_candidates,
        dated_candidates=settings.dated_candidates,
        freshness_seconds=settings.freshness_seconds,
        overlaid_changes=_MAX_OVERLAID if settings.background_indexing else 0,
        parallel_from=_PARALLEL_FROM if settings.storage == EMBEDDED and settings.vectors == "auto" else 0,
        rerank_candidates=settings.rerank_candidates,
        rerank_seconds=settings.reranker_timeout,
    )
    helpers = ThreadPoolExecutor(max_workers=8, thread_name_prefix="jiyi-words")
    reader = scope_reader(settings, database, text, vectors)
    engine = RecallEngine(
        store,
        text,
        vectors,
        embedder,
        vocabulary,
        drainer,
        recall,
        settings.zone,
        helpers,
        tags,
        reader,
        reranker=reranker_of(settings),
        with_archived=lambda source, entries: _with_archived(source, vocabulary, entries),
    )
    _log.info("记忆运行时: %s", "VectorMemoryRuntime")

    def make(calls: RuntimeCalls) -> MemoryRuntime:
        from jiyi.runtime.vector import VectorMemoryRuntime

        return VectorMemoryRuntime(deps(), engine, calls)

    return Recall(engine, make, engine, indexes, indexer)

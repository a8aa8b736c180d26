"""From settings to objects: the only importer of backends and providers."""

from __future__ import annotations

import logging
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from jiyi.config import Settings, load_settings
from jiyi.errors import JiyiError, RuntimeUnavailableError
from jiyi.ports import Embedder

if TYPE_CHECKING:
    from collections.abc import Callable

    from jiyi.indexing import Drainer
    from jiyi.memory import Components
    from jiyi.ports import DerivedIndex, RecordStore, VectorIndex
    from jiyi.recall.tags import TagMirror
    from jiyi.recall.tags_only import TagsOnlyRecall
    from jiyi.runtime import MemoryRuntime
    from jiyi.runtime.base import Run, RuntimeParts
    from jiyi.text import Vocabulary

_log = logging.getLogger("jiyi.runtime")


def build(
    path: str | os.PathLike[str] | None = None,
    *,
    config: str | os.PathLike[str] | None = None,
    embedder: str | Embedder | None = None,
    **settings: Any,
) -> Components:
    """Read the settings and open everything they name. Opening twice, in one process or several, is fine.

    `embedder` is the setting, or an embedder of the caller's own.
    """
    if isinstance(embedder, Embedder):
        return assemble(load_settings(path, config=config, **settings), embedder=embedder)
    if embedder is not None:
        settings["embedder"] = embedder
    return assemble(load_settings(path, config=config, **settings))


def assemble(settings: Settings, *, embedder: Embedder | None = None) -> Components:
    """Open everything for settings that are already read; a given embedder takes the place of the one they name.

    In simple mode there is neither an embedder nor an index; nothing of them is even imported.
    """
    from jiyi.backends.sql.records import SqlRecordStore
    from jiyi.backends.sql.sqlite import SqliteDatabase
    from jiyi.indexing import Drainer
    from jiyi.memory import Components
    from jiyi.recall.tags import TagMirror
    from jiyi.text import Vocabulary

    if embedder is not None and not settings.enable_simple_memory:
        settings = replace(settings, embedder=str(embedder.identity))
    database = SqliteDatabase(settings.path / "memory.db", busy_timeout=settings.busy_timeout)
    store = SqlRecordStore(database)
    vocabulary = Vocabulary(lambda: [*settings.user_words(), *store.user_words()])
    tags = TagMirror(store)
    drainer = Drainer(store)

    def parts() -> RuntimeParts:
        # A program that has no use for the runtime does not load it.
        from jiyi.backends.sql.runtime import SqlRuntimeStore
        from jiyi.runtime.base import RuntimeParts

        runtime_store = SqlRuntimeStore(database)
        return RuntimeParts(store, runtime_store, vocabulary, settings.limits, settings.scope, settings.actor)

    if settings.enable_simple_memory:
        recall, make = _simple(store, tags, parts())
        return Components(settings, store, (), drainer, None, recall, vocabulary, make)
    return _with_indexes(settings, store, vocabulary, tags, drainer, parts, embedder or _embedder(settings))


def _simple(
    store: RecordStore, tags: TagMirror, parts: RuntimeParts
) -> tuple[TagsOnlyRecall, Callable[[Run, Callable[[], None]], MemoryRuntime]]:
    """Recall and runtime by tags alone. What fails here fails the opening: no other runtime takes its place."""
    from jiyi.recall.tags_only import TagsOnlyRecall
    from jiyi.runtime.simple import SimpleMemoryRuntime

    try:
        tags.refresh()
    except JiyiError as error:
        store.close()
        raise RuntimeUnavailableError(
            f"SimpleMemoryRuntime cannot start, and no other runtime is taken in its place: {error}; "
            "mend that, or set enable_simple_memory to false"
        ) from error
    _log.info("记忆运行时: %s", SimpleMemoryRuntime.__name__)

    def make(run: Run, written: Callable[[], None]) -> MemoryRuntime:
        return SimpleMemoryRuntime(parts, tags, run, written)

    return TagsOnlyRecall(store, tags), make


def _with_indexes(
    settings: Settings,
    store: RecordStore,
    vocabulary: Vocabulary,
    tags: TagMirror,
    drainer: Drainer,
    parts: Callable[[], RuntimeParts],
    embedder: Embedder | None,
) -> Components:
    """The whole recall: a text index, and vectors if there is an embedder."""
    from jiyi.backends.tantivy_index import TantivyIndex
    from jiyi.indexing import BackgroundIndexer
    from jiyi.memory import Components
    from jiyi.recall import RecallEngine, RecallSettings

    root = settings.path / "search_index"
    text = TantivyIndex(root, vocabulary, store.store_id, lock_timeout=settings.busy_timeout)
    vectors: VectorIndex | None = None
    indexes: tuple[DerivedIndex, ...] = (text,)
    if embedder is not None:
        from jiyi.backends.sqlite_vectors import SqliteVectors

        vectors = SqliteVectors(
            root,
            embedder,
            store.store_id,
            cache_bytes=settings.vector_cache_mb << 20,
            lock_timeout=settings.busy_timeout,
        )
        indexes = (text, vectors)
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
    )
    helpers = ThreadPoolExecutor(max_workers=8, thread_name_prefix="jiyi-vectors")
    engine = RecallEngine(store, text, vectors, embedder, vocabulary, drainer, recall, settings.zone, helpers, tags)
    _log.info("记忆运行时: %s", "VectorMemoryRuntime")

    def make(run: Run, written: Callable[[], None]) -> MemoryRuntime:
        from jiyi.runtime.vector import VectorMemoryRuntime

        return VectorMemoryRuntime(parts(), engine, run, written)

    return Components(settings, store, indexes, drainer, indexer, engine, vocabulary, make)


def _embedder(settings: Settings) -> Embedder | None:
    if settings.embedder == "none":
        return None
    from jiyi.providers.bundled import BundledEmbedder

    return BundledEmbedder()

"""From settings to objects: the only importer of backends and providers."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from jiyi.config import Settings, load_settings

if TYPE_CHECKING:
    from jiyi.memory import Components
    from jiyi.ports import DerivedIndex, Embedder, VectorIndex


def build(
    path: str | os.PathLike[str] | None = None,
    *,
    config: str | os.PathLike[str] | None = None,
    **settings: Any,
) -> Components:
    """Read the settings and open everything they name. Opening twice, in one process or several, is fine."""
    return assemble(load_settings(path, config=config, **settings))


def assemble(settings: Settings) -> Components:
    """Open everything for settings that are already read."""
    from jiyi.backends.sql.records import SqlRecordStore
    from jiyi.backends.sql.sqlite import SqliteDatabase
    from jiyi.backends.tantivy_index import TantivyIndex
    from jiyi.indexing import BackgroundIndexer, Drainer
    from jiyi.memory import Components
    from jiyi.recall import RecallEngine
    from jiyi.text import Analyzer

    analyzer = Analyzer(settings.user_words())
    store = SqlRecordStore(SqliteDatabase(settings.path / "memory.db", busy_timeout=settings.busy_timeout))
    root = settings.path / "search_index"
    text = TantivyIndex(root, analyzer, store.store_id, lock_timeout=settings.busy_timeout)
    embedder = _embedder(settings)
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
    drainer = Drainer(store)
    indexer = None
    if settings.background_indexing:
        indexer = BackgroundIndexer(store, drainer, indexes)
        indexer.start()
    engine = RecallEngine(store, text, vectors, embedder, analyzer, drainer, settings.freshness_seconds)
    return Components(settings, store, indexes, drainer, indexer, engine)


def _embedder(settings: Settings) -> Embedder | None:
    if settings.embedder == "none":
        return None
    from jiyi.providers.bundled import BundledEmbedder

    return BundledEmbedder()

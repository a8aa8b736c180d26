"""From settings to objects: the only importer of backends and providers."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from jiyi.config import Settings, load_settings
from jiyi.ports import ChatModel, Embedder

if TYPE_CHECKING:
    from jiyi.backends.sql.records import Database
    from jiyi.longterm.parts import LongtermParts
    from jiyi.memory import Components
    from jiyi.ports import DerivedIndex, RecordStore, VectorIndex
    from jiyi.recall import RecallEngine
    from jiyi.text import Analyzer


def build(
    path: str | os.PathLike[str] | None = None,
    *,
    config: str | os.PathLike[str] | None = None,
    embedder: str | Embedder | None = None,
    llm: str | ChatModel | None = None,
    clock: Callable[[], datetime] | None = None,
    **settings: Any,
) -> Components:
    """Read the settings and open everything they name. Opening twice, in one process or several, is fine.

    `embedder` and `llm` are the settings, or an embedder and a chat model of the caller's own. `clock` tells the time
    to what fades or waits: for tests, and for looking ahead.
    """
    own_embedder = embedder if isinstance(embedder, Embedder) else None
    own_model = llm if isinstance(llm, ChatModel) else None
    if embedder is not None and own_embedder is None:
        settings["embedder"] = embedder
    if llm is not None:
        settings["llm"] = "none" if own_model is not None else llm
    return assemble(load_settings(path, config=config, **settings), embedder=own_embedder, model=own_model, now=clock)


def assemble(
    settings: Settings,
    *,
    embedder: Embedder | None = None,
    model: ChatModel | None = None,
    now: Callable[[], datetime] | None = None,
) -> Components:
    """Open everything for settings that are already read; what is given takes the place of what they name."""
    from jiyi.backends.sql.records import SqlRecordStore
    from jiyi.backends.sql.sqlite import SqliteDatabase
    from jiyi.backends.tantivy_index import TantivyIndex
    from jiyi.indexing import BackgroundIndexer, Drainer
    from jiyi.jobs import JobWorker
    from jiyi.memory import Components
    from jiyi.recall import RecallEngine, RecallSettings
    from jiyi.text import Vocabulary

    if embedder is not None:
        from jiyi.providers.checked import CheckedEmbedder

        settings = replace(settings, embedder=str(embedder.identity))
        embedder = CheckedEmbedder(embedder)
    else:
        embedder = _embedder(settings)
    if model is not None:
        settings = replace(settings, llm=model.name)
    else:
        model = chat_model(settings)
    database = SqliteDatabase(settings.path / "memory.db", busy_timeout=settings.busy_timeout)
    store = SqlRecordStore(database)
    vocabulary = Vocabulary(lambda: [*settings.user_words(), *store.user_words()])
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
    drainer = Drainer(store)
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
    engine = RecallEngine(store, text, vectors, embedder, vocabulary, drainer, recall, settings.zone)
    longterm = _longterm(settings, database, store, engine, vocabulary, embedder, model, now)
    worker = JobWorker(longterm.jobs, longterm.runner) if settings.background_jobs else None
    return Components(settings, store, indexes, drainer, indexer, engine, vocabulary, model, longterm, worker)


def _longterm(
    settings: Settings,
    database: Database,
    store: RecordStore,
    engine: RecallEngine,
    analyzer: Analyzer,
    embedder: Embedder | None,
    model: ChatModel | None,
    now: Callable[[], datetime] | None,
) -> LongtermParts:
    from jiyi.backends.sql.jobs import SqlJobStore
    from jiyi.backends.sql.longterm import SqlLongtermStore
    from jiyi.jobs import Backoff, JobRunner
    from jiyi.longterm.parts import LongtermParts, TaskModels
    from jiyi.model.clock import utc_now
    from jiyi.text.token_count import counter_for

    jobs = SqlJobStore(database, now or utc_now)
    runner = JobRunner(jobs, backoff=Backoff(attempts=settings.job_attempts), now=now or utc_now)
    return LongtermParts(
        records=store,
        store=SqlLongtermStore(database, now or utc_now),
        jobs=jobs,
        runner=runner,
        engine=engine,
        analyzer=analyzer,
        embedder=embedder,
        models=TaskModels(model, model, model, model),
        counter=counter_for(None if model is None else model.name),
        limits=settings.limits,
        actor=settings.actor,
        recallable=settings.recall_messages,
        now=now or utc_now,
    )


def _embedder(settings: Settings) -> Embedder | None:
    if settings.embedder == "none":
        return None
    from jiyi.providers.bundled import BundledEmbedder

    return BundledEmbedder()


def chat_model(settings: Settings) -> ChatModel | None:
    """The chat model that the settings name; `None` means rules. No connection is made before it is asked."""
    if settings.llm == "none" or settings.llm_base_url is None or settings.llm_model is None:
        return None
    from jiyi.providers.openai_compatible import OpenAICompatibleModel

    return OpenAICompatibleModel(
        settings.llm_base_url,
        settings.llm_model,
        api_key=settings.llm_api_key,
        timeout=settings.llm_timeout,
        max_reply_bytes=settings.llm_max_reply_bytes,
    )

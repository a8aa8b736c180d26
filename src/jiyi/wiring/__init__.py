"""From settings to objects: the only importer of backends and providers."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from jiyi.config import Settings, load_settings
from jiyi.errors import ConfigError, JiyiError, RuntimeUnavailableError
from jiyi.execution import Lazy
from jiyi.ports import ChatModel, Embedder
from jiyi.wiring.profiles import open_database, record_store, scope_reader, text_index, vector_index

if TYPE_CHECKING:
    from jiyi.backends.records.store import Database
    from jiyi.indexing import BackgroundIndexer, Drainer
    from jiyi.longterm.dependencies import LongtermDeps, TaskModels
    from jiyi.memory import Components, Recaller
    from jiyi.model.entry import MemoryEntry
    from jiyi.notes.service import NotesService
    from jiyi.ports import ChatStore, DerivedIndex, RecordStore, VectorIndex
    from jiyi.recall import RecallEngine, Request
    from jiyi.recall.tags import TagMirror
    from jiyi.runtime import MemoryRuntime
    from jiyi.runtime.dependencies import Run, RuntimeDeps
    from jiyi.text import Vocabulary

_log = logging.getLogger("jiyi.runtime")


@dataclass(frozen=True, slots=True)
class _Recall:
    """How questions are answered."""

    engine: Recaller
    make_runtime: Callable[[Run, Callable[[], None]], MemoryRuntime]
    whole: RecallEngine | None = None
    """The same engine when it has indexes; `None` in simple mode."""
    indexes: tuple[DerivedIndex, ...] = ()
    indexer: BackgroundIndexer | None = None


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
    """Open everything for settings that are already read; what is given takes the place of what they name.

    In simple mode there is neither an embedder nor an index; nothing of them is even imported.
    """
    from jiyi.indexing import Drainer
    from jiyi.memory import Components
    from jiyi.recall.tags import TagMirror
    from jiyi.text import Vocabulary

    own_embedder = embedder is not None
    if settings.enable_simple_memory:
        embedder = None
    elif embedder is not None:
        from jiyi.providers.checked import CheckedEmbedder

        settings = replace(settings, embedder=str(embedder.identity))
        embedder = CheckedEmbedder(embedder)
    else:
        embedder = _embedder(settings)
    own_model = model
    if model is not None:
        settings = replace(settings, llm=model.name)
    else:
        model = chat_model(settings, settings.summarizer_model)
    with ExitStack() as undo:
        database = open_database(settings)
        # What fails from here on leaves no connection behind.
        undo.callback(database.close)
        store = record_store(database)
        vocabulary = Vocabulary(lambda: [*settings.user_words(), *store.user_words()])
        tags = TagMirror(store)
        drainer = Drainer(store)

        def parts() -> RuntimeDeps:
            # A program that has no use for the runtime does not load it.
            from jiyi.backends.records.runtime import SqlRuntimeStore
            from jiyi.runtime.dependencies import RuntimeDeps

            runtime_store = SqlRuntimeStore(database)
            return RuntimeDeps(store, runtime_store, vocabulary, settings.limits, settings.scope, settings.actor)

        if settings.enable_simple_memory:
            recall = _simple(settings, store, tags, parts())
        else:
            recall = _with_indexes(settings, database, store, vocabulary, tags, drainer, parts, embedder)

        def make_chats() -> ChatStore:
            from jiyi.backends.records.chat import SqlChatStore

            return SqlChatStore(database)

        chats = Lazy(make_chats)
        longterm = Lazy(
            lambda: _longterm(settings, database, store, chats(), recall.whole, vocabulary, embedder, own_model, now)
        )
        worker = None
        if settings.background_jobs:
            from jiyi.jobs import JobWorker

            worker = JobWorker(longterm().jobs, longterm().runner)
        # What the caller has brought, the caller closes.
        connected: tuple[object, ...] = () if own_embedder else (embedder,)
        if model is not None and own_model is None:
            models = longterm().models
            connected = (model, models.scorer, models.router, models.reflection, models.compression, *connected)
        components = Components(
            settings=settings,
            store=store,
            indexes=recall.indexes,
            drainer=drainer,
            indexer=recall.indexer,
            engine=recall.engine,
            vocabulary=vocabulary,
            make_runtime=recall.make_runtime,
            make_chats=chats,
            make_longterm=longterm,
            model=model,
            worker=worker,
            connected=connected,
        )
        undo.pop_all()
    return components


def _simple(settings: Settings, store: RecordStore, tags: TagMirror, parts: RuntimeDeps) -> _Recall:
    """Recall and runtime by tags alone. What fails here fails the opening: no other runtime takes its place."""
    from jiyi.recall.tags_only import INDEXES, TagsOnlyRecall
    from jiyi.runtime.simple import SimpleMemoryRuntime

    try:
        tags.refresh()
    except JiyiError as error:
        raise RuntimeUnavailableError(
            f"SimpleMemoryRuntime cannot start, and no other runtime is taken in its place: {error}; "
            "mend that, or set enable_simple_memory to false"
        ) from error
    _log.info("记忆运行时: %s", SimpleMemoryRuntime.__name__)

    def make(run: Run, written: Callable[[], None]) -> MemoryRuntime:
        return SimpleMemoryRuntime(parts, tags, run, written)

    with_notes = settings.workspace is not None and settings.recall_notes
    return _Recall(TagsOnlyRecall(store, tags, (*INDEXES, "notes") if with_notes else INDEXES), make)


def _with_indexes(
    settings: Settings,
    database: Database,
    store: RecordStore,
    vocabulary: Vocabulary,
    tags: TagMirror,
    drainer: Drainer,
    parts: Callable[[], RuntimeDeps],
    embedder: Embedder | None,
) -> _Recall:
    """The whole recall: a text index, and vectors if there is an embedder."""
    from jiyi.indexing import BackgroundIndexer
    from jiyi.recall import RecallEngine, RecallSettings

    vectors: VectorIndex | None = None
    if embedder is not None:
        vectors = vector_index(settings, database, embedder, store.store_id)
    text = text_index(settings, database, vocabulary, store.store_id, vectors)
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
    )
    helpers = ThreadPoolExecutor(max_workers=8, thread_name_prefix="jiyi-words")
    reader = scope_reader(settings, database, text, vectors)
    engine = RecallEngine(
        store, text, vectors, embedder, vocabulary, drainer, recall, settings.zone, helpers, tags, reader
    )
    _log.info("记忆运行时: %s", "VectorMemoryRuntime")

    def make(run: Run, written: Callable[[], None]) -> MemoryRuntime:
        from jiyi.runtime.vector import VectorMemoryRuntime

        return VectorMemoryRuntime(parts(), engine, run, written)

    return _Recall(engine, make, engine, indexes, indexer)


def notes_room(
    parts: Components,
    recall: Callable[[Request], list[MemoryEntry]],
    written: Callable[[], None],
) -> NotesService:
    """The room of the workspace that the settings name."""
    from jiyi.notes.dependencies import AppendLimits, NotesDeps, NotesSettings
    from jiyi.notes.service import NotesService
    from jiyi.text.token_count import counter_for

    settings = parts.settings
    if settings.workspace is None:
        raise ConfigError(
            "there is no workspace for notes; name a directory in the setting workspace "
            "(JIYI_WORKSPACE, workspace= when opening, or --workspace), and make it with 'jiyi notes init'"
        )
    return NotesService(
        NotesSettings(
            workspace=settings.workspace,
            data=settings.path,
            scope=settings.scope,
            actor=settings.actor,
            zone=lambda: settings.zone,
            limits=settings.limits,
            append=AppendLimits(
                settings.max_note_entry_bytes, settings.max_note_day_bytes, settings.max_note_file_bytes
            ),
            lock_timeout=settings.busy_timeout,
            context_file_tokens=settings.context_file_tokens,
            long_term_tokens=settings.long_term_tokens,
            daily_tokens=settings.daily_note_tokens,
            take_candidates=settings.note_candidates,
            model=parts.model,
            counter=counter_for(settings.llm_model),
        ),
        NotesDeps(parts.store, parts.chats, recall, written),
    )


def _longterm(
    settings: Settings,
    database: Database,
    store: RecordStore,
    chats: ChatStore,
    engine: RecallEngine | None,
    vocabulary: Vocabulary,
    embedder: Embedder | None,
    own_model: ChatModel | None,
    now: Callable[[], datetime] | None,
) -> LongtermDeps:
    from jiyi.backends.records.jobs import SqlJobStore
    from jiyi.backends.records.longterm import SqlLongtermStore
    from jiyi.jobs import Backoff, JobRunner
    from jiyi.longterm.dependencies import LongtermDeps
    from jiyi.model.clock import utc_now
    from jiyi.recall.plain import PlainRecall
    from jiyi.text.token_count import counter_for

    jobs = SqlJobStore(database, now or utc_now)
    runner = JobRunner(jobs, backoff=Backoff(attempts=settings.job_attempts), now=now or utc_now)
    return LongtermDeps(
        records=store,
        store=SqlLongtermStore(database, now or utc_now),
        jobs=jobs,
        chats=chats,
        runner=runner,
        engine=engine,
        similar=engine or PlainRecall(store, vocabulary),
        analyzer=vocabulary,
        embedder=embedder,
        models=_task_models(settings, own_model),
        counter=counter_for(settings.llm_model if own_model is None else own_model.name),
        limits=settings.limits,
        actor=settings.actor,
        recallable=settings.recall_messages,
        now=now or utc_now,
    )


def _embedder(settings: Settings) -> Embedder | None:
    if settings.embedder == "none":
        return None
    if settings.embedder == "bundled":
        from jiyi.providers.bundled import BundledEmbedder

        return BundledEmbedder()
    from jiyi.providers.checked import CheckedEmbedder

    return CheckedEmbedder(_embedder_from_elsewhere(settings, settings.embedding_model or ""))


def _embedder_from_elsewhere(settings: Settings, model: str) -> Embedder:
    if settings.embedder == "fastembed":
        from jiyi.providers.local_embedders import FastEmbedEmbedder

        return FastEmbedEmbedder(model)
    if settings.embedder == "sentence-transformers":
        from jiyi.providers.local_embedders import SentenceTransformersEmbedder

        return SentenceTransformersEmbedder(model)
    from jiyi.providers.openai_embeddings import KNOWN_DIMENSIONS, OpenAICompatibleEmbedder

    dimension = settings.embedding_dimension or KNOWN_DIMENSIONS.get(model)
    if dimension is None:
        raise ConfigError(
            f"how long are the vectors of {model!r}? It is not a well-known model: set embedding_dimension"
        )
    return OpenAICompatibleEmbedder(
        settings.embedding_base_url or "",
        model,
        dimension=dimension,
        ask_for_dimension=settings.embedding_dimension is not None,
        api_key=settings.embedding_api_key,
        timeout=settings.llm_timeout,
        batch=settings.embedding_batch,
    )


def chat_model(settings: Settings, name: str | None = None) -> ChatModel | None:
    """The chat model that the settings name; `None` means rules. No connection is made before it is asked."""
    model = name or settings.llm_model
    if settings.llm == "none" or settings.llm_base_url is None or model is None:
        return None
    from jiyi.providers.openai_compatible import OpenAICompatibleModel

    return OpenAICompatibleModel(
        settings.llm_base_url,
        model,
        api_key=settings.llm_api_key,
        timeout=settings.llm_timeout,
        max_reply_bytes=settings.llm_max_reply_bytes,
    )


def _task_models(settings: Settings, own: ChatModel | None) -> TaskModels:
    """A model for each task of the long-term room, all with one limit; the caller's own one does every task."""
    from threading import BoundedSemaphore

    from jiyi.longterm.dependencies import TaskModels

    limit = BoundedSemaphore(settings.llm_concurrency)

    def careful(name: str | None) -> ChatModel | None:
        model = own or chat_model(settings, name)
        if model is None:
            return None
        # Where rules do every task nothing that speaks to models is loaded.
        from jiyi.providers.retrying import RetryingModel, RetryPolicy, Usage
        from jiyi.text.token_count import counter_for

        return RetryingModel(
            model,
            counter=counter_for(model.name),
            limit=limit,
            patience=RetryPolicy(retries=settings.llm_retries),
            usage=Usage(model.name, settings.llm_input_price, settings.llm_output_price),
        )

    return TaskModels(
        scorer=careful(settings.scorer_model),
        router=careful(settings.router_model),
        reflection=careful(settings.reflection_model),
        compression=careful(settings.compression_model),
    )

"""From settings to objects: the only importer of backends and providers."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from jiyi.config import Settings, load_settings
from jiyi.errors import ConfigError
from jiyi.ports import ChatModel, Embedder

if TYPE_CHECKING:
    from collections.abc import Callable

    from jiyi.memory import Components
    from jiyi.model.entry import MemoryEntry
    from jiyi.notes.room import NotesRoom
    from jiyi.ports import DerivedIndex, VectorIndex
    from jiyi.providers.openai_compatible import OpenAICompatibleModel
    from jiyi.recall import Request


def build(
    path: str | os.PathLike[str] | None = None,
    *,
    config: str | os.PathLike[str] | None = None,
    embedder: str | Embedder | None = None,
    llm: str | ChatModel | None = None,
    **settings: Any,
) -> Components:
    """Read the settings and open everything they name. Opening twice, in one process or several, is fine.

    `embedder` and `llm` are the settings, or an embedder and a chat model of the caller's own.
    """
    own_embedder = embedder if isinstance(embedder, Embedder) else None
    own_model = llm if isinstance(llm, ChatModel) else None
    if embedder is not None and own_embedder is None:
        settings["embedder"] = embedder
    if llm is not None:
        settings["llm"] = "none" if own_model is not None else llm
    return assemble(load_settings(path, config=config, **settings), embedder=own_embedder, model=own_model)


def assemble(settings: Settings, *, embedder: Embedder | None = None, model: ChatModel | None = None) -> Components:
    """Open everything for settings that are already read; what is given takes the place of what they name."""
    from jiyi.backends.sql.chat import SqlChatStore
    from jiyi.backends.sql.records import SqlRecordStore
    from jiyi.backends.sql.sqlite import SqliteDatabase
    from jiyi.backends.tantivy_index import TantivyIndex
    from jiyi.indexing import BackgroundIndexer, Drainer
    from jiyi.memory import Components
    from jiyi.recall import RecallEngine, RecallSettings
    from jiyi.text import Vocabulary

    if embedder is not None:
        settings = replace(settings, embedder=str(embedder.identity))
    else:
        embedder = _embedder(settings)
    release: tuple[Callable[[], None], ...] = ()
    if model is not None:
        settings = replace(settings, llm=model.name)
    elif (named := chat_model(settings)) is not None:
        model = named
        release = (named.close,)
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
    helpers = ThreadPoolExecutor(max_workers=8, thread_name_prefix="jiyi-vectors")
    engine = RecallEngine(store, text, vectors, embedder, vocabulary, drainer, recall, settings.zone, helpers)
    chats = SqlChatStore(database)
    return Components(settings, store, indexes, drainer, indexer, engine, vocabulary, chats, model, release)


def notes_room(
    parts: Components,
    recall: Callable[[Request], list[MemoryEntry]],
    written: Callable[[], None],
) -> NotesRoom:
    """The room of the workspace that the settings name."""
    from jiyi.notes.append import AppendLimits
    from jiyi.notes.room import NotesRoom, NotesSettings
    from jiyi.text.token_count import counter_for

    settings = parts.settings
    if settings.workspace is None:
        raise ConfigError(
            "there is no workspace for notes; name a directory in the setting workspace "
            "(JIYI_WORKSPACE, workspace= when opening, or --workspace), and make it with 'jiyi notes init'"
        )
    return NotesRoom(
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
            patience=settings.busy_timeout,
            context_file_tokens=settings.context_file_tokens,
            long_term_tokens=settings.long_term_tokens,
            daily_tokens=settings.daily_note_tokens,
            take_candidates=settings.note_candidates,
            model=parts.model,
            counter=counter_for(settings.llm_model),
        ),
        parts.store,
        parts.chats,
        recall,
        written,
    )


def _embedder(settings: Settings) -> Embedder | None:
    if settings.embedder == "none":
        return None
    from jiyi.providers.bundled import BundledEmbedder

    return BundledEmbedder()


def chat_model(settings: Settings) -> OpenAICompatibleModel | None:
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

"""Build the components of a memory from settings."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from jiyi.config import Settings, load_settings
from jiyi.config.unused import unused_variables
from jiyi.execution import Lazy
from jiyi.model.address import IN_MEMORY
from jiyi.ports import ChatModel, Embedder
from jiyi.wiring.models import chat_model, embedder_of
from jiyi.wiring.profiles import administration_store, chat_store, group_transaction, open_database, record_store
from jiyi.wiring.recall import simple_recall, with_indexes
from jiyi.wiring.rooms import longterm_deps, notes_service, runtime_deps

if TYPE_CHECKING:
    from jiyi.components import Components
    from jiyi.ports import RecordStore
    from jiyi.text import Vocabulary


_log = logging.getLogger("jiyi.config")
_logged: set[str] = set()
"""What was logged already: each message once in a process."""


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

    `embedder` and `llm` are the settings of that name, or an embedder and a chat model object. `clock` replaces the
    system clock for forgetting and for jobs: for tests, and to see what will be forgotten later.
    """
    own_embedder = embedder if isinstance(embedder, Embedder) else None
    own_model = llm if isinstance(llm, ChatModel) else None
    if embedder is not None and own_embedder is None:
        settings["embedder"] = embedder
    if llm is not None:
        settings["llm"] = "none" if own_model is not None else llm
    read = load_settings(path, config=config, **settings)
    if own_embedder is None and own_model is None:
        for message in unused_variables(read):
            if message not in _logged:
                _logged.add(message)
                _log.info("%s", message)
    return assemble(read, embedder=own_embedder, model=own_model, now=clock)


def assemble(
    settings: Settings,
    *,
    embedder: Embedder | None = None,
    model: ChatModel | None = None,
    now: Callable[[], datetime] | None = None,
) -> Components:
    """Open everything for settings that are already read; `embedder` and `model` replace those of the settings.

    In simple mode there is neither an embedder nor an index, and their modules are not imported.
    """
    from jiyi.components import Components
    from jiyi.indexing import Drainer
    from jiyi.recall.tags import TagMirror

    own_embedder, own_model = embedder, model
    settings, embedder, model = _with_models(settings, embedder, model)
    with ExitStack() as undo:
        temporary = None
        if settings.path == IN_MEMORY:
            # It brings `tempfile`, which no other memory needs.
            from jiyi.wiring.temporary import TemporaryData

            temporary = TemporaryData()
            undo.callback(temporary.close)
            settings = replace(settings, path=temporary.path)
        database = open_database(settings)
        # If anything below fails, the connection is closed.
        undo.callback(database.close)
        store = record_store(database)
        vocabulary = _vocabulary(settings, store)
        tags = TagMirror(store)
        drainer = Drainer(store)

        if settings.enable_simple_memory:
            recall = simple_recall(settings, store, tags, runtime_deps(settings, database, store, vocabulary))
        else:
            # Lazy: a program that does not use the runtime does not load it.
            deps = Lazy(lambda: runtime_deps(settings, database, store, vocabulary))
            recall = with_indexes(settings, database, store, vocabulary, tags, drainer, deps, embedder)

        chats = Lazy(lambda: chat_store(database))
        longterm = Lazy(
            lambda: longterm_deps(
                settings, database, store, chats(), recall.hybrid, vocabulary, embedder, own_model, now
            )
        )
        worker = None
        if settings.background_jobs:
            from jiyi.jobs import JobWorker

            worker = JobWorker(longterm().jobs, longterm().runner)
        # An embedder or a model of the caller is closed by the caller.
        connected: tuple[object, ...] = (embedder,) if own_embedder is None else ()
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
            make_notes=lambda written: notes_service(settings, store, chats(), recall.engine, model, written),
            make_chats=chats,
            make_longterm=longterm,
            make_administration=Lazy(lambda: administration_store(database)),
            model=model,
            worker=worker,
            transaction=group_transaction(database),
            connected=connected,
            temporary=temporary,
        )
        undo.pop_all()
    return components


def _with_models(
    settings: Settings, embedder: Embedder | None, model: ChatModel | None
) -> tuple[Settings, Embedder | None, ChatModel | None]:
    """The caller's own models or those of the settings, with settings that name the ones in use."""
    if settings.enable_simple_memory:
        embedder = None
    else:
        if embedder is not None:
            settings = replace(settings, embedder=str(embedder.identity))
        embedder = embedder_of(settings, embedder)
    if model is None:
        return settings, embedder, chat_model(settings, settings.summarizer_model)
    return replace(settings, llm=model.name), embedder, model


def _vocabulary(settings: Settings, store: RecordStore) -> Vocabulary:
    """What texts are searched by. The setting `index_metadata` is kept in the store: every process has the same."""
    from jiyi.model.searched_text import SearchedText
    from jiyi.text import Vocabulary

    if settings.index_metadata is not None:
        store.set_indexed_metadata(settings.index_metadata)
    return Vocabulary(lambda: [*settings.user_words(), *store.user_words()], SearchedText(store.indexed_metadata))

"""The rooms of a memory: runtime, notes, long-term memory."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

from jiyi.errors import ConfigError
from jiyi.model.scope import DEFAULT_SCOPE
from jiyi.wiring.models import judging_embedder, pair_reader, task_models

if TYPE_CHECKING:
    from jiyi.backends.records.sql import Database
    from jiyi.components import Recaller
    from jiyi.config import Settings
    from jiyi.longterm.dependencies import LongtermDeps
    from jiyi.notes.service import NotesService
    from jiyi.ports import ChatModel, ChatStore, Embedder, RecordStore
    from jiyi.recall import RecallEngine
    from jiyi.runtime.dependencies import RuntimeDeps
    from jiyi.text import Vocabulary


def runtime_deps(settings: Settings, database: Database, store: RecordStore, vocabulary: Vocabulary) -> RuntimeDeps:
    """The dependencies of a runtime."""
    from jiyi.backends.records.runtime import SqlRuntimeStore
    from jiyi.runtime.dependencies import RuntimeDeps

    return RuntimeDeps(
        store,
        SqlRuntimeStore(database),
        vocabulary,
        settings.limits,
        settings.scope,
        settings.actor,
        zone=settings.zone,
        # A scope that was configured is named; only the default is not.
        strict_scope=settings.strict_scope and settings.scope == DEFAULT_SCOPE,
    )


def notes_service(
    settings: Settings,
    store: RecordStore,
    chats: ChatStore,
    engine: Recaller,
    model: ChatModel | None,
    written: Callable[[], None],
) -> NotesService:
    """The notes of the workspace that the settings name. `written` is called after each write."""
    from jiyi.notes.dependencies import AppendLimits, NotesDeps, NotesSettings
    from jiyi.notes.service import NotesService
    from jiyi.text.token_count import counter_for

    if settings.workspace is None:
        raise ConfigError(
            "there is no workspace for notes; name a directory in the setting workspace "
            "(JIYI_WORKSPACE, workspace= when opening, or --workspace), and create it with 'jiyi notes init'"
        )
    return NotesService(
        NotesSettings(
            workspace=settings.workspace,
            data=settings.path,
            scope=settings.scope,
            actor=settings.actor,
            zone=settings.zone,
            limits=settings.limits,
            append=AppendLimits(
                settings.max_note_entry_bytes, settings.max_note_day_bytes, settings.max_note_file_bytes
            ),
            lock_timeout=settings.busy_timeout,
            context_file_tokens=settings.context_file_tokens,
            long_term_tokens=settings.long_term_tokens,
            daily_tokens=settings.daily_note_tokens,
            take_candidates=settings.note_candidates,
            model=model,
            counter=counter_for(settings.llm_model),
        ),
        NotesDeps(store, chats, engine.answer, written),
    )


def longterm_deps(
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
    """The dependencies of the long-term room. `now` replaces the clock in tests."""
    from jiyi.backends.records.jobs import SqlJobStore
    from jiyi.backends.records.longterm import SqlLongtermStore
    from jiyi.jobs import Backoff, JobRunner
    from jiyi.longterm.dependencies import LongtermDeps
    from jiyi.model.clock import utc_now
    from jiyi.recall.simple_comparison import SimpleComparison
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
        similar=engine or SimpleComparison(store, vocabulary),
        analyzer=vocabulary,
        embedder=embedder,
        judging=judging_embedder,
        pairs=pair_reader,
        models=task_models(settings, own_model),
        counter=counter_for(settings.llm_model if own_model is None else own_model.name),
        limits=settings.limits,
        actor=settings.actor,
        recallable=settings.recall_messages,
        exempt=settings.forgetting_exempt,
        now=now or utc_now,
    )

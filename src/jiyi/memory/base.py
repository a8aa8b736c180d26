"""What all groups of methods of a memory share: its components, its threads, and its defaults."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import tzinfo
from functools import partial
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from jiyi.errors import JiyiError, SimpleModeError
from jiyi.execution import BlockingCalls, Lazy
from jiyi.model import clock
from jiyi.model.scope import named_scope

if TYPE_CHECKING:
    from jiyi.agent.sessions import AgentSessions
    from jiyi.chat import ChatDeps
    from jiyi.components import Components
    from jiyi.longterm.api import Longterm
    from jiyi.longterm.dependencies import LongtermDeps
    from jiyi.notes.service import NotesService
    from jiyi.ports.administration import ChangeSignal
    from jiyi.runtime import MemoryRuntime

_log = logging.getLogger("jiyi.memory")
P = ParamSpec("P")
R = TypeVar("R")


class MemoryBase:
    """Components, threads and rooms of one memory. Rooms are made when they are first used."""

    def __init__(self, components: Components) -> None:
        settings = components.settings
        self._components = components
        self._settings = settings
        self._limits = settings.limits
        self._store = components.store
        self._calls = BlockingCalls(components.transaction, self._written)
        self._run = self._calls.run
        self._write = self._calls.write
        self._put_drafts = partial(self._store.put, actor=settings.actor)
        """Always the same function, by which the writer knows the drafts that it may put together."""
        self._make_runtime: Lazy[MemoryRuntime] = Lazy(self._new_runtime)
        self._make_notes: Lazy[NotesService] = Lazy(lambda: components.make_notes(self._written))
        self._signals: set[ChangeSignal] = set()
        """The signals that watchers wait for; closed with the memory at the latest."""
        self._make_longterm: Lazy[Longterm] = Lazy(self._new_longterm)
        self._chat_deps: Lazy[ChatDeps] = Lazy(self._new_chat_deps)
        self._agent_sessions: Lazy[AgentSessions] = Lazy(_new_sessions)
        if components.worker is not None:
            self._longterm_deps.runner.load_handlers = self._make_longterm
            components.worker.when_idle = self._when_idle
            components.worker.start()

    def _notes_service(self) -> NotesService:
        if self._settings.enable_simple_memory:
            raise SimpleModeError.notes()
        return self._make_notes()

    async def _notes_made(self) -> NotesService:
        """The notes; made on a thread when they are first used, because that reads the disk."""
        return self._make_notes() if self._make_notes.made else await self._run(self._notes_service)

    @property
    def _longterm_deps(self) -> LongtermDeps:
        deps = self._components.longterm
        # A job of an earlier process may come up before the room is used: the runner then makes the room itself.
        deps.runner.load_handlers = self._make_longterm
        return deps

    def _new_runtime(self) -> MemoryRuntime:
        from jiyi.runtime.dependencies import RuntimeCalls

        calls = self._calls
        return self._components.make_runtime(
            RuntimeCalls(self._run, calls.run_unordered, self._write, self._written, calls.defer_batched)
        )

    def _new_longterm(self) -> Longterm:
        from jiyi.longterm.api import Longterm

        return Longterm(
            self._longterm_deps,
            self._run,
            self._write,
            later=self._calls.defer,
            written=self._written,
            queued=self._queued,
            zone=self._settings.zone,
        )

    def _new_chat_deps(self) -> ChatDeps:
        from jiyi.chat.dependencies import chat_deps

        return chat_deps(
            self._components.chats,
            self._components.model,
            actor=self._settings.actor,
            recallable=self._settings.recall_messages,
        )

    def _written(self) -> None:
        """Tell the background indexer that there are new changes."""
        if self._components.indexer is not None:
            self._components.indexer.notify()

    def _when_idle(self) -> None:
        """Called by the job worker: search sessions that are over, and write what they propose into the notes."""
        settings = self._settings
        if self._agent_sessions.made:
            self._flush_sessions(self._agent_sessions().idle(60 * settings.session_idle_minutes))
        if not settings.has_notes or not settings.note_candidates:
            return
        try:
            self._notes_service().write_new_candidates()
        except JiyiError as error:
            _log.warning("writing chat candidates to notes failed: %s", error)

    def _flush_sessions(self, sessions: Sequence[tuple[str, str]]) -> dict[str, int]:
        """Search what was said in these sessions for what is worth keeping; how many were searched, and how many not.

        A model that fails is met again by the next one who tries: the messages stay marked as not searched.
        """
        from jiyi.chat import ChatService, make_budget

        settings = self._settings
        budget = make_budget(settings.token_limit, settings.soft_threshold, None)
        done = {"flushed": 0, "failed": 0}
        for scope, session_id in sessions:
            try:
                chat = ChatService(self._chat_deps(), scope, session_id, budget, settings.summarize_prompt)
                searched = chat.try_flush("end")
                failure: Exception | str | None = searched.error or searched.trouble
            except JiyiError as error:
                failure = error
            if failure is not None:
                # The kind of error only: its text may quote the conversation.
                kind = failure if isinstance(failure, str) else type(failure).__name__
                _log.warning("a session that is over could not be searched: %s", kind)
            done["flushed" if failure is None else "failed"] += 1
            self._agent_sessions().ended(scope, session_id)
        return done

    async def _run_compaction(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call what may compact a chat, and wake the worker: there may be candidates for the notes."""
        try:
            return await self._calls.run_model(function, *args, **kwargs)
        finally:
            self._queued()

    def _queued(self) -> None:
        """Tell the job worker that there are new jobs."""
        if self._components.worker is not None:
            self._components.worker.notify()

    def _scope(self, scope: str | None, argument: str = "scope") -> str:
        return named_scope(scope, self._settings, argument)

    def _session(self, session_id: str | None, zone: tzinfo | None = None) -> str:
        if session_id is None:
            return clock.utc_now().astimezone(zone or self._settings.zone).date().isoformat()
        return self._limits.check_session_id(session_id)


def _new_sessions() -> AgentSessions:
    from jiyi.agent.sessions import AgentSessions

    return AgentSessions()

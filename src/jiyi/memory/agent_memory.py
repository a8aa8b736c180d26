"""AgentMemory: the memory of one data directory, with all its rooms."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from datetime import tzinfo
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from jiyi.errors import InvalidInputError
from jiyi.execution import OpenHandle, on_a_thread
from jiyi.memory.administration import Administration
from jiyi.memory.conversations import Conversations
from jiyi.memory.keyed import KeyedMemory
from jiyi.memory.listing import Listing
from jiyi.model import clock
from jiyi.model.limits import MAX_TOOL_ANSWER
from jiyi.model.scope import group_scope, may_be_seen_by_group
from jiyi.opening import Opening

if TYPE_CHECKING:
    from types import TracebackType

    from jiyi.agent import Agent
    from jiyi.config import Settings
    from jiyi.longterm.api import Longterm
    from jiyi.model.entry import MemoryEntry
    from jiyi.notes import Notes
    from jiyi.runtime import MemoryRuntime
    from jiyi.tools import BoundTools, Tool, Toolbox
    from jiyi.tools.toolbox import Handler


class AgentMemory(KeyedMemory, Listing, Conversations, Administration, OpenHandle):
    """A memory in one data directory. One instance may be shared by any number of tasks and threads.

    Get one with `await create_memory(path)` or `async with AgentMemory.open(path) as memory`. Methods take `scope`;
    `None` means the scope the memory was opened with. A scope reads itself and `public`, and writes only to itself.
    """

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str] | None = None,
        *,
        config: str | os.PathLike[str] | None = None,
        **settings: Any,
    ) -> Opening:
        """Open (and create) a data directory: `async with AgentMemory.open("./data") as memory`, or `await` it.

        `:memory:` is a memory for tests: nothing of it remains after `close`, or after the end of the process.
        """
        return Opening(cls, path, config, settings)

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self._settings

    # --- rooms ----------------------------------------------------------------------------------------------------

    @property
    def runtime(self) -> MemoryRuntime:
        """The runtime room: `remember`, `recall`, `feedback`, `consolidate_memories`. The settings say which one."""
        return self._make_runtime()

    @property
    def notes(self) -> Notes:
        """The notes of the workspace: Markdown files that people read and edit."""
        from jiyi.notes import Notes

        return Notes(
            self._run,
            self._calls.run_model,
            self._notes_made,
            off=self._settings.enable_simple_memory,
        )

    @property
    def longterm(self) -> Longterm:
        """The long-term room: facts extracted from conversations, recalled, reflected on, forgotten over time."""
        return self._make_longterm()

    def tools(self, *, scope: str | None = None, kind: str = "main", max_tokens: int = MAX_TOOL_ANSWER) -> Toolbox:
        """The tools that a model may call: those for memories, and those for the notes if there is a workspace.

        The notes belong to the scope that the memory was opened with; another scope gets no tools for them. `kind` is
        the kind of session that asks: a `group` gets shared notes only, and no memories but those of a scope that
        begins with `group:`. `max_tokens` limits the text of an answer.
        """
        return self._toolbox(scope, kind, max_tokens, None, None)

    def _toolbox(
        self,
        scope: str | None,
        kind: str,
        max_tokens: int,
        hides: Callable[[MemoryEntry], bool] | None,
        zone: tzinfo | None,
    ) -> Toolbox:
        """`hides` says which memories the model sees already."""
        from jiyi.notes.visibility import check_kind
        from jiyi.tools import EntryTools, Toolbox, note_tools

        own, settings, is_group = self._scope(scope), self._settings, check_kind(kind) == "group"
        bound: list[tuple[Tool, Handler]] = []
        if settings.has_notes and (is_group or own == settings.scope):
            bound += note_tools(self.notes, kind)
        if not is_group or may_be_seen_by_group(own):
            simple = settings.enable_simple_memory
            tools = EntryTools(
                self, own, kind, zone or settings.zone, tags_only=simple, hides=hides, noted=self._note_recalled
            )
            bound += tools.bound()
        elif scope is not None:
            raise InvalidInputError(
                f"a group may not reach the memories of {own!a}; give it a scope of its own, such as 'group:{own}'"
            )
        return Toolbox(bound, max_tokens=max_tokens)

    def _note_recalled(self, scope: str, entries: Sequence[MemoryEntry]) -> None:
        """Note behind the answer that these were put before a model."""
        from jiyi.recall.last_access import note_access, to_be_noted

        ids = to_be_noted(entries, scope)
        if ids:
            self._calls.defer(note_access, self._store, scope, ids)

    def agent(
        self,
        session_id: str | None = None,
        *,
        user: str | None = None,
        kind: str = "main",
        instructions: str | None = None,
        token_limit: int | None = None,
        reply_tokens: int | None = None,
        tools: Iterable[str] | None = None,
        own_tools: BoundTools | None = None,
        max_rounds: int = 8,
        extract: bool = True,
        time_zone: str | tzinfo | None = None,
    ) -> Agent:
        """An assistant in a session: `begin`, `turn.messages`, `turn.call`, `turn.finish`, or all of it with `reply`.

        `user` is whose memory it uses: a scope, the one of this memory if none is given. A `group` has a scope of its
        own that begins with `group:` and never sees what is private. `None` as id means today's date. The prompt has at
        most `token_limit` tokens, of which `reply_tokens` are kept for the reply. `tools` names the tools to offer
        (`None`: all), `own_tools` are (tool, function) of your program; after `max_rounds` rounds with tools the model
        has to answer. With `extract` finished rounds are looked through for facts. `time_zone` is the user's, where it
        is not that of the settings: days in questions and in the prompt are its days.
        """
        from jiyi.agent import Agent, AgentDeps
        from jiyi.agent.dependencies import check_options
        from jiyi.agent.prompt import share_out
        from jiyi.agent.turn import allowed_tools
        from jiyi.notes.visibility import check_kind
        from jiyi.text.token_count import counter_for

        settings, model = self._settings, self._components.model
        zone = clock.check_zone(time_zone) or settings.zone
        session, is_group = self._session(session_id, zone), check_kind(kind) == "group"
        scope = group_scope(session, user) if is_group else self._scope(user, "user")
        options = check_options(
            instructions=instructions,
            token_limit=settings.token_limit if token_limit is None else token_limit,
            reply_tokens=reply_tokens,
            tools=tools,
            own_tools=own_tools,
            profile_tokens=settings.profile_tokens,
            max_rounds=max_rounds,
            extract=extract,
        )
        has_notes = settings.has_notes and (is_group or scope == settings.scope)
        counter = counter_for(model.name if model is not None else None)
        toolbox = partial(self._toolbox, scope, kind, MAX_TOOL_ANSWER, zone=zone)
        tools_shown = allowed_tools(toolbox(None), options).openai()
        shares = share_out(options, tools_shown, counter, with_notes=has_notes)
        deps = AgentDeps(
            scope=scope,
            session_id=session,
            kind=kind,
            chat=self.chat(session, scope=scope, token_limit=shares.conversation),
            notes=self.notes if has_notes else None,
            longterm=self.longterm,
            stores=self._longterm_deps,
            recall=self.recall,
            feedback=self.runtime.feedback,
            noted=self._note_recalled,
            toolbox=toolbox,
            model=model,
            counter=counter,
            run=self._run,
            write=self._write,
            run_model=self._calls.run_model,
            written=self._written,
            queued=self._queued,
            used=self._agent_sessions().used,
            zone=zone,
            retries=settings.llm_retries,
            simple=settings.enable_simple_memory,
        )
        return Agent(deps, options, shares, self._agent_sessions())

    # --- closing --------------------------------------------------------------------------------------------------

    async def close(self) -> None:
        """Release files and threads. Acknowledged writes are on disk; indexes catch up at the next opening."""
        if self._calls.closed or self._calls.is_inherited:
            return
        await self._calls.finish_deferred()
        if self._agent_sessions.made and self._components.model is None:
            # With a model this could take long: the next maintain, or the worker of another process, does it then.
            await self._calls.run(self._flush_sessions, self._agent_sessions().idle(0))
        self._calls.closed = True
        await on_a_thread(self._close, or_here=True)

    def _close(self) -> None:
        components = self._components
        if components.worker is not None:
            components.worker.stop()
        if components.indexer is not None:
            components.indexer.stop()
        self._calls.close()
        for signal in tuple(self._signals):
            signal.close()
        if self._make_notes.made:
            self._make_notes().close()
        components.engine.close()
        for index in components.indexes:
            index.close()
        for each in components.connected:
            close = getattr(each, "close", None)
            if callable(close):
                close()
        self._store.close()
        if components.temporary is not None:
            components.temporary.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        state = "closed" if self._calls.closed else "open"
        return f"<AgentMemory {self._settings.place} scope={self._settings.scope!r} {state}>"

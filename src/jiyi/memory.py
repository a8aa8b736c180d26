"""AgentMemory: the front hall. The only place where rooms meet."""

from __future__ import annotations

import asyncio
import functools
import os
import threading
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextvars import copy_context
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, Self, TypeVar

from jiyi.errors import InvalidInputError, MemoryClosedError, SimpleModeError
from jiyi.execution import Lazy, Pace, Workers
from jiyi.model import clock
from jiyi.model.address import EMBEDDED
from jiyi.model.category import MemoryCategory, check_word
from jiyi.model.entry import DEFAULT_IMPORTANCE, DEFAULT_MEMORY_TYPE, MESSAGE_TYPE, EntryVersion, MemoryEntry
from jiyi.model.filters import Filters, make_filters
from jiyi.model.identity import new_id
from jiyi.model.limits import check_importance, check_whole
from jiyi.model.message import Message, MessageLike, check_messages
from jiyi.model.scope import check_scope, visible_scopes
from jiyi.model.scoring import DECAY_RATE, final_weights
from jiyi.ports import ChatModel, ChatStore, DerivedIndex, Draft, ImportCounts, JobStore, Progress, RecordStore
from jiyi.recall.request import Request

if TYPE_CHECKING:
    from types import TracebackType

    from jiyi.chat import Chat, ChatDeps
    from jiyi.chat.overrides import SummarizeFunction
    from jiyi.config import Settings
    from jiyi.indexing import BackgroundIndexer, Drainer, IndexReport
    from jiyi.jobs import JobWorker
    from jiyi.longterm.api import Longterm
    from jiyi.longterm.dependencies import LongtermDeps
    from jiyi.model.chat import Candidate, Erased
    from jiyi.model.job import Job
    from jiyi.model.migration import MigrationReport
    from jiyi.notes import Notes
    from jiyi.notes.service import NotesService
    from jiyi.runtime import MemoryRuntime
    from jiyi.runtime.dependencies import Run
    from jiyi.text import Vocabulary

P = ParamSpec("P")
R = TypeVar("R")

_BULK = 2_000
_STORE_ARGUMENTS = (
    "key",
    "content",
    "category",
    "scope",
    "tags",
    "importance",
    "memory_type",
    "domain",
    "conversation_id",
    "occurred_at",
    "position",
)


class Recaller(Protocol):
    """Answers questions: the whole recall, or tags alone."""

    def answer(self, request: Request) -> list[MemoryEntry]:
        """The best entries for the question, best first."""
        ...

    def close(self) -> None:
        """Let go of threads."""
        ...


@dataclass(frozen=True, slots=True)
class Components:
    """What `wiring` puts together for a memory."""

    settings: Settings
    store: RecordStore
    indexes: tuple[DerivedIndex, ...]
    drainer: Drainer
    indexer: BackgroundIndexer | None
    engine: Recaller
    vocabulary: Vocabulary
    make_runtime: Callable[[Run, Callable[[], None]], MemoryRuntime]
    make_chats: Lazy[ChatStore]
    make_longterm: Lazy[LongtermDeps]
    model: ChatModel | None
    """The chat model; `None` means rules."""
    worker: JobWorker | None = None
    connected: tuple[object, ...] = ()
    """Models and embedders that the wiring made: those with a `close` are closed with the memory."""

    @property
    def chats(self) -> ChatStore:
        """What was said in conversations."""
        return self.make_chats()

    @property
    def longterm(self) -> LongtermDeps:
        """What the long-term room is made of."""
        return self.make_longterm()


class AgentMemory:
    """A memory in one data directory. One instance may be shared by any number of tasks and threads.

    Get one with `await create_memory(path)` or `async with AgentMemory.open(path) as memory`. Methods take `scope`;
    `None` means the scope the memory was opened with. A scope reads itself and `public`, and writes only to itself.
    """

    def __init__(self, components: Components) -> None:
        self._parts = components
        self._settings = components.settings
        self._limits = components.settings.limits
        self._store = components.store
        self._threads = Workers(8, name="jiyi")
        # Who waits for a model must not keep those waiting who only read or write.
        self._patient_threads = Workers(8, name="jiyi-model")
        # A database that is asked over a network may take its time with any answer.
        self._record_pace = Pace(self._settings.loop_seconds if self._settings.storage == EMBEDDED else 0.0)
        self._note_pace = Pace(self._settings.loop_seconds)
        self._chat_parts: ChatDeps | None = None
        self._chat_guard = threading.Lock()
        self._opened_notes: NotesService | None = None
        self._opening_notes = threading.Lock()
        self._longterm: Longterm | None = None
        self._making = threading.Lock()
        self._afterwards: set[asyncio.Task[object]] = set()
        self._closed = False
        self._runtime: MemoryRuntime | None = None
        if components.worker is not None:
            self._lt.runner.learn = self._make_longterm
            components.worker.start()

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str] | None = None,
        *,
        config: str | os.PathLike[str] | None = None,
        **settings: Any,
    ) -> Opening:
        """Open (and create) a data directory: `async with AgentMemory.open("./data") as memory`, or `await` it."""
        return Opening(cls, path, config, settings)

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self._settings

    @property
    def runtime(self) -> MemoryRuntime:
        """The runtime room: `remember`, `recall`, `feedback`, `consolidate_memories`. The settings say which one."""
        if self._runtime is None:
            self._runtime = self._parts.make_runtime(self._run, self._written)
        return self._runtime

    # --- keyed memory ---------------------------------------------------------------------------------------------

    async def store(
        self,
        key: str,
        content: str,
        category: str = MemoryCategory.CORE,
        *,
        scope: str | None = None,
        tags: Iterable[str] = (),
        importance: float | None = None,
        memory_type: str | None = None,
        domain: str | None = None,
        conversation_id: str | None = None,
        occurred_at: datetime | None = None,
        position: int | None = None,
    ) -> MemoryEntry:
        """Remember `content` under `key`; on disk when this returns.

        A key that exists in the scope gets a new version: `created_at` stays, `updated_at` moves, what was left `None`
        is kept, and the version before stays in `history`.
        """
        draft = self._draft(
            key=key,
            content=content,
            category=category,
            scope=scope,
            tags=tags,
            importance=importance,
            memory_type=memory_type,
            domain=domain,
            conversation_id=conversation_id,
            occurred_at=occurred_at,
            position=position,
        )
        stored = await self._run_short(self._put, [draft])
        return stored[0]

    async def store_many(
        self, entries: Iterable[Mapping[str, Any]], progress: Progress | None = None
    ) -> list[MemoryEntry]:
        """Remember many at once: mappings with the argument names of `store`.

        All are checked before the first is written. They are written in transactions of 2,000; `progress(done, total)`
        is called when each is on disk.
        """
        drafts = await self._run(self._drafts, entries)
        stored: list[MemoryEntry] = []
        for start in range(0, len(drafts), _BULK):
            stored += await self._run(self._put, drafts[start : start + _BULK])
            if progress is not None:
                progress(len(stored), len(drafts))
        return stored

    async def recall(
        self,
        query: str,
        limit: int = 10,
        *,
        scope: str | None = None,
        mode: str = "hybrid",
        category: str | Iterable[str] | None = None,
        memory_types: str | Iterable[str] | None = None,
        domains: str | Iterable[str] | None = None,
        tags: Iterable[str] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        weights: tuple[float, float, float] | None = None,
        decay_rate: float = DECAY_RATE,
        context: int = 0,
        now: datetime | None = None,
        highlights: bool = False,
    ) -> list[MemoryEntry]:
        """The entries that answer the query best, best first, each with `relevance_score` and its parts.

        Sees every write that was acknowledged before it, from any process. Any text is a legal query. Dates in it
        (昨天, last Tuesday, 去年春节) are read against `now` in the user's time zone and prefer what happened then;
        `since` and `until` are hard limits. With `weights` (α, β, γ) the order is α·relevance + β·decay + γ·importance.
        With `context` each hit brings that many entries before and after it in its conversation; with `highlights` its
        explanation says where in the content the matched words stand.
        """
        text = self._limits.check_query(query)
        count = self._limits.check_limit(limit)
        filters = make_filters(
            visible_scopes(self._scope(scope)),
            category=category,
            memory_types=memory_types,
            domains=domains,
            tags=self._limits.check_tags(tags),
            since=since,
            until=until,
        )
        request = Request(
            query=text,
            filters=filters,
            limit=count,
            mode=mode,
            weights=None if weights is None else final_weights(weights, decay_rate),
            context=check_whole(context, "context", 0, 50),
            now=None if now is None else clock.require_aware(now, "now"),
            highlights=bool(highlights),
        )
        with_notes = self._settings.workspace is not None and self._settings.recall_notes
        # Notes are off in simple mode; the coverage of each hit says so.
        with_notes = with_notes and not self._settings.enable_simple_memory
        if with_notes and filters.scopes == visible_scopes(self._settings.scope):
            return await self._run(self._notes_room().searcher.recall_with_notes, request)
        return await self._run(self._parts.engine.answer, request)

    async def get(self, key: str, *, scope: str | None = None) -> MemoryEntry | None:
        """The entry with this key in the scope, or else in `public`; `None` when there is none."""
        checked = self._limits.check_key(key)
        return await self._run(self._store.get, visible_scopes(self._scope(scope)), checked)

    async def forget(self, key: str, *, scope: str | None = None, erase: bool = False) -> bool:
        """Remove the entry with this key from recall; `False` when there is none.

        Its versions stay readable in `history`; with `erase` their texts are deleted as well, for good.
        """
        checked = self._limits.check_key(key)
        own = self._scope(scope)
        gone = await self._run(self._store.forget, own, checked, actor=self._settings.actor, erase=erase)
        self._written()
        return gone

    async def count(
        self,
        *,
        scope: str | None = None,
        category: str | Iterable[str] | None = None,
        memory_types: str | Iterable[str] | None = None,
    ) -> int:
        """How many entries the scope sees: its own and the public ones. Messages count only if asked for."""
        return await self._run(self._store.count, self._visible(scope, category, memory_types))

    async def list(
        self,
        *,
        scope: str | None = None,
        category: str | Iterable[str] | None = None,
        memory_types: str | Iterable[str] | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> list[MemoryEntry]:
        """The entries the scope sees, newest first. Messages of conversations are listed only if asked for."""
        most = self._limits.check_limit(limit)
        check_whole(offset, "offset", 0, 2**31 - 1)
        return await self._run(
            self._store.page, self._visible(scope, category, memory_types), limit=most, offset=offset
        )

    async def history(self, key: str, *, scope: str | None = None) -> Sequence[EntryVersion]:
        """Every version of the entries that had this key, oldest first: what changed, when, by whom."""
        checked = self._limits.check_key(key)
        for readable in visible_scopes(self._scope(scope)):
            found = await self._run(self._store.versions, readable, checked)
            if found:
                return found
        return []

    # --- conversation history -------------------------------------------------------------------------------------

    async def save_conversation_history(
        self, session_id: str | None, messages: Sequence[MessageLike], *, scope: str | None = None
    ) -> str:
        """Make `messages` the record of the session, in one transaction; returns the session id.

        `None` as id means today's date in the user's time zone.
        """
        session = self._session(session_id)
        checked = check_messages(messages)
        own = self._scope(scope)
        await self._run(
            self._store.save_history,
            own,
            session,
            checked,
            actor=self._settings.actor,
            recallable=self._settings.recall_messages,
        )
        self._written()
        return session

    async def load_conversation_history(
        self, session_id: str | None = None, *, scope: str | None = None
    ) -> Sequence[Message]:
        """The record of the session since its last reset, exactly as it was saved or put; empty when there is none."""
        return await self._run(self._store.load_history, self._scope(scope), self._session(session_id))

    async def list_sessions(self, *, scope: str | None = None) -> Sequence[str]:
        """Ids of the scope's sessions, the one last written to first."""
        return await self._run(self._store.sessions, self._scope(scope))

    async def forget_session(self, session_id: str, *, scope: str | None = None) -> Erased:
        """Delete a conversation for good: messages, what recall had of them, summaries, candidates; returns a receipt.

        What was taken over from it into other memories on purpose stays.
        """
        session = self._limits.check_session_id(session_id)
        own = self._scope(scope)
        receipt = await self._run(self._parts.chats.forget_session, own, session, actor=self._settings.actor)
        self._written()
        return receipt

    # --- the chat room --------------------------------------------------------------------------------------------

    def chat(
        self,
        session_id: str | None = None,
        *,
        token_limit: int | None = None,
        scope: str | None = None,
        soft_threshold: float | None = None,
        reserve: int | None = None,
        summarize_prompt: str | None = None,
        summarizer: SummarizeFunction | None = None,
        count_tokens: Callable[[str], int] | None = None,
    ) -> Chat:
        """The running conversation of a session, inside a token limit: `put`, `get`, `get_all`, `reset`, `compact`.

        `None` as id means today's date in the user's time zone; what else is `None` comes from the settings. A session
        that exists goes on where it stood. Its messages are those of `load_conversation_history`. A `summarizer` of
        your own is called with the summary before, the messages that leave the window and the most tokens, and returns
        the next summary; `count_tokens` counts the tokens of a text as your model does.
        """
        from jiyi.chat import Chat, ChatService, make_budget
        from jiyi.chat.overrides import own_parts

        settings = self._settings
        limit = settings.token_limit if token_limit is None else token_limit
        kept_free = reserve
        if kept_free is None and settings.reserve_tokens is not None:
            # A setting made for another limit must not forbid a smaller one.
            kept_free = min(settings.reserve_tokens, limit // 2) if isinstance(limit, int) else None
        budget = make_budget(limit, settings.soft_threshold if soft_threshold is None else soft_threshold, kept_free)
        prompt = settings.summarize_prompt if summarize_prompt is None else self._limits.check_content(summarize_prompt)
        parts = self._rooms()
        if summarizer is not None or count_tokens is not None:
            parts = own_parts(parts, summarizer, count_tokens)
        room = ChatService(parts, self._scope(scope), self._session(session_id), budget, prompt)
        return Chat(room, self._run, self._run_short, self._run_slowly, self._written, self._parts.model)

    async def candidates(
        self,
        *,
        scope: str | None = None,
        session_id: str | None = None,
        state: str | None = "new",
        limit: int = 100,
    ) -> Sequence[Candidate]:
        """What compactions of the scope's chats propose to keep, oldest first; `None` as state means all."""
        from jiyi.chat import check_state

        session = None if session_id is None else self._limits.check_session_id(session_id)
        return await self._run(
            self._parts.chats.candidates,
            self._scope(scope),
            session_id=session,
            state=check_state(state),
            limit=self._limits.check_limit(limit),
        )

    async def take_candidate(self, candidate_id: str, *, by: str | None = None, scope: str | None = None) -> bool:
        """Claim a new candidate; `False` when it is not there or was settled before. Of several only one gets it."""
        return await self._settle(candidate_id, "taken", by, scope)

    async def reject_candidate(self, candidate_id: str, *, by: str | None = None, scope: str | None = None) -> bool:
        """Put a new candidate aside for good; `False` when it is not there or was settled before."""
        return await self._settle(candidate_id, "rejected", by, scope)

    async def _settle(self, candidate_id: str, state: str, by: str | None, scope: str | None) -> bool:
        checked = self._limits.check_session_id(candidate_id, "candidate_id")
        who = self._settings.actor if by is None else self._limits.check_session_id(by, "by")
        return await self._run(self._parts.chats.settle_candidate, self._scope(scope), checked, state=state, by=who)

    def _rooms(self) -> ChatDeps:
        """What all chats of this memory share; made for the first one."""
        with self._chat_guard:
            if self._chat_parts is None:
                from jiyi.chat.dependencies import chat_deps

                self._chat_parts = chat_deps(
                    self._parts.chats,
                    self._parts.model,
                    actor=self._settings.actor,
                    recallable=self._settings.recall_messages,
                )
            return self._chat_parts

    # --- rooms ----------------------------------------------------------------------------------------------------

    @property
    def notes(self) -> Notes:
        """The notes of the workspace: Markdown files that people read and edit."""
        from jiyi.notes import Notes

        off = self._settings.enable_simple_memory
        short = functools.partial(self._run_briefly, self._note_pace)
        return Notes(self._run, short, self._run_slowly, self._notes_room, off=off)

    def _notes_room(self) -> NotesService:
        return self._opened_notes or self._open_notes()

    def _open_notes(self) -> NotesService:
        from jiyi.wiring import notes_room

        if self._settings.enable_simple_memory:
            raise SimpleModeError.notes()
        with self._opening_notes:
            if self._opened_notes is None:
                self._opened_notes = notes_room(self._parts, self._parts.engine.answer, self._written)
            return self._opened_notes

    # --- the long-term room and background work -------------------------------------------------------------------

    @property
    def longterm(self) -> Longterm:
        """The long-term room: what is worth keeping of conversations, recalled, reflected on, forgotten in time."""
        return self._longterm or self._make_longterm()

    async def jobs(
        self, *, scope: str | None = None, states: str | Iterable[str] = "dead", limit: int = 100
    ) -> Sequence[Job]:
        """The scope's background work in these states (`queued`, `running`, `done`, `dead`), newest first."""
        from jiyi.model.job import JOB_STATES

        wanted = (states,) if isinstance(states, str) or not isinstance(states, Iterable) else tuple(states)
        if not wanted or not all(state in JOB_STATES for state in wanted):
            raise InvalidInputError(f"states {ascii(states)[:80]} must be some of {', '.join(JOB_STATES)}")
        most = self._limits.check_limit(limit)
        return await self._run(self._jobs.list, states=wanted, scopes=(self._scope(scope),), limit=most)

    async def retry_job(self, job_id: str, *, scope: str | None = None) -> bool:
        """Queue a dead job of the scope again; `False` when there is no such one."""
        checked = self._limits.check_session_id(job_id, "job_id")
        revived = await self._run(self._jobs.requeue, checked, (self._scope(scope),), now=self._lt.now())
        self._queued()
        return revived

    async def run_jobs(self, limit: int = 1_000) -> int:
        """Do background work that is due now, of every scope, at most so many jobs; returns how many were begun."""
        return await self._run(self._lt.runner.run_due, self._limits.check_limit(limit))

    async def maintain(self, *, scope: str | None = None, dry_run: bool = False) -> dict[str, Any]:
        """The regular upkeep, for cron: background work that is due, forgetting, unused tags, the dead-letter list.

        `None` as scope means every scope. A dry run changes nothing and says how much would be forgotten.
        """
        from jiyi.longterm.maintenance import maintain

        scopes = None if scope is None else (check_scope(scope),)
        report = await self._run(maintain, self._lt, scopes, dry_run=bool(dry_run))
        self._written()
        return report

    @property
    def _lt(self) -> LongtermDeps:
        parts = self._parts.longterm
        # Jobs that were left over are known when they come up, whoever runs them.
        parts.runner.learn = self._make_longterm
        return parts

    @property
    def _jobs(self) -> JobStore:
        return self._lt.jobs

    def _make_longterm(self) -> Longterm:
        """Made when it is first needed: by a caller, or by background work that was left over."""
        from jiyi.longterm.api import Longterm

        with self._making:
            if self._longterm is None:
                self._longterm = Longterm(
                    self._lt,
                    self._run,
                    later=self._later,
                    written=self._written,
                    queued=self._queued,
                    zone=self._settings.zone,
                )
            return self._longterm

    def _queued(self) -> None:
        if self._parts.worker is not None:
            self._parts.worker.notify()

    # --- words ---------------------------------------------------------------------------------------------------

    async def add_word(self, word: str) -> bool:
        """Teach the segmenter a word, for the whole store; whether it is new. The text index is rebuilt with it."""
        checked = self._limits.check_user_word(word)
        added = await self._run(self._add_word, checked)
        self._written()
        return added

    def _add_word(self, word: str) -> bool:
        from jiyi.text import Analyzer

        # Refuses what cannot be indexed, before anything is written.
        Analyzer([word])
        added = self._store.add_user_word(word)
        self._parts.vocabulary.refresh()
        return added

    # --- upkeep ---------------------------------------------------------------------------------------------------

    async def drain(self, *, progress: Progress | None = None) -> int:
        """Bring every index up to date now; returns how many changes were taken in."""
        drain = self._parts.drainer.drain
        if progress is None:
            # Words and meaning are computed by different libraries: side by side they take two processors.
            return sum(await asyncio.gather(*(self._run(drain, index) for index in self._parts.indexes)))
        return sum([await self._run(drain, index, progress=progress) for index in self._parts.indexes])

    async def verify(self, *, progress: Progress | None = None) -> Sequence[IndexReport]:
        """Compare ids and hashes of records and indexes; changes nothing."""
        from jiyi.indexing import verify

        return [
            await self._run(verify, self._store, self._parts.drainer, index, progress=progress)
            for index in self._parts.indexes
        ]

    async def repair(self, *, progress: Progress | None = None) -> Sequence[IndexReport]:
        """Bring indexes up to date and rebuild those that disagree with the records."""
        from jiyi.indexing import repair

        return await self._run(repair, self._store, self._parts.drainer, self._parts.indexes, progress=progress)

    async def rebuild(self, *, progress: Progress | None = None) -> None:
        """Build every index anew from the records, beside the old one, and swap."""
        for index in self._parts.indexes:
            await self._run(index.rebuild, self._store, progress=progress)

    async def doctor(self) -> dict[str, Any]:
        """Versions, sizes, index lag and what to do about what is wrong."""
        from jiyi.indexing.doctor import examine

        parts = self._parts
        facts = await self._run(
            examine,
            self._store,
            parts.drainer,
            parts.indexes,
            parts.indexer,
            parts.chats,
            jobs=self._jobs,
            worker=parts.worker,
            usage=self._lt.models.usage(),
        )
        facts["note_problems"] = []
        if self._settings.enable_simple_memory:
            facts["notes"].append("simple mode (enable_simple_memory) has no indexes: recall is by tags alone")
            if self._settings.workspace is not None:
                facts["notes"].append("the workspace of notes is not read: notes are off in simple mode")
        elif self._settings.workspace is not None:
            problems = await self._run(self._notes_room().problems)
            facts["note_problems"] = [problem.to_dict() for problem in problems]
            if problems:
                facts["healthy"] = False
                first = f"{problems[0].path}: {problems[0].reason}"
                facts["advice"].append(f"{len(problems)} note(s) cannot be searched: see note_problems, e.g. {first}")
        return {**facts, "runtime": self.runtime.name}

    async def export_jsonl(
        self, path: str | os.PathLike[str], *, scope: str | None = None, progress: Progress | None = None
    ) -> int:
        """Write everything (or one scope) to a JSON Lines file; returns how many lines. Nothing is left out."""
        from jiyi.transfer import export_file

        own = check_scope(scope) if scope is not None else None
        return await self._run(export_file, self._store, path, own, progress)

    async def import_jsonl(self, path: str | os.PathLike[str], *, progress: Progress | None = None) -> ImportCounts:
        """Take in a file written by `export_jsonl`, all or nothing. What is there already is left alone."""
        from jiyi.transfer import import_file

        counts = await self._run(import_file, self._store, path, self._settings.actor, progress)
        if counts.words:
            await self._run(self._parts.vocabulary.refresh)
        self._written()
        return counts

    # --- opening and closing --------------------------------------------------------------------------------------

    async def close(self) -> None:
        """Let go of files and threads. Everything acknowledged is on disk; indexes catch up at the next opening."""
        if self._closed:
            return
        await self._settled()
        self._closed = True
        await asyncio.get_running_loop().run_in_executor(None, self._close)

    def _close(self) -> None:
        if self._parts.worker is not None:
            self._parts.worker.stop()
        if self._parts.indexer is not None:
            self._parts.indexer.stop()
        self._threads.close()
        self._patient_threads.close()
        if self._opened_notes is not None:
            self._opened_notes.close()
        self._parts.engine.close()
        for index in self._parts.indexes:
            index.close()
        for each in self._parts.connected:
            close = getattr(each, "close", None)
            if callable(close):
                close()
        self._store.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        state = "closed" if self._closed else "open"
        return f"<AgentMemory {self._settings.place} scope={self._settings.scope!r} {state}>"

    # --- inside ---------------------------------------------------------------------------------------------------

    async def _run(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        self._must_be_open()
        if self._afterwards:
            await self._settled()
        call = functools.partial(copy_context().run, function, *args, **kwargs)
        return await self._threads.run(call)

    def _must_be_open(self) -> None:
        if self._closed:
            raise MemoryClosedError("this memory is closed; open it again with create_memory or AgentMemory.open")

    async def _run_short(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """The same for one small write: on the event loop itself while such writes are quick."""
        return await self._run_briefly(self._record_pace, function, *args, **kwargs)

    async def _run_briefly(self, pace: Pace, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        self._must_be_open()
        if self._afterwards:
            await self._settled()
        return await self._threads.run_short(pace, functools.partial(copy_context().run, function, *args, **kwargs))

    async def _run_slowly(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """The same for what may ask a model."""
        self._must_be_open()
        call = functools.partial(copy_context().run, function, *args, **kwargs)
        return await self._patient_threads.run(call)

    def _later(self, function: Callable[..., object], *args: Any) -> None:
        """Do something after the answer is given; whatever this memory is asked next comes after it."""
        if self._closed:
            return
        task = asyncio.get_running_loop().create_task(self._threads.run(functools.partial(function, *args)))
        self._afterwards.add(task)
        task.add_done_callback(self._afterwards.discard)

    async def _settled(self) -> None:
        own = [task for task in self._afterwards if task.get_loop() is asyncio.get_running_loop()]
        if own:
            await asyncio.wait(own)

    def _put(self, drafts: Sequence[Draft]) -> Sequence[MemoryEntry]:
        stored = self._store.put(drafts, actor=self._settings.actor)
        self._written()
        return stored

    def _written(self) -> None:
        if self._parts.indexer is not None:
            self._parts.indexer.notify()

    def _scope(self, scope: str | None) -> str:
        return self._settings.scope if scope is None else check_scope(scope)

    def _session(self, session_id: str | None) -> str:
        if session_id is None:
            return datetime.now(self._settings.zone).date().isoformat()
        return self._limits.check_session_id(session_id)

    def _visible(
        self,
        scope: str | None,
        category: str | Iterable[str] | None,
        memory_types: str | Iterable[str] | None,
    ) -> Filters:
        unasked = (MESSAGE_TYPE,) if memory_types is None else ()
        return make_filters(
            visible_scopes(self._scope(scope)),
            category=category,
            memory_types=memory_types,
            without_types=unasked,
        )

    def _drafts(self, entries: Iterable[Mapping[str, Any]]) -> Sequence[Draft]:
        if isinstance(entries, str | bytes | Mapping) or not isinstance(entries, Iterable):
            raise InvalidInputError(f"entries must be a list of mappings, not {type(entries).__name__}")
        drafts = []
        for index, entry in enumerate(entries):
            if not isinstance(entry, Mapping):
                raise InvalidInputError(
                    f"entries[{index}] is a {type(entry).__name__}; pass a mapping with key and content"
                )
            unknown = [str(name) for name in entry if name not in _STORE_ARGUMENTS]
            missing = [name for name in ("key", "content") if name not in entry]
            if unknown or missing:
                what = f"unknown {', '.join(unknown)}" if unknown else f"without {', '.join(missing)}"
                raise InvalidInputError(f"entries[{index}] is {what}; known names are {', '.join(_STORE_ARGUMENTS)}")
            try:
                drafts.append(self._draft(**entry))
            except InvalidInputError as error:
                raise type(error)(f"entries[{index}]: {error}") from None
        return drafts

    def _draft(
        self,
        key: object,
        content: object,
        category: object = MemoryCategory.CORE,
        scope: str | None = None,
        tags: object = (),
        importance: object = None,
        memory_type: object = None,
        domain: object = None,
        conversation_id: object = None,
        occurred_at: object = None,
        position: object = None,
    ) -> Draft:
        if not isinstance(category, str):
            raise InvalidInputError(f"category must be a word, not {type(category).__name__}: {category!r}")
        now = clock.utc_now()
        limits = self._limits
        entry = MemoryEntry(
            id=new_id(),
            scope=self._scope(scope),
            key=limits.check_key(key),
            content=limits.check_content(content),
            category=MemoryCategory(category),
            memory_type=DEFAULT_MEMORY_TYPE if memory_type is None else check_word(memory_type, "memory_type"),
            domain=None if domain is None else check_word(domain, "domain"),
            importance_score=DEFAULT_IMPORTANCE if importance is None else check_importance(importance),
            tags=limits.check_tags(tags),
            conversation_id=None
            if conversation_id is None
            else limits.check_session_id(conversation_id, "conversation_id"),
            position=None if position is None else check_whole(position, "position", 0, 2**31 - 1),
            occurred_at=None if occurred_at is None else clock.require_aware(occurred_at, "occurred_at"),
            created_at=now,
            updated_at=now,
            last_accessed_at=now,
        )
        unsaid = {
            "importance_score": importance,
            "memory_type": memory_type,
            "domain": domain,
            "conversation_id": conversation_id,
            "occurred_at": occurred_at,
            "position": position,
        }
        return Draft(entry, frozenset(name for name, value in unsaid.items() if value is None))


class Opening:
    """A memory about to be opened: await it, or use it with `async with`."""

    def __init__(
        self,
        kind: type[AgentMemory],
        path: str | os.PathLike[str] | None,
        config: str | os.PathLike[str] | None,
        settings: dict[str, Any],
    ) -> None:
        self._kind = kind
        self._path = path
        self._config = config
        self._settings = settings
        self._memory: AgentMemory | None = None

    def __await__(self) -> Generator[Any, None, AgentMemory]:
        return self._open().__await__()

    async def __aenter__(self) -> AgentMemory:
        self._memory = await self._open()
        return self._memory

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._memory is not None:
            await self._memory.close()

    async def _open(self) -> AgentMemory:
        # The one way up: wiring knows the engines, and opening a memory has to reach it.
        from jiyi.wiring import build

        call = functools.partial(build, self._path, config=self._config, **self._settings)
        return self._kind(await asyncio.get_running_loop().run_in_executor(None, call))


async def create_memory(
    path: str | os.PathLike[str] | None = None,
    *,
    config: str | os.PathLike[str] | None = None,
    **settings: Any,
) -> AgentMemory:
    """Open the memory in `path` (JIYI_HOME or ~/.jiyi/data when not given). Any setting may be given as a keyword."""
    return await AgentMemory.open(path, config=config, **settings)


async def migrate_store(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    config: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> MigrationReport:
    """Copy a whole memory to another place, without loss; each is a data directory or a `postgresql://` address.

    The target must be empty, or begun by an earlier run: a migration that broke off goes on where it stopped. Until
    both are equal, row by row, nobody can open the target. Writes to the source meanwhile are noticed; the migration
    is then not completed. The indexes of the target are built by its first recall, or by `repair`.
    """
    from jiyi.wiring.migrate import migrate_store

    call = functools.partial(migrate_store, source, target, config=config, progress=progress, **settings)
    return await asyncio.get_running_loop().run_in_executor(None, call)

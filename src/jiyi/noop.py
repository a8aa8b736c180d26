"""NoopMemory: takes every call of a memory, keeps nothing, finds nothing. For tests, and to switch memory off.

Every method has the signature of its interface. Those that have nothing to say about their arguments are one line.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, Self, TypeVar, overload

from jiyi.chat import ChatStatus, ChatWindow, Compaction
from jiyi.errors import InvalidInputError
from jiyi.interfaces import ChatInterface, LongtermInterface, Memory, NotesInterface
from jiyi.model import clock
from jiyi.model.category import MemoryCategory
from jiyi.model.change import MemoryChange
from jiyi.model.chat import FIRST_EPOCH, Epoch, Erased
from jiyi.model.domain import GENERAL_CHAT
from jiyi.model.entry import DEFAULT_IMPORTANCE, MemoryEntry
from jiyi.model.forgetting_curve import DEFAULT_THRESHOLD
from jiyi.model.identity import new_id
from jiyi.model.listing import Forgotten, Page
from jiyi.model.message import Message, MessageLike
from jiyi.model.note import AppendedNote, NotesContext, NoteText, ScanReport
from jiyi.model.scope_report import ScopeReceipt
from jiyi.ports import ImportCounts
from jiyi.runtime.api import MemoryRuntime
from jiyi.runtime.values import ConsolidationReport, FeedbackResult, MergeLike, NewMemory
from jiyi.tools import Toolbox

if TYPE_CHECKING:
    from jiyi.longterm.forgetting import ForgettingPlan
    from jiyi.longterm.retrieval import Recollections
    from jiyi.notes.candidates import CandidateReport
    from jiyi.notes.promotion import Accepted
    from jiyi.notes.proposals import Proposal
    from jiyi.notes.workspace_import import Imported

P = ParamSpec("P")
R = TypeVar("R")


def _returns(
    method: Callable[P, Coroutine[Any, Any, R]], value: Callable[[], R]
) -> Callable[P, Coroutine[Any, Any, R]]:
    """A method with the signature of another that ignores its arguments."""

    @functools.wraps(method)
    async def call(*_: P.args, **__: P.kwargs) -> R:
        return value()

    return call


def _raises(method: Callable[P, Coroutine[Any, Any, R]], message: str) -> Callable[P, Coroutine[Any, Any, R]]:
    """A method with the signature of another that finds nothing to work on."""

    @functools.wraps(method)
    async def call(*_: P.args, **__: P.kwargs) -> R:
        raise InvalidInputError(message)

    return call


def _returns_entry(
    method: Callable[P, Coroutine[Any, Any, MemoryEntry]],
) -> Callable[P, Coroutine[Any, Any, MemoryEntry]]:
    """A method with the signature of another that returns the entry which would have been stored."""
    parameters = inspect.signature(method)

    @functools.wraps(method)
    async def call(*args: P.args, **kwargs: P.kwargs) -> MemoryEntry:
        given = {name: value for name, value in parameters.bind(*args, **kwargs).arguments.items() if value is not None}
        now = clock.utc_now()
        return MemoryEntry(
            id=new_id(),
            scope=given.get("scope", "main"),
            key=given.get("key"),
            content=given["content"],
            category=MemoryCategory(given.get("category", MemoryCategory.CORE)),
            importance_score=given.get("importance", DEFAULT_IMPORTANCE),
            tags=tuple(dict.fromkeys(given.get("tags", ()))),
            metadata=dict(given.get("metadata", {})),
            namespace=tuple(given.get("namespace", ())),
            created_at=now,
            updated_at=now,
            last_accessed_at=now,
            **{name: given[name] for name in _UNCHANGED if name in given},
        )

    return call


_UNCHANGED = ("memory_type", "domain", "conversation_id", "occurred_at", "position", "expires_at")


def _none() -> None:
    return None


async def _no_changes() -> AsyncIterator[MemoryChange]:
    none: tuple[MemoryChange, ...] = ()
    for change in none:
        yield change


def _empty() -> list[Any]:
    """For classes whose own `list` hides the type."""
    return []


# --- values of the rooms, imported when they are needed -------------------------------------------------------------


def _recollections() -> Recollections:
    from jiyi.longterm.retrieval import Recollections

    return Recollections()


def _imported() -> Imported:
    from jiyi.notes.workspace_import import Imported

    return Imported()


def _no_candidates() -> CandidateReport:
    from jiyi.notes.candidates import CandidateReport

    return CandidateReport()


def _accepted() -> Accepted:
    from jiyi.notes.promotion import Accepted

    return Accepted()


def _proposal() -> Proposal:
    from jiyi.notes.proposals import Proposal

    return Proposal(id=new_id(), diff="", text="", base="")


# --- rooms ------------------------------------------------------------------------------------------------------------


class NoopChat:
    """A conversation that keeps nothing."""

    def __init__(self, session_id: str, token_limit: int) -> None:
        self.session_id = session_id
        self.scope = "main"
        self.token_limit = token_limit
        self.answers = False

    async def put_many(self, messages: Sequence[MessageLike]) -> list[str]:
        """Returns new ids; the messages are dropped."""
        return [new_id() for _ in messages]

    async def get(self, *, initial_tokens: int = 0, max_wait: float | None = None) -> ChatWindow:
        """An empty window."""
        return ChatWindow(token_limit=self.token_limit)

    async def delete_epoch(self, epoch: int) -> Erased:
        """A receipt for nothing."""
        return Erased(self.session_id, epoch)

    async def status(self) -> ChatStatus:
        """An empty conversation."""
        return ChatStatus(
            session_id=self.session_id,
            scope=self.scope,
            epoch=FIRST_EPOCH.epoch,
            tokens=0,
            token_limit=self.token_limit,
            messages=0,
            summary=None,
            flushed_to=-1,
            new_candidates=0,
            trouble=None,
            failures=0,
            next_attempt_at=None,
        )

    async def epochs(self) -> list[Epoch]:
        """The first epoch alone."""
        return [FIRST_EPOCH]

    put = _returns(ChatInterface.put, new_id)
    insert_message = _returns(ChatInterface.insert_message, _none)
    delete_message = _returns(ChatInterface.delete_message, _none)
    pop_message = _returns(ChatInterface.pop_message, _none)
    reply = _returns(ChatInterface.reply, lambda: Message("assistant", ""))
    get_all = _returns(ChatInterface.get_all, list)
    messages = _returns(ChatInterface.messages, list)
    reset = _returns(ChatInterface.reset, lambda: FIRST_EPOCH.epoch)
    compact = _returns(ChatInterface.compact, Compaction)
    overflowed = _returns(ChatInterface.overflowed, Compaction)
    summaries = _returns(ChatInterface.summaries, list)
    expand = _returns(ChatInterface.expand, list)
    candidates = _returns(ChatInterface.candidates, list)


class NoopNotes:
    """Notes without a workspace: nothing is written, nothing is read."""

    async def memory_append(
        self, text: str, *, kind: str = "main", by: str = "agent", source: str = "", at: datetime | None = None
    ) -> AppendedNote:
        """A receipt without a path."""
        return AppendedNote(new_id(), "", clock.utc_now() if at is None else at)

    async def memory_get(
        self, path: str, from_line: int = 1, to_line: int | None = None, *, kind: str = "main"
    ) -> NoteText:
        """No lines."""
        return NoteText(path, from_line, from_line, 0, "")

    async def build_context(self, kind: str = "main", *, now: datetime | None = None) -> NotesContext:
        """No files."""
        return NotesContext(kind, ())

    def tools(self) -> list[dict[str, Any]]:
        """No tools: they could only fail."""
        return []

    init_workspace = _returns(NotesInterface.init_workspace, lambda: {"created": [], "kept": []})
    import_workspace = _returns(NotesInterface.import_workspace, _imported)
    memory_search = _returns(NotesInterface.memory_search, list)
    call_tool = _returns(NotesInterface.call_tool, dict)
    take_candidates = _returns(NotesInterface.take_candidates, _no_candidates)
    promote = _returns(NotesInterface.promote, _accepted)
    curate = _returns(NotesInterface.curate, _proposal)
    reject = _returns(NotesInterface.reject, tuple)
    set_session_kind = _returns(NotesInterface.set_session_kind, lambda: None)
    accept = _returns(NotesInterface.accept, _accepted)
    scan = _returns(NotesInterface.scan, ScanReport)
    reindex = _returns(NotesInterface.reindex, ScanReport)
    list_files = _returns(NotesInterface.list_files, list)
    entries_of_day = _returns(NotesInterface.entries_of_day, lambda: ("", []))
    watch = _returns(NotesInterface.watch, _none)
    unwatch = _returns(NotesInterface.unwatch, _none)


class NoopLongterm:
    """The long-term room of a memory that keeps nothing."""

    @overload
    async def cleanup_forgotten_memories(
        self,
        user_id: str,
        base_retention: float = ...,
        strengthening_factor: float = ...,
        threshold: float = ...,
        exclude_memory_types: Sequence[str] = ...,
        dry_run: Literal[False] = ...,
    ) -> int: ...

    @overload
    async def cleanup_forgotten_memories(
        self,
        user_id: str,
        base_retention: float = ...,
        strengthening_factor: float = ...,
        threshold: float = ...,
        exclude_memory_types: Sequence[str] = ...,
        *,
        dry_run: Literal[True],
    ) -> ForgettingPlan: ...

    async def cleanup_forgotten_memories(
        self,
        user_id: str,
        base_retention: float = 0.9,
        strengthening_factor: float = 1.5,
        threshold: float = DEFAULT_THRESHOLD,
        exclude_memory_types: Sequence[str] = (),
        dry_run: bool = False,  # noqa: FBT001, FBT002 - the parameter of the interface
    ) -> int | ForgettingPlan:
        """Nothing to forget."""
        if not dry_run:
            return 0
        from jiyi.longterm.forgetting import ForgettingPlan

        return ForgettingPlan(0, 0, ())

    extract_and_store_memories_for_round = _returns(LongtermInterface.extract_and_store_memories_for_round, list)
    schedule_round = _returns(LongtermInterface.schedule_round, new_id)
    get_intent_domains = _returns(LongtermInterface.get_intent_domains, lambda: [GENERAL_CHAT])
    take_candidates = _returns(LongtermInterface.take_candidates, list)
    retrieve_relevant_memories = _returns(LongtermInterface.retrieve_relevant_memories, _recollections)
    get_memory_context_for_prompt = _returns(LongtermInterface.get_memory_context_for_prompt, str)
    compress_memories = _returns(LongtermInterface.compress_memories, str)
    restore = _returns(LongtermInterface.restore, list)
    pin = _returns(LongtermInterface.pin, bool)
    try_generate_reflection = _returns(LongtermInterface.try_generate_reflection, _none)
    explain = _returns(LongtermInterface.explain, _none)
    feedback = _returns(LongtermInterface.feedback, list)
    conflicts = _returns(LongtermInterface.conflicts, list)
    settle_conflict = _returns(LongtermInterface.settle_conflict, bool)
    superseded = _returns(LongtermInterface.superseded, list)


class NoopRuntime:
    """The runtime of a memory that keeps nothing."""

    @property
    def name(self) -> str:
        """The name of this class."""
        return type(self).__name__

    async def feedback(
        self,
        useful_memory_ids: Iterable[str] = (),
        recalled_memory_ids: Iterable[str] = (),
        new_memories: Iterable[NewMemory] = (),
        merge_groups: Iterable[MergeLike] = (),
        *,
        memory_scope: str | None = None,
        request_id: str | None = None,
    ) -> FeedbackResult:
        """Every id is unknown."""
        ids = dict.fromkeys((*useful_memory_ids, *recalled_memory_ids))
        return FeedbackResult(merged={}, unknown_ids=tuple(ids))

    async def consolidate_memories(
        self,
        *,
        memory_scope: str | None = None,
        dry_run: bool = False,
        now: datetime | None = None,
        rules: Any = None,
    ) -> ConsolidationReport:
        """A report of nothing."""
        return ConsolidationReport(dry_run=dry_run, examples={"merged": (), "faded": (), "archived": ()})

    remember = _returns(MemoryRuntime.remember, new_id)
    recall = _returns(MemoryRuntime.recall, list)
    comprehensive_recall = _returns(MemoryRuntime.comprehensive_recall, list)
    chained_recall = _returns(MemoryRuntime.chained_recall, list)
    update = _returns(MemoryRuntime.update, _none)
    get = _returns(MemoryRuntime.get, _none)
    history = _returns(MemoryRuntime.history, list)
    forget = _returns(MemoryRuntime.forget, bool)
    restore = _returns(MemoryRuntime.restore, _none)
    list_tags = _returns(MemoryRuntime.list_tags, list)
    collect_tags = _returns(MemoryRuntime.collect_tags, int)


# --- the memory ------------------------------------------------------------------------------------------------------


class NoopMemory:
    """Drops what is stored and finds nothing."""

    @property
    def runtime(self) -> NoopRuntime:
        """A runtime that keeps nothing."""
        return NoopRuntime()

    @property
    def notes(self) -> NoopNotes:
        """Notes without a workspace."""
        return NoopNotes()

    @property
    def longterm(self) -> NoopLongterm:
        """A long-term room that keeps nothing."""
        return NoopLongterm()

    def chat(
        self,
        session_id: str | None = None,
        *,
        token_limit: int | None = None,
        scope: str | None = None,
        soft_threshold: float | None = None,
        reserve: int | None = None,
        summarize_prompt: str | None = None,
        summarizer: Any = None,
        count_tokens: Callable[[str], int] | None = None,
    ) -> NoopChat:
        """A conversation that keeps nothing."""
        return NoopChat(session_id or "", token_limit or 64_000)

    def tools(self, *, scope: str | None = None, kind: str = "main") -> Toolbox:
        """No tools: a model is not told of a memory that keeps nothing."""
        return Toolbox()

    async def store_many(self, entries: Iterable[Mapping[str, Any]], progress: Any = None) -> list[MemoryEntry]:
        """Returns the entries that would have been stored."""
        return [await self.store(**entry) for entry in entries]

    async def save_conversation_history(
        self, session_id: str | None, messages: Sequence[MessageLike], *, scope: str | None = None
    ) -> str:
        """Returns the session id; the messages are dropped."""
        return session_id or ""

    async def forget_session(self, session_id: str, *, scope: str | None = None) -> Erased:
        """A receipt for nothing."""
        return Erased(session_id, None)

    async def forget_scope(self, scope: str, *, erase: bool = True) -> ScopeReceipt:
        """A receipt for nothing."""
        return ScopeReceipt(scope, erased=erase, at=clock.utc_now())

    def watch(
        self, *, after: int | None = None, scopes: str | Iterable[str] | None = None, interval: float = 0.5
    ) -> AsyncIterator[MemoryChange]:
        """No changes: it ends at once."""
        return _no_changes()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    store = _returns_entry(Memory.store)
    add = _returns_entry(Memory.add)
    update = _raises(Memory.update, "there is no such entry: this memory keeps nothing")
    changes = _returns(Memory.changes, _empty)
    scopes = _returns(Memory.scopes, _empty)
    entries_by_id = _returns(Memory.entries_by_id, _empty)
    recall = _returns(Memory.recall, list)
    get = _returns(Memory.get, _none)
    forget = _returns(Memory.forget, bool)
    count = _returns(Memory.count, int)
    list = _returns(Memory.list, Page)
    list_namespaces = _returns(Memory.list_namespaces, _empty)
    forget_many = _returns(Memory.forget_many, lambda: Forgotten(0, 0, erased=False, dry_run=False))
    history = _returns(Memory.history, _empty)
    load_conversation_history = _returns(Memory.load_conversation_history, _empty)
    list_sessions = _returns(Memory.list_sessions, _empty)
    candidates = _returns(Memory.candidates, _empty)
    take_candidate = _returns(Memory.take_candidate, bool)
    reject_candidate = _returns(Memory.reject_candidate, bool)
    jobs = _returns(Memory.jobs, _empty)
    retry_job = _returns(Memory.retry_job, bool)
    run_jobs = _returns(Memory.run_jobs, int)
    maintain = _returns(Memory.maintain, dict)
    add_word = _returns(Memory.add_word, bool)
    drain = _returns(Memory.drain, int)
    verify = _returns(Memory.verify, _empty)
    repair = _returns(Memory.repair, _empty)
    rebuild = _returns(Memory.rebuild, _none)
    doctor = _returns(Memory.doctor, lambda: {"healthy": True, "notes": ["this memory keeps nothing"]})
    export_jsonl = _returns(Memory.export_jsonl, int)
    import_jsonl = _returns(Memory.import_jsonl, ImportCounts)
    close = _returns(Memory.close, _none)

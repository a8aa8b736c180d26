"""The rooms of a memory that keeps nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from jiyi.chat import ChatStatus, ChatWindow, Compaction
from jiyi.chat.session_window import DEFAULT_MAX_WAIT
from jiyi.interfaces import ChatInterface, LongtermInterface, NotesInterface
from jiyi.model import clock
from jiyi.model.chat import FIRST_EPOCH, Epoch, Erased
from jiyi.model.domain import GENERAL_CHAT
from jiyi.model.identity import new_id
from jiyi.model.message import Message, MessageLike
from jiyi.model.note import AppendedNote, NotesContext, NoteText, ScanReport
from jiyi.runtime.api import MemoryRuntime
from jiyi.runtime.values import ConsolidationReport, FeedbackResult, RecalledMemories

if TYPE_CHECKING:
    from jiyi.longterm.forgetting import ForgettingPlan
    from jiyi.longterm.retrieval import RelevantMemories
    from jiyi.notes.candidates import CandidateReport
    from jiyi.notes.promotion import Accepted
    from jiyi.notes.proposals import Proposal
    from jiyi.notes.workspace_import import Imported

from jiyi.noop.methods import none, returns, signed_as

# --- values of the rooms, imported when they are needed -------------------------------------------------------------


def _relevant_memories() -> RelevantMemories:
    from jiyi.longterm.retrieval import RelevantMemories

    return RelevantMemories()


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

    async def put_many(self, messages: Sequence[MessageLike], *, created_at: datetime | None = None) -> list[str]:
        """Returns new ids; the messages are dropped."""
        return [new_id() for _ in messages]

    async def get(self, *, initial_tokens: int = 0, max_wait: float | None = DEFAULT_MAX_WAIT) -> ChatWindow:
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

    put = returns(ChatInterface.put, new_id)
    insert_message = returns(ChatInterface.insert_message, none)
    delete_message = returns(ChatInterface.delete_message, none)
    pop_message = returns(ChatInterface.pop_message, none)
    reply = returns(ChatInterface.reply, lambda: Message("assistant", ""))
    get_all = returns(ChatInterface.get_all, list)
    messages = returns(ChatInterface.messages, list)
    reset = returns(ChatInterface.reset, lambda: FIRST_EPOCH.epoch)
    flush = returns(ChatInterface.flush, Compaction)
    compact = returns(ChatInterface.compact, Compaction)
    overflowed = returns(ChatInterface.overflowed, Compaction)
    summaries = returns(ChatInterface.summaries, list)
    expand = returns(ChatInterface.expand, list)
    candidates = returns(ChatInterface.candidates, list)


class NoopNotes:
    """Notes without a workspace: nothing is written, nothing is read."""

    @signed_as(NotesInterface.memory_append)
    async def memory_append(self, given: Mapping[str, Any]) -> AppendedNote:
        """A receipt without a path."""
        return AppendedNote(new_id(), "", given["at"] or clock.utc_now())

    async def memory_get(
        self, path: str, from_line: int = 1, to_line: int | None = None, *, kind: str = "main"
    ) -> NoteText:
        """No lines."""
        return NoteText(path, from_line, from_line, 0, "")

    async def build_context(
        self, kind: str = "main", *, now: datetime | None = None, max_tokens: int | None = None
    ) -> NotesContext:
        """No files."""
        return NotesContext(kind, ())

    def tools(self) -> list[dict[str, Any]]:
        """No tools: they could only fail."""
        return []

    init_workspace = returns(NotesInterface.init_workspace, lambda: {"created": [], "kept": []})
    import_workspace = returns(NotesInterface.import_workspace, _imported)
    memory_search = returns(NotesInterface.memory_search, list)
    call_tool = returns(NotesInterface.call_tool, dict)
    take_candidates = returns(NotesInterface.take_candidates, _no_candidates)
    promote = returns(NotesInterface.promote, _accepted)
    curate = returns(NotesInterface.curate, _proposal)
    proposals = returns(NotesInterface.proposals, list)
    reject = returns(NotesInterface.reject, tuple)
    set_session_kind = returns(NotesInterface.set_session_kind, lambda: None)
    accept = returns(NotesInterface.accept, _accepted)
    scan = returns(NotesInterface.scan, ScanReport)
    reindex = returns(NotesInterface.reindex, ScanReport)
    list_files = returns(NotesInterface.list_files, list)
    entries_of_day = returns(NotesInterface.entries_of_day, lambda: ("", []))
    attribution = returns(NotesInterface.attribution, list)
    watch = returns(NotesInterface.watch, none)
    unwatch = returns(NotesInterface.unwatch, none)


class NoopLongterm:
    """The long-term room of a memory that keeps nothing."""

    @signed_as(LongtermInterface.cleanup_forgotten_memories)
    async def cleanup_forgotten_memories(self, given: Mapping[str, Any]) -> int | ForgettingPlan:
        """Nothing to forget."""
        if not given["dry_run"]:
            return 0
        from jiyi.longterm.forgetting import ForgettingPlan

        return ForgettingPlan(0, 0, ())

    extract_and_store_memories_for_round = returns(LongtermInterface.extract_and_store_memories_for_round, list)
    schedule_round = returns(LongtermInterface.schedule_round, new_id)
    schedule_conversation = returns(LongtermInterface.schedule_conversation, list)
    schedule_messages = returns(LongtermInterface.schedule_messages, new_id)
    get_intent_domains = returns(LongtermInterface.get_intent_domains, lambda: [GENERAL_CHAT])
    take_candidates = returns(LongtermInterface.take_candidates, list)
    retrieve_relevant_memories = returns(LongtermInterface.retrieve_relevant_memories, _relevant_memories)
    get_memory_context_for_prompt = returns(LongtermInterface.get_memory_context_for_prompt, str)
    compress_memories = returns(LongtermInterface.compress_memories, str)
    restore = returns(LongtermInterface.restore, list)
    pin = returns(LongtermInterface.pin, bool)
    try_generate_reflection = returns(LongtermInterface.try_generate_reflection, none)
    explain = returns(LongtermInterface.explain, none)
    feedback = returns(LongtermInterface.feedback, list)
    conflicts = returns(LongtermInterface.conflicts, list)
    settle_conflict = returns(LongtermInterface.settle_conflict, bool)
    superseded = returns(LongtermInterface.superseded, list)


class NoopRuntime:
    """The runtime of a memory that keeps nothing."""

    @property
    def name(self) -> str:
        """The name of this class."""
        return type(self).__name__

    @signed_as(MemoryRuntime.feedback)
    async def feedback(self, given: Mapping[str, Any]) -> FeedbackResult:
        """Every id is unknown."""
        ids = dict.fromkeys((*given["useful_memory_ids"], *given["recalled_memory_ids"]))
        return FeedbackResult(merged={}, unknown_ids=tuple(ids))

    @signed_as(MemoryRuntime.consolidate_memories)
    async def consolidate_memories(self, given: Mapping[str, Any]) -> ConsolidationReport:
        """A report of nothing."""
        return ConsolidationReport(dry_run=given["dry_run"], examples={"merged": (), "faded": (), "archived": ()})

    remember = returns(MemoryRuntime.remember, new_id)
    recall = returns(MemoryRuntime.recall, RecalledMemories)
    comprehensive_recall = returns(MemoryRuntime.comprehensive_recall, RecalledMemories)
    chained_recall = returns(MemoryRuntime.chained_recall, RecalledMemories)
    update = returns(MemoryRuntime.update, none)
    get = returns(MemoryRuntime.get, none)
    history = returns(MemoryRuntime.history, list)
    forget = returns(MemoryRuntime.forget, bool)
    restore = returns(MemoryRuntime.restore, none)
    list_tags = returns(MemoryRuntime.list_tags, list)
    collect_tags = returns(MemoryRuntime.collect_tags, int)

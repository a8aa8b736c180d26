"""NoopMemory: takes every call of a memory, keeps nothing, finds nothing. For tests, and to switch memory off.

Every method has the signature of its interface. Those that have nothing to say about their arguments are one line.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any, Self

from jiyi.interfaces import Memory
from jiyi.model import clock
from jiyi.model.change import MemoryChange
from jiyi.model.chat import Erased
from jiyi.model.entry import MemoryEntry
from jiyi.model.limits import DEFAULT_TOKEN_LIMIT, MAX_TOOL_ANSWER
from jiyi.model.listing import Forgotten, Page
from jiyi.model.recalled import RecalledEntries
from jiyi.model.scope_report import ScopeReceipt, ScopeStatistics
from jiyi.noop.agent import NoopAgent
from jiyi.noop.methods import empty, no_changes, none, raises, returns, returns_entry, signed_as
from jiyi.noop.rooms import NoopChat, NoopLongterm, NoopNotes, NoopRuntime
from jiyi.ports import ImportCounts, Progress
from jiyi.tools import Toolbox

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

    @signed_as(Memory.chat)
    def chat(self, given: Mapping[str, Any]) -> NoopChat:
        """A conversation that keeps nothing."""
        return NoopChat(given["session_id"] or "", given["token_limit"] or DEFAULT_TOKEN_LIMIT)

    def tools(self, *, scope: str | None = None, kind: str = "main", max_tokens: int = MAX_TOOL_ANSWER) -> Toolbox:
        """No tools: a model is not told of a memory that keeps nothing."""
        return Toolbox()

    @signed_as(Memory.agent)
    def agent(self, given: Mapping[str, Any]) -> NoopAgent:
        """An assistant that remembers nothing."""
        session_id, user, token_limit = given["session_id"], given["user"], given["token_limit"]
        known = given["kind"], given["instructions"]
        return NoopAgent(session_id or "", user or "main", *known, token_limit or DEFAULT_TOKEN_LIMIT)

    async def store_many(
        self, entries: Iterable[Mapping[str, Any]], progress: Progress | None = None, *, trust: str = "user"
    ) -> list[MemoryEntry]:
        """Returns the entries that would have been stored."""
        return [await self.store(**entry) for entry in entries]

    async def known_keys(self, keys: Iterable[str], *, scope: str | None = None) -> set[str]:
        """Nothing was ever kept."""
        return set()

    @signed_as(Memory.save_conversation_history)
    async def save_conversation_history(self, given: Mapping[str, Any]) -> str:
        """Returns the session id; the messages are dropped."""
        return given["session_id"] or ""

    async def forget_session(self, session_id: str, *, scope: str | None = None, facts: bool = False) -> Erased:
        """A receipt for nothing."""
        return Erased(session_id, None)

    async def forgotten_sessions(self, session_ids: Iterable[str], *, scope: str | None = None) -> set[str]:
        """Nothing was ever kept."""
        return set()

    async def forget_scope(self, scope: str, *, erase: bool = True) -> ScopeReceipt:
        """A receipt for nothing."""
        return ScopeReceipt(scope, erased=erase, at=clock.utc_now())

    def watch(
        self, *, after: int | None = None, scopes: str | Iterable[str] | None = None, interval: float = 0.5
    ) -> AsyncIterator[MemoryChange]:
        """No changes: it ends at once."""
        return no_changes()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    store = returns_entry(Memory.store)
    add = returns_entry(Memory.add)
    update = raises(Memory.update, "there is no such entry: this memory keeps nothing")
    changes = returns(Memory.changes, empty)
    scopes = returns(Memory.scopes, empty)
    last_position = returns(Memory.last_position, int)
    statistics = returns(Memory.statistics, lambda: ScopeStatistics("main"))
    entries_by_id = returns(Memory.entries_by_id, empty)
    recall = returns(Memory.recall, RecalledEntries)
    get = returns(Memory.get, none)
    forget = returns(Memory.forget, bool)
    count = returns(Memory.count, int)
    list = returns(Memory.list, Page)
    list_namespaces = returns(Memory.list_namespaces, empty)
    similarities = returns(Memory.similarities, empty)
    forget_many = returns(Memory.forget_many, lambda: Forgotten(0, 0, erased=False, dry_run=False))
    history = returns(Memory.history, empty)
    load_conversation_history = returns(Memory.load_conversation_history, empty)
    list_sessions = returns(Memory.list_sessions, empty)
    candidates = returns(Memory.candidates, empty)
    take_candidate = returns(Memory.take_candidate, bool)
    reject_candidate = returns(Memory.reject_candidate, bool)
    jobs = returns(Memory.jobs, empty)
    retry_job = returns(Memory.retry_job, bool)
    run_jobs = returns(Memory.run_jobs, int)
    maintain = returns(Memory.maintain, dict)
    add_word = returns(Memory.add_word, bool)
    drain = returns(Memory.drain, int)
    verify = returns(Memory.verify, empty)
    repair = returns(Memory.repair, empty)
    rebuild = returns(Memory.rebuild, none)
    doctor = returns(Memory.doctor, lambda: {"healthy": True, "notes": ["this memory keeps nothing"]})
    gauges = returns(Memory.gauges, dict)
    export_jsonl = returns(Memory.export_jsonl, int)
    import_jsonl = returns(Memory.import_jsonl, ImportCounts)
    close = returns(Memory.close, none)

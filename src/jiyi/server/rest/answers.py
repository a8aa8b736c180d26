"""What answers look like, for the description of the API, with an example each. Nothing is validated with them."""

from __future__ import annotations

import json
from typing import Any, Final

from fastapi import Response
from pydantic import BaseModel, ConfigDict

ID: Final = "0199f3a2-0000-7000-8000-000000000001"
_AT: Final = "2026-11-16T09:30:00.000000Z"
ENTRY: Final[dict[str, Any]] = {
    "id": ID,
    "scope": "alice",
    "key": "tea",
    "content": "She drinks green tea",
    "category": "core",
    "memory_type": "fact",
    "domain": "preferences",
    "importance_score": 0.6,
    "tags": ["tea"],
    "created_at": _AT,
    "updated_at": _AT,
    "is_active": True,
    "version": 1,
}
HIT: Final = {**ENTRY, "relevance_score": 0.82, "confident": True, "explanation": {"parts": {"text": 0.7}}}
MESSAGE: Final = {"role": "user", "content": "I drink green tea"}
MEMORY: Final[dict[str, Any]] = {
    "id": ID,
    "memory_type": "preference",
    "judgment": "Likes short answers",
    "reasoning": "Said so",
    "tags": ["style"],
    "strength": 1,
    "is_active": True,
    "memory_scope": "alice",
    "created_at": _AT,
    "updated_at": _AT,
    "merged_from": [],
}
TURN: Final[dict[str, Any]] = {
    "id": ID,
    "text": "What do I drink?",
    "messages": [
        {"role": "system", "content": "You are an assistant."},
        {"role": "user", "content": "What do I drink?"},
    ],
    "tools": [],
    "budget": {"limit": 64000, "reply": 4096, "parts": [], "problems": [], "tokens": 40},
    "memories": [],
    "reply": None,
}


def answer(data: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """An answer in JSON. It is written as it is: the values are plain already, and looking at each takes time."""
    body = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Response(body, status, headers, "application/json")


def answers(model: type[BaseModel], status: int = 200, description: str = "Done") -> dict[str, Any]:
    """Arguments for the declaration of a route that answers like this."""
    return {
        "status_code": status,
        "response_model": None,
        "responses": {status: {"model": model, "description": description}},
    }


def _shown(example: dict[str, Any]) -> ConfigDict:
    return ConfigDict(extra="allow", json_schema_extra={"examples": [example]})


class Answer(BaseModel):
    """Fields may be added in later versions."""

    model_config = ConfigDict(extra="allow")


class AccessAnswer(Answer):
    """What the key of the request gives access to."""

    model_config = _shown(
        {"scope": "alice", "rights": ["read", "write"], "kind": "main", "key_id": "0123456789ab", "read_only": False}
    )
    scope: str
    rights: list[str]
    kind: str
    key_id: str
    read_only: bool


class EntryAnswer(Answer):
    """An entry. Its version is also the ETag."""

    model_config = _shown(ENTRY)
    id: str
    scope: str
    key: str | None
    content: str
    category: str
    memory_type: str
    domain: str | None
    importance_score: float | None
    tags: list[str]
    created_at: str
    updated_at: str
    is_active: bool
    version: int


class HitAnswer(EntryAnswer):
    """An entry that was found, with its score part by part."""

    model_config = _shown(HIT)
    relevance_score: float
    explanation: dict[str, Any] | None = None


class EntriesAnswer(Answer):
    """A page of entries."""

    model_config = _shown({"entries": [ENTRY], "next_cursor": None})
    entries: list[EntryAnswer]
    next_cursor: str | None = None


class CountAnswer(Answer):
    """How many there are."""

    model_config = _shown({"count": 3})
    count: int


class ForgottenAnswer(Answer):
    """What was forgotten."""

    model_config = _shown({"forgotten": True, "erased": False})
    forgotten: bool
    erased: bool


class ManyForgottenAnswer(Answer):
    """How many were meant, and how many were forgotten."""

    model_config = _shown({"matched": 2, "forgotten": 2, "erased": False, "dry_run": False})
    matched: int
    forgotten: int
    erased: bool
    dry_run: bool


class NamespacesAnswer(Answer):
    """The namespaces, in order."""

    model_config = _shown({"namespaces": [["work", "project-x"]]})
    namespaces: list[list[str]]


class VersionsAnswer(Answer):
    """All versions of an entry, oldest first."""

    model_config = _shown(
        {
            "versions": [
                {
                    "version": 1,
                    "operation": "create",
                    "changed_at": _AT,
                    "changed_by": "jiyi",
                    "changed": [],
                    "entry": ENTRY,
                }
            ]
        }
    )
    versions: list[dict[str, Any]]


class HitsAnswer(Answer):
    """The entries that answer best, best first; `confident` says whether the first is a real answer."""

    model_config = _shown({"hits": [HIT], "confident": True})
    hits: list[HitAnswer]
    confident: bool


class ConversationsAnswer(Answer):
    """The conversations, the one last written to first."""

    model_config = _shown({"conversations": ["2026-11-16"], "next_cursor": None})
    conversations: list[str]
    next_cursor: str | None


class MessagesAnswer(Answer):
    """Messages of a conversation, in order."""

    model_config = _shown({"messages": [MESSAGE], "next_cursor": None})
    messages: list[dict[str, Any]]
    next_cursor: str | None


class IdsAnswer(Answer):
    """The ids of what was made, in order."""

    model_config = _shown({"ids": [ID]})
    ids: list[str]


class WindowAnswer(Answer):
    """What a model should see of a conversation."""

    model_config = _shown({"messages": [MESSAGE], "tokens": 12, "token_limit": 64000, "left_out": 0})
    messages: list[dict[str, Any]]
    tokens: int
    token_limit: int
    left_out: int


class StatusAnswer(Answer):
    """The state of a conversation."""

    model_config = _shown({"session_id": "2026-11-16", "epoch": 1, "tokens": 12, "token_limit": 64000, "messages": 1})
    session_id: str
    epoch: int
    tokens: int
    token_limit: int
    messages: int


class CompactionAnswer(Answer):
    """What a compaction did."""

    model_config = _shown({"compacted": True, "messages": 10, "candidates": 2, "trouble": None})
    compacted: bool
    messages: int
    candidates: int
    trouble: str | None


class EpochAnswer(Answer):
    """The number of the new epoch."""

    model_config = _shown({"epoch": 2})
    epoch: int


class ErasedAnswer(Answer):
    """A receipt: how much was deleted."""

    model_config = _shown({"receipt": {"messages": 12}})
    receipt: dict[str, Any]


class CandidatesAnswer(Answer):
    """What compactions propose to keep."""

    model_config = _shown({"candidates": [{"id": ID, "content": "Drinks green tea", "state": "new"}]})
    candidates: list[dict[str, Any]]


class SettledAnswer(Answer):
    """Whether it was settled by this request."""

    model_config = _shown({"settled": True})
    settled: bool


class TurnAnswer(Answer):
    """A turn: what to send to a model, and with which tools."""

    model_config = _shown(TURN)
    id: str
    text: str
    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]]
    budget: dict[str, Any]
    memories: list[dict[str, Any]]
    reply: str | None


class TurnsAnswer(Answer):
    """The turns without a reply, oldest first."""

    model_config = _shown(
        {"turns": [{"turn_id": ID, "text": "What do I drink?", "begun_at": _AT, "calls": 0, "request_id": None}]}
    )
    turns: list[dict[str, Any]]


class CallsAnswer(Answer):
    """The texts for the model, one for each call, and the turn after them."""

    model_config = _shown({"results": ["1. She drinks green tea"], "turn": TURN})
    results: list[str]
    turn: TurnAnswer


class FinishedAnswer(Answer):
    """What finishing a turn did."""

    model_config = _shown({"turn_id": ID, "message_id": ID, "job_id": ID, "used": [ID]})
    turn_id: str
    message_id: str | None
    job_id: str | None
    used: list[str]


class ReplyAnswer(Answer):
    """The whole reply of the configured model."""

    model_config = _shown({"turn_id": ID, "reply": "Green tea."})
    turn_id: str
    reply: str


class JobAnswer(Answer):
    """The job that does the rest in the background."""

    model_config = _shown({"job_id": ID})
    job_id: str


class FactsAnswer(Answer):
    """The facts that answer best, and where they were looked for."""

    model_config = _shown({"hits": [HIT], "domains": ["preferences"], "routed_by": "rules", "notes": []})
    hits: list[dict[str, Any]]
    domains: list[str]
    routed_by: str
    notes: list[str]


class TextAnswer(Answer):
    """A text, for a prompt."""

    model_config = _shown({"text": "【长期记忆】\n- She drinks green tea"})
    text: str


class CountedAnswer(Answer):
    """The ids of the memories that were counted."""

    model_config = _shown({"counted": [ID]})
    counted: list[str]


class ConflictsAnswer(Answer):
    """Pairs of facts that may contradict each other, the newest first."""

    model_config = _shown({"conflicts": [{"newer": ENTRY, "older": ENTRY}]})
    conflicts: list[dict[str, Any]]


class SupersededAnswer(Answer):
    """Facts that were replaced, the last first."""

    model_config = _shown({"superseded": [{"entry": ENTRY, "by": ENTRY}]})
    superseded: list[dict[str, Any]]


class ReflectionAnswer(Answer):
    """The new reflection; none if the new facts do not matter enough."""

    model_config = _shown({"reflection": None})
    reflection: dict[str, Any] | None


class PlanAnswer(Answer):
    """What a clean-up would forget now, and what goes first."""

    model_config = _shown({"count": 0, "considered": 12, "memories": [], "exempt": {"health": 1}})
    count: int
    considered: int
    memories: list[dict[str, Any]]
    exempt: dict[str, int]


class PinnedAnswer(Answer):
    """Whether the memory is pinned now."""

    model_config = _shown({"pinned": True})
    pinned: bool


class ExplanationAnswer(Answer):
    """Where a memory came from and how it stands."""

    model_config = _shown({"explanation": {"entry": ENTRY}})
    explanation: dict[str, Any]


class NotesAnswer(Answer):
    """The note files."""

    model_config = _shown({"notes": [{"path": "MEMORY.md", "bytes": 120, "chunks": 2, "problem": ""}]})
    notes: list[dict[str, Any]]


class NoteAnswer(Answer):
    """Lines of a note."""

    model_config = _shown({"path": "MEMORY.md", "text": "# Memory", "start_line": 1, "end_line": 1, "total_lines": 1})
    path: str
    text: str
    start_line: int
    end_line: int
    total_lines: int


class NoteHitsAnswer(Answer):
    """The pieces of notes that answer best."""

    model_config = _shown(
        {"hits": [{"path": "MEMORY.md", "start_line": 3, "end_line": 4, "content": "Dentist: Friday", "score": 0.7}]}
    )
    hits: list[dict[str, Any]]


class AppendedAnswer(Answer):
    """The entry that is in the file."""

    model_config = _shown({"id": "1hqk3v2q77fk3m9a", "path": "memory/2026-11-16.md", "at": _AT, "new": True})
    id: str
    path: str
    at: str
    new: bool


class ProposalAnswer(Answer):
    """A proposed edit of MEMORY.md, item by item."""

    model_config = _shown(
        {
            "id": "0199f3a2",
            "diff": "+- Dentist: Friday\n",
            "items": [{"number": 1, "action": "add", "text": "Dentist: Friday", "section": "", "entry_id": ""}],
        }
    )
    id: str
    diff: str
    items: list[dict[str, Any]]


class ProposalsAnswer(Answer):
    """The proposals that wait, oldest first."""

    model_config = _shown({"proposals": []})
    proposals: list[ProposalAnswer]


class AcceptedAnswer(Answer):
    """What was done to MEMORY.md."""

    model_config = _shown({"added": ["Dentist: Friday"], "removed": [], "unchanged": [], "backup": "", "moved": []})
    added: list[str]
    removed: list[str]


class RejectedAnswer(Answer):
    """The texts that are not proposed again."""

    model_config = _shown({"rejected": ["Dentist: Friday"]})
    rejected: list[str]


class MemoryAnswer(Answer):
    """A memory of the runtime."""

    model_config = _shown(MEMORY)
    id: str
    memory_type: str
    judgment: str
    tags: list[str]
    strength: int
    is_active: bool


class MemoriesAnswer(Answer):
    """Memories of the runtime, best first; `notes` says what the answer lacks."""

    model_config = _shown({"memories": [MEMORY], "notes": []})
    memories: list[MemoryAnswer]
    notes: list[str]


class FeedbackAnswer(Answer):
    """What came of feedback."""

    model_config = _shown(
        {
            "memories": [],
            "strengthened": [ID],
            "created": [],
            "merged": {},
            "unknown_ids": [],
            "refused": [],
            "repeated": False,
        }
    )
    memories: list[dict[str, Any]]
    strengthened: list[str]
    unknown_ids: list[str]
    repeated: bool


class TagsAnswer(Answer):
    """The tags, the most used first."""

    model_config = _shown({"tags": [{"tag": "style", "count": 3}]})
    tags: list[dict[str, Any]]


class ConsolidationAnswer(Answer):
    """What consolidation did, or would do."""

    model_config = _shown({"dry_run": True, "groups": 0, "merged": 0, "faded": 0, "archived": 0, "examples": {}})
    dry_run: bool
    merged: int
    faded: int
    archived: int


class JobsAnswer(Answer):
    """Background jobs, newest first, each with the reason of its last failure."""

    model_config = _shown(
        {"jobs": [{"id": ID, "kind": "longterm.round", "state": "dead", "attempt": 5, "reason": "no answer in time"}]}
    )
    jobs: list[dict[str, Any]]


class RetriedAnswer(Answer):
    """Whether the job is queued again."""

    model_config = _shown({"retried": True})
    retried: bool


class ChangesAnswer(Answer):
    """Changes in order, and the position to go on behind."""

    model_config = _shown(
        {
            "changes": [
                {"position": 1, "operation": "create", "entry_id": ID, "scope": "alice", "key": "tea", "version": 1}
            ],
            "after": 1,
        }
    )
    changes: list[dict[str, Any]]
    after: int


class ScopesAnswer(Answer):
    """Every scope of the store."""

    model_config = _shown({"scopes": [{"scope": "alice", "entries": 3, "messages": 10, "sessions": 1, "jobs": 0}]})
    scopes: list[dict[str, Any]]


class ScopeReceiptAnswer(Answer):
    """What forgetting a scope removed, and what of it remains."""

    model_config = _shown({"scope": "alice", "erased": True, "removed": {"memory_records": 3}, "complete": True})
    scope: str
    erased: bool
    complete: bool


class ImportAnswer(Answer):
    """What an import did, or would do; `refused` has the lines that were left out, with the reasons."""

    model_config = _shown({"entries": 3, "versions": 3, "messages": 0, "unchanged": 0, "refused": [], "dry_run": False})
    entries: int
    messages: int
    unchanged: int
    refused: list[str]
    dry_run: bool


class ReportAnswer(Answer):
    """A report: versions, sizes, problems and what to do about them."""

    model_config = _shown({"problems": []})


EVENTS: Final = {"description": "Events", "content": {"text/event-stream": {"schema": {"type": "string"}}}}

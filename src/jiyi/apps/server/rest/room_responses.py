"""What answers of the rooms and of administration look like, for the description of the API."""

from __future__ import annotations

from typing import Any

from jiyi.apps.server.rest.responses import AT, ENTRY, HIT, ID, MEMORY, Answer, shown


class JobAnswer(Answer):
    """The job that does the rest in the background."""

    model_config = shown({"job_id": ID})
    job_id: str


class FactsAnswer(Answer):
    """The facts that answer best, and where they were looked for."""

    model_config = shown({"hits": [HIT], "domains": ["preferences"], "routed_by": "rules", "notes": []})
    hits: list[dict[str, Any]]
    domains: list[str]
    routed_by: str
    notes: list[str]


class TextAnswer(Answer):
    """A text, for a prompt."""

    model_config = shown({"text": "【长期记忆】\n- She drinks green tea"})
    text: str


class CountedAnswer(Answer):
    """The ids of the memories that were counted."""

    model_config = shown({"counted": [ID]})
    counted: list[str]


class ConflictsAnswer(Answer):
    """Pairs of facts that may contradict each other, the newest first."""

    model_config = shown({"conflicts": [{"newer": ENTRY, "older": ENTRY}]})
    conflicts: list[dict[str, Any]]


class SupersededAnswer(Answer):
    """Facts that were replaced, the last first."""

    model_config = shown({"superseded": [{"entry": ENTRY, "by": ENTRY}]})
    superseded: list[dict[str, Any]]


class ReflectionAnswer(Answer):
    """The new reflection; none if the new facts do not matter enough."""

    model_config = shown({"reflection": None})
    reflection: dict[str, Any] | None = None


class PlanAnswer(Answer):
    """What a clean-up would forget now, and what goes first."""

    model_config = shown({"count": 0, "considered": 12, "memories": [], "exempt": {"health": 1}})
    count: int
    considered: int
    memories: list[dict[str, Any]]
    exempt: dict[str, int]


class PinnedAnswer(Answer):
    """Whether the memory is pinned now."""

    model_config = shown({"pinned": True})
    pinned: bool


class ExplanationAnswer(Answer):
    """Where a memory came from and how it stands."""

    model_config = shown({"explanation": {"entry": ENTRY}})
    explanation: dict[str, Any]


class NotesAnswer(Answer):
    """The note files."""

    model_config = shown({"notes": [{"path": "MEMORY.md", "bytes": 120, "chunks": 2, "problem": ""}]})
    notes: list[dict[str, Any]]


class NoteAnswer(Answer):
    """Lines of a note."""

    model_config = shown({"path": "MEMORY.md", "text": "# Memory", "start_line": 1, "end_line": 1, "total_lines": 1})
    path: str
    text: str
    start_line: int
    end_line: int
    total_lines: int


class AttributionAnswer(Answer):
    """Who wrote which lines of a note."""

    model_config = shown(
        {
            "lines": [
                {
                    "start_line": 3,
                    "end_line": 3,
                    "origin": "proposal",
                    "by": "agent",
                    "source": "chat:tea#1-2",
                    "entry_id": "1hqk3v2q77fk3m9a",
                    "note": "memory/2026-11-16.md",
                    "made_by": "rules",
                    "at": AT,
                }
            ]
        }
    )
    lines: list[dict[str, Any]]


class NoteHitsAnswer(Answer):
    """The pieces of notes that answer best."""

    model_config = shown(
        {"hits": [{"path": "MEMORY.md", "start_line": 3, "end_line": 4, "content": "Dentist: Friday", "score": 0.7}]}
    )
    hits: list[dict[str, Any]]


class AppendedAnswer(Answer):
    """The entry that is in the file."""

    model_config = shown({"id": "1hqk3v2q77fk3m9a", "path": "memory/2026-11-16.md", "at": AT, "new": True})
    id: str
    path: str
    at: str
    new: bool


class ProposalAnswer(Answer):
    """A proposed edit of MEMORY.md, item by item."""

    model_config = shown(
        {
            "id": "0199f3a2",
            "diff": "+- Dentist: Friday\n",
            "items": [{"number": 1, "action": "add", "text": "Dentist: Friday", "section": "People"}],
        }
    )
    id: str
    diff: str
    items: list[dict[str, Any]]


class ProposalsAnswer(Answer):
    """The proposals that wait, oldest first."""

    model_config = shown({"proposals": []})
    proposals: list[ProposalAnswer]


class AcceptedAnswer(Answer):
    """What was done to MEMORY.md."""

    model_config = shown({"added": ["Dentist: Friday"], "removed": [], "unchanged": [], "backup": "", "moved": []})
    added: list[str]
    removed: list[str]


class RejectedAnswer(Answer):
    """The texts that are not proposed again."""

    model_config = shown({"rejected": ["Dentist: Friday"]})
    rejected: list[str]


class MemoryAnswer(Answer):
    """A memory of the runtime. Its version is also the ETag."""

    model_config = shown(MEMORY)
    id: str
    memory_type: str
    judgment: str
    tags: list[str]
    strength: int
    is_active: bool
    version: int


class MemoriesAnswer(Answer):
    """Memories of the runtime, best first; `notes` says what the answer lacks."""

    model_config = shown({"memories": [MEMORY], "notes": []})
    memories: list[MemoryAnswer]
    notes: list[str]


class FeedbackAnswer(Answer):
    """What came of feedback."""

    model_config = shown(
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

    model_config = shown({"tags": [{"tag": "style", "count": 3}]})
    tags: list[dict[str, Any]]


class ConsolidationAnswer(Answer):
    """What consolidation did, or would do."""

    model_config = shown({"dry_run": True, "groups": 0, "merged": 0, "faded": 0, "archived": 0, "examples": {}})
    dry_run: bool
    merged: int
    faded: int
    archived: int


class JobsAnswer(Answer):
    """Background jobs, newest first, each with the reason of its last failure."""

    model_config = shown(
        {"jobs": [{"id": ID, "kind": "longterm.round", "state": "dead", "attempt": 5, "reason": "no answer in time"}]}
    )
    jobs: list[dict[str, Any]]


class RetriedAnswer(Answer):
    """Whether the job is queued again."""

    model_config = shown({"retried": True})
    retried: bool


class ChangesAnswer(Answer):
    """Changes in order, and the position to go on behind."""

    model_config = shown(
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

    model_config = shown({"scopes": [{"scope": "alice", "entries": 3, "messages": 10, "sessions": 1, "jobs": 0}]})
    scopes: list[dict[str, Any]]


class ScopeReceiptAnswer(Answer):
    """What forgetting a scope removed, and what of it remains."""

    model_config = shown(
        {"scope": "alice", "erased": True, "removed": {"memory_records": 3}, "found": True, "complete": True}
    )
    scope: str
    erased: bool
    found: bool
    complete: bool


class ImportAnswer(Answer):
    """What an import did, or would do; `refused` has the lines that were left out, with the reasons."""

    model_config = shown({"entries": 3, "versions": 3, "messages": 0, "unchanged": 0, "refused": [], "dry_run": False})
    entries: int
    messages: int
    unchanged: int
    refused: list[str]
    dry_run: bool


class ReportAnswer(Answer):
    """A report: versions, sizes, problems and what to do about them."""

    model_config = shown({"problems": []})

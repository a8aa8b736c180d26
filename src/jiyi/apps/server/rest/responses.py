"""What answers look like, for the description of the API, with an example each. Nothing is validated with them."""

from __future__ import annotations

from typing import Any, Final

from fastapi import Response
from pydantic import BaseModel, ConfigDict
from pydantic_core import to_json

ID: Final = "0199f3a2-0000-7000-8000-000000000001"
AT: Final = "2026-11-16T09:30:00.000000Z"
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
    "created_at": AT,
    "updated_at": AT,
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
    "created_at": AT,
    "updated_at": AT,
    "version": 1,
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
    "broken_off": None,
}


def answer(data: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """An answer in JSON. It is written as it is: the values are plain already, and looking at each takes time."""
    return Response(to_json(data, inf_nan_mode="null"), status, headers, "application/json")


def answers(model: type[BaseModel], status: int = 200, description: str = "Done") -> dict[str, Any]:
    """Arguments for the declaration of a route that answers like this."""
    return {
        "status_code": status,
        "response_model": None,
        "responses": {status: {"model": model, "description": description}},
    }


def shown(example: dict[str, Any]) -> ConfigDict:
    """The settings of a model with this example."""
    return ConfigDict(extra="allow", json_schema_extra={"examples": [example]})


class Answer(BaseModel):
    """Fields may be added in later versions."""

    model_config = ConfigDict(extra="allow")


class AccessAnswer(Answer):
    """What the key of the request gives access to."""

    model_config = shown(
        {"scope": "alice", "rights": ["read", "write"], "kind": "main", "key_id": "0123456789ab", "read_only": False}
    )
    scope: str
    rights: list[str]
    kind: str
    key_id: str
    read_only: bool


class EntryAnswer(Answer):
    """An entry. Its version is also the ETag."""

    model_config = shown(ENTRY)
    id: str
    scope: str
    key: str | None = None
    content: str
    category: str
    memory_type: str
    domain: str | None = None
    importance_score: float | None = None
    tags: list[str]
    created_at: str
    updated_at: str
    is_active: bool
    version: int


class HitAnswer(EntryAnswer):
    """An entry that was found, with its score part by part."""

    model_config = shown(HIT)
    relevance_score: float
    similarity: float | None = None
    confident: bool | None = None
    explanation: dict[str, Any] | None = None
    context: list[EntryAnswer] = []
    other_sources: list[EntryAnswer] = []
    corrected_by: list[EntryAnswer] = []


class EntriesAnswer(Answer):
    """A page of entries."""

    model_config = shown({"entries": [ENTRY], "next_cursor": None})
    entries: list[EntryAnswer]
    next_cursor: str | None = None


class CountAnswer(Answer):
    """How many there are."""

    model_config = shown({"count": 3})
    count: int


class ForgottenAnswer(Answer):
    """What was forgotten."""

    model_config = shown({"forgotten": True, "erased": False})
    forgotten: bool
    erased: bool


class ManyForgottenAnswer(Answer):
    """How many were meant, and how many were forgotten."""

    model_config = shown({"matched": 2, "forgotten": 2, "erased": False, "dry_run": False})
    matched: int
    forgotten: int
    erased: bool
    dry_run: bool


class NamespacesAnswer(Answer):
    """The namespaces, in order."""

    model_config = shown({"namespaces": [["work", "project-x"]]})
    namespaces: list[list[str]]


class VersionsAnswer(Answer):
    """All versions of an entry, oldest first."""

    model_config = shown(
        {
            "versions": [
                {
                    "version": 1,
                    "operation": "create",
                    "changed_at": AT,
                    "changed_by": "jiyi",
                    "changed": [],
                    "entry": ENTRY,
                }
            ]
        }
    )
    versions: list[dict[str, Any]]


class HitsAnswer(Answer):
    """The entries that answer best, best first.

    `confident` says whether the first is a real answer, `notes` what failed to answer.
    """

    model_config = shown({"hits": [HIT], "confident": True, "notes": []})
    hits: list[HitAnswer]
    confident: bool
    notes: list[str]


class ConversationsAnswer(Answer):
    """The conversations, the one last written to first."""

    model_config = shown({"conversations": ["2026-11-16"], "next_cursor": None})
    conversations: list[str]
    next_cursor: str | None = None


class MessagesAnswer(Answer):
    """Messages of a conversation, in order."""

    model_config = shown({"messages": [MESSAGE], "next_cursor": None})
    messages: list[dict[str, Any]]
    next_cursor: str | None = None


class StoredAnswer(Answer):
    """The ids of what was stored, in order, and the entries if they were asked for."""

    model_config = shown({"ids": [ID]})
    ids: list[str]
    entries: list[EntryAnswer] = []


class IdsAnswer(Answer):
    """The ids of what was made, in order."""

    model_config = shown({"ids": [ID]})
    ids: list[str]


class SessionAnswer(Answer):
    """The id of the conversation."""

    model_config = shown({"session_id": "2026-11-16"})
    session_id: str


class WindowAnswer(Answer):
    """What a model should see of a conversation."""

    model_config = shown({"messages": [MESSAGE], "tokens": 12, "token_limit": 64000, "left_out": 0})
    messages: list[dict[str, Any]]
    tokens: int
    token_limit: int
    left_out: int


class StatusAnswer(Answer):
    """The state of a conversation."""

    model_config = shown({"session_id": "2026-11-16", "epoch": 1, "tokens": 12, "token_limit": 64000, "messages": 1})
    session_id: str
    epoch: int
    tokens: int
    token_limit: int
    messages: int


class CompactionAnswer(Answer):
    """What a compaction did."""

    model_config = shown({"compacted": True, "messages": 10, "candidates": 2, "trouble": None})
    compacted: bool
    messages: int
    candidates: int
    trouble: str | None = None


class EpochAnswer(Answer):
    """The number of the new epoch."""

    model_config = shown({"epoch": 2})
    epoch: int


class ErasedAnswer(Answer):
    """A receipt: how much was deleted."""

    model_config = shown({"receipt": {"messages": 12}})
    receipt: dict[str, Any]


class CandidatesAnswer(Answer):
    """What compactions propose to keep."""

    model_config = shown({"candidates": [{"id": ID, "content": "Drinks green tea", "state": "new"}]})
    candidates: list[dict[str, Any]]


class SettledAnswer(Answer):
    """Whether it was settled by this request."""

    model_config = shown({"settled": True})
    settled: bool


class TurnAnswer(Answer):
    """A turn: what to send to a model, and with which tools. `broken_off` says why the reply is only a part of one."""

    model_config = shown(TURN)
    id: str
    text: str
    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]]
    budget: dict[str, Any]
    memories: list[dict[str, Any]]
    reply: str | None = None
    broken_off: str | None = None


class TurnsAnswer(Answer):
    """The turns without a reply, oldest first."""

    model_config = shown(
        {"turns": [{"turn_id": ID, "text": "What do I drink?", "begun_at": AT, "calls": 0, "request_id": None}]}
    )
    turns: list[dict[str, Any]]


class CallsAnswer(Answer):
    """The texts for the model, one for each call, and the turn after them."""

    model_config = shown({"results": ["1. She drinks green tea"], "turn": TURN})
    results: list[str]
    turn: TurnAnswer


class FinishedAnswer(Answer):
    """What finishing a turn did."""

    model_config = shown({"turn_id": ID, "message_id": ID, "job_id": ID, "used": [ID]})
    turn_id: str
    message_id: str | None = None
    job_id: str | None = None
    used: list[str]


class ReplyAnswer(Answer):
    """The reply of the configured model. `broken_off` says why that of an earlier request is only a part of one."""

    model_config = shown({"turn_id": ID, "reply": "Green tea.", "broken_off": None})
    turn_id: str
    reply: str
    broken_off: str | None = None


EVENTS: Final = {"description": "Events", "content": {"text/event-stream": {"schema": {"type": "string"}}}}

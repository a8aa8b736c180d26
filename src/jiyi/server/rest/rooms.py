"""Conversations, the long-term room and notes."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from jiyi.server.problems import ProblemError
from jiyi.server.rest.dependencies import Memory, Reader, Writer
from jiyi.server.rest.values import Messages, NoteEntry, Question, Round, Used

router = APIRouter(prefix="/v1", tags=["rooms"])


# --- conversations --------------------------------------------------------------------------------------------------


@router.get("/conversations", operation_id="listConversations")
async def list_conversations(memory: Memory, access: Reader) -> dict[str, Any]:
    """The conversations of the scope, the one last written to first."""
    return {"conversations": list(await memory.list_sessions(scope=access.scope))}


@router.get("/conversations/{session_id}/messages", operation_id="getMessages")
async def get_messages(memory: Memory, access: Reader, session_id: str) -> dict[str, Any]:
    """All messages of a conversation, in order."""
    found = await memory.load_conversation_history(session_id, scope=access.scope)
    return {"messages": [message.to_dict() for message in found]}


@router.post("/conversations/{session_id}/messages", status_code=201, operation_id="putMessages")
async def put_messages(memory: Memory, access: Writer, session_id: str, body: Messages) -> dict[str, Any]:
    """Add messages to a conversation. They are on disk when the answer comes."""
    chat = memory.chat(session_id, scope=access.scope)
    return {"ids": await chat.put_many(body.messages)}


@router.get("/conversations/{session_id}/window", operation_id="getWindow")
async def get_window(memory: Memory, access: Reader, session_id: str) -> dict[str, Any]:
    """What a model should see of a conversation: a summary of what is long ago, and the newest messages."""
    window = await memory.chat(session_id, scope=access.scope).get()
    return {
        "messages": window.to_openai(),
        "tokens": window.tokens,
        "token_limit": window.token_limit,
        "left_out": window.left_out,
    }


# --- long-term ------------------------------------------------------------------------------------------------------


@router.post("/longterm/rounds", status_code=202, operation_id="scheduleRound")
async def schedule_round(memory: Memory, access: Writer, body: Round) -> dict[str, Any]:
    """Look through one exchange for facts worth keeping, in the background. The exchange is on disk."""
    await memory.longterm.schedule_round(access.scope, body.conversation_id, body.user, body.assistant)
    return {"scheduled": True}


@router.post("/longterm/recall", operation_id="recallFacts")
async def recall_facts(memory: Memory, access: Reader, body: Question) -> dict[str, Any]:
    """The facts that answer best, by relevance, age and importance."""
    hits = await memory.longterm.retrieve_relevant_memories(
        access.scope, body.query, top_k_final=body.limit, domains=body.domains
    )
    return {"hits": [hit.to_dict() for hit in hits], "domains": list(hits.domains)}


@router.post("/longterm/feedback", operation_id="tellUsed")
async def tell_used(memory: Memory, access: Writer, body: Used) -> dict[str, Any]:
    """Count memories as used: cited in an answer, or confirmed."""
    return {"counted": await memory.longterm.feedback(access.scope, body.useful)}


# --- notes ----------------------------------------------------------------------------------------------------------


@router.get("/notes/{path:path}", operation_id="getNote")
async def get_note(memory: Memory, access: Reader, path: str) -> dict[str, Any]:
    """The text of a note."""
    if not access.may_see_notes(memory.settings.scope):
        raise ProblemError(403, "no_notes", "the notes belong to the scope that the memory was opened with")
    note = await memory.notes.memory_get(path, kind=access.kind)
    return {"path": note.path, "text": note.text, "lines": note.total_lines}


@router.post("/notes", status_code=201, operation_id="appendNote")
async def append_note(memory: Memory, access: Writer, body: NoteEntry) -> dict[str, Any]:
    """Add a line to today's note."""
    if access.kind == "group" or access.scope != memory.settings.scope:
        raise ProblemError(403, "no_notes", "the notes belong to the scope that the memory was opened with")
    written = await memory.notes.memory_append(body.text)
    return {"id": written.id, "path": written.path}

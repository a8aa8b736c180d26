"""Conversations: their messages, windows, and what they propose to keep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from jiyi.apps.server.problems import ProblemError
from jiyi.apps.server.rest import responses
from jiyi.apps.server.rest.bodies import CandidateChoice, Messages
from jiyi.apps.server.rest.dependencies import Cursor, Eraser, Memory, PageLimit, Reader, Writer
from jiyi.apps.server.rest.idempotency import IdempotencyKey, once
from jiyi.apps.server.rest.responses import answer, answers
from jiyi.chat import Compaction
from jiyi.model.chat import StoredMessage

router = APIRouter(prefix="/v1", tags=["conversations"])


@router.get("/conversations", operation_id="listConversations", **answers(responses.ConversationsAnswer))
async def list_conversations(
    memory: Memory, access: Reader, *, limit: PageLimit = 1_000, cursor: Cursor = None
) -> Response:
    """The conversations of the scope, the one last written to first."""
    found = list(await memory.list_sessions(scope=access.scope))
    if cursor is not None:
        if cursor not in found:
            raise ProblemError(400, "bad_cursor", f"cursor {cursor[:80]!a} names no conversation; begin again")
        found = found[found.index(cursor) + 1 :]
    return answer({"conversations": found[:limit], "next_cursor": found[limit - 1] if len(found) > limit else None})


@router.delete("/conversations/{session_id}", operation_id="forgetConversation", **answers(responses.ErasedAnswer))
async def forget_conversation(memory: Memory, access: Eraser, session_id: str, *, facts: bool = False) -> Response:
    """Delete a conversation for good: messages, summaries, candidates.

    Facts that were made of it stay (`facts_kept`); with `facts` those that were made of nothing else go as well.
    """
    return answer({"receipt": asdict(await memory.forget_session(session_id, scope=access.scope, facts=facts))})


@router.get("/conversations/{session_id}/messages", operation_id="getMessages", **answers(responses.MessagesAnswer))
async def get_messages(
    memory: Memory,
    access: Reader,
    session_id: str,
    *,
    limit: PageLimit = 1_000,
    cursor: Annotated[
        str | None, Query(pattern="^[0-9]{1,15}$", description="`next_cursor` of the page before")
    ] = None,
) -> Response:
    """The messages of a conversation since its last reset, in order."""
    stored = await memory.chat(session_id, scope=access.scope).messages()
    found = [each for each in stored if cursor is None or each.position > int(cursor)]
    following = str(found[limit - 1].position) if len(found) > limit else None
    return answer({"messages": [_message(each) for each in found[:limit]], "next_cursor": following})


def _message(stored: StoredMessage) -> dict[str, Any]:
    return stored.message.to_dict()


@router.post("/conversations/{session_id}/messages", operation_id="putMessages", **answers(responses.IdsAnswer, 201))
async def put_messages(
    memory: Memory, access: Writer, session_id: str, body: Messages, idempotency_key: IdempotencyKey = None
) -> Response:
    """Add messages to a conversation. They are on disk when the answer comes."""
    chat = memory.chat(session_id, scope=access.scope)

    async def do() -> Response:
        return answer({"ids": await chat.put_many(body.messages)}, 201)

    async def again(ids: Sequence[str]) -> Response:
        return answer({"ids": list(ids)}, 201)

    return await once(access, idempotency_key, body, do, again, about=session_id)


@router.put("/conversations/{session_id}/messages", operation_id="saveMessages", **answers(responses.SessionAnswer))
async def save_messages(memory: Memory, access: Writer, session_id: str, body: Messages) -> Response:
    """Make these messages the record of the conversation; what was there before is replaced."""
    saved = await memory.save_conversation_history(session_id, body.messages, scope=access.scope)
    return answer({"session_id": saved})


@router.get("/conversations/{session_id}/window", operation_id="getWindow", **answers(responses.WindowAnswer))
async def get_window(
    memory: Memory,
    access: Reader,
    session_id: str,
    *,
    initial_tokens: Annotated[int, Query(ge=0, le=1_000_000, description="Tokens needed for something else")] = 0,
    max_wait: Annotated[float, Query(ge=0, le=30, description="Seconds that summarising may take")] = 10.0,
) -> Response:
    """What a model should see of a conversation: a summary of what is long ago, and the newest messages."""
    chat = memory.chat(session_id, scope=access.scope)
    window = await chat.get(initial_tokens=initial_tokens, max_wait=max_wait)
    return answer(
        {
            "messages": window.to_openai(),
            "tokens": window.tokens,
            "token_limit": window.token_limit,
            "left_out": window.left_out,
            "trouble": window.trouble,
        }
    )


@router.get(
    "/conversations/{session_id}/status", operation_id="getConversationStatus", **answers(responses.StatusAnswer)
)
async def get_status(memory: Memory, access: Reader, session_id: str) -> Response:
    """The state of a conversation: tokens, the summary in force, the last trouble."""
    status = await memory.chat(session_id, scope=access.scope).status()
    return answer(
        {
            "session_id": status.session_id,
            "epoch": status.epoch,
            "tokens": status.tokens,
            "token_limit": status.token_limit,
            "messages": status.messages,
            "summary": None if status.summary is None else status.summary.to_dict(),
            "new_candidates": status.new_candidates,
            "trouble": status.trouble,
            "failures": status.failures,
        }
    )


@router.post(
    "/conversations/{session_id}/compact", operation_id="compactConversation", **answers(responses.CompactionAnswer)
)
async def compact(memory: Memory, access: Writer, session_id: str) -> Response:
    """Move the older half of the window under a summary now."""
    return answer(_compaction(await memory.chat(session_id, scope=access.scope).compact()))


@router.post(
    "/conversations/{session_id}/flush", operation_id="flushConversation", **answers(responses.CompactionAnswer)
)
async def flush(memory: Memory, access: Writer, session_id: str) -> Response:
    """Search what was said for what is worth keeping, at the end of a session."""
    return answer(_compaction(await memory.chat(session_id, scope=access.scope).flush()))


@router.post("/conversations/{session_id}/reset", operation_id="resetConversation", **answers(responses.EpochAnswer))
async def reset(memory: Memory, access: Writer, session_id: str, *, flush: bool = True) -> Response:
    """Begin the conversation anew; what was said is searched for candidates first."""
    return answer({"epoch": await memory.chat(session_id, scope=access.scope).reset(flush=flush)})


def _compaction(done: Compaction) -> dict[str, Any]:
    return {
        "compacted": done.compacted,
        "messages": done.messages,
        "candidates": done.candidates,
        "summary": None if done.summary is None else done.summary.to_dict(),
        "trouble": done.trouble,
    }


@router.get("/candidates", operation_id="listCandidates", **answers(responses.CandidatesAnswer))
async def list_candidates(
    memory: Memory,
    access: Reader,
    *,
    session_id: Annotated[str | None, Query(min_length=1)] = None,
    state: Annotated[str, Query(pattern="^(new|taken|rejected|any)$")] = "new",
    limit: PageLimit = 100,
) -> Response:
    """What compactions of the scope's conversations propose to keep, oldest first."""
    wanted = None if state == "any" else state
    found = await memory.candidates(scope=access.scope, session_id=session_id, state=wanted, limit=limit)
    return answer({"candidates": [each.to_dict() for each in found]})


@router.post("/candidates/{candidate_id}", operation_id="settleCandidate", **answers(responses.SettledAnswer))
async def settle_candidate(memory: Memory, access: Writer, candidate_id: str, body: CandidateChoice) -> Response:
    """Take or reject a candidate; only one of several callers settles it."""
    settle = memory.take_candidate if body.choice == "take" else memory.reject_candidate
    return answer({"settled": await settle(candidate_id, scope=access.scope)})

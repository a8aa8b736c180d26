"""The long-term room: facts, conflicts, reflections, forgetting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query, Response

from jiyi.apps.server.problems import ProblemError
from jiyi.apps.server.rest import responses, room_responses
from jiyi.apps.server.rest.bodies import (
    ConflictResolution,
    Curve,
    FactQuestion,
    PinRequest,
    PromptQuestion,
    ReflectionRequest,
    RestoreRequest,
    Round,
    UsedMemories,
)
from jiyi.apps.server.rest.dependencies import Cursor, Memory, PageLimit, Reader, Writer
from jiyi.apps.server.rest.idempotency import IdempotencyKey, once
from jiyi.apps.server.rest.responses import answer, answers
from jiyi.model.domain import Domain
from jiyi.model.entry import FACT_TYPE, REFLECTION_TYPE

router = APIRouter(prefix="/v1/longterm", tags=["long-term"])


@router.post(
    "/rounds", operation_id="scheduleRound", **answers(room_responses.JobAnswer, 202, "On disk, the rest is done later")
)
async def schedule_round(
    memory: Memory, access: Writer, body: Round, idempotency_key: IdempotencyKey = None
) -> Response:
    """Look through one exchange for facts worth keeping, in the background. The exchange is on disk."""

    async def do() -> Response:
        job = await memory.longterm.schedule_round(access.scope, body.conversation_id, body.user, body.assistant)
        return answer({"job_id": job}, 202)

    async def again(ids: Sequence[str]) -> Response:
        # The messages come first, the job about them last.
        return answer({"job_id": ids[-1]}, 202)

    return await once(access, idempotency_key, body, do, again)


@router.get("/facts", operation_id="listFacts", **answers(responses.EntriesAnswer))
async def list_facts(
    memory: Memory,
    access: Reader,
    *,
    domain: Annotated[list[Domain] | None, Query()] = None,
    limit: PageLimit = 50,
    cursor: Cursor = None,
) -> Response:
    """The facts that the key sees, of some domains or of all, newest first."""
    page = await memory.list(
        scope=access.scope,
        memory_types=[FACT_TYPE],
        domains=domain,
        limit=limit,
        cursor=cursor,
    )
    return answer({"entries": [entry.to_dict() for entry in page], "next_cursor": page.next_cursor})


@router.post("/recall", operation_id="recallFacts", **answers(room_responses.FactsAnswer))
async def recall_facts(memory: Memory, access: Reader, body: FactQuestion) -> Response:
    """The facts that answer best, by relevance, age and importance."""
    hits = await memory.longterm.retrieve_relevant_memories(
        access.scope,
        body.query,
        body.alpha,
        body.beta,
        body.gamma,
        body.decay_rate,
        body.candidates,
        body.limit,
        domains=body.domains,
        as_of=body.as_of,
        fused=body.fused,
        touch=body.touch,
        time_zone=body.time_zone,
    )
    shown = [hit.to_dict() for hit in hits]
    return answer(
        {"hits": shown, "domains": list(hits.domains), "routed_by": hits.routed_by, "notes": list(hits.notes)}
    )


@router.post("/context", operation_id="getPromptContext", **answers(room_responses.TextAnswer))
async def prompt_context(memory: Memory, access: Reader, body: PromptQuestion) -> Response:
    """The block of long-term memory for a prompt: fenced, attributed, inside the budget."""
    text = await memory.longterm.get_memory_context_for_prompt(
        access.scope,
        body.query,
        token_budget=body.token_budget,
        top_k_final=body.limit,
        time_zone=body.time_zone,
    )
    return answer({"text": text})


@router.post("/feedback", operation_id="tellUsed", **answers(room_responses.CountedAnswer))
async def tell_used(memory: Memory, access: Writer, body: UsedMemories) -> Response:
    """Count memories as used: cited in an answer, or confirmed."""
    return answer({"counted": await memory.longterm.feedback(access.scope, body.useful)})


@router.get("/facts/{entry_id}/explanation", operation_id="explainFact", **answers(room_responses.ExplanationAnswer))
async def explain_fact(memory: Memory, access: Reader, entry_id: str) -> Response:
    """Where a memory came from and how it stands: the messages behind it, corrections, retention."""
    found = await memory.longterm.explain(access.scope, entry_id)
    if found is None:
        raise _missing(entry_id)
    return answer({"explanation": found})


@router.put("/facts/{entry_id}/pin", operation_id="pinFact", **answers(room_responses.PinnedAnswer))
async def pin_fact(memory: Memory, access: Writer, entry_id: str, body: PinRequest) -> Response:
    """Keep a memory from being forgotten, corrected or summarised; or unpin it."""
    if not await memory.longterm.pin(access.scope, entry_id, body.pinned):
        raise _missing(entry_id)
    return answer({"pinned": body.pinned})


@router.get("/conflicts", operation_id="listConflicts", **answers(room_responses.ConflictsAnswer))
async def list_conflicts(memory: Memory, access: Reader, *, limit: PageLimit = 100) -> Response:
    """Pairs of current facts that may contradict each other, the newest first."""
    found = await memory.longterm.conflicts(access.scope, limit=limit)
    return answer({"conflicts": [each.to_dict() for each in found]})


@router.post("/conflicts", operation_id="settleConflict", **answers(responses.SettledAnswer))
async def settle_conflict(memory: Memory, access: Writer, body: ConflictResolution) -> Response:
    """Say which of two facts holds. The other one is superseded, and can be restored."""
    done = await memory.longterm.settle_conflict(access.scope, body.newer, body.older, keep=body.keep)
    if not done:
        raise ProblemError(404, "no_conflict", "there is no open conflict between these two facts")
    return answer({"settled": True})


@router.get("/superseded", operation_id="listSuperseded", **answers(room_responses.SupersededAnswer))
async def list_superseded(
    memory: Memory, access: Reader, *, limit: PageLimit = 100, reflections: bool = False
) -> Response:
    """Facts that were replaced, the last first, each with the one that took its place.

    With `reflections` also the summaries that went because one of their facts was replaced.
    """
    found = await memory.longterm.superseded(access.scope, limit=limit, reflections=reflections)
    return answer({"superseded": [each.to_dict() for each in found]})


@router.get("/reflections", operation_id="listReflections", **answers(responses.EntriesAnswer))
async def list_reflections(memory: Memory, access: Reader, *, limit: PageLimit = 50, cursor: Cursor = None) -> Response:
    """The reflections that the key sees, newest first."""
    page = await memory.list(scope=access.scope, memory_types=[REFLECTION_TYPE], limit=limit, cursor=cursor)
    return answer({"entries": [entry.to_dict() for entry in page], "next_cursor": page.next_cursor})


@router.post("/reflections", operation_id="reflect", **answers(room_responses.ReflectionAnswer))
async def reflect(memory: Memory, access: Writer, body: ReflectionRequest) -> Response:
    """Reflect on the facts that no reflection covers yet, if they matter enough."""
    made = await memory.longterm.try_generate_reflection(
        access.scope, body.conversation_id, body.importance_threshold, body.cooldown_hours
    )
    return answer({"reflection": None if made is None else made.to_dict()})


@router.post("/forgetting/plan", operation_id="planForgetting", **answers(room_responses.PlanAnswer))
async def plan_forgetting(memory: Memory, access: Reader, body: Curve) -> Response:
    """What a clean-up would forget now, and what falls below the threshold next. Changes nothing."""
    plan = await memory.longterm.cleanup_forgotten_memories(
        access.scope,
        body.base_retention,
        body.strengthening_factor,
        body.threshold,
        body.exclude_memory_types,
        dry_run=True,
    )
    return answer(plan.to_dict())


@router.post("/forgetting", operation_id="forgetFaded", **answers(responses.CountAnswer))
async def forget_faded(memory: Memory, access: Writer, body: Curve) -> Response:
    """Take out of recall what has fallen below the threshold; it can be restored."""
    count = await memory.longterm.cleanup_forgotten_memories(
        access.scope, body.base_retention, body.strengthening_factor, body.threshold, body.exclude_memory_types
    )
    return answer({"count": count})


@router.post("/restore", operation_id="restoreFacts", **answers(responses.EntriesAnswer))
async def restore_facts(memory: Memory, access: Writer, body: RestoreRequest) -> Response:
    """Bring back memories that were forgotten or corrected."""
    back = await memory.longterm.restore(access.scope, body.memories)
    return answer({"entries": [entry.to_dict() for entry in back], "next_cursor": None})


def _missing(entry_id: str) -> ProblemError:
    return ProblemError(404, "no_entry", f"there is no memory {entry_id[:80]!a}")

"""The runtime room: judgments, found by tags."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query, Response

from jiyi.apps.server.access import Access
from jiyi.apps.server.problems import ProblemError
from jiyi.apps.server.rest import responses, room_responses
from jiyi.apps.server.rest.bodies import ChangedJudgment, Consolidation, Feedback, Judgment, RuntimeQuestion
from jiyi.apps.server.rest.dependencies import IfMatch, Memory, PageLimit, Reader, Writer, check_erase
from jiyi.apps.server.rest.idempotency import REPLAYED, IdempotencyKey, once, request_id_of
from jiyi.apps.server.rest.responses import answer, answers
from jiyi.apps.server.rest.versions import changed_meanwhile, tag_of, version_meant
from jiyi.errors import InvalidInputError, VersionConflictError
from jiyi.memory import AgentMemory
from jiyi.runtime import BaseMemory

router = APIRouter(prefix="/v1/runtime", tags=["runtime"])


@router.post("/memories", operation_id="rememberJudgment", **answers(responses.IdsAnswer, 201, "Remembered"))
async def remember(memory: Memory, access: Writer, body: Judgment, idempotency_key: IdempotencyKey = None) -> Response:
    """Keep a judgment, and why. On disk when the answer comes."""

    async def do() -> Response:
        made = await memory.runtime.remember(**body.model_dump(), memory_scope=access.scope)
        return answer({"ids": [made]}, 201)

    async def again(ids: Sequence[str]) -> Response:
        return answer({"ids": list(ids)}, 201)

    return await once(access, idempotency_key, body, do, again)


@router.get("/memories/{memory_id}", operation_id="getJudgment", **answers(room_responses.MemoryAnswer))
async def get_memory(memory: Memory, access: Reader, memory_id: str) -> Response:
    """One memory, active or not. Its version is the ETag, if it is the scope's own."""
    return _shown(await _found(memory, access, memory_id), access)


@router.patch("/memories/{memory_id}", operation_id="updateJudgment", **answers(room_responses.MemoryAnswer))
async def update_memory(
    memory: Memory, access: Writer, memory_id: str, body: ChangedJudgment, if_match: IfMatch = None
) -> Response:
    """Change one of the scope's own memories; what is not given stays."""
    changes = {name: value for name, value in body.given().items() if value is not None}
    if not changes:
        raise InvalidInputError("the body has no field to change")
    meant = await _meant(memory, access, memory_id, if_match)
    try:
        changed = await memory.runtime.update(memory_id, memory_scope=access.scope, if_version=meant, **changes)
    except VersionConflictError as error:
        raise changed_meanwhile(error) from None
    if changed is None:
        raise _missing(memory_id)
    return _shown(changed, access)


@router.delete("/memories/{memory_id}", operation_id="forgetJudgment", **answers(responses.ForgottenAnswer))
async def forget_memory(
    memory: Memory, access: Writer, memory_id: str, *, erase: bool = False, if_match: IfMatch = None
) -> Response:
    """Remove one of the scope's own memories; with `erase` for good."""
    if erase:
        check_erase(access)
    meant = await _meant(memory, access, memory_id, if_match)
    try:
        gone = await memory.runtime.forget(memory_id, memory_scope=access.scope, erase=erase, if_version=meant)
    except VersionConflictError as error:
        raise changed_meanwhile(error) from None
    if not gone:
        raise _missing(memory_id)
    return answer({"forgotten": True, "erased": erase})


@router.post("/memories/{memory_id}/restore", operation_id="restoreJudgment", **answers(room_responses.MemoryAnswer))
async def restore_memory(memory: Memory, access: Writer, memory_id: str) -> Response:
    """Bring one of the scope's own memories back that faded, was merged away, archived or forgotten."""
    back = await memory.runtime.restore(memory_id, memory_scope=access.scope)
    if back is None:
        raise _missing(memory_id)
    return _shown(back, access)


@router.post("/recall", operation_id="recallJudgments", **answers(room_responses.MemoriesAnswer))
async def recall(memory: Memory, access: Reader, body: RuntimeQuestion) -> Response:
    """The memories that answer best; plain, with a fair share for every type, or one step further by links."""
    runtime = memory.runtime
    if body.how == "plain":
        found = await runtime.recall(
            body.query,
            body.limit,
            memory_scope=access.scope,
            memory_types=body.memory_types,
            min_relevance=body.min_relevance,
            touch=body.touch,
            time_zone=body.time_zone,
        )
    else:
        ask = runtime.comprehensive_recall if body.how == "comprehensive" else runtime.chained_recall
        found = await ask(
            body.query,
            body.limit,
            memory_scope=access.scope,
            min_relevance=body.min_relevance,
            touch=body.touch,
            time_zone=body.time_zone,
        )
    return answer({"memories": [each.to_dict() for each in found], "notes": list(found.notes)})


@router.post("/feedback", operation_id="giveFeedback", **answers(room_responses.FeedbackAnswer))
async def give_feedback(
    memory: Memory, access: Writer, body: Feedback, idempotency_key: IdempotencyKey = None
) -> Response:
    """Strengthen what was useful, note what was recalled for nothing, add, and merge: in one transaction."""
    result = await memory.runtime.feedback(
        body.useful_memory_ids,
        body.recalled_memory_ids,
        [each.model_dump() for each in body.new_memories],
        body.merge_groups,
        memory_scope=access.scope,
        request_id=request_id_of(access, idempotency_key),
    )
    return answer(result.to_dict(), headers={REPLAYED: "true"} if result.repeated else None)


@router.get("/tags", operation_id="listTags", **answers(room_responses.TagsAnswer))
async def list_tags(
    memory: Memory,
    access: Reader,
    *,
    limit: PageLimit = 100,
    offset: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
) -> Response:
    """The tags that the scope sees, with how many active memories have each; the most used first."""
    found = await memory.runtime.list_tags(limit, offset, memory_scope=access.scope)
    return answer({"tags": [{"tag": tag, "count": count} for tag, count in found]})


@router.post("/consolidation", operation_id="consolidate", **answers(room_responses.ConsolidationAnswer))
async def consolidate(memory: Memory, access: Writer, body: Consolidation) -> Response:
    """Merge near-duplicates of the scope, let unused memories fade, archive. A dry run unless told otherwise."""
    done = await memory.runtime.consolidate_memories(memory_scope=access.scope, dry_run=body.dry_run)
    return answer(done.to_dict())


async def _found(memory: AgentMemory, access: Access, memory_id: str) -> BaseMemory:
    found = await memory.runtime.get(memory_id, memory_scope=access.scope)
    if found is None:
        raise _missing(memory_id)
    return found


async def _meant(memory: AgentMemory, access: Access, memory_id: str, if_match: str | None) -> int | None:
    """The version that is to be changed; nothing is read where none is named."""
    if if_match is None:
        return None
    return version_meant((await _found(memory, access, memory_id)).version, if_match)


def _shown(found: BaseMemory, access: Access) -> Response:
    # The overlay of a scope on a public memory is not part of its version.
    own = found.memory_scope == access.scope
    return answer(found.to_dict(), headers={"ETag": tag_of(found.version)} if own else None)


def _missing(memory_id: str) -> ProblemError:
    return ProblemError(404, "no_entry", f"there is no memory {memory_id[:80]!a}")

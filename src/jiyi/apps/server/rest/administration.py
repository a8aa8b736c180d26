"""The change feed, jobs, scopes and diagnosis."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Header, Query, Request, Response

from jiyi.apps.server.problems import ProblemError, without_folders
from jiyi.apps.server.rest import responses, room_responses
from jiyi.apps.server.rest.bodies import Maintenance
from jiyi.apps.server.rest.dependencies import (
    Accept,
    Administrator,
    Memory,
    OpenStreams,
    PageLimit,
    Reader,
    Writer,
    check_erase,
)
from jiyi.apps.server.rest.events import EventStream, event, wants_events
from jiyi.apps.server.rest.responses import EVENTS, answer, answers
from jiyi.memory import AgentMemory

router = APIRouter(prefix="/v1", tags=["administration"])

_MAX_WAIT: Final = 60.0
_POLL: Final = 0.25
_CHANGES = answers(room_responses.ChangesAnswer, 200, "Changes; as events with `Accept: text/event-stream`")
_CHANGES["responses"][200]["content"] = EVENTS["content"]


@router.get("/access", operation_id="getAccess", **answers(responses.AccessAnswer))
async def get_access(request: Request, access: Reader) -> Response:
    """The scope and the rights of the key."""
    return answer(
        {
            "scope": access.scope,
            "rights": sorted(access.rights),
            "kind": access.kind,
            "key_id": access.key_id,
            "read_only": bool(request.app.state.read_only),
        }
    )


@router.get("/changes", operation_id="listChanges", **_CHANGES)
async def list_changes(
    memory: Memory,
    access: Reader,
    request: Request,
    streams: OpenStreams,
    *,
    after: Annotated[
        int | None, Query(ge=0, le=2**53, description="Only what follows it; else what comes next")
    ] = None,
    limit: PageLimit = 100,
    wait: Annotated[float, Query(ge=0, le=_MAX_WAIT, description="Seconds to wait for the first change")] = 0,
    accept: Accept = "",
    last_event_id: Annotated[str, Header(pattern="^[0-9]{0,15}$")] = "",
) -> Response:
    """What was created, updated and forgotten in the scope, in order; as events with `Accept: text/event-stream`."""
    start = int(last_event_id) if last_event_id else after
    position = await memory.last_position() if start is None else start
    if wants_events(accept):
        return EventStream(_events(memory, access.scope, position), streams, access)
    deadline = asyncio.get_running_loop().time() + wait
    while True:
        found = await memory.changes(after=position, scopes=access.scope, limit=limit)
        if found or asyncio.get_running_loop().time() >= deadline or await request.is_disconnected():
            after_all = found[-1].position if found else position
            return answer({"changes": [change.to_dict() for change in found], "after": after_all})
        await asyncio.sleep(_POLL)


async def _events(memory: AgentMemory, scope: str, position: int) -> AsyncGenerator[str, None]:
    yield ": changes\n\n"
    async for change in memory.watch(after=position, scopes=scope, interval=_POLL):
        yield event(change.operation, change.to_dict(), change.position)


# --- jobs -----------------------------------------------------------------------------------------------------------


@router.get("/jobs", operation_id="listJobs", **answers(room_responses.JobsAnswer))
async def list_jobs(
    memory: Memory,
    access: Reader,
    streams: OpenStreams,
    *,
    state: Annotated[list[Literal["queued", "running", "done", "dead"]] | None, Query()] = None,
    limit: PageLimit = 100,
) -> Response:
    """The background jobs of the scope in some states, newest first; without a state the dead ones, with reasons."""
    jobs = await memory.jobs(scope=access.scope, states=state or ["dead"], limit=limit)
    shown = [replace(job, reason=without_folders(job.reason, streams.folders)) for job in jobs]
    return answer({"jobs": [job.to_dict() for job in shown]})


@router.post("/jobs/{job_id}/retry", operation_id="retryJob", **answers(room_responses.RetriedAnswer))
async def retry_job(memory: Memory, access: Writer, job_id: str) -> Response:
    """Queue a dead job of the scope again."""
    if not await memory.retry_job(job_id, scope=access.scope):
        raise ProblemError(404, "no_job", f"the scope has no dead job {job_id[:80]!a}")
    return answer({"retried": True})


# --- for administrators ---------------------------------------------------------------------------------------------


@router.get("/scopes", operation_id="listScopes", **answers(room_responses.ScopesAnswer))
async def list_scopes(memory: Memory, access: Administrator) -> Response:
    """Every scope of the store, with what it holds. For administrators."""
    del access
    return answer({"scopes": [info.to_dict() for info in await memory.scopes()]})


@router.delete("/scopes/{scope}", operation_id="forgetScope", **answers(room_responses.ScopeReceiptAnswer))
async def forget_scope(memory: Memory, access: Administrator, scope: str) -> Response:
    """Erase a scope from every room, index, job and history; returns a receipt. For administrators who may erase."""
    check_erase(access)
    return answer((await memory.forget_scope(scope)).to_dict())


@router.get("/doctor", operation_id="diagnose", **answers(room_responses.ReportAnswer))
async def diagnose(memory: Memory, access: Administrator) -> Response:
    """Versions, sizes, and what to do about what is wrong. For administrators."""
    del access
    return answer(_plain(await memory.doctor()))


@router.post("/maintenance", operation_id="maintain", **answers(room_responses.ReportAnswer))
async def maintain(memory: Memory, access: Administrator, body: Maintenance) -> Response:
    """The regular maintenance of every scope. For administrators."""
    del access
    return answer(_plain(await memory.maintain(dry_run=body.dry_run)))


def _plain(value: Any) -> Any:
    """A report as JSON: what is no value of JSON is shown as text."""
    if isinstance(value, dict):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(each) for each in value]
    if value is None or isinstance(value, str | int | float | bool):
        return value
    to_dict = getattr(value, "to_dict", None)
    return str(value) if to_dict is None else _plain(to_dict())

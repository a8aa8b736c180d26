"""The change feed, scopes, jobs, export and diagnosis."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any, Final

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import StreamingResponse

from jiyi.memory import AgentMemory
from jiyi.server.access import ERASE
from jiyi.server.problems import ProblemError
from jiyi.server.rest.dependencies import Administrator, Memory, Reader

router = APIRouter(prefix="/v1", tags=["administration"])

_MAX_WAIT: Final = 60.0
_POLL: Final = 0.25
_CHUNK: Final = 1 << 16
_EVENTS: Final = "text/event-stream"


@router.get("/changes", operation_id="listChanges")
async def list_changes(
    memory: Memory,
    access: Reader,
    request: Request,
    *,
    after: Annotated[int | None, Query(ge=0, description="Only what follows; None begins with what comes next")] = None,
    limit: int = 100,
    wait: Annotated[float, Query(ge=0, le=_MAX_WAIT, description="Seconds to wait for the first change")] = 0,
    accept: Annotated[str, Header()] = "",
    last_event_id: Annotated[str | None, Header(pattern="^[0-9]{1,18}$")] = None,
) -> Any:
    """What was created, updated and forgotten in the scope, in order; as events with `Accept: text/event-stream`."""
    start = int(last_event_id) if last_event_id is not None else after
    position = await memory.last_position() if start is None else start
    if _EVENTS in accept:
        return StreamingResponse(_events(memory, access.scope, position, request), media_type=_EVENTS)
    deadline = asyncio.get_running_loop().time() + wait
    while True:
        found = await memory.changes(after=position, scopes=access.scope, limit=limit)
        if found or asyncio.get_running_loop().time() >= deadline or await request.is_disconnected():
            after_all = found[-1].position if found else position
            return {"changes": [change.to_dict() for change in found], "after": after_all}
        await asyncio.sleep(_POLL)


async def _events(memory: AgentMemory, scope: str, position: int, request: Request) -> AsyncIterator[str]:
    yield ": changes\n\n"
    async for change in memory.watch(after=position, scopes=scope, interval=_POLL):
        data = json.dumps(change.to_dict(), ensure_ascii=False)
        yield f"id: {change.position}\nevent: {change.operation}\ndata: {data}\n\n"
        if await request.is_disconnected():
            return


@router.get("/scopes", operation_id="listScopes")
async def list_scopes(memory: Memory, access: Administrator) -> dict[str, Any]:
    """Every scope of the store, with what it holds. For administrators."""
    del access
    return {"scopes": [info.to_dict() for info in await memory.scopes()]}


@router.delete("/scopes/{scope}", operation_id="forgetScope")
async def forget_scope(memory: Memory, access: Administrator, scope: str) -> dict[str, Any]:
    """Erase a scope from every room, index, job and history; returns a receipt. For administrators who may erase."""
    if not access.may(ERASE):
        raise ProblemError(403, "right_missing", f"the key {access.key_id} does not have the right 'erase'")
    return (await memory.forget_scope(scope)).to_dict()


@router.get("/jobs", operation_id="listJobs")
async def list_jobs(memory: Memory, access: Reader, *, state: str = "dead", limit: int = 100) -> dict[str, Any]:
    """The background jobs of the scope in a state: `queued`, `running`, `done` or `dead`."""
    jobs = await memory.jobs(scope=access.scope, states=state, limit=limit)
    return {"jobs": [job.to_dict() for job in jobs]}


@router.get("/export", operation_id="exportScope", response_class=StreamingResponse)
async def export_scope(memory: Memory, access: Reader) -> StreamingResponse:
    """Everything that the scope holds, as lines of JSON."""
    folder = tempfile.TemporaryDirectory(prefix="jiyi-export-")
    file = Path(folder.name) / "export.jsonl"
    await memory.export_jsonl(file, scope=access.scope)

    async def lines() -> AsyncIterator[bytes]:
        try:
            with await asyncio.to_thread(file.open, "rb") as opened:
                while chunk := await asyncio.to_thread(opened.read, _CHUNK):
                    yield chunk
        finally:
            await asyncio.to_thread(folder.cleanup)

    return StreamingResponse(lines(), media_type="application/x-ndjson")


@router.get("/doctor", operation_id="diagnose")
async def diagnose(memory: Memory, access: Administrator) -> dict[str, Any]:
    """Versions, sizes, and what to do about what is wrong. For administrators."""
    del access
    return dict(await memory.doctor())

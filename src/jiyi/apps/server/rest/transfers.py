"""Export and import as streams of JSON Lines: neither holds more than a piece of them in memory."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Final

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse

from jiyi.apps.server.access import ADMIN, Access
from jiyi.apps.server.problems import ProblemError
from jiyi.apps.server.rest import room_responses
from jiyi.apps.server.rest.dependencies import Memory, Reader, Writer, check_erase
from jiyi.apps.server.rest.responses import answer, answers
from jiyi.errors import ImportFormatError

router = APIRouter(prefix="/v1", tags=["transfer"])

LINES: Final = "application/x-ndjson"
_CHUNK: Final = 1 << 16
_HEADER: Final = '{"kind":"jiyi-export","format":1,"scope":"alice"}\n'
_LINES_BODY: Final = {LINES: {"schema": {"type": "string"}, "example": _HEADER}}
_TAKEN: Final = {
    **_LINES_BODY,
    "application/octet-stream": {"schema": {"type": "string", "format": "binary"}, "example": _HEADER},
}
All = Annotated[bool, Query(description="Every scope of the store; for administrators")]


@router.get(
    "/export",
    operation_id="exportScope",
    response_class=StreamingResponse,
    response_model=None,
    responses={
        200: {"description": "Lines of JSON", "content": {LINES: {"schema": {"type": "string"}, "example": _HEADER}}}
    },
)
async def export_scope(memory: Memory, access: Reader, *, all_scopes: All = False) -> StreamingResponse:
    """Everything that the scope holds, as lines of JSON."""
    _check_all(access, all_scopes=all_scopes)
    folder = tempfile.TemporaryDirectory(prefix="jiyi-export-")
    file = Path(folder.name) / "export.jsonl"
    await memory.export_jsonl(file, scope=None if all_scopes else access.scope)

    async def lines() -> AsyncIterator[bytes]:
        try:
            with await asyncio.to_thread(file.open, "rb") as opened:
                while chunk := await asyncio.to_thread(opened.read, _CHUNK):
                    yield chunk
        finally:
            await asyncio.to_thread(folder.cleanup)

    return StreamingResponse(lines(), media_type=LINES)


@router.post(
    "/import",
    operation_id="importScope",
    openapi_extra={"requestBody": {"required": True, "content": _TAKEN}},
    **answers(room_responses.ImportAnswer),
)
async def import_scope(
    memory: Memory,
    access: Writer,
    request: Request,
    *,
    update: Annotated[bool, Query(description="The newer of two states wins; else what is there stays")] = False,
    skip_bad_rows: Annotated[bool, Query(description="Leave bad lines out and name them")] = False,
    dry_run: Annotated[bool, Query(description="Only count")] = False,
    all_scopes: All = False,
) -> Response:
    """Take in lines that `export` has written: all of them or none, unless bad rows are skipped.

    A bad line is named with its number. Lines of another scope are bad lines. The same lines again change nothing.
    With `update` what was erased there is erased here: that needs the right to erase.
    """
    _check_all(access, all_scopes=all_scopes)
    if update:
        check_erase(access)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in {LINES, "application/jsonl", "application/octet-stream"}:
        raise ProblemError(415, "wrong_type", f"send lines of JSON as {LINES}, not {kind[:80]!a}")
    with tempfile.TemporaryDirectory(prefix="jiyi-import-") as folder:
        file = Path(folder) / "import.jsonl"
        with await asyncio.to_thread(file.open, "wb") as opened:
            async for chunk in request.stream():
                await asyncio.to_thread(opened.write, chunk)
        try:
            counts = await memory.import_jsonl(
                file,
                update=update,
                skip_bad_rows=skip_bad_rows,
                scope=None if all_scopes else access.scope,
                dry_run=dry_run,
            )
        except ImportFormatError as error:
            # The path of the temporary file on the server is not disclosed.
            raise ImportFormatError(str(error).replace(f"{file}, ", "")) from None
    return answer({**asdict(counts), "refused": list(counts.refused), "dry_run": dry_run})


def _check_all(access: Access, *, all_scopes: bool) -> None:
    if all_scopes and not access.may(ADMIN):
        raise ProblemError(403, "right_missing", f"the key {access.key_id} does not have the right 'admin'")

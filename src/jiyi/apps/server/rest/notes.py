"""Notes: files that people read and edit, and proposals for MEMORY.md."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from jiyi.apps.server.access import Access
from jiyi.apps.server.problems import ProblemError
from jiyi.apps.server.rest import room_responses
from jiyi.apps.server.rest.bodies import Curation, Items, NoteEntry, NoteQuestion
from jiyi.apps.server.rest.dependencies import IfMatch, Memory, Reader, Writer
from jiyi.apps.server.rest.idempotency import REPLAYED, REUSED, IdempotencyKey, request_id_of
from jiyi.apps.server.rest.responses import answer, answers
from jiyi.errors import RequestReusedError
from jiyi.memory import AgentMemory
from jiyi.model import clock
from jiyi.model.daily_note import local_day, neighbouring_days
from jiyi.model.identity import text_hash
from jiyi.notes.proposals import Proposal

router = APIRouter(prefix="/v1/notes", tags=["notes"])

FirstLine = Annotated[int, Query(ge=1, le=10_000_000)]
LastLine = Annotated[int | None, Query(ge=1, le=10_000_000)]


@router.get("", operation_id="listNotes", **answers(room_responses.NotesAnswer))
async def list_notes(memory: Memory, access: Reader) -> Response:
    """The note files, with what is wrong with them, if anything. A group sees the shared ones."""
    _check(memory, access)
    await memory.notes.scan()
    files = await memory.notes.list_files()
    return answer({"notes": [each.to_dict() for each in files if access.kind != "group" or each.shared]})


@router.get("/files/{path:path}", operation_id="getNote", **answers(room_responses.NoteAnswer))
async def get_note(
    memory: Memory, access: Reader, path: str, *, from_line: FirstLine = 1, to_line: LastLine = None
) -> Response:
    """Lines of a note."""
    _check(memory, access)
    return answer((await memory.notes.memory_get(path, from_line, to_line, kind=access.kind)).to_dict())


@router.get("/attribution/{path:path}", operation_id="getNoteAttribution", **answers(room_responses.AttributionAnswer))
async def get_attribution(
    memory: Memory, access: Reader, path: str, *, from_line: FirstLine = 1, to_line: LastLine = None
) -> Response:
    """Who wrote which lines of a note: an agent, an accepted proposal, or a person by hand."""
    _check(memory, access)
    found = await memory.notes.attribution(path, from_line, to_line, kind=access.kind)
    return answer({"lines": [each.to_dict() for each in found]})


@router.post("/search", operation_id="searchNotes", **answers(room_responses.NoteHitsAnswer))
async def search_notes(memory: Memory, access: Reader, body: NoteQuestion) -> Response:
    """The pieces of notes that answer best, as the files are now."""
    _check(memory, access)
    hits = await memory.notes.memory_search(
        body.query,
        body.limit,
        kind=access.kind,
        path=body.path,
        since=body.since,
        until=body.until,
        mode=body.mode,
    )
    return answer({"hits": [hit.to_dict() for hit in hits]})


@router.post("", operation_id="appendNote", **answers(room_responses.AppendedAnswer, 201, "Written"))
async def append_note(
    request: Request, memory: Memory, access: Writer, body: NoteEntry, idempotency_key: IdempotencyKey = None
) -> Response:
    """Add an entry to today's note. In the file and on disk when the answer comes."""
    _check(memory, access)
    name = request_id_of(access, idempotency_key) or ""
    if name:
        # The file itself says which requests it holds: what was written before a crash is found again.
        lock: asyncio.Lock = request.app.state.notes_lock
        async with lock:
            # With a hash of what was asked for: people may edit the entry before the request comes again.
            source = f"{name}:{text_hash(body.text)[:16]}"
            known = await _written(memory, access, name, source)
            if known is not None:
                return answer(known, 201, {REPLAYED: "true"})
            return await _append(memory, access, body.text, source)
    return await _append(memory, access, body.text, "")


async def _append(memory: AgentMemory, access: Access, text: str, source: str) -> Response:
    return answer((await memory.notes.memory_append(text, kind=access.kind, source=source)).to_dict(), 201)


async def _written(memory: AgentMemory, access: Access, name: str, source: str) -> dict[str, Any] | None:
    """The entry of these days that comes from this request."""
    for day in neighbouring_days(local_day(clock.utc_now(), memory.settings.zone)):
        path, entries = await memory.notes.entries_of_day(day, kind=access.kind)
        for each in entries:
            if each.entry.source.startswith(f"{name}:") and each.entry.source != source:
                raise RequestReusedError(REUSED)
            if each.entry.source == source:
                at = clock.to_text(each.entry.at)
                return {"id": each.entry.id, "path": path, "at": at, "new": False, "conflict": False}
    return None


@router.get("/proposals", operation_id="listProposals", **answers(room_responses.ProposalsAnswer))
async def list_proposals(memory: Memory, access: Reader) -> Response:
    """The proposed edits of MEMORY.md that wait, oldest first."""
    _check_own(memory, access)
    return answer({"proposals": [each.to_dict() for each in await memory.notes.proposals()]})


@router.post("/proposals", operation_id="proposeNotes", **answers(room_responses.ProposalAnswer, 201, "Proposed"))
async def propose(memory: Memory, access: Writer, body: Curation) -> Response:
    """Propose an edit of MEMORY.md from the notes of the last days. Nothing is changed."""
    _check_own(memory, access)
    return _shown(await memory.notes.curate(days=body.days), 201)


@router.get("/proposals/{proposal_id}", operation_id="getProposal", **answers(room_responses.ProposalAnswer))
async def get_proposal(memory: Memory, access: Reader, proposal_id: str) -> Response:
    """One proposal that waits. Its ETag changes when items of it are settled."""
    _check_own(memory, access)
    return _shown(await _known(memory, proposal_id))


@router.post("/proposals/{proposal_id}/accept", operation_id="acceptProposal", **answers(room_responses.AcceptedAnswer))
async def accept_proposal(
    memory: Memory, access: Writer, proposal_id: str, body: Items, if_match: IfMatch = None
) -> Response:
    """Apply a proposal, or some of its items, after a backup. Refused if MEMORY.md has changed since."""
    _check_own(memory, access)
    _check_tag(await _known(memory, proposal_id), if_match)
    return answer((await memory.notes.accept(proposal_id, items=body.items)).to_dict())


@router.post("/proposals/{proposal_id}/reject", operation_id="rejectProposal", **answers(room_responses.RejectedAnswer))
async def reject_proposal(
    memory: Memory, access: Writer, proposal_id: str, body: Items, if_match: IfMatch = None
) -> Response:
    """Drop a proposal, or some of its items. Their texts are not proposed again."""
    _check_own(memory, access)
    _check_tag(await _known(memory, proposal_id), if_match)
    return answer({"rejected": list(await memory.notes.reject(proposal_id, items=body.items))})


async def _known(memory: AgentMemory, proposal_id: str) -> Proposal:
    found = next((each for each in await memory.notes.proposals() if each.id == proposal_id), None)
    if found is None:
        raise ProblemError(404, "no_proposal", f"no proposal {proposal_id[:80]!a} waits (accepted, rejected, expired?)")
    return found


def _tag(proposal: Proposal) -> str:
    """Which items are left, and for which MEMORY.md."""
    numbers = ",".join(str(item.number) for item in proposal.items)
    return f'"{text_hash(proposal.base, numbers)[:16]}"'


def _check_tag(proposal: Proposal, if_match: str | None) -> None:
    if if_match is not None and if_match.strip() not in {"*", _tag(proposal)}:
        raise ProblemError(412, "changed_meanwhile", f"items of proposal {proposal.id} were settled meanwhile")


def _shown(proposal: Proposal, status: int = 200) -> Response:
    return answer(proposal.to_dict(), status, {"ETag": _tag(proposal)})


def _check(memory: AgentMemory, access: Access) -> None:
    """The notes are open to their own scope, and in part to groups."""
    if not access.may_see_notes(memory.settings.scope):
        raise ProblemError(403, "no_notes", "the notes belong to the scope that the memory was opened with")
    # In simple mode the notes themselves say why there are none.
    if memory.settings.workspace is None:
        raise ProblemError(409, "no_workspace", "this memory has no workspace; start the server with one")


def _check_own(memory: AgentMemory, access: Access) -> None:
    _check(memory, access)
    if access.kind == "group":
        raise ProblemError(403, "no_notes", "MEMORY.md is private: a group does not see it")

"""Entries and recall."""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Response

from jiyi.errors import InvalidInputError
from jiyi.memory import AgentMemory
from jiyi.model.entry import MemoryEntry
from jiyi.server.access import ERASE, Access
from jiyi.server.problems import ProblemError
from jiyi.server.rest.dependencies import Memory, Reader, Writer
from jiyi.server.rest.values import ChangedEntry, NewEntry, Question

router = APIRouter(prefix="/v1", tags=["entries"])

IfMatch = Annotated[str | None, Header(description="The ETag of the version that is meant")]
IdempotencyKey = Annotated[
    str | None, Header(max_length=200, description="The same key again adds nothing: safe to send twice")
]


@router.post("/entries", status_code=201, operation_id="storeEntry")
async def store_entry(
    memory: Memory, access: Writer, body: NewEntry, response: Response, idempotency_key: IdempotencyKey = None
) -> dict[str, Any]:
    """Store an entry: under its key, where a later one replaces it, or without one."""
    given = body.given()
    key, content = given.pop("key", None), given.pop("content")
    if key is None and idempotency_key is not None:
        # A key of its own makes the repetition find what the first request has stored, also after a crash.
        known = hashlib.sha256(f"{access.key_id}\0{idempotency_key}".encode()).hexdigest()[:32]
        key = f"request:{known}"
    if key is None:
        entry = await memory.add(content, scope=access.scope, **given)
    else:
        entry = await memory.store(key, content, scope=access.scope, **given)
    return _shown(entry, response)


@router.get("/entries", operation_id="listEntries")
async def list_entries(
    memory: Memory,
    access: Reader,
    *,
    category: Annotated[list[str] | None, Query()] = None,
    memory_type: Annotated[list[str] | None, Query()] = None,
    domain: Annotated[list[str] | None, Query()] = None,
    tag: Annotated[list[str] | None, Query()] = None,
    conversation_id: str | None = None,
    key_prefix: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    sort: str = "created",
    limit: int = 50,
    cursor: str | None = None,
) -> dict[str, Any]:
    """The entries that the key sees, newest first; `next_cursor` leads to the page that follows."""
    page = await memory.list(
        scope=access.scope,
        category=category,
        memory_types=memory_type,
        domains=domain,
        tags=tag,
        conversation_id=conversation_id,
        key_prefix=key_prefix,
        since=since,
        until=until,
        sort=sort,
        limit=limit,
        cursor=cursor,
    )
    return {"entries": [entry.to_dict() for entry in page], "next_cursor": page.next_cursor}


@router.get("/entries/count", operation_id="countEntries")
async def count_entries(memory: Memory, access: Reader) -> dict[str, Any]:
    """How many entries the key sees."""
    return {"count": await memory.count(scope=access.scope)}


@router.get("/entries/by-key", operation_id="getEntryByKey")
async def get_entry_by_key(memory: Memory, access: Reader, key: str, response: Response) -> dict[str, Any]:
    """The entry with this key."""
    entry = await memory.get(key, scope=access.scope)
    if entry is None:
        raise ProblemError(404, "no_entry", f"there is no entry with the key {key[:80]!a}")
    return _shown(entry, response)


@router.get("/entries/{entry_id}", operation_id="getEntry")
async def get_entry(memory: Memory, access: Reader, entry_id: str, response: Response) -> dict[str, Any]:
    """One entry, with its version as ETag."""
    return _shown(await _found(memory, access, entry_id), response)


@router.patch("/entries/{entry_id}", operation_id="updateEntry")
async def update_entry(
    memory: Memory, access: Writer, entry_id: str, body: ChangedEntry, response: Response, if_match: IfMatch = None
) -> dict[str, Any]:
    """Change an entry: what is given replaces what was there, the rest stays. A new version is made."""
    entry = await _found(memory, access, entry_id)
    _check_version(entry, if_match)
    changes = body.given()
    if not changes:
        raise InvalidInputError("the body has no field to change")
    return _shown(await memory.update(entry.id, scope=access.scope, **changes), response)


@router.delete("/entries/{entry_id}", operation_id="forgetEntry")
async def forget_entry(
    memory: Memory, access: Writer, entry_id: str, *, erase: bool = False, if_match: IfMatch = None
) -> dict[str, Any]:
    """Forget an entry; with `erase` its texts and versions are deleted for good, which is a right of its own."""
    if erase and not access.may(ERASE):
        raise ProblemError(403, "right_missing", f"the key {access.key_id} does not have the right 'erase'")
    entry = await _found(memory, access, entry_id)
    _check_version(entry, if_match)
    return {"forgotten": await memory.forget(id=entry.id, scope=access.scope, erase=erase), "erased": erase}


@router.get("/entries/{entry_id}/history", operation_id="getEntryHistory")
async def entry_history(memory: Memory, access: Reader, entry_id: str) -> dict[str, Any]:
    """All versions of an entry, oldest first."""
    versions = await memory.history(id=entry_id, scope=access.scope)
    if not versions:
        raise _missing(entry_id)
    return {"versions": [version.to_dict() for version in versions]}


@router.post("/recall", operation_id="recall")
async def recall(memory: Memory, access: Reader, body: Question) -> dict[str, Any]:
    """The entries that answer best, each with its score part by part."""
    asked = body.model_dump()
    hits = await memory.recall(asked.pop("query"), asked.pop("limit"), scope=access.scope, kind=access.kind, **asked)
    return {"hits": [hit.to_dict() for hit in hits], "confident": bool(hits and hits[0].confident)}


async def _found(memory: AgentMemory, access: Access, entry_id: str) -> MemoryEntry:
    entry = await memory.get(id=entry_id, scope=access.scope)
    if entry is None:
        raise _missing(entry_id)
    return entry


def _missing(entry_id: str) -> ProblemError:
    return ProblemError(404, "no_entry", f"there is no entry {entry_id[:80]!a}")


def _check_version(entry: MemoryEntry, if_match: str | None) -> None:
    if if_match is not None and if_match.strip() not in {"*", _tag(entry)}:
        raise ProblemError(412, "changed_meanwhile", f"the entry is at version {entry.version}, not {if_match[:40]!a}")


def _tag(entry: MemoryEntry) -> str:
    return f'"{entry.version}"'


def _shown(entry: MemoryEntry, response: Response) -> dict[str, Any]:
    response.headers["ETag"] = _tag(entry)
    return entry.to_dict()

"""Entries and recall."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query, Response

from jiyi.apps.server.access import Access
from jiyi.apps.server.problems import ProblemError
from jiyi.apps.server.rest import responses
from jiyi.apps.server.rest.bodies import ChangedEntry, ForgetRequest, NewEntries, NewEntry, Question, Time
from jiyi.apps.server.rest.dependencies import (
    Accept,
    Cursor,
    IfMatch,
    Memory,
    OpenStreams,
    PageLimit,
    Reader,
    Writer,
    check_erase,
)
from jiyi.apps.server.rest.events import EventStream, wants_events, with_progress
from jiyi.apps.server.rest.idempotency import IdempotencyKey, once
from jiyi.apps.server.rest.responses import answer, answers
from jiyi.apps.server.rest.versions import changed_meanwhile, tag_of, version_meant
from jiyi.errors import InvalidInputError, VersionConflictError
from jiyi.memory import AgentMemory
from jiyi.model.entry import MemoryEntry
from jiyi.model.listing import Sort

router = APIRouter(prefix="/v1", tags=["entries"])

Words = Annotated[list[Annotated[str, Query(min_length=1)]] | None, Query()]
OneText = Annotated[str | None, Query(min_length=1)]
Offset = Annotated[int, Query(ge=0, le=1_000_000)]


async def _conditions(
    *,
    category: Words = None,
    memory_type: Words = None,
    domain: Words = None,
    tag: Words = None,
    namespace: Words = None,
    conversation_id: OneText = None,
    key_prefix: OneText = None,
    since: Time | None = None,
    until: Time | None = None,
    where: Annotated[str | None, Query(description='Conditions on the metadata as JSON: {"project": "x"}')] = None,
    now: Annotated[Time | None, Query(description="Those that had not expired at this moment")] = None,
) -> dict[str, Any]:
    """Which entries are meant, as arguments of the memory."""
    return {
        "category": category,
        "memory_types": memory_type,
        "domains": domain,
        "tags": tag,
        "namespace": namespace,
        "conversation_id": conversation_id,
        "key_prefix": key_prefix,
        "since": since,
        "until": until,
        "where": None if where is None else _parsed(where),
        "now": now,
    }


def _parsed(where: str) -> Any:
    """Conditions that stand as JSON in an address. Their form is checked by the memory."""
    try:
        return json.loads(where)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(
            f'where {where[:80]!a} is not JSON ({type(error).__name__}); send a JSON object such as {{"project": "x"}}'
        ) from error


Conditions = Annotated[dict[str, Any], Depends(_conditions)]


# The first route: a path is compared with one after the other, and this one is asked most.
@router.post("/recall", operation_id="recall", **answers(responses.HitsAnswer))
async def recall(memory: Memory, access: Reader, streams: OpenStreams, body: Question, accept: Accept = "") -> Response:
    """The entries that answer best, each with its score part by part; with events, progress while it takes long."""
    asked = body.model_dump()
    query, limit = asked.pop("query"), asked.pop("limit")

    async def found() -> dict[str, Any]:
        hits = await memory.recall(query, limit, scope=access.scope, kind=access.kind, **asked)
        confident = bool(hits and hits[0].confident)
        return {"hits": [hit.to_dict() for hit in hits], "confident": confident, "notes": list(hits.notes)}

    if wants_events(accept):
        return EventStream(with_progress(asyncio.ensure_future(found()), "hits"), streams, access)
    return answer(await found())


@router.post("/entries", operation_id="storeEntry", **answers(responses.EntryAnswer, 201, "Stored"))
async def store_entry(
    memory: Memory, access: Writer, body: NewEntry, idempotency_key: IdempotencyKey = None
) -> Response:
    """Store an entry: under its key, where a later one replaces it, or without one."""
    given = body.given()
    key, content = given.pop("key", None), given.pop("content")

    async def do() -> Response:
        if key is None:
            return _shown(await memory.add(content, scope=access.scope, **given), 201)
        return _shown(await memory.store(key, content, scope=access.scope, **given), 201)

    async def again(ids: Sequence[str]) -> Response:
        return _shown(await _made(memory, access, ids[0]), 201)

    return await once(access, idempotency_key, body, do, again)


@router.post("/entries/batch", operation_id="storeEntries", **answers(responses.StoredAnswer, 201, "Stored"))
async def store_entries(
    memory: Memory,
    access: Writer,
    body: NewEntries,
    *,
    with_entries: Annotated[bool, Query(description="Answer with the entries, too, as they are stored")] = False,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Store many entries in one transaction, each under its key: all of them or none."""
    drafts = [each.given() | {"scope": access.scope} for each in body.entries]

    def stored(ids: Sequence[str], entries: Sequence[MemoryEntry]) -> Response:
        shown = {"entries": [entry.to_dict() for entry in entries]} if with_entries else {}
        return answer({"ids": list(ids), **shown}, 201)

    async def do() -> Response:
        entries = await memory.store_many(drafts)
        return stored([entry.id for entry in entries], entries)

    async def again(ids: Sequence[str]) -> Response:
        found = [await memory.get(id=each, scope=access.scope) for each in ids] if with_entries else []
        return stored(ids, [entry for entry in found if entry is not None])

    return await once(access, idempotency_key, body, do, again)


@router.get("/entries", operation_id="listEntries", **answers(responses.EntriesAnswer))
async def list_entries(
    memory: Memory,
    access: Reader,
    conditions: Conditions,
    *,
    sort: Sort = "created",
    descending: bool | None = None,
    limit: PageLimit = 50,
    offset: Offset = 0,
    cursor: Cursor = None,
) -> Response:
    """The entries that the key sees, newest first; `next_cursor` leads to the page that follows."""
    page = await memory.list(
        scope=access.scope, sort=sort, descending=descending, limit=limit, offset=offset, cursor=cursor, **conditions
    )
    return answer({"entries": [entry.to_dict() for entry in page], "next_cursor": page.next_cursor})


@router.get("/entries/count", operation_id="countEntries", **answers(responses.CountAnswer))
async def count_entries(memory: Memory, access: Reader, conditions: Conditions) -> Response:
    """How many entries the key sees, of those that meet the conditions."""
    return answer({"count": await memory.count(scope=access.scope, **conditions)})


@router.post("/entries/forget", operation_id="forgetEntries", **answers(responses.ManyForgottenAnswer))
async def forget_entries(memory: Memory, access: Writer, body: ForgetRequest) -> Response:
    """Forget the entries of the scope that meet all conditions, at least one; public ones stay. Returns a receipt."""
    if body.erase:
        check_erase(access)
    return answer(asdict(await memory.forget_many(scope=access.scope, **body.given())))


@router.get("/entries/by-key", operation_id="getEntryByKey", **answers(responses.EntryAnswer))
async def get_entry_by_key(memory: Memory, access: Reader, key: Annotated[str, Query(min_length=1)]) -> Response:
    """The entry with this key."""
    entry = await memory.get(key, scope=access.scope)
    if entry is None:
        raise ProblemError(404, "no_entry", f"there is no entry with the key {key[:80]!a}")
    return _shown(entry)


@router.get("/entries/{entry_id}", operation_id="getEntry", **answers(responses.EntryAnswer))
async def get_entry(
    memory: Memory, access: Reader, entry_id: str, if_none_match: Annotated[str | None, Header(max_length=200)] = None
) -> Response:
    """One entry, with its version as ETag. 304 if the caller has this version."""
    entry = await _found(memory, access, entry_id)
    if if_none_match is not None and if_none_match.strip() == tag_of(entry.version):
        return Response(None, 304, {"ETag": tag_of(entry.version)})
    return _shown(entry)


@router.patch("/entries/{entry_id}", operation_id="updateEntry", **answers(responses.EntryAnswer))
async def update_entry(
    memory: Memory, access: Writer, entry_id: str, body: ChangedEntry, if_match: IfMatch = None
) -> Response:
    """Change an entry: what is given replaces what was there, the rest stays. A new version is made."""
    entry = await _found(memory, access, entry_id)
    changes = {name: value for name, value in body.given().items() if value is not None}
    if not changes:
        raise InvalidInputError("the body has no field to change")
    try:
        changed = await memory.update(
            id=entry.id, scope=access.scope, if_version=version_meant(entry.version, if_match), **changes
        )
    except VersionConflictError as error:
        raise changed_meanwhile(error) from None
    return _shown(changed)


@router.delete("/entries/{entry_id}", operation_id="forgetEntry", **answers(responses.ForgottenAnswer))
async def forget_entry(
    memory: Memory, access: Writer, entry_id: str, *, erase: bool = False, if_match: IfMatch = None
) -> Response:
    """Forget an entry; with `erase` its texts and versions are deleted for good, which is a right of its own."""
    if erase:
        check_erase(access)
    entry = await _found(memory, access, entry_id)
    try:
        gone = await memory.forget(
            id=entry.id, scope=access.scope, erase=erase, if_version=version_meant(entry.version, if_match)
        )
    except VersionConflictError as error:
        raise changed_meanwhile(error) from None
    return answer({"forgotten": gone, "erased": erase})


@router.get("/entries/{entry_id}/history", operation_id="getEntryHistory", **answers(responses.VersionsAnswer))
async def entry_history(memory: Memory, access: Reader, entry_id: str) -> Response:
    """All versions of an entry, oldest first."""
    versions = await memory.history(id=entry_id, scope=access.scope)
    if not versions:
        raise _missing(entry_id)
    return answer({"versions": [version.to_dict() for version in versions]})


@router.get("/namespaces", operation_id="listNamespaces", **answers(responses.NamespacesAnswer))
async def list_namespaces(
    memory: Memory,
    access: Reader,
    *,
    prefix: Words = None,
    suffix: Words = None,
    max_depth: Annotated[int | None, Query(ge=1, le=100)] = None,
    limit: PageLimit = 100,
    offset: Offset = 0,
) -> Response:
    """The namespaces of the entries that the key sees, in order."""
    found = await memory.list_namespaces(
        scope=access.scope, prefix=prefix, suffix=suffix, max_depth=max_depth, limit=limit, offset=offset
    )
    return answer({"namespaces": [list(each) for each in found]})


async def _found(memory: AgentMemory, access: Access, entry_id: str) -> MemoryEntry:
    entry = await memory.get(id=entry_id, scope=access.scope)
    if entry is None:
        raise _missing(entry_id)
    return entry


async def _made(memory: AgentMemory, access: Access, entry_id: str) -> MemoryEntry:
    """What an earlier sending of the request has made."""
    entry = await memory.get(id=entry_id, scope=access.scope)
    if entry is None:
        raise ProblemError(409, "done_and_gone", f"this request was done before; entry {entry_id} was forgotten since")
    return entry


def _missing(entry_id: str) -> ProblemError:
    return ProblemError(404, "no_entry", f"there is no entry {entry_id[:80]!a}")


def _shown(entry: MemoryEntry, status: int = 200) -> Response:
    return answer(entry.to_dict(), status, {"ETag": tag_of(entry.version)})

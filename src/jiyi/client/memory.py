"""MemoryClient: entries, recall, changes and administration."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from jiyi import errors
from jiyi.client.agent import ClientAgent
from jiyi.client.connection import Connection, body_of, error_of, listed, part, version_header
from jiyi.client.decoding import candidate_of, change_of, entry_of, hit_of, job_of, page_of, version_of
from jiyi.client.rooms import ClientChat, ClientLongterm, ClientNotes, message_data
from jiyi.client.runtime import ClientRuntime
from jiyi.model.change import MemoryChange
from jiyi.model.chat import Candidate
from jiyi.model.entry import EntryVersion, MemoryEntry
from jiyi.model.job import Job
from jiyi.model.listing import Forgotten, Page
from jiyi.model.message import Message, MessageLike
from jiyi.model.recalled import RecalledEntries
from jiyi.ports import ImportCounts

if TYPE_CHECKING:
    import os
    from types import TracebackType

    import httpx

_MAX_BATCH = 2_000


class MemoryClient:
    """The memory of one key on a server. One instance may be shared by any number of tasks."""

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        timeout: float = 30.0,
        transport: httpx.AsyncBaseTransport | None = None,
        tries: int = 3,
    ) -> None:
        """`transport` is for tests, and for connections that need settings of their own; `tries` for slow restarts."""
        self._connection = Connection(url, key, timeout, transport, tries)
        self.longterm = ClientLongterm(self._connection)
        self.notes = ClientNotes(self._connection)
        self.runtime = ClientRuntime(self._connection)

    # --- entries ------------------------------------------------------------------------------------------------------

    async def store(
        self, key: str, content: str, category: str | None = None, *, scope: str | None = None, **fields: Any
    ) -> MemoryEntry:
        """Remember `content` under `key`, in the place of what was there; fields as in `AgentMemory.store`."""
        await self._connection.own(scope)
        body = body_of({"key": key, "content": content, "category": category, **fields})
        return entry_of(await self._connection.create("/v1/entries", body))

    async def add(
        self, content: str, category: str | None = None, *, scope: str | None = None, **fields: Any
    ) -> MemoryEntry:
        """Remember `content` without a key. A request that is sent again adds nothing."""
        await self._connection.own(scope)
        body = body_of({"content": content, "category": category, **fields})
        return entry_of(await self._connection.create("/v1/entries", body))

    async def store_many(self, entries: Iterable[Mapping[str, Any]], progress: Any = None) -> list[MemoryEntry]:
        """Remember many at once: mappings with the argument names of `store`."""
        drafts = [body_of(each) for each in entries]
        for draft in drafts:
            await self._connection.own(draft.pop("scope", None))
        stored: list[MemoryEntry] = []
        for start in range(0, len(drafts), _MAX_BATCH):
            some = drafts[start : start + _MAX_BATCH]
            done = await self._connection.create("/v1/entries/batch", {"entries": some}, with_entries=True)
            stored += [entry_of(each) for each in done["entries"]]
            if progress is not None:
                progress(len(stored), len(drafts))
        return stored

    async def get(
        self,
        key: str | None = None,
        *,
        id: str | None = None,  # noqa: A002 - the name of the attribute
        scope: str | None = None,
    ) -> MemoryEntry | None:
        """The entry with this key or this id."""
        await self._connection.own(scope)
        if (key is None) == (id is None):
            raise errors.InvalidInputError("get needs a key or an id, and not both")
        if key is not None:
            found = await self._connection.get("/v1/entries/by-key", missing=True, key=key)
        else:
            found = await self._connection.get(f"/v1/entries/{part(id)}", missing=True)
        return None if found is None else entry_of(found)

    async def update(
        self,
        key_or_id: str | None = None,
        *,
        id: str | None = None,  # noqa: A002 - the name of the attribute
        if_version: int | None = None,
        scope: str | None = None,
        **changes: Any,
    ) -> MemoryEntry:
        """Change an entry, found by its key or else by its id: what is given is replaced, the rest stays."""
        if key_or_id is None:
            entry = await self.get(id=id, scope=scope)
        else:
            entry = await self.get(key_or_id, scope=scope) or await self.get(id=key_or_id)
        if entry is None:
            raise errors.InvalidInputError(f"there is no entry with the key or id {str(key_or_id or id)[:80]!a}")
        headers = version_header(if_version)
        path = f"/v1/entries/{part(entry.id)}"
        return entry_of(
            await self._connection.call("PATCH", path, body=body_of(changes), headers=headers, again=if_version is None)
        )

    async def forget(
        self,
        key: str | None = None,
        *,
        id: str | None = None,  # noqa: A002 - the name of the attribute
        scope: str | None = None,
        erase: bool = False,
        if_version: int | None = None,
    ) -> bool:
        """Forget an entry; whether there was one."""
        entry = await self.get(key, id=id, scope=scope)
        if entry is None:
            return False
        query = {"erase": "true"} if erase else {}
        headers = version_header(if_version)
        path = f"/v1/entries/{part(entry.id)}"
        done = await self._connection.call("DELETE", path, query=query, headers=headers, missing=True)
        return done is not None and bool(done["forgotten"])

    async def forget_many(self, *, scope: str | None = None, **conditions: Any) -> Forgotten:
        """Forget the entries that meet all conditions; conditions as in `AgentMemory.forget_many`."""
        await self._connection.own(scope)
        body = body_of({**conditions, **_lists(conditions, "category", "memory_types", "domains")})
        return Forgotten(**await self._connection.call("POST", "/v1/entries/forget", body=body))

    async def history(
        self,
        key: str | None = None,
        *,
        id: str | None = None,  # noqa: A002 - the name of the attribute
        scope: str | None = None,
    ) -> Sequence[EntryVersion]:
        """All versions of an entry, oldest first."""
        entry = await self.get(key, id=id, scope=scope)
        if entry is None:
            return []
        found = await self._connection.get(f"/v1/entries/{part(entry.id)}/history")
        return [version_of(each) for each in found["versions"]]

    async def recall(self, query: str, limit: int = 10, *, scope: str | None = None, **options: Any) -> RecalledEntries:
        """The entries that answer best, best first; options as in `AgentMemory.recall`.

        Without `kind`: the key of the client says whether it asks for a `main` session or for a `group`.
        """
        await self._connection.own(scope)
        asked = {**options, **_lists(options, "category", "memory_types", "domains")}
        found = await self._connection.ask("/v1/recall", body_of({"query": query, "limit": limit, **asked}))
        return RecalledEntries((hit_of(each) for each in found["hits"]), notes=tuple(found["notes"]))

    async def list(
        self, *, limit: int = 100, cursor: str | None = None, scope: str | None = None, **conditions: Any
    ) -> Page:
        """The entries, newest first; conditions as in `AgentMemory.list`."""
        await self._connection.own(scope)
        return page_of(await self._connection.get("/v1/entries", limit=limit, cursor=cursor, **_query(conditions)))

    async def count(self, *, scope: str | None = None, **conditions: Any) -> int:
        """How many entries the key sees; conditions as in `AgentMemory.count`."""
        await self._connection.own(scope)
        return int((await self._connection.get("/v1/entries/count", **_query(conditions)))["count"])

    async def list_namespaces(self, *, scope: str | None = None, **conditions: Any) -> Sequence[tuple[str, ...]]:
        """The namespaces, in order; conditions as in `AgentMemory.list_namespaces`."""
        await self._connection.own(scope)
        found = await self._connection.get("/v1/namespaces", **_query(conditions))
        return [tuple(each) for each in found["namespaces"]]

    # --- conversations and rooms --------------------------------------------------------------------------------------

    async def list_sessions(self, *, scope: str | None = None) -> Sequence[str]:
        """The conversations, the one last written to first."""
        await self._connection.own(scope)
        found: list[str] = []
        cursor = None
        while True:
            page = await self._connection.get("/v1/conversations", cursor=cursor)
            found += page["conversations"]
            cursor = page["next_cursor"]
            if cursor is None:
                return found

    async def load_conversation_history(self, session_id: str, *, scope: str | None = None) -> Sequence[Message]:
        """The messages of a session since its last reset."""
        return await self.chat(session_id, scope=scope).get_all()

    async def save_conversation_history(
        self, session_id: str, messages: Sequence[MessageLike], *, scope: str | None = None
    ) -> str:
        """Make `messages` the record of the session."""
        await self._connection.own(scope)
        body = {"messages": [message_data(message) for message in messages]}
        path = f"/v1/conversations/{part(session_id)}/messages"
        return str((await self._connection.call("PUT", path, body=body, again=True))["session_id"])

    async def forget_session(
        self, session_id: str, *, scope: str | None = None, facts: bool = False
    ) -> Mapping[str, Any]:
        """Delete a conversation for good, with `facts` also those made of it alone; returns a receipt."""
        await self._connection.own(scope)
        path = f"/v1/conversations/{part(session_id)}"
        done = await self._connection.call("DELETE", path, query={"facts": facts}, again=True)
        receipt: dict[str, Any] = done["receipt"]
        return receipt

    def chat(self, session_id: str, *, scope: str | None = None) -> ClientChat:
        """The conversation of a session, kept inside a token limit by the server."""
        return ClientChat(self._connection, session_id, scope)

    def agent(self, session_id: str, *, user: str | None = None, **options: Any) -> ClientAgent:
        """An assistant in a session: `begin`, `turn.call`, `turn.finish`, or all of it with `reply`."""
        return ClientAgent(self._connection, session_id, user, options)

    async def candidates(
        self, *, scope: str | None = None, session_id: str | None = None, state: str | None = "new", limit: int = 100
    ) -> Sequence[Candidate]:
        """What compactions propose to remember, oldest first; `None` as state means all."""
        await self._connection.own(scope)
        found = await self._connection.get("/v1/candidates", session_id=session_id, state=state or "any", limit=limit)
        return [candidate_of(each) for each in found["candidates"]]

    async def take_candidate(self, candidate_id: str, *, scope: str | None = None) -> bool:
        """Claim a new candidate; `False` when it does not exist or is settled."""
        return await self._settle(candidate_id, "take", scope)

    async def reject_candidate(self, candidate_id: str, *, scope: str | None = None) -> bool:
        """Reject a new candidate; `False` when it does not exist or is settled."""
        return await self._settle(candidate_id, "reject", scope)

    async def _settle(self, candidate_id: str, choice: str, scope: str | None) -> bool:
        await self._connection.own(scope)
        path = f"/v1/candidates/{part(candidate_id)}"
        return bool((await self._connection.call("POST", path, body={"choice": choice}))["settled"])

    # --- changes and administration -----------------------------------------------------------------------------------

    async def changes(
        self, *, after: int = 0, scopes: str | None = None, limit: int = 100, wait: float = 0
    ) -> Sequence[MemoryChange]:
        """The changes behind a position, in order; `wait` is how many seconds to wait for the first."""
        await self._connection.own(scopes)
        query = {"after": after, "limit": limit, "wait": wait}
        found = await self._connection.call("GET", "/v1/changes", query=query, timeout=wait + 30, again=True)
        return [change_of(each) for each in found["changes"]]

    async def last_position(self) -> int:
        """The position of the last change."""
        return int((await self._connection.get("/v1/changes", limit=1))["after"])

    async def watch(self, *, after: int | None = None) -> AsyncIterator[MemoryChange]:
        """Every change behind a position as it happens, in order and once; `None` begins with what comes next."""
        position = await self.last_position() if after is None else after
        while True:
            for change in await self.changes(after=position, wait=30):
                position = change.position
                yield change

    async def jobs(
        self, *, scope: str | None = None, states: str | Iterable[str] = "dead", limit: int = 100
    ) -> Sequence[Job]:
        """The background jobs in these states, newest first."""
        await self._connection.own(scope)
        found = await self._connection.get("/v1/jobs", state=listed(states), limit=limit)
        return [job_of(each) for each in found["jobs"]]

    async def retry_job(self, job_id: str, *, scope: str | None = None) -> bool:
        """Queue a dead job again; `False` when there is no such dead job."""
        await self._connection.own(scope)
        done = await self._connection.call("POST", f"/v1/jobs/{part(job_id)}/retry", missing=True)
        return done is not None

    async def scopes(self) -> Sequence[Mapping[str, Any]]:
        """Every scope of the store. For administrators."""
        found: list[dict[str, Any]] = (await self._connection.get("/v1/scopes"))["scopes"]
        return found

    async def forget_scope(self, scope: str) -> Mapping[str, Any]:
        """Erase a scope; returns a receipt. For administrators who may erase."""
        done: dict[str, Any] = await self._connection.call("DELETE", f"/v1/scopes/{part(scope)}", again=True)
        return done

    async def doctor(self) -> dict[str, Any]:
        """Versions, sizes, index lag, problems and what to do about them. For administrators."""
        return dict(await self._connection.get("/v1/doctor"))

    async def maintain(self, *, dry_run: bool = False) -> dict[str, Any]:
        """The regular maintenance of every scope. For administrators."""
        return dict(await self._connection.call("POST", "/v1/maintenance", body={"dry_run": dry_run}, timeout=600))

    async def export_jsonl(self, path: str | os.PathLike[str], *, scope: str | None = None) -> int:
        """Write everything that the key's scope holds to a JSON Lines file; returns how many lines."""
        await self._connection.own(scope)
        target = Path(path)
        partial = target.with_name(f"{target.name}.partial")
        lines = 0
        http = self._connection.http
        try:
            async with http.stream("GET", "/v1/export", timeout=None) as reply:
                if reply.status_code >= 400:
                    raise error_of(reply.status_code, (await reply.aread()).decode("utf-8", "replace"))
                with await asyncio.to_thread(partial.open, "wb") as file:
                    async for chunk in reply.aiter_bytes():
                        lines += chunk.count(b"\n")
                        await asyncio.to_thread(file.write, chunk)
            await asyncio.to_thread(partial.replace, target)
        finally:
            await asyncio.to_thread(partial.unlink, missing_ok=True)
        return lines

    async def import_jsonl(
        self,
        path: str | os.PathLike[str],
        *,
        update: bool = False,
        skip_bad_rows: bool = False,
        dry_run: bool = False,
        scope: str | None = None,
    ) -> ImportCounts:
        """Import a file written by `export_jsonl`. It is sent piece by piece."""
        await self._connection.own(scope)
        query = {"update": update, "skip_bad_rows": skip_bad_rows, "dry_run": dry_run}

        async def pieces() -> AsyncIterator[bytes]:
            with await asyncio.to_thread(Path(path).open, "rb") as file:
                while chunk := await asyncio.to_thread(file.read, 1 << 16):
                    yield chunk

        reply = await self._connection.http.post(
            "/v1/import",
            params=query,
            content=pieces(),
            headers={"Content-Type": "application/x-ndjson"},
            timeout=None,
        )
        if reply.status_code >= 400:
            raise error_of(reply.status_code, reply.text)
        counts = json.loads(reply.text)
        counts.pop("dry_run")
        return ImportCounts(**{**counts, "refused": tuple(counts["refused"])})

    # --- the connection -----------------------------------------------------------------------------------------------

    async def close(self) -> None:
        """Close the connections."""
        await self._connection.http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def _query(conditions: Mapping[str, Any]) -> dict[str, Any]:
    """Conditions as they stand in an address."""
    names = {"memory_types": "memory_type", "domains": "domain", "tags": "tag"}
    given = body_of({**conditions, **_lists(conditions, "category", *names)})
    if "where" in given:
        given["where"] = json.dumps(given["where"], ensure_ascii=False)
    return {names.get(name, name): value for name, value in given.items()}


def _lists(values: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: listed(values.get(name)) for name in names if values.get(name) is not None}

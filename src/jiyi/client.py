"""MemoryClient: a memory behind `jiyi serve`, with the names of `AgentMemory`.

    async with MemoryClient("https://memory.example", key="jy_…") as memory:
        await memory.store("tea", "She drinks green tea")
        hits = await memory.recall("What does she drink?")

The scope is that of the key, so no method has it as an argument. Errors are those of `jiyi.errors`. A request that
failed on the way, or that the server could not do now, is sent again where that cannot double anything.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Self

from jiyi import errors
from jiyi.model import clock
from jiyi.model.change import MemoryChange
from jiyi.model.entry import EntryVersion, Explanation, IndexCoverage, MemoryEntry
from jiyi.model.listing import Page

if TYPE_CHECKING:
    from types import TracebackType

    import httpx

_TRIES: Final = 3
_AGAIN: Final = frozenset({429, 502, 503})
_FIRST_PAUSE: Final = 0.2
_MAX_PAUSE: Final = 5.0


class MemoryClient:
    """The memory of one key on a server. One instance may be shared by any number of tasks."""

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        timeout: float = 30.0,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """`transport` is for tests, and for connections that need settings of their own."""
        try:
            import httpx
        except ImportError as error:
            raise errors.MissingDependencyError(
                "the client needs the package httpx; install it with: pip install 'jiyi[client]'"
            ) from error
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._errors = httpx.TransportError
        self._http = httpx.AsyncClient(base_url=url, headers=headers, timeout=timeout, transport=transport)

    # --- entries ------------------------------------------------------------------------------------------------------

    async def store(self, key: str, content: str, category: str | None = None, **fields: Any) -> MemoryEntry:
        """Remember `content` under `key`, in the place of what was there; fields as in `AgentMemory.store`."""
        body = _body({"key": key, "content": content, "category": category, **fields})
        return _entry(await self._call("POST", "/v1/entries", body=body, again=True))

    async def add(self, content: str, category: str | None = None, **fields: Any) -> MemoryEntry:
        """Remember `content` without a key. A request that is sent again adds nothing."""
        body = _body({"content": content, "category": category, **fields})
        headers = {"Idempotency-Key": secrets.token_hex(16)}
        return _entry(await self._call("POST", "/v1/entries", body=body, headers=headers, again=True))

    async def get(self, key: str | None = None, *, id: str | None = None) -> MemoryEntry | None:  # noqa: A002
        """The entry with this key or this id."""
        if (key is None) == (id is None):
            raise errors.InvalidInputError("get needs a key or an id, and not both")
        path, query = ("/v1/entries/by-key", {"key": key}) if key is not None else (f"/v1/entries/{_part(id)}", {})
        found = await self._call("GET", path, query=query, missing=True)
        return None if found is None else _entry(found)

    async def update(self, key_or_id: str, **changes: Any) -> MemoryEntry:
        """Change an entry, found by its key or else by its id: what is given is replaced, the rest stays."""
        entry = await self.get(key_or_id) or await self.get(id=key_or_id)
        if entry is None:
            raise errors.InvalidInputError(f"there is no entry with the key or id {key_or_id[:80]!a}")
        return _entry(await self._call("PATCH", f"/v1/entries/{_part(entry.id)}", body=_body(changes), again=True))

    async def forget(self, key: str | None = None, *, id: str | None = None, erase: bool = False) -> bool:  # noqa: A002
        """Forget an entry; whether there was one."""
        entry = await self.get(key, id=id)
        if entry is None:
            return False
        query = {"erase": "true"} if erase else {}
        done = await self._call("DELETE", f"/v1/entries/{_part(entry.id)}", query=query, missing=True)
        return done is not None and bool(done["forgotten"])

    async def history(self, key: str | None = None, *, id: str | None = None) -> Sequence[EntryVersion]:  # noqa: A002
        """All versions of an entry, oldest first."""
        entry = await self.get(key, id=id)
        if entry is None:
            return []
        found = await self._call("GET", f"/v1/entries/{_part(entry.id)}/history")
        return [_version(each) for each in found["versions"]]

    async def recall(self, query: str, limit: int = 10, **options: Any) -> list[MemoryEntry]:
        """The entries that answer best, best first; options as in `AgentMemory.recall`."""
        found = await self._call(
            "POST", "/v1/recall", body=_body({"query": query, "limit": limit, **options}), again=True
        )
        return [_hit(each) for each in found["hits"]]

    async def list(self, *, limit: int = 100, cursor: str | None = None, **conditions: Any) -> Page:
        """The entries, newest first; conditions as in `AgentMemory.list`."""
        names = {"memory_types": "memory_type", "domains": "domain", "tags": "tag"}
        query = {names.get(name, name): value for name, value in _body(conditions).items() if value is not None}
        query |= {"limit": limit} | ({} if cursor is None else {"cursor": cursor})
        found = await self._call("GET", "/v1/entries", query=query)
        page = Page(_entry(each) for each in found["entries"])
        page.next_cursor = found["next_cursor"]
        return page

    async def count(self) -> int:
        """How many entries the key sees."""
        return int((await self._call("GET", "/v1/entries/count"))["count"])

    # --- conversations ------------------------------------------------------------------------------------------------

    async def list_sessions(self) -> Sequence[str]:
        """The conversations, the one last written to first."""
        found: list[str] = (await self._call("GET", "/v1/conversations"))["conversations"]
        return found

    async def put_messages(self, session_id: str, messages: Iterable[Mapping[str, Any]]) -> Sequence[str]:
        """Add messages to a conversation; on disk when this returns. Returns their ids."""
        body = {"messages": [dict(message) for message in messages]}
        found: list[str] = (await self._call("POST", f"/v1/conversations/{_part(session_id)}/messages", body=body))[
            "ids"
        ]
        return found

    async def window(self, session_id: str) -> Sequence[Mapping[str, Any]]:
        """What a model should see of a conversation, as OpenAI-style messages."""
        found = await self._call("GET", f"/v1/conversations/{_part(session_id)}/window")
        messages: list[dict[str, Any]] = found["messages"]
        return messages

    # --- changes ------------------------------------------------------------------------------------------------------

    async def changes(self, *, after: int = 0, limit: int = 100, wait: float = 0) -> Sequence[MemoryChange]:
        """The changes behind a position, in order; `wait` is how many seconds to wait for the first."""
        query = {"after": after, "limit": limit, "wait": wait}
        found = await self._call("GET", "/v1/changes", query=query, timeout=wait + 30)
        return [_change(each) for each in found["changes"]]

    async def watch(self, *, after: int) -> AsyncIterator[MemoryChange]:
        """Every change behind a position as it happens, in order and once."""
        position = after
        while True:
            for change in await self.changes(after=position, wait=30):
                position = change.position
                yield change

    # --- the connection -----------------------------------------------------------------------------------------------

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _call(
        self,
        method: str,
        path: str,
        *,
        body: object = None,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        again: bool = False,
        missing: bool = False,
        timeout: float | None = None,  # noqa: ASYNC109 - of the connection, not of the task
    ) -> Any:
        """The answer. `again` says that the request may be sent twice, `missing` that 404 is an answer."""
        tries = _TRIES if again or method == "GET" else 1
        pause = _FIRST_PAUSE
        for number in range(1, tries + 1):
            try:
                options: dict[str, Any] = {} if timeout is None else {"timeout": timeout}
                answer = await self._http.request(method, path, json=body, params=query, headers=headers, **options)
            except self._errors as error:
                if number == tries:
                    raise errors.StoreUnavailableError(
                        f"the server {self._http.base_url} cannot be reached: {type(error).__name__}; "
                        "is it running (jiyi serve), and is the address right?"
                    ) from error
            else:
                if answer.status_code < 400:
                    return answer.json()
                if missing and answer.status_code == 404:
                    return None
                if answer.status_code not in _AGAIN or number == tries:
                    raise _error_of(answer.status_code, answer.text)
                pause = min(_MAX_PAUSE, float(answer.headers.get("retry-after", pause)))
            await asyncio.sleep(pause)
            pause = min(_MAX_PAUSE, pause * 2)
        raise AssertionError("unreachable")


def _error_of(status: int, text: str) -> errors.JiyiError:
    """The error of the tree that the server had, by its code."""
    try:
        problem = json.loads(text)
        code, detail = str(problem["code"]), str(problem["detail"])
    except (ValueError, KeyError, TypeError):
        return errors.StoreUnavailableError(f"the server answered with status {status}: {text[:200]}")
    kind = getattr(errors, code, None)
    if isinstance(kind, type) and issubclass(kind, errors.JiyiError):
        try:
            return kind(detail)
        except TypeError:
            # Some errors carry more than a message; what they have in common is kept.
            return errors.StorageError(detail)
    if status in {401, 403}:
        return errors.ConfigError(f"the server refused the key: {detail}")
    if status in {400, 404, 409, 412, 413, 422}:
        return errors.InvalidInputError(detail)
    return errors.StoreUnavailableError(detail)


def _part(text: str | None) -> str:
    """Part of a path."""
    from urllib.parse import quote

    return quote(text or "", safe="")


def _body(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values for JSON, without those that were left out."""
    return {name: _plain(value) for name, value in values.items() if value is not None}


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return clock.to_text(clock.require_aware(value, "a time"))
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(each) for each in value]
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def _entry(data: Mapping[str, Any]) -> MemoryEntry:
    return MemoryEntry.from_dict(data)


def _hit(data: Mapping[str, Any]) -> MemoryEntry:
    explained = data.get("explanation") or {}
    explanation = Explanation(
        dict(explained.get("parts", {})),
        tuple(explained.get("matched_terms", ())),
        tuple(IndexCoverage(**each) for each in explained.get("coverage", ())),
    )
    return _entry(data).as_hit(
        float(data["relevance_score"]),
        explanation,
        similarity=data.get("similarity"),
        confident=data.get("confident"),
    )


def _version(data: Mapping[str, Any]) -> EntryVersion:
    entry = data["entry"]
    return EntryVersion(
        data["version"],
        data["operation"],
        clock.from_text(data["changed_at"]),
        data["changed_by"],
        tuple(data["changed"]),
        None if entry is None else _entry(entry),
    )


def _change(data: Mapping[str, Any]) -> MemoryChange:
    return MemoryChange(**{**data, "changed_at": clock.from_text(data["changed_at"])})

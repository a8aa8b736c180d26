"""The connection of a client: requests, repetitions, errors, streams."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from jiyi import errors
from jiyi.model import clock

if TYPE_CHECKING:
    import httpx

_TRIES: Final = 3
_AGAIN: Final = frozenset({429, 502, 503})
_FIRST_PAUSE: Final = 0.2
_MAX_PAUSE: Final = 5.0
_REFUSED: Final = frozenset({401, 403})
_WRONG: Final = frozenset({400, 404, 409, 412, 413, 415, 422})


class Connection:
    """Sends requests of one key to one server."""

    def __init__(
        self, url: str, key: str | None, timeout: float, transport: httpx.AsyncBaseTransport | None, tries: int = _TRIES
    ) -> None:
        try:
            import httpx
        except ImportError as error:
            raise errors.MissingDependencyError(
                "the client needs the package httpx; install it with: pip install 'jiyi[client]'"
            ) from error
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._transport_error = httpx.TransportError
        self._tries = tries
        self._scope: str | None = None
        self.http = httpx.AsyncClient(base_url=url, headers=headers, timeout=timeout, transport=transport)

    async def get(self, path: str, *, missing: bool = False, **query: Any) -> Any:
        """The answer to a question; `missing` says that 404 is an answer: `None`."""
        return await self.call("GET", path, query=query, again=True, missing=missing)

    async def create(self, path: str, body: object, **query: Any) -> Any:
        """Make something, once, however often the request has to be sent."""
        headers = {"Idempotency-Key": secrets.token_hex(16)}
        return await self.call("POST", path, body=body, query=query, headers=headers, again=True)

    async def ask(self, path: str, body: object) -> Any:
        """A question that needs a body; changes nothing, so it may be sent again."""
        return await self.call("POST", path, body=body, again=True)

    async def own(self, scope: str | None) -> None:
        """Refuse a scope that is not that of the key."""
        if scope is None:
            return
        if self._scope is None:
            self._scope = str((await self.get("/v1/access"))["scope"])
        if scope != self._scope:
            raise errors.InvalidInputError(
                f"the key belongs to scope {self._scope!a}, not {scope[:80]!a}; use a key of that scope"
            )

    async def call(
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
        """The answer. `again` says that the request may be sent twice."""
        tries = self._tries if again else 1
        pause = _FIRST_PAUSE
        options: dict[str, Any] = {} if timeout is None else {"timeout": timeout}
        values = {name: value for name, value in (query or {}).items() if value is not None}
        for number in range(1, tries + 1):
            try:
                reply = await self.http.request(method, path, json=body, params=values, headers=headers, **options)
            except self._transport_error as error:
                if number == tries:
                    raise self.unreachable(error) from error
            else:
                if reply.status_code < 400:
                    return reply.json()
                if missing and reply.status_code == 404:
                    return None
                if reply.status_code not in _AGAIN or number == tries:
                    raise error_of(reply.status_code, reply.text)
                pause = min(_MAX_PAUSE, float(reply.headers.get("retry-after", pause)))
            await asyncio.sleep(pause)
            pause = min(_MAX_PAUSE, pause * 2)
        raise AssertionError("unreachable")

    async def events(self, method: str, path: str, **options: Any) -> AsyncIterator[tuple[str, Any]]:
        """The events of a stream: (kind, data). An `error` event is raised."""
        headers = {"Accept": "text/event-stream", **options.pop("headers", {})}
        try:
            async with self.http.stream(method, path, headers=headers, timeout=None, **options) as reply:
                if reply.status_code >= 400:
                    raise error_of(reply.status_code, (await reply.aread()).decode("utf-8", "replace"))
                kind = ""
                async for line in reply.aiter_lines():
                    name, _, value = line.partition(": ")
                    if name == "event":
                        kind = value
                    elif name == "data":
                        if kind == "error":
                            raise _error_in(json.loads(value))
                        yield kind, json.loads(value)
        except self._transport_error as error:
            raise self.unreachable(error) from error

    def unreachable(self, error: Exception) -> errors.StoreUnavailableError:
        """The error of a server that does not answer."""
        return errors.StoreUnavailableError(
            f"the server {self.http.base_url} cannot be reached: {type(error).__name__}; "
            "is it running (jiyi serve), and is the address right?"
        )


def error_of(status: int, text: str) -> errors.JiyiError:
    """The error of the tree that the server had, by its code."""
    try:
        problem = json.loads(text)
        return _error_in({"status": status, "code": str(problem["code"]), "detail": str(problem["detail"])})
    except (ValueError, KeyError, TypeError):
        return errors.StoreUnavailableError(f"the server answered with status {status}: {text[:200]}")


def _error_in(problem: Mapping[str, Any]) -> errors.JiyiError:
    status, code, detail = int(problem["status"]), problem["code"], str(problem["detail"])
    kind = errors.VersionConflictError if code == "changed_meanwhile" else getattr(errors, code, None)
    if isinstance(kind, type) and issubclass(kind, errors.JiyiError):
        try:
            return kind(detail)
        except TypeError:
            # Some errors carry more than a message; what they have in common is kept.
            parent = errors.ModelError if issubclass(kind, errors.ModelError) else errors.StorageError
            return parent(detail)
    if code == "no_model":
        return errors.ConfigError(detail)
    if status in _REFUSED:
        return errors.ConfigError(f"the server refused the key: {detail}")
    if status in _WRONG:
        return errors.InvalidInputError(detail)
    return errors.StoreUnavailableError(detail)


def part(text: str | None) -> str:
    """Part of a path."""
    return quote(text or "", safe="")


def version_header(version: int | None) -> dict[str, str]:
    """The header that names the version that is meant."""
    return {} if version is None else {"If-Match": f'"{version}"'}


def body_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values for JSON, without those that were left out."""
    return {name: plain(value) for name, value in values.items() if value is not None}


def plain(value: Any) -> Any:
    """A value of JSON."""
    if isinstance(value, datetime):
        return clock.to_text(clock.require_aware(value, "a time"))
    if isinstance(value, Mapping):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(each) for each in value]
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def listed(value: Any) -> list[Any] | None:
    """One value or several, as the server takes them."""
    if value is None:
        return None
    return [plain(value)] if isinstance(value, str) else [plain(each) for each in value]


def names_of(values: Any) -> list[str]:
    """Ids of memories that are given by id, key or entry, one or several."""
    given = [values] if isinstance(values, str) or hasattr(values, "id") else list(values)
    return [str(getattr(each, "id", each)) for each in given]

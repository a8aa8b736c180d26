"""Gate: the checks before every request of MCP, REST or the console: Host, Origin, size, key, rate. Plain ASGI.

A browser that was lured to a foreign page can send requests to a server on this machine. It cannot choose the Host and
Origin headers, so both are checked. The scope of a request comes from its key, never from an argument.
"""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

import anyio.to_thread

from jiyi.apps.server.access import MCP, Access
from jiyi.apps.server.keys import Keys
from jiyi.apps.server.logins import CONSOLE, Logins
from jiyi.apps.server.oauth import TokenVerifier
from jiyi.apps.server.problems import MEDIA_TYPE, ProblemError, problem
from jiyi.apps.server.rate_limit import RateLimiter
from jiyi.apps.server.request_limits import BODY_SECONDS, RequestBody, too_large
from jiyi.model.access_key import KEY_PREFIX

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Message, Receive, Send], Awaitable[None]]

ACCESS: Final = "jiyi.access"
"""Where the access of a request stands in its ASGI scope."""
LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
OPEN_PATHS: Final = frozenset({"/healthz", "/readyz"})
"""Answered without a key."""
UPLOAD: Final = "/v1/import"
"""Takes more than other paths: what comes is written to disk piece by piece."""
_SESSION: Final = b"mcp-session-id"
_MAX_REMEMBERED: Final = 10_000
_log = logging.getLogger("jiyi.server")


@dataclass(frozen=True, slots=True)
class GateRules:
    """What the gate lets through."""

    hosts: frozenset[str] = frozenset(LOOPBACK)
    """Names under which the server may be addressed, without ports."""
    anonymous: Access | None = None
    """What callers without a key may do; `None` means that a key is needed."""
    max_body: int = 1 << 20
    max_upload: int = 1 << 30
    """Of an import, which is written to disk as it comes."""
    per_second: float = 50.0
    """Requests of one key, or of one address without a key, over time."""
    burst: int = 200
    failures: int = 20
    """Wrong keys of one address in a minute; then it has to wait."""
    body_seconds: float = BODY_SECONDS
    """In which the body of a request has to arrive."""
    recheck_seconds: float = 10.0
    """After which the key of an answer that goes on is looked at again."""
    upload_seconds: float = 3_600.0

    def body_of(self, path: str) -> tuple[int, float]:
        """How many bytes the body of a request to this path has at most, and in how many seconds it has to arrive."""
        return (self.max_upload, self.upload_seconds) if path == UPLOAD else (self.max_body, self.body_seconds)


class Gate:
    """Wraps an app; sets the access of a request, or answers it."""

    def __init__(
        self,
        app: App,
        rules: GateRules,
        keys: Keys | None,
        logins: Logins | None = None,
        tokens: TokenVerifier | None = None,
    ) -> None:
        self._app = app
        self._rules = rules
        self._keys = keys
        self._tokens = tokens
        self._open_paths = OPEN_PATHS if tokens is None else OPEN_PATHS | tokens.rules.metadata_paths
        self._logins = logins
        self._rate = RateLimiter(rules.per_second, rules.burst)
        self._failed = RateLimiter(rules.failures / 60, rules.failures)
        self._mcp_owners: OrderedDict[str, tuple[str, str]] = OrderedDict()
        """Which key began which MCP session: a session does not let in another key."""

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        # Of repeated headers the first one; those that decide something may stand in a request once only.
        headers = dict(reversed(scope["headers"]))
        try:
            _check_single(scope["headers"])
            self._check_host(headers)
            access = await self._access(scope, headers)
            self._check_rate(scope, access)
            self._check_session(scope, headers, access)
            max_bytes, seconds = self._rules.body_of(scope["path"])
            self._check_length(headers, max_bytes)
        except ProblemError as error:
            await _answer(send, error)
            return
        scope[ACCESS] = access
        body = RequestBody(receive, max_bytes, seconds)
        response = _ResponseWrapper(self, scope, headers, access, body, send)
        try:
            await self._app(scope, body.receive, response.send)
        except ProblemError as error:
            if error is not body.problem or response.begun:
                raise
            await _answer(send, error)

    # --- Host and Origin --------------------------------------------------------------------------------------------

    def _check_host(self, headers: dict[bytes, bytes]) -> None:
        host = headers.get(b"host", b"").decode("latin-1")
        if _name_of(f"//{host}") not in self._rules.hosts:
            detail = f"this server does not answer for the host {host[:80]!a}: name it with --allow-host NAME"
            raise ProblemError(421, "unknown_host", detail)
        origin = headers.get(b"origin")
        if origin is not None and _name_of(origin.decode("latin-1")) not in self._rules.hosts:
            raise ProblemError(403, "foreign_origin", "requests from pages of another origin are not answered")

    # --- keys -------------------------------------------------------------------------------------------------------

    async def _access(self, scope: Message, headers: dict[bytes, bytes]) -> Access | None:
        if scope["path"] in self._open_paths:
            return None
        if self._logins is not None and is_console(scope["path"]):
            # Without a login there is no access, and the console shows its login page.
            return self._rules.anonymous or await self._logins.access_of(scope)
        given = headers.get(b"authorization", b"").decode("latin-1")
        if not given and self._rules.anonymous is not None:
            return self._rules.anonymous
        word, _, token = given.partition(" ")
        try:
            if word.lower() != "bearer":
                raise self._key_needed()
            return await anyio.to_thread.run_sync(self._access_by, token.strip())
        except ProblemError as error:
            address = str((scope.get("client") or ("unknown",))[0])
            wait = self._failed.take(address) if given and error.status == 401 else 0.0
            if wait:
                raise ProblemError(
                    429, "too_many_failures", "too many wrong keys", {"Retry-After": str(int(wait) + 1)}
                ) from None
            raise

    @property
    def rules(self) -> GateRules:
        """What it lets through."""
        return self._rules

    async def still_valid(self, scope: Message, headers: dict[bytes, bytes]) -> bool:
        """Whether the key of a request would let it in now. An issuer that does not answer ends no stream."""
        token = headers.get(b"authorization", b"").decode("latin-1").partition(" ")[2]
        if not token or is_console(scope["path"]):
            return True
        try:
            await anyio.to_thread.run_sync(self._access_by, token.strip())
        except ProblemError as error:
            return error.status not in {401, 403}
        return True

    def _access_by(self, token: str) -> Access:
        """By a key of this server, or by a token of the issuer."""
        if self._tokens is not None and not token.startswith(KEY_PREFIX):
            return self._tokens.access_of(token)
        access = None if self._keys is None else self._keys.access_of(token)
        if access is None:
            raise self._key_needed()
        return access

    def _key_needed(self) -> ProblemError:
        if self._tokens is None:
            detail = "send a valid key as `Authorization: Bearer jy_…`; keys are made with: jiyi keys add"
            return ProblemError(401, "key_needed", detail, {"WWW-Authenticate": "Bearer"})
        detail = f"send a token of {self._tokens.rules.issuer}, or a key, as `Authorization: Bearer …`"
        return ProblemError(401, "key_needed", detail, self._tokens.challenge())

    def _check_rate(self, scope: Message, access: Access | None) -> None:
        if access is None and scope["path"] in self._open_paths:
            return
        name = (access.key_id if access is not None else "") or str((scope.get("client") or ("unknown",))[0])
        wait = self._rate.take(name)
        if wait:
            detail = f"at most {self._rules.per_second:g} requests a second"
            raise ProblemError(429, "too_many_requests", detail, {"Retry-After": str(int(wait) + 1)})

    # --- sessions of MCP --------------------------------------------------------------------------------------------

    def _check_session(self, scope: Message, headers: dict[bytes, bytes], access: Access | None) -> None:
        session = headers.get(_SESSION, b"").decode("latin-1")
        if session and access is not None and scope["path"] == MCP and self._mcp_owners.get(session) != _owner(access):
            raise ProblemError(404, "unknown_session", "there is no such session")

    def remember_session(self, message: Message, access: Access | None) -> None:
        """Whose the session is that an answer begins."""
        for name, value in message.get("headers", []):
            if name.lower() == _SESSION and access is not None:
                self._mcp_owners.setdefault(value.decode("latin-1"), _owner(access))
                while len(self._mcp_owners) > _MAX_REMEMBERED:
                    self._mcp_owners.popitem(last=False)

    # --- size -------------------------------------------------------------------------------------------------------

    def _check_length(self, headers: dict[bytes, bytes], max_bytes: int) -> None:
        length = headers.get(b"content-length", b"0").decode("latin-1")
        if not length.isdecimal():
            raise ProblemError(400, "bad_length", f"Content-Length {length[:40]!a} is no number")
        if int(length) > max_bytes:
            raise too_large(max_bytes)


class _ResponseWrapper:
    """Wraps `send` of one request: adds headers to the answer, and ends it where it may not go on."""

    def __init__(
        self,
        gate: Gate,
        scope: Message,
        headers: dict[bytes, bytes],
        access: Access | None,
        body: RequestBody,
        send: Send,
    ) -> None:
        self._gate = gate
        self._scope = scope
        self._headers = headers
        self._access = access
        self._body = body
        self._send = send
        self._checked = time.monotonic()
        self.begun = self._over = False

    async def send(self, message: Message) -> None:
        """The next part of it."""
        starts = message["type"] == "http.response.start"
        if self._over:
            return
        if self._body.problem is not None and not self.begun:
            # Whatever the app makes of a body that broke off, the caller is told why.
            self.begun = self._over = True
            await _answer(self._send, self._body.problem)
            return
        if starts:
            self.begun = True
            self._gate.remember_session(message, self._access)
            message["headers"] = _with_security_headers(message.get("headers", []))
        elif message.get("more_body"):
            message = await self._still_allowed(message)
        self._over = not starts and not message.get("more_body")
        await self._send(message)

    async def _still_allowed(self, message: Message) -> Message:
        """A stream may go on for hours, and its key may be revoked meanwhile: then this is its end."""
        now = time.monotonic()
        if now - self._checked < self._gate.rules.recheck_seconds:
            return message
        self._checked = now
        if await self._gate.still_valid(self._scope, self._headers):
            return message
        self._body.end()
        return {"type": "http.response.body", "body": b""}


def _owner(access: Access) -> tuple[str, str]:
    """Whose a session is. One person may have several scopes at the issuer."""
    return access.key_id, access.scope


_SECURITY_HEADERS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
)


def _with_security_headers(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """The headers of an answer; those that the route has set itself stay."""
    given = {name.lower() for name, _ in headers}
    return [*headers, *(each for each in _SECURITY_HEADERS if each[0] not in given)]


def is_console(path: str) -> bool:
    """Whether a path belongs to the console, which is entered with a cookie."""
    return path == CONSOLE or path.startswith(f"{CONSOLE}/")


_SINGLE: Final = frozenset({b"host", b"origin", b"authorization", b"content-length", b"content-type", _SESSION})


def _check_single(headers: list[tuple[bytes, bytes]]) -> None:
    """Refuse a repeated header: programs differ in which of the two they use."""
    names = [name for name, _ in headers if name in _SINGLE]
    if len(names) != len(set(names)):
        raise ProblemError(400, "doubled_header", "a header that must be there once was sent twice")


def _name_of(url: str) -> str | None:
    """The name in a Host or Origin header; `None` when it cannot be read."""
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


async def _answer(send: Send, error: ProblemError) -> None:
    body = problem(error.status, error.code, error.detail)
    headers = {"content-type": MEDIA_TYPE, "content-length": str(len(body)), **error.headers}
    raw = [*((name.encode(), value.encode()) for name, value in headers.items()), *_SECURITY_HEADERS]
    await send({"type": "http.response.start", "status": error.status, "headers": raw})
    await send({"type": "http.response.body", "body": body})

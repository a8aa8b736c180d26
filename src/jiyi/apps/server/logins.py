"""Logins of the console: who is logged in with a browser. Kept in memory, bounded, and over after a while.

A login is checked against its key at every request, so it ends when the key is revoked, expires or gets another secret.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass
from typing import Any, Final

import anyio.to_thread
from starlette.requests import cookie_parser

from jiyi.apps.server.access import Access
from jiyi.apps.server.keys import Keys
from jiyi.apps.server.rate_limit import RateLimiter
from jiyi.model.access_key import hash_of, split_token

CONSOLE: Final = "/console"
"""Where the console is, and the path of its cookie."""
IDLE_SECONDS: Final = 2 * 3600.0
LIFE_SECONDS: Final = 12 * 3600.0
TICKET_SECONDS: Final = 300.0
_MAX_LOGINS: Final = 1_000
_MAX_OF_ONE_KEY: Final = 20
_MAX_TICKETS: Final = 10


@dataclass(slots=True)
class _Login:
    key_id: str
    secret_hash: str
    access: Access | None
    """Of a login with a one-time link, which has no key."""
    begun: float
    used: float


class Logins:
    """The logins of one server, the tokens of its forms, and how many wrong keys an address has shown."""

    def __init__(self, keys: Keys | None, *, failures: int = 20, now: Callable[[], float] = time.monotonic) -> None:
        self._keys = keys
        self._now = now
        self._failed = RateLimiter(failures / 60, failures)
        self._secret = secrets.token_bytes(32)
        self._logins: OrderedDict[str, _Login] = OrderedDict()
        self._tickets: OrderedDict[str, tuple[Access, float]] = OrderedDict()

    # --- logging in and out -----------------------------------------------------------------------------------------

    def must_wait(self, address: str) -> float:
        """Seconds until this address may try a key again; 0 if it may now."""
        return self._failed.seconds_left(address)

    async def log_in(self, token: str, address: str) -> tuple[str, Access] | None:
        """A new session for a valid key; `None` for any other text, which counts as a failure of the address."""
        parts = split_token(token.strip())
        access = None
        if parts is not None and self._keys is not None:
            access = await anyio.to_thread.run_sync(self._keys.access_of, token.strip())
        if parts is None or access is None:
            self._failed.take(address)
            return None
        return self._begin(parts[0], hash_of(parts[1]), None), access

    def ticket(self, access: Access) -> str:
        """A token for one login without a key, valid for a short time: for the person who has started the server."""
        word = secrets.token_urlsafe(32)
        self._tickets[word] = (access, self._now() + TICKET_SECONDS)
        while len(self._tickets) > _MAX_TICKETS:
            self._tickets.popitem(last=False)
        return word

    def use_ticket(self, word: str, address: str) -> tuple[str, Access] | None:
        """A new login for a ticket, which is then worth nothing."""
        access, until = self._tickets.pop(word, (None, 0.0))
        if access is None or self._now() >= until:
            self._failed.take(address)
            return None
        return self._begin("", "", access), access

    def log_out(self, session_id: str) -> None:
        """End a login."""
        self._logins.pop(session_id, None)

    def _begin(self, key_id: str, secret_hash: str, access: Access | None) -> str:
        now, session_id = self._now(), new_id()
        self._logins[session_id] = _Login(key_id, secret_hash, access, now, now)
        same = [each for each, login in self._logins.items() if login.key_id == key_id]
        for each in same[:-_MAX_OF_ONE_KEY]:
            del self._logins[each]
        while len(self._logins) > _MAX_LOGINS:
            self._logins.popitem(last=False)
        return session_id

    def __contains__(self, session_id: str) -> bool:
        """Whether somebody is logged in with this cookie."""
        return session_id in self._logins

    # --- requests ---------------------------------------------------------------------------------------------------

    async def access_of(self, scope: MutableMapping[str, Any], *, touch: bool = True) -> Access | None:
        """What the login of a request gives access to; `None` without one, or when it is over.

        Without `touch` it does not count as used: a page that is only open must not keep a login alive.
        """
        session_id = cookie_of(scope)
        login = self._logins.get(session_id)
        if login is None:
            return None
        now = self._now()
        access = login.access
        if now - login.used > IDLE_SECONDS or now - login.begun > LIFE_SECONDS:
            access = None
        elif access is None and self._keys is not None:
            access = await anyio.to_thread.run_sync(self._keys.access_by_hash, login.key_id, login.secret_hash)
        if access is None:
            self._logins.pop(session_id, None)
            return None
        if touch:
            login.used = now
            if session_id in self._logins:
                self._logins.move_to_end(session_id)
        return access

    # --- forms ------------------------------------------------------------------------------------------------------

    def form_token(self, session_id: str) -> str:
        """What a form has to bring back. It belongs to the cookie of one browser."""
        return hmac.new(self._secret, session_id.encode(), hashlib.sha256).hexdigest()

    def is_form_token(self, session_id: str, token: str) -> bool:
        """Whether a form was made for this cookie."""
        return bool(session_id) and hmac.compare_digest(self.form_token(session_id).encode(), token.encode())


def new_id() -> str:
    """The value of a cookie: random, and new at every login."""
    return secrets.token_urlsafe(32)


def cookie_name(scope: MutableMapping[str, Any]) -> str:
    """Browsers do not tell ports apart, so two servers of one machine need two names."""
    server = scope.get("server") or ("", 0)
    return f"jiyi_session_{server[1] or 0}"


def cookie_of(scope: MutableMapping[str, Any]) -> str:
    """The value of the console's cookie; empty without one."""
    return cookies_of(scope).get(cookie_name(scope), "")


def cookies_of(scope: MutableMapping[str, Any]) -> dict[str, str]:
    """All cookies of a request. Malformed ones, which other programs of this machine may have set, are no error."""
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        if name == b"cookie":
            found |= cookie_parser(value.decode("latin-1"))
    return found

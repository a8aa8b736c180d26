"""IssuerKeys: the public keys of an OAuth issuer, found by discovery and kept for a while."""

from __future__ import annotations

import json
import logging
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

import jwt

from jiyi.apps.server.problems import ProblemError

ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Signatures by a private key. `none`, and `HS256` with its shared secret, are never taken."""
_FRESH_SECONDS: Final = 600.0
_STALE_SECONDS: Final = 3600.0
"""How long known keys are used while the issuer does not answer."""
_PAUSE_SECONDS: Final = 30.0
"""Between two questions to the issuer, however many unknown keys are named by tokens."""
_TIMEOUT_SECONDS: Final = 5.0
_MAX_BYTES: Final = 1 << 18
_MAX_KEYS: Final = 100
_MIN_RSA_BITS: Final = 2048
_LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
_log = logging.getLogger("jiyi.server")


def address_problem(address: str) -> str:
    """Why an address cannot be trusted with tokens; empty if it can."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return "is no address"
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        return "must be an address that begins with https://"
    if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
        return "must begin with https://; http is for this machine only"
    return "must have no query and no fragment" if parts.query or parts.fragment else ""


class PublicKey(NamedTuple):
    """A key of the issuer."""

    id: str | None
    algorithms: frozenset[str]
    key: Any
    """As the library for signatures has it."""


class IssuerKeys:
    """The keys of one issuer. Asked for when they are needed, so that a server starts without its issuer."""

    def __init__(self, issuer: str, now: Callable[[], float] = time.monotonic) -> None:
        self._issuer = issuer
        self._now = now
        self._lock = threading.Lock()
        self._keys: list[PublicKey] = []
        self._fetched = self._tried = -float("inf")

    def find(self, key_id: object, algorithm: str) -> Any:
        """The key with this id, for this algorithm; `None` if there is none.

        `ProblemError` 503 if it is not known and the issuer does not answer.
        """
        with self._lock:
            age = self._now() - self._fetched
            found = self._known(key_id, algorithm) if age < _STALE_SECONDS else None
            if found is not None and age < _FRESH_SECONDS:
                return found
            if self._now() - self._tried >= _PAUSE_SECONDS:
                # A new key, or an old one that may have been taken back.
                self._refresh()
                age = self._now() - self._fetched
                found = self._known(key_id, algorithm) if age < _STALE_SECONDS else None
            if found is None and self._tried > self._fetched:
                raise ProblemError(
                    503,
                    "issuer_unavailable",
                    "the issuer of the tokens does not answer, so this token cannot be checked now",
                    {"Retry-After": str(int(_PAUSE_SECONDS))},
                )
            return found

    def _known(self, key_id: object, algorithm: str) -> Any:
        fitting = [each for each in self._keys if algorithm in each.algorithms]
        if key_id is None:
            return fitting[0].key if len(fitting) == 1 else None
        return next((each.key for each in fitting if each.id == key_id), None)

    def _refresh(self) -> None:
        self._tried = self._now()
        try:
            self._keys = _usable(_fetch(self._address_of_keys()))
        except (OSError, ValueError) as error:
            _log.warning("the keys of the issuer %s could not be read: %s", ascii(self._issuer), type(error).__name__)
            return
        self._fetched = self._tried = self._now()

    def _address_of_keys(self) -> str:
        """From the metadata of the issuer: RFC 8414, or what OpenID Connect has."""
        parts = urlsplit(self._issuer)
        path = parts.path.rstrip("/")
        base = f"{parts.scheme}://{parts.netloc}"
        places = (
            f"{base}/.well-known/oauth-authorization-server{path}",
            f"{base}{path}/.well-known/openid-configuration",
        )
        for place in places:
            try:
                found = _fetch(place)
            except urllib.error.HTTPError as error:
                error.close()
                if error.code not in {400, 404, 405} or place == places[-1]:
                    raise
                continue
            if found.get("issuer") != self._issuer:
                raise ValueError(f"the metadata is that of another issuer: {found.get('issuer')!a:.80}")
            address = found.get("jwks_uri")
            if not isinstance(address, str) or address_problem(address.partition("?")[0]):
                raise ValueError(f"jwks_uri {address!a:.80} cannot be used")
            return address
        raise ValueError("there is no metadata")


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """A redirect is an error: keys come from where the issuer says that they are."""


_opener = urllib.request.build_opener(_NoRedirect)


def _fetch(address: str) -> dict[str, Any]:
    request = urllib.request.Request(address, headers={"Accept": "application/json"})  # noqa: S310 - checked before
    with _opener.open(request, timeout=_TIMEOUT_SECONDS) as answer:
        text = answer.read(_MAX_BYTES + 1)
    if len(text) > _MAX_BYTES:
        raise ValueError(f"the answer has more than {_MAX_BYTES:,} bytes")
    found = json.loads(text)
    if not isinstance(found, dict):
        raise ValueError("the answer is no JSON object")  # noqa: TRY004 - wrong content, not a wrong argument
    return found


def _usable(found: dict[str, Any]) -> list[PublicKey]:
    """The keys for signatures that are strong enough. Others are left out: an issuer may have some for other uses."""
    listed = found.get("keys")
    given: Sequence[Any] = listed if isinstance(listed, list) else []
    keys = [key for each in given[:_MAX_KEYS] if isinstance(each, dict) and (key := _public_key(each)) is not None]
    if not keys:
        raise ValueError("there is no key for signatures")
    return keys


def _public_key(data: dict[str, Any]) -> PublicKey | None:
    if data.get("use", "sig") != "sig" or data.get("kty") not in {"RSA", "EC", "OKP"} or "d" in data:
        return None
    try:
        key = jwt.PyJWK(data)
    except (jwt.PyJWTError, ValueError, TypeError):
        return None
    if data["kty"] == "RSA" and "alg" not in data:
        # It does not say for which of them it is.
        algorithms = frozenset(each for each in ALGORITHMS if each[:2] in {"RS", "PS"})
    else:
        # Named, or given by the curve.
        algorithms = frozenset({key.algorithm_name}) & frozenset(ALGORITHMS)
    weak = data["kty"] == "RSA" and key.key.key_size < _MIN_RSA_BITS
    return None if weak or not algorithms else PublicKey(key.key_id, algorithms, key.key)

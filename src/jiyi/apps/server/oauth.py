"""OAuth: access by the tokens of an issuer (RFC 9068), with this server as the protected resource (RFC 9728).

A token is a signed JWT. It has to be made by the one issuer, for this server, and be valid now. One of its claims,
`sub` unless set otherwise, is the scope of the memory; its OAuth scopes are the rights. Tokens are passed on to nobody.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import jwt

from jiyi.apps.server.access import RIGHTS, Access
from jiyi.apps.server.oauth_keys import ALGORITHMS, IssuerKeys, address_problem
from jiyi.apps.server.problems import ProblemError
from jiyi.errors import InvalidScopeError
from jiyi.model.scope import check_scope, may_be_seen_by_group

WELL_KNOWN: Final = "/.well-known/oauth-protected-resource"
RIGHT_PREFIX: Final = "memory:"
"""`memory:read` in the OAuth scopes of a token is the right `read`."""
LEEWAY_SECONDS: Final = 30
_MAX_TOKEN: Final = 16_384
_REASONS: Final[tuple[tuple[type[jwt.InvalidTokenError], str], ...]] = (
    (jwt.ExpiredSignatureError, "the token has expired"),
    (jwt.ImmatureSignatureError, "the token is not valid yet"),
    (jwt.InvalidAudienceError, "the token was made for another server"),
    (jwt.InvalidIssuerError, "the token was made by another issuer"),
    (jwt.MissingRequiredClaimError, "the token lacks a claim that is needed"),
    (jwt.InvalidSignatureError, "the signature of the token is wrong"),
)


@dataclass(frozen=True, slots=True)
class OAuthRules:
    """Whose tokens are taken, and what their claims mean."""

    issuer: str
    audience: str
    """What has to stand in `aud`."""
    resource: str = ""
    """The public address of this server, such as `https://memory.example/mcp`; the audience where that is one."""
    scope_claim: str = "sub"
    """The claim whose value is the scope of the memory."""

    @property
    def resource_address(self) -> str:
        """The public address."""
        return self.resource or self.audience

    def problem(self) -> str:
        """Why a server must not start with these; empty if it may."""
        found = address_problem(self.issuer)
        if found:
            return f"--oauth-issuer {self.issuer[:80]!a} {found}"
        if not self.audience:
            return "--oauth-issuer needs --oauth-audience: what the issuer writes into its tokens for this server"
        found = address_problem(self.resource_address)
        if found:
            return f"--oauth-resource {self.resource_address[:80]!a} {found}; name the public address of this server"
        return "" if self.scope_claim else "--oauth-scope-claim must name a claim, such as sub"

    @property
    def metadata_address(self) -> str:
        """Where clients find which issuer to ask (RFC 9728)."""
        parts = urlsplit(self.resource_address)
        return f"{parts.scheme}://{parts.netloc}{WELL_KNOWN}{parts.path.rstrip('/')}"

    @property
    def metadata_paths(self) -> frozenset[str]:
        """Answered without a token."""
        return frozenset({WELL_KNOWN, urlsplit(self.metadata_address).path})

    def metadata(self) -> dict[str, Any]:
        """What clients are told."""
        return {
            "resource": self.resource_address,
            "authorization_servers": [self.issuer],
            "bearer_methods_supported": ["header"],
            "scopes_supported": [RIGHT_PREFIX + right for right in RIGHTS],
            "resource_name": "jiyi",
        }


class TokenVerifier:
    """Checks tokens. Everything that is wrong with one is told in a sentence, never with a part of it."""

    def __init__(self, rules: OAuthRules, keys: IssuerKeys | None = None) -> None:
        self.rules = rules
        self._keys = keys or IssuerKeys(rules.issuer)

    def access_of(self, token: str) -> Access:
        """What a token gives access to. `ProblemError`: 401 for a bad one, 403 without rights, 503 without keys."""
        claims = self._claims(token)
        words = _words(claims.get("scope")) | _words(claims.get("scp"))
        rights = frozenset(right for right in RIGHTS if RIGHT_PREFIX + right in words)
        if not rights:
            wanted = " ".join(RIGHT_PREFIX + right for right in RIGHTS)
            raise ProblemError(
                403,
                "insufficient_scope",
                f"the token has none of the scopes {wanted}",
                self.challenge("insufficient_scope", "the token has no right here"),
            )
        return Access(self._scope(claims), rights, key_id=_caller(claims))

    def challenge(self, error: str = "", description: str = "") -> dict[str, str]:
        """The header that tells a client where to get a token."""
        parts = [f'error="{error}"', f'error_description="{description}"'] if error else []
        parts.append(f'resource_metadata="{self.rules.metadata_address}"')
        return {"WWW-Authenticate": "Bearer " + ", ".join(parts)}

    def _claims(self, token: str) -> Mapping[str, Any]:
        if len(token) > _MAX_TOKEN:
            raise self._refused("the token is too long")
        try:
            header = jwt.get_unverified_header(token)
        except jwt.InvalidTokenError:
            raise self._refused("the token cannot be read") from None
        if header.get("alg") not in ALGORITHMS:
            raise self._refused("the token is not signed with a public key")
        key = self._keys.find(header.get("kid"), header["alg"])
        if key is None:
            raise self._refused("the token is signed with a key that the issuer does not have")
        try:
            claims: Mapping[str, Any] = jwt.decode(
                token,
                key,
                algorithms=[header["alg"]],
                audience=self.rules.audience,
                issuer=self.rules.issuer,
                leeway=LEEWAY_SECONDS,
                options={"require": ["exp", "iss", "aud"]},
            )
        except jwt.InvalidTokenError as error:
            reason = next((text for kind, text in _REASONS if isinstance(error, kind)), "the token is not valid")
            raise self._refused(reason) from None
        if "cnf" in claims:
            # Whoever has stolen such a token must not be able to use it as a plain one.
            raise self._refused("the token is bound to a key of its client, which this server cannot check")
        return claims

    def _scope(self, claims: Mapping[str, Any]) -> str:
        value = claims.get(self.rules.scope_claim)
        try:
            scope = check_scope(value)
        except InvalidScopeError:
            raise self._refused(f"the claim {self.rules.scope_claim[:40]!a} of the token is no scope") from None
        if may_be_seen_by_group(scope):
            raise self._refused(f"the claim {self.rules.scope_claim[:40]!a} names a scope of several people")
        return scope

    def _refused(self, reason: str) -> ProblemError:
        return ProblemError(401, "invalid_token", reason, self.challenge("invalid_token", reason.replace('"', "'")))


def _words(value: object) -> frozenset[str]:
    """OAuth scopes: words with spaces between them, or a list."""
    if isinstance(value, str):
        return frozenset(value.split())
    return frozenset(each for each in value if isinstance(each, str)) if isinstance(value, list) else frozenset()


def _caller(claims: Mapping[str, Any]) -> str:
    """A name for the person and the program together, for the access log, the rate and the sessions."""
    parts = [str(claims.get(name, "")) for name in ("iss", "sub")]
    parts.append(str(claims.get("client_id", claims.get("azp", ""))))
    return "oauth:" + hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]

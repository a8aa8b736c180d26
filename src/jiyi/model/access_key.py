"""AccessKey: what a caller of the server shows to be let in. Only a hash of its secret is kept."""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from jiyi.model import clock

KEY_PREFIX: Final = "jy_"
"""What every key begins with, so that it can be told from other tokens and found by scanners of secrets."""
_TOKEN: Final = re.compile(r"jy_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
_SECRET_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class AccessKey:
    """A key with the scope and the rights that it gives."""

    id: str
    name: str
    scope: str
    rights: frozenset[str]
    created_at: datetime
    kind: str = "main"
    """`group` where several people read the answers."""
    expires_at: datetime | None = None
    last_used_at: datetime | None = None
    revoked_at: datetime | None = None

    def is_valid(self, now: datetime) -> bool:
        """Whether it is neither revoked nor expired."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping, without anything secret."""
        times = {
            name: None if value is None else clock.to_text(value)
            for name, value in (
                ("created_at", self.created_at),
                ("expires_at", self.expires_at),
                ("last_used_at", self.last_used_at),
                ("revoked_at", self.revoked_at),
            )
        }
        return {
            "id": self.id,
            "name": self.name,
            "scope": self.scope,
            "rights": sorted(self.rights),
            "kind": self.kind,
            **times,
        }


@dataclass(frozen=True, slots=True)
class AccessLine:
    """One line of the access log: who did what, and how it ended."""

    at: datetime
    key_id: str
    scope: str
    action: str
    """Method and route, such as `POST /v1/entries`, or a tool, such as `tool forget`."""
    target: str
    """The id of what it was done to, where it has one. Never a text."""
    status: int


def new_key_id() -> str:
    """A random id. It is no secret, and stands in lists and logs."""
    return secrets.token_hex(6)


def new_token(key_id: str) -> tuple[str, str]:
    """The token that is shown once, and the hash of its secret that is kept."""
    secret = secrets.token_urlsafe(_SECRET_BYTES)
    return f"jy_{key_id}_{secret}", hash_of(secret)


def hash_of(secret: str) -> str:
    """The secret has 256 random bits, so a plain hash cannot be guessed."""
    return hashlib.sha256(secret.encode()).hexdigest()


def split_token(token: str) -> tuple[str, str] | None:
    """The id and the secret in a token; nothing for what cannot be one."""
    found = _TOKEN.fullmatch(token)
    return None if found is None else (found[1], found[2])

"""The keys of a server, and the log of who used them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from jiyi.model.access_key import AccessKey, AccessLine


class KeyStore(Protocol):
    """Keeps keys as hashes."""

    def add(self, key: AccessKey, secret_hash: str) -> None:
        """Keep a new key."""
        ...

    def all(self) -> list[AccessKey]:
        """All keys, those revoked included, oldest first."""
        ...

    def find(self, key_id: str) -> tuple[AccessKey, str] | None:
        """A key and the hash of its secret."""
        ...

    def revoke(self, key_id: str, at: datetime) -> bool:
        """Revoke a key; whether it was there and not revoked before."""
        ...

    def replace_secret(self, key_id: str, secret_hash: str) -> bool:
        """Give a key that is not revoked another secret; whether there is one."""
        ...

    def used(self, key_id: str, at: datetime) -> None:
        """Note when a key was last used."""
        ...

    def log(self, lines: Sequence[AccessLine]) -> None:
        """Add lines to the access log."""
        ...

    def logged(self, *, limit: int, key_id: str | None = None) -> list[AccessLine]:
        """The last lines of the access log, newest first."""
        ...

    def close(self) -> None:
        """Close the connection."""
        ...

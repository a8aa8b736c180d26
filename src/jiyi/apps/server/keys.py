"""Keys: making, checking, revoking and rotating the keys of a server."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from jiyi.apps.server.access import Access, check_rights
from jiyi.errors import InvalidInputError
from jiyi.model import clock
from jiyi.model.access_key import AccessKey, AccessLine, hash_of, new_key_id, new_token, split_token
from jiyi.model.scope import check_scope, may_be_seen_by_group

if TYPE_CHECKING:
    from jiyi.ports import KeyStore

_USE_NOTED_EVERY: Final = timedelta(minutes=1)
_MAX_NAME: Final = 200
_KINDS: Final = ("main", "group")


class Keys:
    """The keys of one store. What is not a valid key is `None`, whatever is wrong with it."""

    def __init__(self, store: KeyStore, now: Callable[[], datetime] = clock.utc_now) -> None:
        self._store = store
        self._now = now
        self._noted: dict[str, datetime] = {}

    def add(
        self,
        name: str,
        scope: str,
        rights: str | list[str] = "read,write",
        *,
        kind: str = "main",
        expires_at: datetime | None = None,
    ) -> tuple[AccessKey, str]:
        """A new key, and its token, which is shown this once."""
        if not name.strip() or len(name) > _MAX_NAME:
            raise InvalidInputError(f"name {name[:40]!a} must say in 1 to {_MAX_NAME} characters who uses the key")
        if kind not in _KINDS:
            raise InvalidInputError(f"kind {kind[:40]!a} must be main or group")
        if kind == "group" and not may_be_seen_by_group(check_scope(scope)):
            raise InvalidInputError(f"a key of a group needs a scope of its own, such as 'group:{scope}'")
        now = self._now()
        if expires_at is not None and clock.require_aware(expires_at, "expires_at") <= now:
            raise InvalidInputError(f"expires_at {clock.to_text(expires_at)} is over")
        key = AccessKey(new_key_id(), name.strip(), check_scope(scope), check_rights(rights), now, kind, expires_at)
        token, secret_hash = new_token(key.id)
        self._store.add(key, secret_hash)
        return key, token

    def all(self) -> list[AccessKey]:
        """All keys, those revoked included."""
        return self._store.all()

    def any_valid(self) -> bool:
        """Whether there is a key that lets somebody in."""
        now = self._now()
        return any(key.is_valid(now) for key in self._store.all())

    def revoke(self, key_id: str) -> bool:
        """Revoke a key; it lets nobody in from now on. Whether it was valid before."""
        return self._store.revoke(key_id, self._now())

    def rotate(self, key_id: str) -> tuple[AccessKey, str]:
        """Give a key another secret: the old token ends now, and the new one is shown this once."""
        found = self._store.find(key_id)
        if found is None:
            raise InvalidInputError(f"there is no key {key_id[:40]!a}; see: jiyi keys list")
        token, secret_hash = new_token(key_id)
        if not self._store.replace_secret(key_id, secret_hash):
            raise InvalidInputError(f"key {key_id} is revoked; add another one")
        return replace(found[0], last_used_at=None), token

    def access_of(self, token: str) -> Access | None:
        """What a token gives access to; `None` for one that is unknown, wrong, expired or revoked."""
        parts = split_token(token)
        if parts is None:
            return None
        key_id, secret = parts
        return self.access_by_hash(key_id, hash_of(secret))

    def access_by_hash(self, key_id: str, secret_hash: str) -> Access | None:
        """The same for a key whose secret was checked before: a login ends with its key, and with its secret."""
        found = self._store.find(key_id)
        # The comparison takes the same time for a key that does not exist.
        key, expected = found if found is not None else (None, "")
        same = hmac.compare_digest(secret_hash, expected)
        now = self._now()
        if key is None or not same or not key.is_valid(now):
            return None
        self._note_use(key, now)
        return Access(key.scope, key.rights, key.kind, key.id)

    def _note_use(self, key: AccessKey, now: datetime) -> None:
        last = self._noted.get(key.id)
        if last is None or now - last >= _USE_NOTED_EVERY:
            self._noted[key.id] = now
            self._store.used(key.id, now)

    def log(self, lines: Sequence[AccessLine]) -> None:
        """Add lines to the access log."""
        self._store.log(lines)

    def logged(self, *, limit: int = 100, key_id: str | None = None) -> list[AccessLine]:
        """The last lines of the access log, newest first."""
        return self._store.logged(limit=limit, key_id=key_id)

    def close(self) -> None:
        """Close the key store."""
        self._store.close()

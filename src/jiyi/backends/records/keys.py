"""SqlKeyStore: the keys of a server, in the database of the records."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from jiyi.backends.records.schema import access_keys, access_log
from jiyi.backends.records.sql import Database, Row, moment
from jiyi.model.access_key import AccessKey, AccessLine

_COLUMNS: Final = "id, name, scope, rights, kind, created_at, expires_at, last_used_at, revoked_at"
_ALL: Final = f"SELECT {_COLUMNS} FROM access_keys ORDER BY created_at, id"
_ONE: Final = f"SELECT {_COLUMNS}, secret_hash FROM access_keys WHERE id = :id"
_REVOKE: Final = "UPDATE access_keys SET revoked_at = :at WHERE id = :id AND revoked_at IS NULL"
_SECRET: Final = "UPDATE access_keys SET secret_hash = :hash WHERE id = :id AND revoked_at IS NULL"  # noqa: S105 - no secret
_USED: Final = "UPDATE access_keys SET last_used_at = :at WHERE id = :id"
_LOGGED: Final = (
    "SELECT at, key_id, scope, action, target, status FROM access_log {}ORDER BY sequence DESC LIMIT :limit"
)


class SqlKeyStore:
    """Keeps keys as hashes, with the log of who used them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, key: AccessKey, secret_hash: str) -> None:
        """Keep a new key."""
        row = {
            "id": key.id,
            "name": key.name,
            "scope": key.scope,
            "rights": ",".join(sorted(key.rights)),
            "kind": key.kind,
            "secret_hash": secret_hash,
            "created_at": key.created_at,
            "expires_at": key.expires_at,
            "last_used_at": key.last_used_at,
            "revoked_at": key.revoked_at,
        }
        with self._database.write() as connection:
            connection.execute(access_keys.insert, row)

    def all(self) -> list[AccessKey]:
        """All keys, those revoked included, oldest first."""
        with self._database.read() as connection:
            return [_key(row) for row in connection.rows(_ALL)]

    def find(self, key_id: str) -> tuple[AccessKey, str] | None:
        """A key and the hash of its secret."""
        with self._database.read() as connection:
            rows = connection.rows(_ONE, {"id": key_id})
        return (_key(rows[0][:-1]), rows[0][-1]) if rows else None

    def revoke(self, key_id: str, at: datetime) -> bool:
        """Revoke a key; whether it was there and not revoked before."""
        with self._database.write() as connection:
            return bool(connection.execute(_REVOKE, {"id": key_id, "at": at}).rowcount)

    def replace_secret(self, key_id: str, secret_hash: str) -> bool:
        """Give a key that is not revoked another secret; whether there is one."""
        with self._database.write() as connection:
            return bool(connection.execute(_SECRET, {"id": key_id, "hash": secret_hash}).rowcount)

    def used(self, key_id: str, at: datetime) -> None:
        """Note when a key was last used."""
        with self._database.write(durable=False) as connection:
            connection.execute(_USED, {"id": key_id, "at": at})

    def log(self, lines: Sequence[AccessLine]) -> None:
        """Add lines to the access log."""
        if not lines:
            return
        rows = [
            {
                "at": line.at,
                "key_id": line.key_id,
                "scope": line.scope,
                "action": line.action,
                "target": line.target,
                "status": line.status,
            }
            for line in lines
        ]
        with self._database.write() as connection:
            connection.executemany(access_log.insert, rows)

    def logged(self, *, limit: int, key_id: str | None = None) -> list[AccessLine]:
        """The last lines of the access log, newest first."""
        condition = "" if key_id is None else "WHERE key_id = :key_id "
        params = {"limit": limit, **({} if key_id is None else {"key_id": key_id})}
        with self._database.read() as connection:
            rows = connection.rows(_LOGGED.format(condition), params)
        return [AccessLine(_time(row[0]), row[1], row[2], row[3], row[4], int(row[5])) for row in rows]

    def close(self) -> None:
        """Close the connection."""
        self._database.close()


def _key(row: Row) -> AccessKey:
    key_id, name, scope, rights, kind, created, expires, used, revoked = row
    return AccessKey(
        key_id,
        name,
        scope,
        frozenset(rights.split(",")),
        _time(created),
        kind,
        moment(expires),
        moment(used),
        moment(revoked),
    )


def _time(value: datetime | str | None) -> datetime:
    found = moment(value)
    if found is None:
        raise TypeError("a column of the keys that has to hold a time holds none")
    return found

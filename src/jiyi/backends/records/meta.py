"""`store_meta`: what a store knows about itself, by name."""

from __future__ import annotations

from typing import Final

from jiyi.backends.records.schema import store_meta
from jiyi.backends.records.sql import Connection

_VALUE: Final = "SELECT value FROM store_meta WHERE name = :name"
_UPDATE: Final = "UPDATE store_meta SET value = :value WHERE name = :name"


def get_meta(connection: Connection, name: str) -> str | None:
    """The value under this name."""
    value: str | None = connection.scalar(_VALUE, {"name": name})
    return value


def set_meta(connection: Connection, name: str, value: str) -> None:
    """Write the value under this name."""
    params = {"name": name, "value": value}
    if not connection.execute(_UPDATE, params).rowcount:
        connection.execute(store_meta.insert, params)

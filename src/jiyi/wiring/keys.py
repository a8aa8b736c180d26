"""The keys of a server, in the store that it serves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jiyi.wiring.profiles import open_database

if TYPE_CHECKING:
    from jiyi.config import Settings
    from jiyi.ports import KeyStore


def open_key_store(settings: Settings) -> KeyStore:
    """Open the keys; the caller closes them."""
    from jiyi.backends.records.keys import SqlKeyStore

    return SqlKeyStore(open_database(settings))

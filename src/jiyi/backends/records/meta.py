"""`store_meta`: what a store knows about itself, by name."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from jiyi.backends.records.schema import store_meta
from jiyi.backends.records.sql import Connection, Row

_WORDS: Final = "user_words"
SELECT_WORDS: Final = f"SELECT value FROM store_meta WHERE name = '{_WORDS}'"
"""The user dictionary; its rows are those of `words_in`."""
_FIELDS: Final = "index_metadata"
SELECT_FIELDS: Final = f"SELECT value FROM store_meta WHERE name = '{_FIELDS}'"
"""The fields of metadata that are searched; its rows are those of `words_in`."""
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


def words_in(rows: Sequence[Row]) -> list[str]:
    """A list of words, in the order in which they were added."""
    return list(json.loads(rows[0][0])) if rows else []


def user_words(connection: Connection) -> list[str]:
    """The user dictionary of the store."""
    return words_in(connection.rows(SELECT_WORDS))


def add_user_word(connection: Connection, word: str) -> bool:
    """Add a word to it; whether it is new."""
    words = user_words(connection)
    if word in words:
        return False
    set_meta(connection, _WORDS, json.dumps([*words, word], ensure_ascii=False))
    return True


def set_fields(connection: Connection, names: Sequence[str]) -> None:
    """The fields of metadata that are searched from now on."""
    set_meta(connection, _FIELDS, json.dumps(list(names), ensure_ascii=False))

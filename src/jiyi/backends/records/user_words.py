"""The user dictionary: words that the segmenter shall take as words, for the whole store."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from jiyi.backends.records.meta import set_meta
from jiyi.backends.records.sql import Connection, Row

_NAME: Final = "user_words"
SELECT: Final = f"SELECT value FROM store_meta WHERE name = '{_NAME}'"


def words_in(rows: Sequence[Row]) -> list[str]:
    """The words in the answer to `SELECT`, in the order in which they were added."""
    return list(json.loads(rows[0][0])) if rows else []


def user_words(connection: Connection) -> list[str]:
    """The words in the order in which they were added."""
    return words_in(connection.rows(SELECT))


def add_user_word(connection: Connection, word: str) -> bool:
    """Add one; whether it is new."""
    words = user_words(connection)
    if word in words:
        return False
    set_meta(connection, _NAME, json.dumps([*words, word], ensure_ascii=False))
    return True

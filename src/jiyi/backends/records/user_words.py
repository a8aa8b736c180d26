"""The user dictionary: words that the segmenter shall take as words, for the whole store."""

from __future__ import annotations

import json

import sqlalchemy as sa

from jiyi.backends.records.schema import store_meta

_NAME = "user_words"


def user_words(connection: sa.Connection) -> list[str]:
    """The words in the order in which they were added."""
    value = connection.execute(sa.select(store_meta.c.value).where(store_meta.c.name == _NAME)).scalar()
    return [] if value is None else list(json.loads(value))


def add_user_word(connection: sa.Connection, word: str) -> bool:
    """Add one; whether it is new."""
    words = user_words(connection)
    if word in words:
        return False
    value = json.dumps([*words, word], ensure_ascii=False)
    if words:
        connection.execute(store_meta.update().where(store_meta.c.name == _NAME).values(value=value))
    else:
        connection.execute(store_meta.insert().values(name=_NAME, value=value))
    return True

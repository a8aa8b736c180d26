"""Validation of arguments. Each error names the argument and the remedy; no value is changed."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from jiyi.errors import InvalidInputError
from jiyi.model.storable import not_storable

_MAX_BYTES_PER_CHARACTER = 4
"""In UTF-8."""
DEFAULT_TOKEN_LIMIT = 64_000
"""How many tokens the window of a chat or the prompt of an agent has at most, unless the program says otherwise."""
MAX_POSITION = 2**31 - 1
"""Of an entry in its conversation."""
MAX_TOOL_ANSWER = 2_000
"""How many tokens the answer of a tool has at most, unless the program says otherwise."""
MAX_MODEL_REPLY_BYTES = 4 << 20
"""The longest reply that is read of a chat model, unless the program says otherwise."""


@dataclass(frozen=True, slots=True)
class RecallLimits:
    """Counts of candidates, and how long a recall waits. Each list is at least twice the limit of the request."""

    word_candidates: int = 50
    bigram_candidates: int = 20
    dense_candidates: int = 50
    dated_candidates: int = 30
    """Of each kind, inside the dates that the question names."""
    freshness_seconds: float = 10.0
    """How long to wait for indexes that are behind in the visible scopes."""
    rerank_candidates: int = 30
    """How many of the best hits a reranker reads."""
    rerank_seconds: float = 10.0
    """How long a recall waits for the reranker."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits on sizes and counts of arguments."""

    max_content_bytes: int = 64 * 1024
    max_key_characters: int = 512
    max_query_characters: int = 32_768
    max_results: int = 1_000
    max_tags: int = 256
    max_tag_characters: int = 1_000

    def check_key(self, key: object) -> str:
        """A key: not blank, within the limit."""
        return self._text(key, "key", self.max_key_characters)

    def check_prefix(self, prefix: object) -> str:
        """The beginning of a key."""
        return self._text(prefix, "key_prefix", self.max_key_characters)

    def check_id(self, value: object, name: str) -> str:
        """An id of whatever kind: like a key."""
        return self._text(value, name, self.max_key_characters)

    def check_session_id(self, session_id: object) -> str:
        """The id of a session."""
        return self.check_id(session_id, "session_id")

    def check_user_word(self, word: object) -> str:
        """A word for the dictionary: like a key."""
        return self._text(word, "word", self.max_key_characters)

    def check_content(self, content: object, name: str = "content") -> str:
        """Content: not blank, within the limit of UTF-8 bytes."""
        text = self._text(content, name, None)
        if len(text) * _MAX_BYTES_PER_CHARACTER <= self.max_content_bytes:
            return text
        size = len(text) if text.isascii() else len(text.encode("utf-8"))
        if size > self.max_content_bytes:
            raise InvalidInputError(
                f"{name} has {size:,} bytes and the limit is {self.max_content_bytes:,}; "
                "split it, or raise the setting max_content_bytes"
            )
        return text

    def check_query(self, query: object) -> str:
        """A query: not blank, within the limit."""
        text = self._text(query, "query", None)
        if len(text) > self.max_query_characters:
            raise InvalidInputError(
                f"query has {len(text):,} characters and the limit is {self.max_query_characters:,}; "
                "shorten it, or raise the setting max_query_characters"
            )
        return text

    def check_limit(self, limit: object) -> int:
        """How many hits: a whole number from 1 to `max_results`."""
        if isinstance(limit, bool) or not isinstance(limit, int):
            raise InvalidInputError(f"limit must be a whole number, not {type(limit).__name__}: {limit!r}")
        if not 1 <= limit <= self.max_results:
            raise InvalidInputError(f"limit {limit} is not between 1 and {self.max_results} (the setting max_results)")
        return limit

    def check_tags(self, tags: object) -> tuple[str, ...]:
        """Tags: none blank, duplicates removed, order kept."""
        if tags is None:
            return ()
        if isinstance(tags, str | bytes) or not isinstance(tags, Iterable):
            raise InvalidInputError(f"tags must be a list of texts, not {type(tags).__name__}: {tags!r}")
        checked = tuple(dict.fromkeys(self._text(tag, "tag", self.max_tag_characters) for tag in tags))
        if len(checked) > self.max_tags:
            raise InvalidInputError(f"{len(checked)} tags are more than the limit of {self.max_tags}")
        return checked

    @staticmethod
    def _text(value: object, name: str, max_characters: int | None) -> str:
        if not isinstance(value, str):
            raise InvalidInputError(f"{name} must be text, not {type(value).__name__}: {ascii(value)[:80]}")
        if not value or value.isspace():
            raise InvalidInputError(f"{name} is {'empty' if not value else 'only white space'}; pass some text")
        if problem := not_storable(value):
            raise InvalidInputError(f"{name} {problem}")
        if max_characters is not None and len(value) > max_characters:
            raise InvalidInputError(
                f"{name} has {len(value):,} characters and the limit is {max_characters:,}; shorten it"
            )
        return value


def check_whole(value: object, name: str, minimum: int, maximum: int) -> int:
    """A whole number in a range."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidInputError(f"{name} must be a whole number, not {type(value).__name__}: {value!r}")
    if not minimum <= value <= maximum:
        raise InvalidInputError(f"{name} {value} is not between {minimum} and {maximum}")
    return value


def check_flag(value: object, name: str) -> bool:
    """True or False, and nothing that only counts as one of them."""
    if not isinstance(value, bool):
        raise InvalidInputError(f"{name} must be True or False, not {type(value).__name__}: {value!r}")
    return value


def check_version(value: object) -> int | None:
    """The version of an entry that a caller means; `None` for any."""
    return None if value is None else check_whole(value, "if_version", 1, 2**53)


def check_importance(value: object) -> float:
    """An importance score: a number from 0 to 1."""
    return _unit_interval(value, "importance")


def _unit_interval(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidInputError(f"{name} must be a number from 0 to 1, not {type(value).__name__}: {value!r}")
    if not math.isfinite(value) or not 0.0 <= value <= 1.0:
        raise InvalidInputError(f"{name} {value} is not between 0 and 1")
    return float(value)

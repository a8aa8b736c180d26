"""MemoryCategory: how long a memory is meant to live."""

from __future__ import annotations

import re
from typing import ClassVar

from jiyi.errors import InvalidInputError

MAX_WORD_CHARACTERS = 64
_WORD = re.compile(r"\w[\w.-]*")


def check_word(value: object, name: str) -> str:
    """Returns a category, memory type or domain: a word of letters, digits, `_`, `-` and `.`, in any script.

    A category may be several words with one space between them.
    """
    if not isinstance(value, str):
        raise InvalidInputError(f"{name} must be a word, not {type(value).__name__}: {value!r}")
    several = name == "category"
    if len(value) > MAX_WORD_CHARACTERS or not all(
        _WORD.fullmatch(word) for word in (value.split(" ") if several else (value,))
    ):
        wanted = "one or several words, with one space between them," if several else "a word"
        raise InvalidInputError(
            f"{name} {value[:80]!a} is not {wanted} of at most {MAX_WORD_CHARACTERS} letters, digits, '_', '-', '.'"
        )
    return value


class MemoryCategory(str):
    """`conversation`, `core`, `daily`, or words of your own: `MemoryCategory("travel plans")`."""

    __slots__ = ()

    CONVERSATION: ClassVar[MemoryCategory]
    CORE: ClassVar[MemoryCategory]
    DAILY: ClassVar[MemoryCategory]

    def __new__(cls, word: str) -> MemoryCategory:  # noqa: PYI034 - also for subclasses
        """Check the word; an invalid one is an `InvalidInputError`."""
        if isinstance(word, MemoryCategory):
            return word
        return super().__new__(cls, check_word(word, "category"))

    @classmethod
    def custom(cls, word: str) -> MemoryCategory:
        """A category of your own; the same as calling the class."""
        return cls(word)

    @property
    def is_custom(self) -> bool:
        """Whether this is none of the three built-in categories."""
        return self not in BUILT_IN

    def __repr__(self) -> str:
        return f"MemoryCategory({str(self)!r})"


MemoryCategory.CONVERSATION = MemoryCategory("conversation")
MemoryCategory.CORE = MemoryCategory("core")
MemoryCategory.DAILY = MemoryCategory("daily")
BUILT_IN = (MemoryCategory.CONVERSATION, MemoryCategory.CORE, MemoryCategory.DAILY)

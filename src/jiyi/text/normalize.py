"""Folding: the normalized form in which texts are compared.

It applies NFKC, lower case, straight quotes and hyphens and simplified characters, and removes invisible characters.
Documents and queries are folded alike; the stored text is never changed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final
from unicodedata import category, normalize

from jiyi.text.hanzi import TRADITIONAL_TO_SIMPLIFIED

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["FoldedText", "fold", "fold_aligned", "tag_form"]

_SPELLINGS: Final[dict[int, str]] = {
    **TRADITIONAL_TO_SIMPLIFIED,
    **dict.fromkeys(map(ord, "\u2018\u2019\u201a\u201b\u2032\u02bc"), "'"),
    **dict.fromkeys(map(ord, "\u201c\u201d\u201e\u201f"), '"'),
    **dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2212"), "-"),
    ord("\u03c2"): "\u03c3",  # Greek writes sigma differently at the end of a word
}

_RESPELLED: Final = frozenset(map(chr, _SPELLINGS))

# Invisible characters: soft hyphens, joiners, direction marks, variation selectors, tags. They are removed before NFKC,
# so that the characters around them can compose.
_INVISIBLE: Final = re.compile(
    "[\u00ad\u034f\u061c\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff]+"
)


_MAX_CACHED: Final = 4_000
"""The folded forms of texts of at most so many characters are kept for a while."""


def fold(text: str) -> str:
    """The normalized form of `text`. Folding is idempotent."""
    if text.isascii():
        return text.lower()
    return _fold_again(text) if len(text) <= _MAX_CACHED else _fold(text)


def _fold(text: str) -> str:
    visible = _INVISIBLE.sub("", text)
    # NFKC again: some compositions exist only in lower case (j with caron).
    folded = normalize("NFKC", normalize("NFKC", visible).lower())
    # `translate` raises and catches an error for every character that it has no other spelling of, and mostly these are
    # all but a few. No spelling is itself spelled otherwise, so they can be replaced one after the other.
    for other in _RESPELLED.intersection(folded):
        folded = folded.replace(other, _SPELLINGS[ord(other)])
    return folded


# The rules that read a question or a message each fold it, one after the other.
_fold_again = lru_cache(maxsize=256)(_fold)


def tag_form(tag: str) -> str:
    """The normalized form of a tag: case, width and surrounding white space do not matter."""
    return fold(tag).strip()


@dataclass(frozen=True, slots=True)
class FoldedText:
    """A folded text with the original position of each character."""

    text: str
    starts: Sequence[int]
    """For each folded character, where its origin begins in the original."""
    ends: Sequence[int]
    """For each folded character, where its origin ends in the original."""

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """The range of the original that became the folded characters `start` to `end` (at least one)."""
        return self.starts[start], self.ends[end - 1]


def fold_aligned(text: str) -> FoldedText:
    """`fold` with the origin of every character, for highlighting matches in the original."""
    if text.isascii():
        return FoldedText(fold(text), range(len(text)), range(1, len(text) + 1))
    folded: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    begin = 0
    for stop in range(1, len(text) + 1):
        if stop < len(text) and _continues(text[stop]):
            continue
        piece = _fold_piece(text[begin:stop])
        folded.append(piece)
        starts.extend([begin] * len(piece))
        ends.extend([stop] * len(piece))
        begin = stop
    return FoldedText("".join(folded), starts, ends)


def _fold_piece(piece: str) -> str:
    return _fold_character(piece) if len(piece) == 1 else fold(piece)


@lru_cache(maxsize=8192)
def _fold_character(character: str) -> str:
    return fold(character)


@lru_cache(maxsize=8192)
def _continues(character: str) -> bool:
    """Whether NFKC may compose this character with the one before: marks, Hangul vowels and finals, invisibles."""
    if character.isascii():
        return False
    first = normalize("NFKD", character)[0]
    return category(first).startswith("M") or "\u1160" <= first <= "\u11ff" or _INVISIBLE.match(character) is not None

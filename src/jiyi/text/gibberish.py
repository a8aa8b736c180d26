"""Letters that are no words in ways the table of words cannot tell: mixed with digits, keys in a row, broken encodings.

Stricter than `rarity.share_unknown`, so it is asked only of what matches nothing that is stored: an identifier, a model
number or a name in another script finds its own text by its words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import Final

from jiyi.text.patterns import has_han
from jiyi.text.rarity import is_known

__all__ = ["is_gibberish"]

# Compiled at first use: most questions have words that are stored, and are not judged.
_compiled = cache(re.compile)

_MIN_LETTERS: Final = 4
"""Fewer letters beside digits are a code (rtx4090, b12)."""
_MIN_RUN: Final = 3
"""A word among digits is at least so long (iphone15)."""
_MIN_KEYS: Final = 5
"""So many letters, each beside the one before it on the keyboard, are no word."""
_MIN_CONSONANTS: Final = 6
_ROWS: Final = (
    *("йцукенгшщзхъ", "фывапролджэ", "ячсмитьбю"),
    *("ςερτυθιοπ", "ασδφγηξκλ", "ζχψωβνμ"),
    *("קראטוןםפ", "שדגכעיחלךף", "זסבהנמצתץ"),
    *("ضصثقفغعهخحجد", "شسيبلاتنمكط"),
)
_CYRILLIC_CONSONANTS: Final = "[бвгджзйклмнпрстфхцчшщъь]+"
# What programs make of bytes that are no text: two replacement characters read as GBK, and memory that was never set.
_BROKEN: Final = "(?:锟斤拷?|斤拷|锟|锘|烫{2,}|屯{2,})+"
_MIN_BROKEN: Final = 3
_WIDE: Final = 0x800
"""From this character on UTF-8 takes three bytes: shorter sequences are found in ordinary text too."""


def is_gibberish(question: str, words: Sequence[str]) -> bool:
    """Whether a question, with these folded and stemmed terms, is made of letters that are no words."""
    judged = [word for word in words if not word.isdecimal()]
    return bool(judged) and (all(map(_is_no_word, judged)) or _is_broken(question))


def _is_no_word(term: str) -> bool:
    if not is_known(term):
        return True
    if term.isascii():
        return _is_mixed_at_random(term)
    return _is_along_the_keys(term) or (
        len(term) >= _MIN_CONSONANTS and _compiled(_CYRILLIC_CONSONANTS).fullmatch(term) is not None
    )


def _is_mixed_at_random(term: str) -> bool:
    """Letters with digits, of which no run of letters is a word."""
    letters = _compiled("[a-z]+").findall(term)
    if _compiled("[0-9]").search(term) is None or sum(map(len, letters)) < _MIN_LETTERS:
        return False
    return not any(len(run) >= _MIN_RUN and is_known(run) for run in letters)


def _is_along_the_keys(term: str) -> bool:
    if len(term) < _MIN_KEYS:
        return False
    row = next((row for row in _ROWS if set(term) <= set(row)), None)
    return row is not None and all(abs(row.index(a) - row.index(b)) == 1 for a, b in pairwise(term))


def _is_broken(question: str) -> bool:
    """Whether a text is what another encoding of it was read as."""
    text = "".join(_compiled(r"\w").findall(question))
    if len(text) < _MIN_BROKEN or _compiled("[\\x00-\\x7f]").search(text) or not has_han(text):
        return False
    if _compiled(_BROKEN).fullmatch(text):
        return True
    try:
        read = text.encode("gbk").decode("utf-8")
    except UnicodeError:
        return False
    return any(ord(character) >= _WIDE for character in read)

"""Sentences of Chinese and English text, and the chunks for embedding that are made of them."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, Final
from unicodedata import combining, east_asian_width

from jiyi.errors import InvalidInputError
from jiyi.text.code_spans import in_code, inline_code

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["CLOSERS", "columns", "sentences", "split_chunks"]

CLOSERS: Final = "\"'\u2019\u201d\u00bb)\\]}\uff09\u3011\u300b\u300d\u300f"
_END: Final = re.compile(rf"\n+|(?P<mark>[。！？；｡…؟।!?.]+)[{CLOSERS}]*")
_ASCII_MARKS: Final = frozenset("!?.")
_WORD_BEFORE: Final = re.compile(r"(?:[^\W_]|[^\W_]\.)+\Z")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# After these a full stop never ends a sentence ...
_TITLES: Final = _words("mr mrs ms dr prof st mt gen sen rep gov capt lt sgt vs e.g i.e cf fig eq vol pp approx")
# ... and after these only before a capital letter.
_ABBREVIATIONS: Final = _words(
    "etc inc ltd co corp jr sr dept est al a.m p.m u.s u.k ph.d jan feb mar apr jun jul aug sep sept oct nov dec"
)


def sentences(text: str) -> list[str]:
    """The sentences of a text, stripped. Decimals, addresses and abbreviations are not split."""
    return [sentence for start, end in _spans(text) if (sentence := text[start:end].strip())]


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """The ranges of the sentences; they cover the whole text."""
    start = 0
    code = inline_code(text)
    for match in _END.finditer(text):
        if (
            match.end() < len(text)
            and not (code and in_code(code, match.start()))
            and _ends_sentence(text, start, match)
        ):
            yield start, match.end()
            start = match.end()
    if start < len(text):
        yield start, len(text)


def _ends_sentence(text: str, start: int, match: re.Match[str]) -> bool:
    mark = match["mark"]
    if mark is None or not _ASCII_MARKS.issuperset(mark):  # a line end, or an unambiguous mark
        return True
    following = text[match.end()]
    if following.isascii() and not following.isspace():  # 3.14, example.com/?q=1
        return False
    return mark.strip(".") != "" or _full_stop_ends(text, start, match)


def _full_stop_ends(text: str, start: int, match: re.Match[str]) -> bool:
    after = text[match.end() : match.end() + 10].lstrip()[:1]
    if match["mark"] != ".":  # an ellipsis goes on in lower case
        return not after.islower()
    before = text[max(start, match.start() - 20) : match.start()]
    found = _WORD_BEFORE.search(before)
    word = found[0].lower() if found else ""
    if word.isdecimal():
        is_list_number = before.strip() == word or not text[match.end()].isspace()  # "1. tea", "2.茶"
        return not is_list_number
    if word == "no":
        return not after.isdecimal()
    is_initial = len(word) == 1 and "a" <= word <= "z" and word != "i"  # J. K. Rowling
    if is_initial or word in _TITLES:
        return False
    return word not in _ABBREVIATIONS or not (after.islower() or after.isdecimal())


def split_chunks(text: str, max_columns: int = 300) -> list[str]:
    """Splits a text into chunks of at most `max_columns` columns at sentence ends; only longer sentences are cut.

    Columns are display width: a Chinese character has two. No chunk is empty, and the chunks together contain
    everything but white space.
    """
    if max_columns < 2:
        raise InvalidInputError(f"max_columns is {max_columns}, but a Chinese character alone needs 2")
    if 2 * len(text) <= max_columns:
        return [stripped] if (stripped := text.strip()) else []
    widths = [0, *accumulate(map(_columns, text))]
    chunks: list[str] = []
    start = end = 0  # the current chunk
    for _, sentence_end in _spans(text):
        if widths[sentence_end] - widths[start] > max_columns:
            chunks.append(text[start:end])
            start = end
            while widths[sentence_end] - widths[start] > max_columns:
                end = _cut_position(text, widths, start, max_columns)
                chunks.append(text[start:end])
                start = end
        end = sentence_end
    chunks.append(text[start:end])
    return [stripped for chunk in chunks if (stripped := chunk.strip())]


_CLAUSE_END: Final = re.compile(r"[\s，、,;:：]")


def _cut_position(text: str, columns: list[int], start: int, max_columns: int) -> int:
    """Where to cut a sentence that is too long: after the last clause or word of the second half, else at the limit."""
    end = start + 1
    while end < len(text) and columns[end + 1] - columns[start] <= max_columns:
        end += 1
    middle = (start + end) // 2
    breaks = [match.end() for match in _CLAUSE_END.finditer(text, middle, end)]
    return breaks[-1] if breaks else end


def columns(text: str) -> int:
    """The display width of a text: a Chinese character has two columns."""
    return len(text) if text.isascii() else sum(map(_columns, text))


@lru_cache(maxsize=8192)
def _columns(character: str) -> int:
    if combining(character):
        return 0
    return 2 if east_asian_width(character) in "WF" else 1

"""A cheap test that excludes dates in a text without importing the date grammars.

Importing the grammars compiles many patterns, which takes longer than a query from the command line.
"""

from __future__ import annotations

import re
from typing import Final

from jiyi.text.hanzi import TRADITIONAL_TO_SIMPLIFIED

__all__ = [
    "CHINESE_STARTS",
    "ENGLISH_ANCHORS",
    "cannot_contain_date",
    "may_contain_chinese_date",
    "may_contain_english_date",
    "plain_spelling",
]

# One character is replaced by one character, so that positions do not change.
_SPELLINGS: Final[dict[int, str]] = {
    **TRADITIONAL_TO_SIMPLIFIED,
    **{code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)},
    **dict.fromkeys(map(ord, "\u2018\u2019\u201b\u02bc"), "'"),
    **dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"), "-"),
    ord("〜"): "~",
    ord("○"): "〇",
    ord("\u3000"): " ",
    ord("\u00a0"): " ",
}

_RESPELLED: Final = frozenset(map(chr, _SPELLINGS))

CHINESE_STARTS: Final = frozenset(
    "0123456789〇一七万三上下两中九二五今仲儿元光八六农冬几初前劳十卅半去双后周四国圣复夏大女好妇寒小平年建廿情愚感教数旧早明星"
    "春昨晚暑暮最未本植正母深清父百盛礼秋端第腊跨过近这重阴除隆零青"
)
"""The characters with which Chinese date expressions begin."""


_ANCHORS: Final = """
    yesterday today tomorrow tonight
    hour hours minute minutes day days week weeks weekend fortnight fortnights month months quarter year years
    decade decades
    morning noon lunchtime afternoon evening night
    monday mon tuesday tue tues wednesday wed thursday thu thur thurs friday fri saturday sat sunday sun
    january jan february feb march mar april apr may june jun july jul august aug september sept sep october oct
    november nov december dec
    spring summer autumn fall winter
    christmas xmas thanksgiving halloween easter juneteenth qingming qixi chongyang mardi cinco double festival
"""
ENGLISH_ANCHORS: Final = frozenset(_ANCHORS.split())
"""Every English date expression has one of these words, or digits that can be a part of one."""
_ENGLISH_WORD: Final = re.compile("[a-z]+")
_DIGIT: Final = re.compile("[0-9]")
# A year, a day and a month, a decade, "on the 15th", a quarter or half of a year.
_DATE_DIGITS: Final = re.compile("(?<![0-9])[0-9]{4}(?![0-9])|[0-9](?:st|nd|rd|th)|0s|[qh][1-4]|[0-9]/[0-9]")


def plain_spelling(text: str) -> str:
    """The text in simplified characters, ASCII digits and ASCII punctuation, with unchanged positions."""
    if text.isascii():
        return text
    # `translate` raises and catches an error for every character that stays as it is; no spelling is respelled itself.
    for other in _RESPELLED.intersection(text):
        text = text.replace(other, _SPELLINGS[ord(other)])
    return text


def may_contain_chinese_date(plain: str) -> bool:
    """Whether a text in plain spelling is Chinese and has a character with which a Chinese date begins."""
    if plain.isascii() or CHINESE_STARTS.isdisjoint(plain):
        return False
    return any("\u4e00" <= character <= "\u9fff" for character in plain)


def may_contain_english_date(plain: str) -> bool:
    """Whether a text in plain spelling has one of the words, or the digits, without which there is no English date."""
    lower = plain.lower()
    if not ENGLISH_ANCHORS.isdisjoint(_ENGLISH_WORD.findall(lower)):
        return True
    return _DIGIT.search(lower) is not None and _DATE_DIGITS.search(lower) is not None


def cannot_contain_date(text: str) -> bool:
    """Whether the text has no word or digits that an English date needs, and no character that begins a Chinese one."""
    plain = plain_spelling(text)
    return not may_contain_chinese_date(plain) and not may_contain_english_date(plain)

"""A cheap test that excludes dates in a text without importing the date grammars.

Importing the grammars compiles many patterns, which takes longer than a query from the command line.
"""

from __future__ import annotations

from typing import Final

from jiyi.text.hanzi import TRADITIONAL_TO_SIMPLIFIED

__all__ = ["CHINESE_STARTS", "cannot_contain_date", "plain_spelling"]

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

CHINESE_STARTS: Final = frozenset(
    "0123456789〇一七万三上下两中九二五今仲儿元光八六农冬几初前劳十卅半去双后周四国圣复夏大女好妇寒小平年建廿情愚感教数旧早明星"
    "春昨晚暑暮最未本植正母深清父百盛礼秋端第腊跨过近这重阴除隆零青"
)
"""The characters with which Chinese date expressions begin."""


def plain_spelling(text: str) -> str:
    """The text in simplified characters, ASCII digits and ASCII punctuation, with unchanged positions."""
    return text if text.isascii() else text.translate(_SPELLINGS)


def cannot_contain_date(text: str) -> bool:
    """Whether the text has no Latin letter, no digit and no character with which a date begins."""
    plain = plain_spelling(text)
    return CHINESE_STARTS.isdisjoint(plain) and not any(c.isascii() and c.isalnum() for c in plain)

"""The words of a text that say what it is about, without times, function words and words for change."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from jiyi.text.normalize import fold
from jiyi.text.patterns import WEEKDAY, has_han
from jiyi.text.statements.about.word_classes import tagged

__all__ = ["content_words", "share_content"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LATIN: Final = re.compile(r"[a-zà-ÿ][a-z0-9à-ÿ+#-]*")
_TIME_EN: Final = re.compile(
    rf"{WEEKDAY}s?|january|february|march|april|may|june|july|august|september|october"
    r"|november|december|today|tomorrow|tonight|yesterday|morning|afternoon|evening|night|week|weeks|month|months|year"
    r"|years|day|days|hour|hours|minute|minutes|weekend|noon|am|pm|o'clock|st|nd|rd|th|time|date|end|start|starting"
)
_FUNCTION_EN: Final = _words(
    "a an the this that these those my our your his her its their me us him them i we you he she it they and or but so"
    " of for to with at in on from by about as into until till than then there here not no nor is are was were be been"
    " am do does did don have has had will would can could should must may might shall let get got make made go going"
    " please remind remember forget reminder need needs want wants just also only too very now instead anymore more any"
    " some all each every one two three order up down out off over again back still actually really if when while"
    " because since after before what which who how where why moved move moving changed change changing switched switch"
    " cancel cancelled canceled stop stopped new old other another next last first t s m ve re ll d"
)
_ENDINGS: Final = re.compile(r"(?<=\w{3})(?:ing|ed|es|s)$")
_NO_CONTENT_ZH: Final = _words(
    "提醒 记得 忘记 时候 时间 现在 以后 今后 改到 改成 换成 取消 需要 已经 还是 没有 不是 可以 应该"
    " 打算 准备 就是 一下 一个 这个 那个 别忘 不用 不要 开始 结束 原本 原来 安排"
)


@lru_cache(maxsize=64)
def content_words(text: str) -> frozenset[str]:
    """The words that say what a text is about. A message is compared with many facts, and read once."""
    folded = fold(text)
    found = {
        _ENDINGS.sub("", word)
        for word in _LATIN.findall(folded)
        if word not in _FUNCTION_EN and _TIME_EN.fullmatch(word) is None
    }
    if has_han(folded):
        for word, tag in tagged(folded):
            one = len(word) == 1 and tag[0] == "n"
            if has_han(word) and tag[0] in "nvaij" and (one or len(word) > 1) and word not in _NO_CONTENT_ZH:
                found.add(word)
    return frozenset(found)


def share_content(first: str, second: str) -> bool:
    """Whether two texts have a word in common that says what they are about."""
    mine, theirs = content_words(first), content_words(second)
    if mine & theirs:
        return True
    return any(one in other or other in one for one in mine for other in theirs if has_han(one))

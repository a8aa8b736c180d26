"""A number that is given beside who somebody is, is theirs: "The plumber is Mr. Osowski, phone 58 620 11 94".

It says nothing of the number of the speaker, or of anybody else whom the text does not name.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from jiyi.text.normalize import fold
from jiyi.text.patterns import has_han

__all__ = ["is_number_of_another"]

# Compiled at first use: a command that only asks does not need them.
_compiled = cache(re.compile)

_CONTACT: Final = (
    r"(?:tel(?:ephone)?|phone|landline|line|sim|mobile|cell|whatsapp|number|e-?mail|mail|reachable|call"
    r"|电话|手机|号码|座机|邮箱|微信)"
)
# "The plumber is Mr. Osowski", "our vet: Dr. Lee".
_WHO: Final = (
    r"(?:the|my|our|his|her|their|a) (?P<thing>[\w' -]{2,40}?)(?: is(?: called| named)?| was|:) (?P<name>[^,;:]{2,40}?)"
)
# 水管工老王, 我们的兽医是李医生.
_WHO_ZH: Final = r"(?P<who>[\u3400-\u9fff]{2,14})"
_BETWEEN: Final = r"\s*[,，;；(（–—\s-]\s*"
_BESIDE: Final = (
    rf"(?:(?:his|her|their|its|the|at|under|on|他|她)\s?)?(?:的)?{_CONTACT}.{{0,12}}?(?:(?:\d[ -]?){{5}}|\S+@)"
)
_OWN: Final = r"^(?:my|our|i|i'm|i am|we|users?|the user'?s?)\b|^(?:我|咱|用户)"
_PERSON_ZH: Final = "^[老小阿].$|[工哥姐叔姨总]$|师傅$|医生$|老师$"


def is_number_of_another(message: str, fact: str) -> bool:
    """Whether a message gives the number of somebody whom it names, and a fact has the one of the speaker."""
    known = fold(fact)
    if not _compiled(_OWN).search(known) or not _compiled(_CONTACT).search(known):
        return False
    said = fold(message)
    named = _named_zh(said) if has_han(said) else _named(said)
    return bool(named) and not any(_has(known, word) for word in named)


def _named(said: str) -> list[str]:
    """The words for who is named at the beginning; none where that is a number itself."""
    found = _compiled(rf"{_WHO}{_BETWEEN}{_BESIDE}").match(said)
    if found is None or _compiled(rf"\b{_CONTACT}").search(found["thing"]) or _compiled(r"\d").search(found["name"]):
        return []
    return [*found["thing"].split(), *found["name"].replace(".", " ").split()]


def _named_zh(said: str) -> list[str]:
    """The people who are named at the beginning of a Chinese text: 老王 in 水管工老王."""
    found = _compiled(rf"{_WHO_ZH}{_BETWEEN}{_BESIDE}").match(said)
    if found is None or _compiled(_CONTACT).search(found["who"]):
        return []
    import rjieba

    return [
        word
        for word, tag in rjieba.tag(found["who"])
        if tag.startswith("nr") or _compiled(_PERSON_ZH).search(word) is not None
    ]


def _has(text: str, word: str) -> bool:
    return word in text if not word.isascii() else _compiled(rf"\b{re.escape(word)}\b").search(text) is not None

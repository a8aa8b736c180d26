"""Facts that only one kind of message replaces: an age by a figure, an allergy by a denial, a language by its end.

Whatever else is said of the same person leaves them as they are: "Olive no longer sleeps on the bed" does not change
how old she is, and a second language does not end the first.
"""

from __future__ import annotations

import re
from typing import Final

from jiyi.text.normalize import fold
from jiyi.text.statements.parts.claims import clauses_of
from jiyi.text.statements.replacing.change_words import ends, ends_life, is_mistake, is_strong_change

__all__ = ["outlasts"]

_NUMBER: Final = (
    r"(?:\d{1,3}|(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:[- ](?:one|two|three|four|five|six|seven"
    r"|eight|nine))?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen"
    r"|seventeen|eighteen|nineteen)"
)
_AGE: Final = re.compile(
    rf"(?:\b(?:is|are|am|aged?|turns|turned)|\w'(?:s|m|re)|\bim) (?:an? )?"
    rf"(?:(?:nearly|almost|about|only|just|now) )?{_NUMBER}"
    r"(?:[- ]year[- ]old [a-z]+| (?:years? old|now))?[\s.,!;]*(?:and\s*)?$"
    r"|(?:今年|快|刚满?|已经)?[\d一二两三四五六七八九十百]+岁(?:半|多|了)?[\s，。；]*$|今年[\d一二两三四五六七八九十]{1,3}[了，。；\s]*$"
)
_FIGURE: Final = re.compile(
    rf"\d|[一二两三四五六七八九十百]+岁|[二三四五六七八九]?十[一二三四五六七八九]?|\b{_NUMBER}\b"
    r"|生日|周岁|[根支]蜡烛|大一岁|长一岁|\b(?:birthday|candles|older|year on)\b"
)
_ALLERGY: Final = re.compile(
    r"过敏|不耐受|\ballerg|\bintoleran|\bcoeliac|\bceliac|\bin hives\b|\banaphyla|\bthroat (?:close|swell)"
)
_DENIES: Final = re.compile(
    r"不|没|无|未|能[吃喝用打碰]|可以[吃喝用打碰]|敢|好了|脱敏|误|阴性|治|摘"
    r"|\b(?:not|no|never|nothing|none|without|negative|outgrew|outgrown|grew out|grown out|can (?:have|eat|take|drink)"
    r"|fine with|cleared|desensiti\w+|isn|wasn|aren|dont|didnt|isnt|wrong|misdiagnos\w+)\b|n't\b"
)
_SPEAKS: Final = re.compile(
    r"会[说讲]|母语|说(?:的是)?[^，。]{1,6}[语话文]|[语话文]流利"
    r"|\b(?:speaks?|native|fluent|bilingual|mother tongue|first language)\b"
)
_BORN: Final = re.compile(
    r"生了(?:个|一个|对|二胎|二宝)|出生了|(?:宝宝|孩子|女儿|儿子|二宝)(?:落地|降生|出生)(?!以?后|之后|前)"
    r"|\b(?:gave birth|was born|has arrived|(?:little|baby) \w+ (?:has )?(?:arrived|came|is here)"
    r"|arrived [^.!?]{0,30}\d ?lbs?|had (?:a|our) (?:little |baby )(?:girl|boy|one))\b"
)
_BEFORE_BIRTH: Final = re.compile(
    r"怀孕|怀了|预产|备孕|胎|要(?:个|生)|产假|孩子|宝宝|娃|独生|没有?[小孩子]"
    r"|\b(?:pregnan\w*|expecting|due|trying|bump|kids?|child(?:ren)?|bab(?:y|ies)|only)\b"
)


def outlasts(message: str, fact: str) -> bool:
    """Whether nothing of a fact can be replaced by a message, because each part of it asks for another kind of news."""
    said = fold(message)
    if is_mistake(said) or ends_life(said):
        return False
    return all(_outlasts(said, fold(clause)) for clause in clauses_of(fact))


def _outlasts(said: str, known: str) -> bool:
    if _BORN.search(said) and not _BEFORE_BIRTH.search(known):
        return True
    if _AGE.search(known):
        return _FIGURE.search(said) is None
    if _ALLERGY.search(known):
        return _DENIES.search(said) is None and not ends(said)
    return _SPEAKS.search(known) is not None and not is_strong_change(said) and not ends(said)

"""Days, hours and other values with a unit: a new value replaces one of the same unit, and not the others."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["age_in", "other_value", "unchanged_place", "units_in"]

_ZH: Final = "[\\d一二两三四五六七八九十]"
_MONTHS: Final = "(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]*"
_DAY: Final = re.compile(
    rf"(?:下个?|这个?|本|每)?(?:周|週|星期|礼拜|禮拜)[一二三四五六日天]|{_ZH}+月{_ZH}+[号號日]?|{_ZH}{{1,3}}[号號日]"
    r"|\b(?:on )?(?:every )?(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b"
    rf"|\b(?:on )?(?:the )?\d{{1,2}}(?:st|nd|rd|th)(?: (?:of )?{_MONTHS})?\b"
    rf"|\b(?:on )?{_MONTHS} \d{{1,2}}(?:st|nd|rd|th)?\b|\b(?:on )?\d{{1,2}} {_MONTHS}\b",
    re.IGNORECASE,
)
_HOUR: Final = re.compile(
    rf"(?:上午|下午|早上|晚上|中午|傍晚)?{_ZH}{{1,3}}[点點](?:半|一刻|{_ZH}{{1,3}}分?)?"
    r"|\b(?:at )?\d{1,2}(?:[:.]\d\d)? ?(?:am|pm)\b|\b(?:at )?\d{1,2}[:.]\d\d\b|\bat (?:\d{1,2}|noon|midday)\b",
    re.IGNORECASE,
)

_COUNTED: Final = re.compile(rf"{_ZH}+(?:\.\d+)?(?: ?(?P<unit>[\u3400-\u9fff]|[a-z]{{2,}}|%|[$€£]))")
_NO_UNITS: Final = frozenset(
    "in on at and or to of now so but the with from for is are was am pm st nd rd th".split()  # noqa: SIM905
) | frozenset("些样起下直定般是在的了和就都点點月号號日时周")


_AMOUNT: Final = re.compile(
    r"(?:\b(?:for|at|costing) )?[$€£]?\b(?:\d[\d,.]*\d(?: ?(?:mg|ml|g|kg|k|元|块|公里))?"
    r"|\d ?(?:mg|ml|g|kg|k|元|块|公里))"
    r"(?: (?:a|per) (?:month|week|year|hour|day))?\b",
    re.IGNORECASE,
)
# What is left must still say something: "My locker code is" does not.
_UNFINISHED: Final = re.compile(
    r"(?:\b(?:is|are|was|'s|am|i'm|weigh|about|to|by|in|a|the|of|has|have)|[是在约到叫共第近])$", re.IGNORECASE
)
_WORTH_LEAVING: Final = {True: 16, False: 6}


_ZH_AGE: Final = "(?:[二三四五六七八九]?十[一二三四五六七八九]?|[一二两三四五六七八九]|\\d{1,3})"
_EN_AGE: Final = (
    "(?:(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:-(?:one|two|three|four|five|six|seven|eight|nine))?"
    "|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|(?:thir|four|fif|six|seven|eigh|nine)teen|\\d{1,3})"
)
_NO_THING: Final = (
    r"(?!(?:number|room|code|size|flat|unit|line|limit|score|gate|version|level|grade|floor|pin|locker|seat|table|bus"
    r"|platform|it|that|this|there|one|which|what|price|rent|budget|total|time|count|team|rate|max|port)\b)"
)
_AGE: Final = re.compile(
    rf"(?:今年|都|满|刚){_ZH_AGE}(?:[岁歲了啦喽咯]|$)|{_ZH_AGE}[岁歲](?!的?时)|{_ZH_AGE}[喽咯]"
    rf"|\b(?:turned|turns|aged) {_EN_AGE}\b(?! o'clock)|\b{_EN_AGE} years? old\b"
    rf"|\b(?:i'm|i am|he's|she's|{_NO_THING}[a-z]+ is) (?:now |already |just |only )?{_EN_AGE}(?= and\b|[,.!;]|$)"
)
# Where somebody works, studies or lives together with somebody is not changed by another job, subject or town.
_PLACE: Final = re.compile(r"\b(?:at|in) (?:(?:the|a|an) (?:[a-z]+ )*in )?(?:the )?[A-Z][\w'&-]*(?: [A-Z][\w'&-]*)*")
_COMPANY: Final = re.compile(r"\bwith (?:my|our) [a-z]+(?:,? [A-Z]\w+)?")
_AT_WORK: Final = re.compile(
    r"\b(?:stud(?:y|ying|ent)|major(?:ing)?|degree|engineer(?:ing)?|nurse|teacher|paralegal|clerk|assistant|junior"
    r"|trainee|manager|analyst|developer|apprentice|intern|waiter|barista|chef|cook|receptionist|technician)\b"
)
_ELSEWHERE: Final = re.compile(
    r"\b(?:at|in|for|with|to|joined) (?:the |a |an )?[A-Z]"
    r"|\b(?:left|leave|leaving|quit|new (?:job|place|company|school)|moved|moving|transferred|joined|elsewhere)\b"
)
_LIVES: Final = re.compile(r"\b(?:live|living|rent|renting|stay)\b")


def age_in(folded: str) -> bool:
    """Whether a folded text says how old somebody is."""
    return _AGE.search(folded) is not None


def unchanged_place(message: str, fact: str) -> str:
    """What a fact still says of a place or of company after a message that changes something else; empty if nothing.

    "I'm majoring in economics at Purdue" and another subject: still at Purdue. "I live in Leeds with my partner Jo" and
    another town: still with Jo.
    """
    company = _COMPANY.search(fact)
    place = _PLACE.search(fact)
    if company is not None and _LIVES.search(fact) and not _COMPANY.search(message):
        return " ".join((fact[: place.start()] + fact[place.end() :]).split()) if place is not None else ""
    if place is not None and place.start() and _AT_WORK.search(fact.lower()) and not _ELSEWHERE.search(message):
        return f"About me: {place[0]}"
    return ""


def units_in(folded: str) -> frozenset[str]:
    """In which units a folded text counts: 桌, 斤, kg, and `day` and `hour`."""
    found = {match["unit"] for match in _COUNTED.finditer(folded)} - _NO_UNITS
    if _DAY.search(folded):
        found.add("day")
    if _HOUR.search(folded):
        found.add("hour")
    return frozenset(found)


def other_value(message: str, fact: str) -> str:
    """What a fact still says after a message with a new value alone: a new day of a day and an hour, a new amount.

    Empty where it is not so.
    """
    for changed, kept in ((_DAY, _HOUR), (_HOUR, _DAY)):
        if changed.search(message) and not kept.search(message) and changed.search(fact) and kept.search(fact):
            return " ".join(changed.sub("", fact, count=1).split())
    if _DAY.search(fact) or _DAY.search(message) or _HOUR.search(fact):
        return ""
    if len(_AMOUNT.findall(message)) == 1 and len(found := list(_AMOUNT.finditer(fact))) == 1:
        rest = " ".join((fact[: found[0].start()] + fact[found[0].end() :]).strip(" ,，；;").split())
        if not _UNFINISHED.search(rest) and len(rest) >= _WORTH_LEAVING[rest.isascii()]:
            return rest
    return ""

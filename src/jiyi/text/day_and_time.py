"""Days, hours and other values with a unit: a new value replaces one of the same unit, and not the others."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["other_value", "units_in"]

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

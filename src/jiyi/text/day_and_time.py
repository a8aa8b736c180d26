"""Days, hours and other values with a unit: a new value replaces one of the same unit, and not the others."""

from __future__ import annotations

import re
from typing import Final

from jiyi.text.patterns import HAN, WEEKDAY
from jiyi.text.statements.about.word_classes import tagged

__all__ = ["age_in", "says_more", "units_in"]

_ZH: Final = "[\\d一二两三四五六七八九十]"
_MONTHS: Final = "(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]*"
_DAY: Final = re.compile(
    rf"(?:下个?|这个?|本|每)?(?:周|週|星期|礼拜|禮拜)[一二三四五六日天]|{_ZH}+月{_ZH}+[号號日]?|{_ZH}{{1,3}}[号號日]"
    rf"|\b(?:on )?(?:every )?{WEEKDAY}s?\b"
    rf"|\b(?:on )?(?:the )?\d{{1,2}}(?:st|nd|rd|th)(?: (?:of )?{_MONTHS})?\b"
    rf"|\b(?:on )?{_MONTHS} \d{{1,2}}(?:st|nd|rd|th)?\b|\b(?:on )?\d{{1,2}} {_MONTHS}\b",
    re.IGNORECASE,
)
_HOUR: Final = re.compile(
    rf"(?:上午|下午|早上|晚上|中午|傍晚)?{_ZH}{{1,3}}[点點](?:半|一刻|{_ZH}{{1,3}}分?)?"
    r"|\b(?:at )?\d{1,2}(?:[:.]\d\d)? ?(?:am|pm)\b|\b(?:at )?\d{1,2}[:.]\d\d\b|\bat (?:\d{1,2}|noon|midday)\b",
    re.IGNORECASE,
)
_PART_OF_DAY: Final = re.compile(
    r"[上下]午|早上|早晨|清晨|中午|傍晚|晚上|夜里|\b(?:mornings?|afternoons?|evenings?|nights?|noon|lunchtime)\b",
    re.IGNORECASE,
)

_COUNTED: Final = re.compile(rf"{_ZH}+(?:\.\d+)?(?: ?(?P<unit>[{HAN}]|[a-z]{{2,}}|%|[$€£]))")
_NO_UNITS: Final = frozenset(
    "in on at and or to of now so but the with from for is are was am pm st nd rd th".split()  # noqa: SIM905
) | frozenset("些样起下直定般是在的了和就都点點月号號日时周")


_UNITS: Final = (
    r"mg|ml|kg|km|cm|mm|gb|mb|kb|tb|ms|[gksm]|secs?|seconds?|mins?|minutes?|hrs?|hours?|days?|weeks?|months?|years?"
    r"|euros?|pounds?|dollars?|quid|people|pages?|words?|miles?|kilos?|lbs?|degrees?|percent"
)
_FIGURE: Final = re.compile(
    rf"(?<![\w.])(?P<sign>[$€£]?)(?P<number>\d+(?:[.,]\d+)*)"
    rf"(?P<unit> ?(?:(?:{_UNITS})\b|%|[{HAN}])?)",
    re.IGNORECASE,
)
_LONG: Final = 2
_SIMILAR: Final = 3
_WORD: Final = re.compile(rf"[a-z]{{4,}}|[{HAN}]{{2}}")
_SAYS_LITTLE: Final = re.compile(
    r"(?:about|costs?|have|with|from|been|just|only|weighs?|each|every|months?|weeks?|years?|hours?|days?|pounds?|euros?"
    r"|dollars?|seconds?|minutes?|kilos?|grams?|that|this|which|currently|will|pays?|paid|takes?)$"
)


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
_TRADE_IN_TOWN: Final = re.compile(r"(?:\b(?:is|am|are)|'[sm]) an? [a-z][a-z -]{2,30} in [A-Z]\w+")
_NAMES_PLACE: Final = re.compile(
    r"\b(?:at|in|to|from) (?:the |a |an )?[A-Z]|\b(?:moved|moving|moves|transferred|relocat\w+|back home)\b"
)
_ELSEWHERE: Final = re.compile(
    r"\b(?:at|in|for|with|to|joined) (?:the |a |an )?[A-Z]"
    r"|\b(?:left|leave|leaving|quit|new (?:job|place|company|school)|moved|moving|transferred|joined|elsewhere)\b"
)
_NAME_BEFORE: Final = re.compile(r"(?P<name>[A-Za-z]*[A-Z][A-Za-z]*) ?$")
_MOVES: Final = re.compile(
    r"搬|跳槽|离职|辞|毕业|退学|调[到往回]|外派|派[到去往]|[新另][一家]?[家所个]|回老家|回国|出国"
)
_NAMED: Final = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{2,}")
_PLACES: Final = frozenset({"ns", "nt"})
_HAS_A_TRADE: Final = "当做任"
_LIVES: Final = re.compile(r"\b(?:live|living|rent|renting|stay)\b")


def age_in(folded: str) -> bool:
    """Whether a folded text says how old somebody is."""
    return _AGE.search(folded) is not None


def says_more(message: str, fact: str, *, figures: bool = True) -> bool:
    """Whether one clause of a fact says more than what a message replaces of it, and no cut separates the two.

    A day and an hour where only another day is told, a trade and the town where it is done, and with `figures` a
    medicine and its dose.
    """
    more = _keeps_day_or_hour(message, fact) or _keeps_a_place(message, fact)
    return more or (figures and _keeps_a_value(message, fact))


def _keeps_day_or_hour(message: str, fact: str) -> bool:
    """Whether a fact keeps its hour where only another day is told, or its day where only another hour is."""
    return any(
        changed.search(message) and changed.search(fact) and not kept.search(message) and kept.search(fact)
        for changed, kept in ((_DAY, _HOUR), (_HOUR, _DAY))
    )


def without_day(message: str, fact: str, *, same_hour: bool) -> str | None:
    """What is left of a fact with one day and an hour, where a message tells another day: "my physio is at 4.15".

    Empty where the message tells a part of the day too, unless it says that the hour stays the same; `None` where it is
    not that simple.
    """
    days = list(_DAY.finditer(fact))
    if len(days) != 1 or not _DAY.search(message) or _HOUR.search(message) or not _HOUR.search(fact):
        return None
    if _PART_OF_DAY.search(message) and not same_hour:
        return ""
    left = " ".join(f"{fact[: days[0].start()]}{fact[days[0].end() :]}".split())
    return left if _HOUR.search(left) else None


def _keeps_a_place(message: str, fact: str) -> bool:
    """Whether a fact tells a place or company besides what a message changes: "I study law at Purdue"."""
    if "在" in fact:
        return _keeps_a_chinese_place(message, fact)
    place, company = _PLACE.search(fact), _COMPANY.search(fact)
    if place is not None and company is not None and _LIVES.search(fact):
        # "Shona and I are in Perth": the message tells the company too.
        together = _COMPANY.search(message) is not None or company[0].split()[-1] in message
        if not together:
            return True
    if _TRADE_IN_TOWN.search(fact) and not _NAMES_PLACE.search(message):
        # Whoever gives up a trade has not left the town.
        return True
    at_work = place is not None and place.start() > 0 and _AT_WORK.search(fact.lower()) is not None
    return at_work and not _ELSEWHERE.search(message)


def _keeps_a_chinese_place(message: str, fact: str) -> bool:
    """我在长沙做销售, where a message changes what somebody does there and names no other place."""
    if _MOVES.search(message) or any(kind in _PLACES for _, kind in tagged(message)):
        return False
    words = tagged(fact)
    at = next((n for n, (word, _) in enumerate(words) if word == "在"), len(words))
    after = at + 2
    does = after < len(words) and (words[after][1].startswith("v") or words[after][0][0] in _HAS_A_TRADE)
    return does and words[at + 1][1] in _PLACES


def units_in(folded: str) -> frozenset[str]:
    """In which units a folded text counts: 桌, 斤, kg, and `day` and `hour`."""
    found = {match["unit"] for match in _COUNTED.finditer(folded)} - _NO_UNITS
    if _DAY.search(folded):
        found.add("day")
    if _HOUR.search(folded):
        found.add("hour")
    return frozenset(found)


def _keeps_a_value(message: str, fact: str) -> bool:
    """Whether a fact keeps its words where only a figure changes."""
    if _DAY.search(fact) or _DAY.search(message) or _HOUR.search(fact):
        return False
    figure, new = _only_figure(fact), _only_figure(message)
    if figure is None or new is None or _maker(fact, figure) != _maker(message, new):
        return False
    return _same_unit(figure, new) and _has_own_words(message, fact)


def _maker(text: str, figure: re.Match[str]) -> str:
    """The name before a bare figure: iPhone of "iPhone 15"."""
    named = _NAME_BEFORE.search(text[: figure.start()])
    return named["name"].lower() if named is not None and not figure["unit"].strip() and not figure["sign"] else ""


def _only_figure(text: str) -> re.Match[str] | None:
    """The one figure of a text; one of several digits counts before single ones ("a 2-bed for 1450")."""
    found = list(_FIGURE.finditer(text))
    long = [match for match in found if len(match["number"]) >= _LONG or match["sign"]]
    found = long or found
    return found[0] if len(found) == 1 else None


def _same_unit(old: re.Match[str], new: re.Match[str]) -> bool:
    """Whether two figures may be values of one thing: of the same unit, or plain amounts of about the same size."""
    one, other = (match["unit"].strip().lower() for match in (old, new))
    counted = {unit for unit in (one, other) if unit and unit not in _NO_UNITS}
    if len(counted) == 1 and one == other:
        return True
    if len(counted) > 1 or not (old["number"].isdecimal() and new["number"].isdecimal()):
        return False
    smaller, larger = sorted((int(old["number"]), int(new["number"])))
    return larger <= _SIMILAR * smaller and (not counted or other not in counted)


def _has_own_words(message: str, fact: str) -> bool:
    """Whether a fact has a name or several words of its own besides the figure."""
    said = message.lower()
    own = [word for word in _WORD.findall(fact.lower()) if word not in said and not _SAYS_LITTLE.match(word)]
    named = any(name.lower() not in said for name in _NAMED.findall(fact))
    return named or len(own) > 1

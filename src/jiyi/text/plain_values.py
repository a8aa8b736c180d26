"""Amounts, times and days in one spelling, so that texts with the same values compare equal: 1,200, 三千八百, 8 pm."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Final

__all__ = ["plain_values"]

# Compiled at first use: few answers have texts that are that similar.
_compiled = cache(re.compile)

_THOUSANDS: Final = r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])"
_CLOCK_EN: Final = (
    r"(?<![\d:.])(?P<hour>1[0-2]|0?[1-9])(?:[:.](?P<minute>[0-5]\d))? ?(?P<half>[ap])(?:\.m\.|m\b)(?![\w])"
    r"|(?<![\d:.])0(?P<early>\d:[0-5]\d)(?!\d)"
)
_DIGITS: Final = {each: number for number, each in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_NUMERAL: Final = f"[{''.join(_DIGITS)}十百千万]"
_SCALES: Final = {"十": 10, "百": 100, "千": 1_000}
_MONTH: Final = (
    "(?P<month{0}>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    "|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_DAY_EN: Final = (
    rf"\b(?:the )?(?P<day1>[0-3]?\d)(?:st|nd|rd|th)?(?: of)? {_MONTH.format(1)}\b\.?"
    rf"|\b{_MONTH.format(2)}\.? (?:the )?(?P<day2>[0-3]?\d)(?:st|nd|rd|th)?\b(?![:.,]?\d)"
)
_CLOCK_ZH: Final = (
    r"(?P<part>凌晨|早上|早晨|清晨|上午|中午|下午|傍晚|晚上|夜里)?"
    r"(?P<hour>\d{1,2})[点點](?P<rest>半|一刻|三刻|[0-5]?\d分?|整|钟)?"
)
_UNTIL: Final = {"下午": 12, "傍晚": 12, "晚上": 12, "夜里": 12, "中午": 3}
"""Before this hour the part of the day means one of the second half."""
_PARTS: Final = {"半": "30", "一刻": "15", "三刻": "45"}
_COUNTED: Final = "元块角分毛岁号日月点點天周年个人次斤米里度楼层平寸吨升页本台辆间张只条名位万亿小公千毫英"
"""A single numeral is a number before one of these."""


@lru_cache(maxsize=256)
def plain_values(text: str) -> str:
    """The text with its amounts, times and days in one spelling; what is no value stays as it is."""
    if not text.isascii():
        text = _compiled(f"{_NUMERAL}+").sub(_number, text)
        text = _compiled(_CLOCK_ZH).sub(_clock_zh, text)
        text = _compiled(r"(?<=\d月)(\d{1,2})[号號]").sub(r"\1日", text)
    if not _compiled(r"\d").search(text):
        return text
    text = _compiled(_THOUSANDS).sub(lambda match: match[0].replace(",", ""), text)
    text = _compiled(_CLOCK_EN, re.IGNORECASE).sub(_clock_en, text)
    return _compiled(_DAY_EN, re.IGNORECASE).sub(_day_en, text)


def _number(match: re.Match[str]) -> str:
    """Digits for a Chinese numeral: not for 一 in 一起, and not where it is a row of digits."""
    numeral = match[0]
    scaled = len(numeral) > 1 and any(each in numeral for each in "十百千万")
    after = match.string[match.end() : match.end() + 1]
    if not scaled and not (len(numeral) == 1 and after and after in _COUNTED):
        return numeral
    value = _value(numeral)
    return numeral if value is None else str(value)


def _value(numeral: str) -> int | None:
    """Its value; `None` where it is not clear (三千八 may be 3800)."""
    high, separator, low = numeral.rpartition("万")
    if separator:
        above, below = _value(high), _value(low) if low else 0
        return None if len(low) == 1 or above is None or below is None else above * 10_000 + below
    total, digit, scale, zero = 0, None, 10_000, False
    for character in numeral:
        if character in "零〇":
            zero = True
        elif character in _DIGITS and digit is None:
            digit = _DIGITS[character]
        elif character in _SCALES and _SCALES[character] < scale:
            scale = _SCALES[character]
            total += scale * (1 if digit is None else digit)
            digit = None
        else:
            return None
    if digit is not None and total and scale > 10 and not zero:
        return None
    return total + (digit or 0)


def _clock_en(match: re.Match[str]) -> str:
    if match["early"]:
        return match["early"]
    hour = int(match["hour"]) % 12 + (12 if match["half"].lower() == "p" else 0)
    return f"{hour}:{match['minute'] or '00'}"


def _clock_zh(match: re.Match[str]) -> str:
    part, hour, rest = match["part"] or "", int(match["hour"]), match["rest"] or ""
    before = match.string[match.start() - 1 : match.start()]
    if hour > 24 or before in {".", ":"} or (hour == 12 and part not in {"", "中午"}):
        return match[0]
    if hour < _UNTIL.get(part, 0):
        hour += 12
    minute = _PARTS.get(rest) or rest.rstrip("分整钟") or "00"
    return f"{hour}:{minute.zfill(2)}"


def _day_en(match: re.Match[str]) -> str:
    name = (match["month1"] or match["month2"]).lower()
    return f"{int(match['day1'] or match['day2'])} {name[:3]}"

"""Dates in Chinese text."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from jiyi.text.dates import periods
from jiyi.text.dates.chinese import absolute, relative, words
from jiyi.text.dates.chinese.reader import Point, Reader
from jiyi.text.dates.periods import (
    DateMatch,
    DateValue,
    Yearly,
    any_day,
    away,
    before_or_after,
    from_to,
    next_to,
    since,
    week_of,
    widened,
    with_weekend,
)

if TYPE_CHECKING:
    from jiyi.text.dates.chinese.reader import Rule
    from jiyi.text.dates.periods import Kind
    from jiyi.text.dates.reference_time import ReferenceTime

_NUMBER_RULES: Final[tuple[Rule, ...]] = (
    absolute.numeric,
    absolute.years,
    absolute.decade,
    absolute.year_first,
    absolute.yearless,
    relative.away,
    relative.day_number,
)


def _rules() -> dict[str, tuple[Rule, ...]]:
    """The rules to try, by the first character."""
    rules: dict[str, tuple[Rule, ...]] = {}

    def add(characters: str, *more: Rule) -> None:
        for character in characters:
            rules[character] = tuple(dict.fromkeys((*rules.get(character, ()), *more)))

    add("去前上", relative.this_time)
    add("今去", relative.short_season)
    add("大前昨今明后", relative.named_day)
    add("大前去今本明后", absolute.year_first)
    add("0123456789" + words.NUMERALS, *_NUMBER_RULES)
    add("上", absolute.decade)
    add("上下这本", relative.week, relative.month, relative.quarter)
    add("周星礼", relative.weekday)
    add("半几好数", relative.away)
    add("最近过未今", relative.units_to_or_from_today)
    add("前这", relative.days_ago)
    add("农阴旧正腊冬大第上下年春夏秋初早仲盛隆晚深暮" + words.HOLIDAY_FIRST, absolute.yearless)
    return rules


_RULES: Final = _rules()
# No expression begins inside a number, and none has a number of more than four digits.
_START: Final = re.compile(f"[{''.join(sorted(set(_RULES) - set('0123456789')))}]|(?<![0-9])[0-9]{{1,4}}(?![0-9])")
_TO: Final = re.compile(r"\s?(?:-{1,2}|~|到|至|直到|直至)\s?")
_AND: Final = re.compile("、|和|及|与|以及|或|，|,")
_UNTIL_NOW: Final = re.compile("至今|到现在|到目前|到如今|以来")
_FROM_THEN: Final = re.compile("起(?![来床初点草身步义因诉源码动飞伏])|开始|以来")

_THAT_DAY: Final = re.compile("的?(?:当天|那一天|那天|当日|那日|这一天|这天)")
_THAT_NIGHT: Final = re.compile("的?(?:当晚|那晚|当夜)")
_THAT_WEEK: Final = re.compile("的?(?:那一周|那周|当周|所在的?一?周|那个?星期|那个?礼拜)(?![一二三四五六日末])")
_DAY_BEFORE: Final = re.compile("的?(?:前一天|前一日|头一天|前一(晚)|前(夜))")
_DAY_AFTER: Final = re.compile("的?(?:第二天|次日|翌日|后一天|隔天)")
_COUNTED_FROM: Final = re.compile(
    rf"的?({words.COUNT})(天|周|个?星期|个月|年)(?:之|以)?(?:({words.BEFORE})|{words.AFTER})"
    rf"|(?:之|以)?(?:(前)|后)的?({words.COUNT})(天|周|个?星期|个月)(?:内|里|间)?"
)
_AROUND: Final = re.compile("前后|左右|前夕")
_DURING: Final = re.compile("期间|小长假|长假|假期|假日|放假|黄金周|时节")
_BEFORE_OR_AFTER: Final = re.compile(rf"(?:之|以)?(?:({words.BEFORE})|{words.AFTER})")


def find_chinese(text: str, reference: ReferenceTime) -> list[DateMatch]:
    """The Chinese date expressions of a text, in order. Characters must be simplified, digits and signs ASCII."""
    reader = Reader(text, reference)
    found: list[DateMatch] = []
    position = 0
    while match := _START.search(text, position):
        position = match.start()
        point = _point(reader, position)
        if point is None:
            position += 1
            continue
        point, begin = _range(reader, position, point)
        found.append(DateMatch(begin, point.finish, point.when))
        position = _list(reader, point, found)
    return found


def _point(reader: Reader, position: int, context: Point | None = None) -> Point | None:
    """One expression with everything that belongs to it; `context` lends it what it leaves out."""
    if position >= len(reader.text):
        return None
    point = None
    if context is not None and context.month is not None:
        point = _day_only(reader, position, context) or absolute.part_only(reader, position, context)
    for rule in _RULES.get(reader.text[position], ()) if point is None else ():
        point = rule(reader, position)
        if point is not None:
            break
    if point is None:
        return None
    if context is not None and context.year is not None and isinstance(point.when.days, Yearly):
        point = Point(point.when.in_year(context.year) or point.when, point.finish, context.year, point.month)
    return _suffixed(reader, point)


def _day_only(reader: Reader, position: int, context: Point) -> Point | None:
    """5日 after 1月3日到."""
    match = absolute.DAY_ONLY.match(reader.text, position)
    day = words.number(match[1]) if match else None
    if match is None or day is None or context.month is None:
        return None
    when = any_day(context.month, day)
    return None if when is None else Point(when, match.end(), month=context.month)


def _range(reader: Reader, position: int, first: Point) -> tuple[Point, int]:
    """X到Y, 从X到Y, X至今, 从X起; and where it begins. The expression itself if it is none of these."""
    prefix = next((p for p in ("自从", "从", "自", "由") if reader.before(position, len(p)) == p), "")
    begin = position - len(prefix)
    now = _UNTIL_NOW.match(reader.text, first.finish) or (
        _FROM_THEN.match(reader.text, first.finish) if prefix else None
    )
    if now:
        point = first.of(since(first.when, reader.reference.today), now.end())
        return (first, position) if point is None else (point, begin)
    to = _TO.match(reader.text, first.finish)
    # The month alone: a missing year is the next that fits, which may be the one after.
    last = _point(reader, to.end(), replace(first, year=None)) if to else None
    when = from_to(first.when, last.when) if last else None
    if last is None or when is None:
        return first, position
    during = _DURING.match(reader.text, last.finish)
    finish = during.end() if during else last.finish
    return Point(when, finish, last.year or first.year, last.month), begin


def _list(reader: Reader, first: Point, found: list[DateMatch]) -> int:
    """1月13日、15日和16日: what follows leaves out the month or the year. Adds to `found`; returns where it ends."""
    point = first
    while match := _AND.match(reader.text, point.finish):
        following = _point(reader, match.end(), point)
        if following is None or following.when.relative:
            break
        point, begin = _range(reader, match.end(), following)
        point = Point(point.when, point.finish, point.year or first.year, point.month or first.month)
        found.append(DateMatch(begin, point.finish, point.when))
    return point.finish


def _suffixed(reader: Reader, point: Point) -> Point:
    """The expression with the part of the day and the words that move or widen it."""
    point = _with_hours(reader, point)
    for rule in (_that_day, _moved, _widened):
        changed = rule(reader, point)
        if changed is not None:
            return _with_hours(reader, changed)
    return point


def _with_hours(reader: Reader, point: Point) -> Point:
    if point.when.kind not in {"day", "holiday"}:
        return point
    match = words.PART_OF_DAY.match(reader.text, point.finish)
    return point if match is None else Point(point.when.at(words.hours(match[1])), match.end(), point.year, point.month)


def _that_day(reader: Reader, point: Point) -> Point | None:
    """国庆节当天, 1月5日那天, 中秋当晚, 3月3日那周."""
    if point.when.kind not in {"day", "holiday"}:
        return None
    text, when = reader.text, point.when
    week = _THAT_WEEK.match(text, point.finish)
    if week:
        return point.of(when.shaped(week_of, kind="week"), week.end())
    match = _THAT_DAY.match(text, point.finish) or _THAT_NIGHT.match(text, point.finish)
    if match is None:
        return None
    when = _main_day(when)
    return point.of(when.at(periods.NIGHT) if match.group()[-1] in "晚夜" else when, match.end())


def _main_day(when: DateValue) -> DateValue:
    """Of a holiday of several days, the one that it is named after."""
    if isinstance(when.days, Yearly) and when.days in words.MAIN_DAYS:
        return DateValue(words.MAIN_DAYS[when.days], "holiday")
    for whole, day in words.MAIN_DAYS.items():
        if isinstance(when.days, periods.Days) and whole.occurrence(when.days.end.year) == when.days:
            days = day.occurrence(when.days.end.year)
            return when if days is None else DateValue(days, "holiday", relative=when.relative)
    return when


def _moved(reader: Reader, point: Point) -> Point | None:
    """1月8日前一天, 春节前, 5月2日三天后, 5月2日后三天."""
    text, when = reader.text, point.when
    if when.kind in {"day", "holiday", "hours"}:
        counted = _counted_from(reader, replace(point, when=_main_day(when)))
        if counted is not None:
            return counted
    match = _BEFORE_OR_AFTER.match(text, point.finish)
    if match is None or when.kind == "hours" or text.startswith("后", match.end()):
        return None
    return point.of(before_or_after(when, -1 if match[1] else 1), match.end())


def _counted_from(reader: Reader, point: Point) -> Point | None:
    when, text = point.when, reader.text
    match = _DAY_BEFORE.match(text, point.finish)
    if match:
        day = when.shaped(next_to, -1, "day", kind="day")
        return point.of(day.at(periods.NIGHT) if day and (match[1] or match[2]) else day, match.end())
    match = _DAY_AFTER.match(text, point.finish)
    if match:
        return point.of(when.shaped(next_to, 1, "day", kind="day"), match.end())
    match = _COUNTED_FROM.match(text, point.finish)
    count = words.number(match[1] or match[5]) if match else None
    if match is None or not count:
        return None
    unit = words.UNITS[(match[2] or match[6]).removeprefix("个")]
    direction = -1 if match[3] or match[4] else 1
    kind: Kind = "day" if match[1] and unit == "day" else "days"
    return point.of(when.shaped(away if match[1] else next_to, direction * count, unit, kind=kind), match.end())


def _widened(reader: Reader, point: Point) -> Point | None:
    """国庆前后, 5月3日左右, 春节前夕, 清明假期."""
    match = _AROUND.match(reader.text, point.finish)
    if match:
        before, after = (3, 0) if match.group() == "前夕" else (3, 3)
        return point.of(point.when.shaped(widened, before, after, kind="days"), match.end())
    match = _DURING.match(reader.text, point.finish)
    if match is None:
        return None
    when = point.when
    days = when.days.occurrence(2024) if isinstance(when.days, Yearly) else when.days
    if when.kind == "holiday" and match.group() != "期间" and days is not None and days.length == 1:
        return point.of(when.shaped(with_weekend, kind="days"), match.end())
    return point.of(when, match.end())

"""Chinese expressions that do not depend on the present: days, months, seasons, quarters, holidays, years."""

from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING, Final

from jiyi.text.dates import lunar
from jiyi.text.dates.chinese import words
from jiyi.text.dates.chinese.reader import Point
from jiyi.text.dates.periods import (
    DateValue,
    Days,
    Yearly,
    add_days,
    any_day,
    any_days,
    edge,
    first_days,
    half,
    known_day,
    last_days,
    month_day,
    months,
    nth_day,
    nth_week,
    nth_weekday,
    nth_weekend,
    third,
)

if TYPE_CHECKING:
    from jiyi.text.dates.chinese.reader import Reader
    from jiyi.text.dates.periods import Kind

_N = words.NUMBER
_THROUGH: Final = r"\s?(?:-{1,2}|~|到|至)\s?"

_NUMERIC: Final = re.compile(r"(?<![A-Za-z0-9_./-])(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?!\d|[-/.]\d)")
_YEAR: Final = re.compile(
    r"((?:19|20)\d\d|2100|[一二][〇零一二三四五六七八九]{3})年度?(?!代)|(\d\d)年(?=\d{1,2}月|[一二三四五六七八九十]{1,2}月|"
    r"春节|除夕|元旦|清明|五一|端午|中秋|国庆|圣诞|[春夏秋冬][天季]|[上下]半年|年[初底末])|"
    rf"({'|'.join(words.NAMED_YEARS)})度?(?!轻人|龄|级)"
)
_DECADE: Final = re.compile(r"(?:(上世纪|二十世纪|20世纪|19)|(本世纪|20))?(\d0|[一二三四五六七八九]十)年代")
_YEARS: Final = re.compile(r"((?:19|20)\d\d)\s?(?:-|~|到|至)\s?((?:19|20)\d\d)年")

_NOT_A_MONTH: Final = "(?![龄球亮饼嫂薪租卡票均刊报息供光牙台历])"
_MONTH: Final = re.compile(rf"({_N})月{_NOT_A_MONTH}份?")
_MONTHS: Final = re.compile(
    rf"({_N}){_THROUGH}({_N})月{_NOT_A_MONTH}份?|([一二三四五六七八九])([二三四五六七八九])月份?"
)
_DAY: Final = re.compile(
    rf"的?(?:({_N})[日号]|({_N})(?={_THROUGH}{_N}[日号])|(\d{{1,2}})(?=$|[,，。？?!！;；、)）\s]|晚|早上|上午|中午|下午))"
    rf"(?:{_THROUGH}({_N})[日号])?"
)
DAY_ONLY: Final = re.compile(rf"({_N})[日号]")
_WEEKDAY_NOTE: Final = re.compile(r"\s?[(（]?(?:周|星期|礼拜)[一二三四五六日天][)）]?")

_PART: Final = re.compile(
    rf"""的?(?:
      (?P<third>[上中下]|上中|中上|中下)旬
    | (?P<edge>初(?![步中级次始衷秋夏春冬恋赛稿审选试诊一二三])|底(?![层部下线价片盘薪蕴])|末(?![尾端梢日]))
    | (?P<half>[上下]半个?月|[前后]半个?月)
    | 第(?P<week>[一二三四五1-5])个?(?:周|星期|礼拜)(?![一二三四五六日天末年岁])
    | (?:第(?P<nth>[一二三四五1-5])个|最后一个)(?:(?P<weekend>周末)|(?:周|星期|礼拜)(?P<weekday>[一二三四五六日天]))
    | 最后一个?(?:周|星期|礼拜)
    | 最后(?P<lastdays>{words.COUNT})(?P<lastunit>天|周|个?星期)
    | 前(?P<firstdays>{words.COUNT})(?P<firstunit>天|周|个?星期)
    | 第(?P<day>{_N})天
    )""",
    re.VERBOSE,
)
_QUARTER: Final = re.compile(r"第?([一二三四1-4])个?季度|[Qq]([1-4])(?![A-Za-z0-9])")
_HALF_YEAR: Final = re.compile("([上下])半年")
_YEAR_EDGE: Final = re.compile(
    r"年?(初(?![步中级次始衷恋赛稿审选试诊春夏秋冬])|底(?![层部下线])|末)|年(?:(终)(?!奖)|(中)(?![无午秋]))"
)
_SEASON: Final = re.compile(r"([初早仲盛隆晚深暮]?)([春夏秋冬])([天季]?)")
_ISO_WEEK: Final = re.compile(rf"第({_N})周")
_YEAR_ENDS: Final = re.compile(
    rf"(?:(最后|[前头])({words.COUNT})(天|个?(?:周|星期|礼拜)(?![一二三四五六日天末年岁])|个月)"
    # 第一天上班 is no day of the calendar.
    r"|第一天(?=$|[,，。？?!！;；、\s我你他她是]|发生|做了|的(?:时候|事)))"
)
# Without 日 or 号 these are days of the lunar calendar.
_FESTIVALS: Final = frozenset({"二月二", "三月三", "七月七", "七月十五", "八月十五", "九月九"})
_LUNAR_DAY: Final = (
    "初[一二三四五六七八九十]|[二三七九](?![日号十])|廿[一二三四五六七八九]|二?十[一二三四五六七八九]?|三十"
)
_LUNAR: Final = re.compile(
    rf"(?:农历|阴历|旧历)?(大年|正月|腊月|冬月|[一二三四五六七八九十]{{1,2}}月)(?:({_LUNAR_DAY}))?"
)
_IN_SEASON: Final = re.compile(r"$|[,，。？?!！;；、\s]|的时候|时|里|期间|提到|我|你|他|她|去|在")


def numeric(reader: Reader, position: int) -> Point | None:
    """2025-01-25, 2025/1/25, 2025.1.25."""
    match = _NUMERIC.match(reader.text, position)
    if match is None:
        return None
    # After a Latin word it is a version: PyCharm 2024.1.2.
    before = reader.before(position, 4).rstrip()
    if match[2] == "." and before and before[-1].isascii() and before[-1].isalnum():
        return None
    year, month, day = int(match[1]), int(match[3]), int(match[4])
    when = known_day(year, month, day)
    return None if when is None else Point(when, match.end(), year, month)


def year_first(reader: Reader, position: int) -> Point | None:
    """2025年, 去年, with what follows: 2025年3月, 去年春节, 今年年初."""
    match = _YEAR.match(reader.text, position)
    if match is None or reader.after_number(position) or _other_word(reader, position, match):
        return None
    if match[3]:
        year = reader.reference.today.year + words.NAMED_YEARS[match[3]]
        whole = reader.reference.year(words.NAMED_YEARS[match[3]])
    else:
        value = words.year_number(match[1] or match[2])
        if value is None or not 0 < value <= 2100:
            return None
        year = value if value >= 100 else value + (2000 if value < 50 else 1900)
        whole = DateValue(months(year, 1, 12), "year")
    return in_year(reader, match.end(), year, relative=whole.relative) or Point(whole, match.end(), year)


def _other_word(reader: Reader, position: int, match: re.Match[str]) -> bool:
    """目前年龄, 今后年度."""
    return match[3] in {"前年", "后年"} and reader.before(position) in {*"之以目从今史空"}


def in_year(reader: Reader, position: int, year: int, *, relative: bool) -> Point | None:
    """What follows a year."""
    position += reader.text.startswith("的", position)
    today = reader.reference.today
    if reader.text.startswith(("今天", "今日"), position):
        days = month_day(year, today.month, today.day) if 2 < year < 9998 else None
        return None if days is None else Point(DateValue(days, "day", relative=relative), position + 2, year)
    point = _within(reader, position, sure=True)
    if point is None or isinstance(point.when.days, Days):
        return None
    days = point.when.days.occurrence(year)
    if relative and point.when.kind == "season" and year == today.year:
        days = point.when.days.current(today)
    if days is None:
        return None
    return Point(DateValue(days, point.when.kind, point.when.hours, relative=relative), point.finish, year, point.month)


def yearless(reader: Reader, position: int) -> Point | None:
    """What stands without a year and means any: 1月25号, 春节, 下半年."""
    return _within(reader, position, sure=False)


def _within(reader: Reader, position: int, *, sure: bool) -> Point | None:
    """A part of a year. `sure`: a year stands before it, so that it needs no other sign of being a date."""
    if position >= len(reader.text):
        return None
    return (
        _lunar(reader, position)
        or _holiday(reader, position)
        or _months(reader, position)
        or _month(reader, position)
        or _quarter(reader, position, sure=sure)
        or _year_part(reader, position, sure=sure)
        or _season(reader, position, sure=sure)
    )


def _lunar(reader: Reader, position: int) -> Point | None:
    """正月初五, 腊月, 农历八月十五, 大年初一."""
    match = _LUNAR.match(reader.text, position)
    if match is None:
        return None
    name, day = match[1], match[2] or ""
    month = {"大年": 1, "正月": 1, "冬月": 11, "腊月": 12}.get(name) or words.number(name[:-1])
    if month is None or not 1 <= month <= 12 or reader.before(position) == "闰" or reader.after_number(position):
        return None
    number = words.number(day.removeprefix("初")) if day else None
    if name == "大年":
        meant = day.startswith("初")
    else:
        festival = name + day in _FESTIVALS and reader.text[match.end() : match.end() + 1] not in {"日", "号"}
        meant = name[0] in "正腊冬" or reader.text[position] in "农阴旧" or day.startswith("初") or festival
    if not meant:
        return None
    if number is None:
        return Point(DateValue(Yearly(lunar.lunar_month, (month,)), "month"), match.end())
    return Point(DateValue(Yearly(lunar.lunar_day, (month, number)), "day"), match.end())


def _holiday(reader: Reader, position: int) -> Point | None:
    if reader.text[position] not in words.HOLIDAY_FIRST:
        return None
    match = words.HOLIDAY.match(reader.text, position)
    return None if match is None else Point(words.holiday(match.group()), match.end())


def _months(reader: Reader, position: int) -> Point | None:
    """1-3月, 三四月."""
    match = _MONTHS.match(reader.text, position)
    if match is None or reader.after_number(position):
        return None
    first, last = words.number(match[1] or match[3]), words.number(match[2] or match[4])
    if first is None or last is None or not (1 <= first <= 12 and 1 <= last <= 12):
        return None
    if (match[3] and last != first + 1) or first == last:
        return None
    return Point(DateValue(Yearly(months, (first, last)), "days"), match.end())


def _month(reader: Reader, position: int) -> Point | None:
    match = _MONTH.match(reader.text, position)
    if match is None or reader.after_number(position):
        return None
    number = words.number(match[1])
    if number is None or not 1 <= number <= 12:
        return None
    when = DateValue(Yearly(months, (number, number)), "month")
    return in_month(reader, Point(when, match.end(), month=number))


def in_month(reader: Reader, month: Point) -> Point | None:
    """A month with what follows it: a day, 上旬, 第一周; the month itself if nothing does."""
    return _days(reader, month) or _part(reader, month) or month


def _days(reader: Reader, month: Point) -> Point | None:
    """3日, 3到5日, 25日(周六)."""
    match = _DAY.match(reader.text, month.finish)
    if match is None:
        return None
    written = match[1] or match[2] or match[3]
    first, last = words.number(written), words.number(match[4] or written)
    if first is None or last is None or not 1 <= first <= last <= 31:
        return None
    if first < last:
        return month.of(_some_days(month, first, last), match.end())
    note = _WEEKDAY_NOTE.match(reader.text, match.end())
    return month.of(_one_day(month, first), note.end() if note else match.end())


def _one_day(month: Point, day: int) -> DateValue | None:
    if month.month is not None and isinstance(month.when.days, Yearly):
        return any_day(month.month, day)
    return month.when.shaped(nth_day, day, kind="day")


def _some_days(month: Point, first: int, last: int) -> DateValue | None:
    if month.month is not None and isinstance(month.when.days, Yearly):
        return any_days(month.month, first, last)
    return month.when.shaped(_numbered_days, first, last, kind="days")


def _numbered_days(days: Days, first: int, last: int) -> Days | None:
    end = add_days(days.start, last - 1)
    return Days(add_days(days.start, first - 1), end) if end <= days.end else None


def _part(reader: Reader, month: Point) -> Point | None:
    match = _PART.match(reader.text, month.finish)
    return None if match is None else month.of(_part_of(month.when, match), match.end())


def part_only(reader: Reader, position: int, month: Point) -> Point | None:
    """第三周 after 6月第一周和."""
    if month.month is None:
        return None
    whole = Point(DateValue(Yearly(months, (month.month, month.month)), "month"), position, month.year, month.month)
    return _part(reader, whole)


def _part_of(when: DateValue, match: re.Match[str]) -> DateValue | None:
    if match["third"]:
        numbers = sorted("上中下".index(character) + 1 for character in match["third"])
        return when.shaped(_thirds, numbers[0], numbers[-1], kind="part")
    if match["edge"]:
        return when.shaped(edge, 1 if match["edge"] == "初" else 3, kind="part")
    if match["half"]:
        return when.shaped(half, 1 if match["half"][0] in "上前" else 2, kind="part")
    if match["firstdays"] or match["lastdays"]:
        return _end_days(when, match)
    return _nth_of(when, match)


def _thirds(days: Days, first: int, last: int) -> Days:
    return Days(third(days, first).start, third(days, last).end)


def _nth_of(when: DateValue, match: re.Match[str]) -> DateValue | None:
    if match["day"]:
        return when.shaped(nth_day, words.number(match["day"]), kind="day")
    number = words.number(match["week"] or match["nth"] or "") or -1
    if match["weekend"]:
        return when.shaped(nth_weekend, number, kind="weekend")
    if match["weekday"]:
        return when.shaped(nth_weekday, words.WEEKDAYS[match["weekday"]], number, kind="day")
    return when.shaped(nth_week, number, kind="week")


def _end_days(when: DateValue, match: re.Match[str]) -> DateValue | None:
    first = match["firstdays"] is not None
    count = words.number(match["firstdays"] or match["lastdays"])
    if count is None:
        return None
    size = 1 if (match["firstunit"] or match["lastunit"]) == "天" else 7
    return when.shaped(first_days if first else last_days, count * size, kind="part")


def _quarter(reader: Reader, position: int, *, sure: bool) -> Point | None:
    match = _QUARTER.match(reader.text, position)
    if match is None or (match[1] and reader.after_number(position)) or (match[2] and not sure):
        return None
    number = words.number(match[1] or match[2])
    if number is None:
        return None
    return Point(DateValue(Yearly(months, (3 * number - 2, 3 * number)), "quarter"), match.end())


def _year_part(reader: Reader, position: int, *, sure: bool) -> Point | None:
    """上半年, 年初; after a year also 底 alone, 第3周 and 最后一周."""
    match = _HALF_YEAR.match(reader.text, position)
    if match:
        first = 1 if match[1] == "上" else 7
        return Point(DateValue(Yearly(months, (first, first + 5)), "part"), match.end())
    match = _ISO_WEEK.match(reader.text, position) if sure else None
    if match:
        return Point(DateValue(Yearly(_iso_week, (words.number(match[1]),)), "week"), match.end())
    match = _YEAR_ENDS.match(reader.text, position) if sure else None
    if match:
        return _end_of_year(match)
    match = _YEAR_EDGE.match(reader.text, position)
    loose = match is not None and (match.group()[0] != "年" or match[3] or reader.before(position).isdigit())
    if match is None or (not sure and (loose or reader.before(position) in {*words.NUMERALS} - {""})):
        return None
    number = 2 if match[3] else 1 if match[1] == "初" else 3
    whole = DateValue(Yearly(months, (1, 12)), "year")
    return Point(whole, position).of(whole.shaped(edge, number, kind="part"), match.end())


def _end_of_year(match: re.Match[str]) -> Point | None:
    """最后一周, 前三天, 最后两个月, 第一天: counted from the first or the last day of the year."""
    count, unit = words.number(match[2]) if match[2] else 1, match[3] or "天"
    if count is None or count < 1 or (unit == "个月" and count > 12):
        return None
    if unit == "个月":
        first, last = (13 - count, 12) if match[1] == "最后" else (1, count)
        return Point(DateValue(Yearly(months, (first, last)), "month" if count == 1 else "days"), match.end())
    one: Kind = "day" if unit == "天" else "week"
    days = count if one == "day" else 7 * count
    of_year = last_days if match[1] == "最后" else first_days
    whole = DateValue(Yearly(months, (1, 12)), "year")
    return Point(whole, match.start()).of(whole.shaped(of_year, days, kind=one if count == 1 else "days"), match.end())


def _iso_week(year: int, week: int | None) -> Days | None:
    if week is None or not 1 <= week <= date(year, 12, 28).isocalendar().week:
        return None
    monday = date.fromisocalendar(year, week, 1)
    return Days(monday, add_days(monday, 6))


def _season(reader: Reader, position: int, *, sure: bool) -> Point | None:
    """春天, 去年夏季, 2023年初秋; not 春季新品 or 夏末."""
    match = _SEASON.match(reader.text, position)
    if match is None:
        return None
    followed = _IN_SEASON.match(reader.text, match.end()) is not None
    if sure:
        meant = bool(match[3]) or followed or match.group()[0] not in "春夏秋冬"
    else:
        meant = match[3] != "" and followed and (match[3] == "天" or reader.begins_clause(position))
    if not meant:
        return None
    when = words.SEASONS[match[2]]
    if match[1]:
        return Point(when, position).of(when.shaped(third, words.SEASON_THIRDS[match[1]], kind="part"), match.end())
    return Point(when, match.end())


def decade(reader: Reader, position: int) -> Point | None:
    """90年代, 上世纪八十年代."""
    match = _DECADE.match(reader.text, position)
    if match is None or reader.after_number(position):
        return None
    number = words.number(match[3])
    if number is None or number > 90:
        return None
    century = 1900 if match[1] or (not match[2] and number >= 30) else 2000
    return Point(DateValue(Days(date(century + number, 1, 1), date(century + number + 9, 12, 31)), "days"), match.end())


def years(reader: Reader, position: int) -> Point | None:
    """2023-2025年."""
    match = _YEARS.match(reader.text, position)
    if match is None or reader.after_number(position) or int(match[1]) >= int(match[2]):
        return None
    return Point(DateValue(Days(date(int(match[1]), 1, 1), date(int(match[2]), 12, 31)), "days"), match.end())

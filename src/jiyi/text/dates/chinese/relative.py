"""Chinese expressions that are counted from the present."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from jiyi.text.dates.chinese import words
from jiyi.text.dates.chinese.absolute import in_month, in_year
from jiyi.text.dates.chinese.reader import Point
from jiyi.text.dates.periods import DateValue, Yearly

if TYPE_CHECKING:
    from jiyi.text.dates.chinese.reader import Reader
    from jiyi.text.dates.periods import Unit
    from jiyi.text.dates.reference_time import ReferenceTime

_NAMED_DAY: Final = re.compile("|".join(sorted(words.NAMED_DAYS, key=len, reverse=True)))
_WHICH: Final = "(上上|上|这|本|下下|下)(一个|一|个)?"
_OFFSETS: Final = {"上上": -2, "上": -1, "这": 0, "本": 0, "下": 1, "下下": 2}
_WEEK_WORD: Final = "(?:周|星期|礼拜)"
_WEEK: Final = re.compile(
    rf"{_WHICH}{_WEEK_WORD}(?:的?(?:周末|末)|的?{_WEEK_WORD}?([一二三四五六](?!{words.COUNTED})|[日天](?![常记志报程期历均薪语本子益化气])))?"
)
_NOT_A_WEEK: Final = re.compile(
    "周(?:年(?![会终底度货夜])|岁|期(?![末中间待望])|边|围(?!绕)|旋|刊|杰|星驰|润发|迅|冬雨|深|华健)"
)
_WEEKDAY: Final = re.compile(
    rf"(?:周|星期|礼拜)(?:([一二三四五六])(?!{words.COUNTED}|福)|日(?![常记志报程期历均薪语本子益化])|(?<=[期拜])天)"
)
_WEEKEND: Final = re.compile("周末")
_MONTH: Final = re.compile(rf"{_WHICH}月(?![球亮饼季经嫂薪台租牙光])份?")
_QUARTER: Final = re.compile(rf"{_WHICH}季度")
_UNIT: Final = "(个)?(天|周|星期|礼拜|月|年|小时|钟头|分钟)"
_AWAY: Final = re.compile(rf"({words.COUNT})多?{_UNIT}(半)?多?(?:之|以)?(?:({words.BEFORE})|({words.AFTER}))")
_STRETCH: Final = re.compile(
    rf"(最近|近|过去|未来|今后)(?:的|这)?({words.COUNT}){_UNIT}(?![前后])(?:以?来|[内里间中])?"
)
_DAYS_AGO: Final = re.compile("前几天|前两天|前些天|前些日子|前阵子|这几天|这两天")
_DAY_NUMBER: Final = re.compile(rf"({words.NUMBER})号(?=那天|当天|那晚|早上|上午|中午|下午|晚上)")
# Not at the beginning of a clause these numbers are those of a house, a line or a player.
_DAY_NUMBER_FIRST: Final = re.compile(
    rf"({words.NUMBER})号(?=[我你他她咱]|[都又]?(?:做|干|发生|怎么|去|来|见|吃|看|买|卖|说|聊|谈|讲|玩|有什么|有啥|谁|啥|什么事)"
    r"|[，,。？?！!]|$)"
)
_SHORT_SEASON: Final = re.compile("([今去])([春夏秋冬])(?![装款])")
_THIS_TIME: Final = re.compile(
    "(去年|前年|上个?月|上个?星期|上个?礼拜|上周)的?(?:这个?时候|此时|这会儿?|同期|这几天|这时)"
)
_ONE_AGO: Final[dict[str, tuple[int, Unit]]] = {"去": (-1, "year"), "前": (-2, "year")}

# Before 上周 or 下月 these belong to another word: 线上, 以下.
_UP_WORDS: Final = frozenset("线以之身面地网路晚早天船车街桌墙手脸心山海床沙台楼边往向朝北加赶遇送爱看喜迷")
_DOWN_WORDS: Final = frozenset("线以之地乡楼天底手脚膝旗名余剩留写记拍买收放坐躺停")
_HALF: Final[dict[Unit, tuple[int, Unit]]] = {"year": (1, "half"), "month": (15, "day")}
# How far back 几天前 reaches, in units.
_UNITS_OF_A_FEW: Final[dict[Unit, tuple[int, int]]] = {"day": (7, 2), "week": (5, 2), "month": (6, 2), "year": (6, 2)}


def named_day(reader: Reader, position: int) -> Point | None:
    """昨天, 今晚, 大前天."""
    match = _NAMED_DAY.match(reader.text, position)
    if match is None:
        return None
    name = match.group()
    if name in {"前天", "后天"}:
        other = reader.before(position) in {*"之以目从先今往"} or reader.text.startswith("气", match.end())
        if other:
            return None
    if name == "今日" and reader.text.startswith("头条", match.end()):
        return None
    offset, hours = words.NAMED_DAYS[name]
    return Point(reader.reference.day(offset, hours), match.end())


def _attached(reader: Reader, position: int, match: re.Match[str]) -> bool:
    """Whether 上 or 下 belongs to the word before."""
    before = reader.before(position)
    return match[2] is None and (
        (match[1] == "上" and before in _UP_WORDS) or (match[1] == "下" and before in _DOWN_WORDS)
    )


def week(reader: Reader, position: int) -> Point | None:
    """上周, 下周一, 这个周末, 上上个星期."""
    match = _WEEK.match(reader.text, position)
    if match is None or _attached(reader, position, match):
        return None
    offset = _OFFSETS[match[1]]
    weekday = match[3]
    if weekday:
        return Point(reader.reference.weekday(words.WEEKDAYS[weekday], offset), match.end())
    if match.group().endswith("末"):
        return Point(reader.reference.weekend(offset), match.end())
    other = _NOT_A_WEEK.match(reader.text, match.end() - 1)
    return None if other else Point(reader.reference.week(offset), match.end())


def weekday(reader: Reader, position: int) -> Point | None:
    """周三, 星期天: the nearest in the past, today included. 周末 where it is not a kind of thing."""
    before = reader.before(position)
    if before and before in words.NUMERALS + "0123456789半几每多数第满整逢隔各单双个":
        return None
    if _HABIT.search(reader.before(position, 6)):
        return None
    match = _WEEKDAY.match(reader.text, position)
    if match is not None:
        return Point(reader.reference.recent_weekday(words.WEEKDAYS[match.group()[-1]]), match.end())
    match = _WEEKEND.match(reader.text, position)
    if match is None or not reader.begins_clause(position) or reader.text[match.end() : match.end() + 2] in _HABITS:
        return None
    after = reader.text[match.end() : match.end() + 1]
    return Point(reader.reference.recent_weekend(), match.end()) if after in _AFTER_WEEKEND else None


_HABIT: Final = re.compile("每|通常|一般|经常|习惯|固定|总是|往往")
_HABITS: Final = frozenset({"我通", "我一", "我常", "我都", "你通", "你一", "你常"})
_AFTER_WEEKEND: Final = frozenset(["", *"我你他她咱去干做吃玩跟和有哪在是，,？?"])


def month(reader: Reader, position: int) -> Point | None:
    """上个月, 本月, with a day or a part of it: 上个月15号, 本月初."""
    match = _MONTH.match(reader.text, position)
    if match is None or _attached(reader, position, match):
        return None
    when = reader.reference.month(_OFFSETS[match[1]])
    return in_month(reader, Point(when, match.end()))


def quarter(reader: Reader, position: int) -> Point | None:
    """上个季度, 本季度."""
    match = _QUARTER.match(reader.text, position)
    return None if match is None else Point(reader.reference.quarter(_OFFSETS[match[1]]), match.end())


def away(reader: Reader, position: int) -> Point | None:
    """三天前, 两周前, 半年前, 几个月前, 两小时前; 三天后 where nothing else is counted from."""
    match = _AWAY.match(reader.text, position)
    if match is None or reader.after_number(position) or reader.before(position) in {"第", "是", "几"}:
        return None
    ahead = match[6] is not None
    if ahead and (not reader.begins_clause(position) or reader.text.startswith("的", match.end())):
        return None
    when = _away(reader.reference, match[1], match, 1 if ahead else -1)
    if when is None:
        return None
    count = words.number(match[1])
    if match[3] == "年" and count and not match[4]:
        # 两年前的夏天
        year = reader.reference.today.year + (count if ahead else -count)
        within = in_year(reader, match.end(), year, relative=True)
        if within is not None:
            return within
    return Point(when, match.end())


def _away(reference: ReferenceTime, count: str, match: re.Match[str], direction: int) -> DateValue | None:
    what = match[3]
    if what in {"小时", "钟头", "分钟"}:
        return _hours_ago(reference, count, what) if direction < 0 else None
    unit = words.UNITS[what]
    # 3月前 is before March; months are counted with 个, which weeks may have and days and years have not.
    if (unit == "month") != (match[2] is not None) and what not in {"星期", "礼拜"}:
        return None
    number = words.number(count)
    if number is None:
        return _vaguely_away(reference, count, unit, direction)
    if match[4] is not None:
        return reference.away(direction * (number * 12 + 6), "month") if unit == "year" else None
    return reference.away(direction * number, unit) if number else None


def _vaguely_away(reference: ReferenceTime, count: str, unit: Unit, direction: int) -> DateValue | None:
    if count == "半":
        size, smaller = _HALF.get(unit, (0, unit))
        return reference.away(direction * size, smaller) if size else None
    if direction > 0:
        return None
    if count == "十几":
        return reference.between(19, 11, unit)
    if count.endswith("几") or count == "数":
        far, near = _UNITS_OF_A_FEW[unit]
        return reference.between(far, near, unit)
    return _about(reference, count, unit)


def _about(reference: ReferenceTime, count: str, unit: Unit) -> DateValue | None:
    """两三天前: two numbers, one after the other."""
    near, far = words.number(count[:1]), words.number(count[1:])
    if near is None or far is None or not near < far:
        return None
    return reference.between(far, near, unit)


def _hours_ago(reference: ReferenceTime, count: str, what: str) -> DateValue | None:
    number = 0.5 if count == "半" else words.number(count)
    if number is None:
        return None
    hours = number / (60 if what == "分钟" else 1)
    return reference.hours_ago(hours) if hours <= 96 else None


def units_to_or_from_today(reader: Reader, position: int) -> Point | None:
    """最近三天, 过去一周, 近半年, 未来两周: up to today, or from today."""
    match = _STRETCH.match(reader.text, position)
    if match is None or (match[1] == "近" and reader.before(position) in {*"附接靠将临邻远新亲贴逼最"}):
        return None
    count, what = match[2], match[4]
    if what not in words.UNITS or (words.UNITS[what] == "month" and match[3] is None):
        return None
    unit = words.UNITS[what]
    direction = 1 if match[1] in {"未来", "今后"} else -1
    if count == "半":
        number, unit = _HALF.get(unit, (0, unit))
    else:
        number = 5 if count.endswith("几") or count == "数" else words.number(count) or words.number(count[1:]) or 0
    return None if not number else Point(reader.reference.units_to_or_from_today(direction * number, unit), match.end())


def days_ago(reader: Reader, position: int) -> Point | None:
    """前几天, 前阵子, 这两天."""
    match = _DAYS_AGO.match(reader.text, position)
    if match is None or not reader.begins_clause(position):
        return None
    far, near = {"前两天": (3, 1), "前阵子": (60, 7), "这几天": (4, 0), "这两天": (2, 0)}.get(match.group(), (7, 1))
    return Point(reader.reference.between(far, near, "day"), match.end())


def day_number(reader: Reader, position: int) -> Point | None:
    """15号那天, 3号晚上: the nearest in the past, today included."""
    match = _DAY_NUMBER.match(reader.text, position)
    if match is None and reader.begins_clause(position) and reader.before(position) != "在":
        match = _DAY_NUMBER_FIRST.match(reader.text, position)
    number = words.number(match[1]) if match and not reader.after_number(position) else None
    if match is None or number is None or not 1 <= number <= 31:
        return None
    when = reader.reference.recent_day_of_month(number)
    return None if when is None else Point(when, match.end())


def short_season(reader: Reader, position: int) -> Point | None:
    """今春, 去冬."""
    match = _SHORT_SEASON.match(reader.text, position)
    if match is None:
        return None
    year = reader.reference.today.year - (match[1] == "去")
    season = words.SEASONS[match[2]]
    days = season.days.occurrence(year) if isinstance(season.days, Yearly) else None
    return None if days is None else Point(DateValue(days, "season", relative=True), match.end())


def this_time(reader: Reader, position: int) -> Point | None:
    """去年这个时候, 上个月的这几天."""
    match = _THIS_TIME.match(reader.text, position)
    if match is None:
        return None
    count, unit = _ONE_AGO.get(match[1][0], (-1, "month" if match[1].endswith("月") else "week"))
    return Point(reader.reference.around(count, unit), match.end())

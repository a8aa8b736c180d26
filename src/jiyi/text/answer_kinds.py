"""What kind of answer a question asks for, and by which terms it is known: a time, a number, a place.

"When is the check-up?" is answered by a text with a day in it. Nothing but closed lists of stems and Chinese words:
names of people are too many to be listed, so that "who" asks for no kind.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from jiyi.text.normalize import fold
from jiyi.text.questions import is_question

__all__ = ["answer_terms"]

_ASKED: Final = {
    "time": r"\bwhen\b|\b(?:what|which) (?:time|day|date|month|year)\b"
    "|什么时[候间]|几点|何时|几月|几号|哪一?[天年]|哪个月|星期几|周几",
    "number": r"\bhow (?:many|much|old|tall|far|big|large|heavy|long|often|high|fast|early|late)\b"
    "|多少|几[个只次位岁本口天年人张件条]|多[久大高远重长贵]",
    "place": r"\bwhere\b|\b(?:what|which) (?:city|town|country|place|street|neighbou?rhood)\b"
    "|哪里|哪儿|什么地方|哪个(?:城市|地方|国家|区|小区)|何地|哪座|哪条",
}
"""Kind -> how it is asked for; the first that fits counts."""
_TIMES: Final = (
    "januari februari march april june juli august septemb octob novemb decemb jan feb mar apr jun jul aug"
    " sep sept oct nov dec monday tuesday wednesday thursday friday saturday sunday weekend weekday today"
    " tonight tomorrow yesterday morn evening afternoon noon midnight night dawn dusk sunris spring summer"
    " autumn winter christma easter thanksgiv pm o'clock ago last next since until week month year annual"
    " daili fortnight decad 上午 下午 早上 晚上 中午 凌晨 傍晚 半夜 清晨 早晨 夜里 今天 明天 昨天 后天 前天"
    " 今晚 昨晚 今早 明早 去年 今年 明年 前年 上周 下周 本周 这周 上个月 下个月 本月 这个月 春天 夏天 秋天"
    " 冬天 春季 夏季 秋季 冬季 月底 月初 年底 年初 月中 周末 每天 每周 每月 每年 年 月 日 号 点 点半 农历"
    " 阴历 正月 腊月 春节 中秋 国庆 端午 元旦 暑假 寒假 年前 之前 以后 之后 以前"
)
_NUMBERS: Final = (
    "one two three four five six seven eight nine ten eleven twelv thirteen fourteen fifteen sixteen"
    " seventeen eighteen nineteen twenti thirti forti fifti sixti seventi eighti nineti hundr thousand"
    " million half dozen twice once coupl pair every daili week month several percent 两 半 公斤 公里 元 块"
    " 岁 平米 平方米 万 千 百 每天 每周 每月 每年 一共"
)
_PLACES: Final = (
    "in at near inside outside behind under beside above from street road avenu lane squar district citi town"
    " villag downtown suburb north south east west coast build floor room corner next station park hall"
    " center centr 在 住 位于 附近 旁边 楼下 楼上 门口 对面 里 里面 上 上面 下面 市 省 区 县 路 街 村 镇 小区"
    " 楼 层 号楼 抽屉 柜子 书房 卧室 客厅 厨房 阳台 公司 学校 医院 公园 图书馆 老家 家里 隔壁 北京 上海 广州"
    " 深圳 杭州 成都 南京 武汉 西安 重庆 天津 苏州 长沙 青岛 大连 厦门 宁波 郑州 济南 合肥 昆明 福州 沈阳"
)
_DIGITS: Final = "一二三四五六七八九"
_MEASURES: Final = (
    "个 只 次 位 岁 本 口 天 年 人 张 件 条 块 元 斤 公斤 公里 米 万 千 百 小时 分钟 周 杯 片 层 里 辆 台 间"
    " 家 种 套 遍 度"
)
_ENDINGS: Final = {1: "st", 2: "nd", 3: "rd", 21: "st", 22: "nd", 23: "rd", 31: "st"}


def answer_terms(question: str) -> tuple[str, ...]:
    """Terms of which an answer to the question has one; none where it asks for no kind that is known by its words."""
    if not is_question(question):
        return ()
    folded = fold(question)
    return next((_terms(kind) for kind, pattern in _patterns().items() if pattern.search(folded)), ())


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    return {kind: re.compile(pattern) for kind, pattern in _ASKED.items()}


@cache
def _terms(kind: str) -> tuple[str, ...]:
    listed = {"time": _times, "number": _numbers, "place": _places}[kind]
    return tuple(dict.fromkeys(listed()))


def _times() -> Iterator[str]:
    yield from _TIMES.split()
    yield from map(str, range(1950, 2041))
    yield from (f"{day}{_ENDINGS.get(day, 'th')}" for day in range(1, 32))
    yield from (f"{hour}{half}" for hour in range(1, 13) for half in ("am", "pm"))
    days = _chinese_numbers(31)
    yield from (f"{month}月" for month in days[:12])
    yield from (f"{hour}点" for hour in (*days[:12], "两"))
    yield from (f"{day}{name}" for day in days for name in "号日")
    weeks = ("周", "星期", "礼拜", "每周", "下周", "上周")
    yield from (f"{week}{day}" for week in weeks for day in "一二三四五六日天")


def _numbers() -> Iterator[str]:
    yield from _NUMBERS.split()
    yield from map(str, (*range(101), *range(110, 1000, 10), *range(1000, 10_001, 500)))
    yield from _chinese_numbers(99)
    yield from (f"{number}{measure}" for number in f"{_DIGITS}十两半" for measure in _MEASURES.split())


def _places() -> Iterator[str]:
    yield from _PLACES.split()


def _chinese_numbers(last: int) -> list[str]:
    """From 一."""
    tens = ("", "十", *(f"{digit}十" for digit in _DIGITS[1:]))
    return [f"{ten}{digit}" for ten in tens for digit in ("", *_DIGITS)][1 : last + 1]

"""The Chinese words that dates are made of, and the characters around them that tell a date from something else."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from jiyi.text.dates import periods
from jiyi.text.dates.holidays import HOLIDAYS
from jiyi.text.dates.periods import DateValue, Yearly, months

if TYPE_CHECKING:
    from jiyi.text.dates.periods import Hours, Unit

_DIGITS: Final = {c: n for n, c in enumerate("〇一二三四五六七八九")} | {"零": 0, "两": 2}
NUMERALS: Final = "〇零一二两三四五六七八九十廿卅百"

# A day or month number, and a count, which may also be vague.
NUMBER: Final = r"(?:\d{1,2}|[一二三四五六七八九十廿卅]{1,3})"
COUNT: Final = r"(?:\d{1,3}|十几|[一二两三四五六七八九十百]{1,4}|半|好?几|数)"

_SCALES: Final = {"十": 10, "廿": 20, "卅": 30, "百": 100}


def number(text: str) -> int | None:
    """The value of a numeral in digits or characters; None if it is none (几, 三四)."""
    if text.isdigit() and text.isascii():
        return int(text)
    total, digit = 0, None
    for character in text:
        if character in _SCALES:
            scale = _SCALES[character]
            total += scale if scale in {20, 30} else scale * (1 if digit is None else digit)
            digit = None
        elif character in _DIGITS and digit is None:
            digit = _DIGITS[character]
        else:
            return None
    return total + (digit or 0)


def year_number(text: str) -> int | None:
    """The value of a year written digit by digit (二〇二五)."""
    if text.isdigit() and text.isascii():
        return int(text)
    digits = [_DIGITS.get(character) for character in text]
    return None if None in digits else int("".join(map(str, digits)))


WEEKDAYS: Final = {character: index for index, character in enumerate("一二三四五六日")} | {"天": 6}

SEASONS: Final = {
    "春": DateValue(Yearly(months, (3, 5)), "season"),
    "夏": DateValue(Yearly(months, (6, 8)), "season"),
    "秋": DateValue(Yearly(months, (9, 11)), "season"),
    "冬": DateValue(Yearly(months, (12, 2)), "season"),
}
SEASON_THIRDS: Final = dict.fromkeys("初早", 1) | dict.fromkeys("仲盛隆", 2) | dict.fromkeys("晚深暮", 3)

UNITS: Final[dict[str, Unit]] = {
    "天": "day",
    "周": "week",
    "星期": "week",
    "礼拜": "week",
    "月": "month",
    "年": "year",
}

# Whether 前/后 ends here: not 前往, 后来.
BEFORE: Final = r"前(?![往去来面台后者期夕进端景途提线沿列方])"
AFTER: Final = r"后(?![来续面台悔期者天半院备勤方会背援退])"

_PARTS_OF_DAY: Final[dict[str, Hours]] = {
    "凌晨": periods.DAWN,
    "清晨": periods.EARLY_MORNING,
    "清早": periods.EARLY_MORNING,
    "一早": periods.EARLY_MORNING,
    "早晨": periods.MORNING,
    "早上": periods.MORNING,
    "早间": periods.MORNING,
    "上午": periods.FORENOON,
    "中午": periods.NOON,
    "正午": periods.NOON,
    "午间": periods.NOON,
    "午后": periods.AFTERNOON,
    "下午": periods.AFTERNOON,
    "傍晚": periods.DUSK,
    "黄昏": periods.DUSK,
    "晚上": periods.NIGHT,
    "晚间": periods.NIGHT,
    "夜里": periods.NIGHT,
    "夜间": periods.NIGHT,
    "夜晚": periods.NIGHT,
    "深夜": periods.LATE_NIGHT,
    "半夜": periods.LATE_NIGHT,
    "晚": periods.NIGHT,
    "夜": periods.NIGHT,
}
PART_OF_DAY: Final = re.compile(
    "的?("
    + "|".join(name for name in _PARTS_OF_DAY if len(name) > 1)
    + "|晚(?![餐饭会宴自于点霞辈年婚安])|夜(?![景市宵跑班色空猫总]))"
)


def hours(name: str) -> Hours:
    """When a part of the day begins and ends."""
    return _PARTS_OF_DAY[name]


# Day, and the part of it.
NAMED_DAYS: Final[dict[str, tuple[int, Hours | None]]] = {
    "大前天": (-3, None),
    "前天": (-2, None),
    "前晚": (-2, periods.NIGHT),
    "昨天": (-1, None),
    "昨日": (-1, None),
    "昨儿": (-1, None),
    "昨早": (-1, periods.MORNING),
    "昨晚": (-1, periods.NIGHT),
    "昨夜": (-1, periods.NIGHT),
    "今天": (0, None),
    "今日": (0, None),
    "今儿": (0, None),
    "今早": (0, periods.MORNING),
    "今晨": (0, periods.MORNING),
    "今晚": (0, periods.NIGHT),
    "今夜": (0, periods.NIGHT),
    "明天": (1, None),
    "明日": (1, None),
    "明儿": (1, None),
    "明早": (1, periods.MORNING),
    "明晚": (1, periods.NIGHT),
    "后天": (2, None),
    "大后天": (3, None),
}

NAMED_YEARS: Final = {"大前年": -3, "前年": -2, "去年": -1, "今年": 0, "本年": 0, "明年": 1, "后年": 2}

HOLIDAY_NAMES: Final = {
    "元旦节": "new year's day",
    "元旦": "new year's day",
    "腊八节": "laba",
    "腊八": "laba",
    "小年夜": "little new year",
    "除夕夜": "lunar new year's eve",
    "除夕": "lunar new year's eve",
    "年三十": "lunar new year's eve",
    "大年三十": "lunar new year's eve",
    "大年夜": "lunar new year's eve",
    "春节": "spring festival",
    "过年": "spring festival",
    "元宵节": "lantern festival",
    "元宵": "lantern festival",
    "情人节": "valentine's day",
    "妇女节": "women's day",
    "三八节": "women's day",
    "女神节": "women's day",
    "植树节": "arbor day",
    "愚人节": "april fools' day",
    "清明节": "qingming",
    "清明": "qingming",
    "复活节": "easter",
    "五一劳动节": "may holiday",
    "五一节": "may holiday",
    "五一": "may holiday",
    "劳动节": "may holiday",
    "五四青年节": "youth day",
    "青年节": "youth day",
    "母亲节": "mother's day",
    "六一儿童节": "children's day",
    "六一": "children's day",
    "儿童节": "children's day",
    "父亲节": "father's day",
    "端午节": "dragon boat festival",
    "端午": "dragon boat festival",
    "建军节": "army day",
    "七夕节": "qixi",
    "七夕": "qixi",
    "中元节": "ghost festival",
    "教师节": "teachers' day",
    "中秋节": "mid-autumn festival",
    "中秋": "mid-autumn festival",
    "国庆节": "golden week",
    "国庆": "golden week",
    "十一国庆节": "golden week",
    "十一国庆": "golden week",
    "十一": "golden week",
    "重阳节": "double ninth festival",
    "重阳": "double ninth festival",
    "万圣节": "halloween",
    "万圣夜": "halloween",
    "双十一": "singles' day",
    "双11": "singles' day",
    "光棍节": "singles' day",
    "感恩节": "thanksgiving",
    "618": "618",
    "双十二": "double twelve",
    "双12": "double twelve",
    "冬至": "winter solstice",
    "平安夜": "christmas eve",
    "圣诞节": "christmas",
    "圣诞": "christmas",
    "跨年夜": "new year's eve",
    "跨年": "new year's eve",
    "寒假": "winter vacation",
    "暑假": "summer vacation",
}

# The one day of a holiday that lasts longer.
MAIN_DAYS: Final = {
    HOLIDAYS["spring festival"]: HOLIDAYS["lunar new year's day"],
    HOLIDAYS["golden week"]: HOLIDAYS["national day"],
    HOLIDAYS["may holiday"]: HOLIDAYS["may day"],
}

_ABOUT_A_TIME: Final = (
    r"(?=假|黄金周|长假|小长假|期间|当天|那天|之前|之后|前|后|的时候|那会|放假|去|我|你|在|出|回|,|，|\?|？|$)"
)

# What must or must not come before and after a name that is also part of other words.
_HOLIDAY_CONTEXT: Final = {
    "过年": (r"(?<![超经通不度跨越透难渡错好来])", r"(?![度级龄份轻末终底初中])"),
    "元宵": (r"", r"(?![馅球汤])"),
    "清明": (r"", r"(?![上河])"),
    "五一": (rf"(?<![{NUMERALS}\d])", rf"(?![{NUMERALS}\d路广大新村街桥])"),
    "六一": (rf"(?<![{NUMERALS}\d])", _ABOUT_A_TIME),
    "十一": (rf"(?<![{NUMERALS}\d第双])", _ABOUT_A_TIME),
    "中秋": (r"", r"(?![月礼])"),
    "端午": (r"", r"(?![粽])"),
    "圣诞": (r"", r"(?![树老帽袜卡歌礼红装烘主颂])"),
    "国庆": (r"", r"(?![路])"),
    "重阳": (r"", r"(?![路糕木宫])"),
    "年三十": (rf"(?<![{NUMERALS}\d大])", ""),
    "618": (r"(?<!\d)", "(?=大促|购物节|活动|期间|那天|当天)"),
    "双十一": ("", rf"(?![{NUMERALS}月])"),
    "双十二": ("", rf"(?![{NUMERALS}月])"),
    "跨年": ("", r"(?![度级龄])"),
}
HOLIDAY: Final = re.compile(
    "|".join(
        before + re.escape(name) + after
        for name in sorted(HOLIDAY_NAMES, key=len, reverse=True)
        for before, after in [_HOLIDAY_CONTEXT.get(name, ("", ""))]
    )
)


def holiday(name: str) -> DateValue:
    """The days of a holiday."""
    return DateValue(HOLIDAYS[HOLIDAY_NAMES[name]], "holiday")


HOLIDAY_FIRST: Final = "".join(sorted({name[0] for name in HOLIDAY_NAMES}))

# After a weekday these make it a count: 上周三次, 上周一起.
COUNTED: Final = (
    "[个次位场件份篇张条顿趟种名家项百千万十岁年月周回遍部本人起直共样般定些边同块切旦度面半]"
    "|小时|公里|分钟|天(?!气|天)|下子"
)

"""The holidays of both languages as yearly rules."""

from __future__ import annotations

from datetime import date
from typing import Final

from jiyi.text.dates import lunar
from jiyi.text.dates.periods import (
    Days,
    Yearly,
    add_days,
    day_range,
    last_weekday,
    month_day,
    months,
    nth_weekday,
)


def easter(year: int, before: int, after: int) -> Days:
    """The days around Easter Sunday of the western churches, by the Gregorian computus."""
    century, golden = year // 100, year % 19
    # The epact (age of the moon on 1 January) with the Gregorian corrections.
    epact = (15 + century - century // 4 - (13 + 8 * century) // 25 + 19 * golden) % 30
    epact -= epact // 28 * (1 - epact // 28 * (29 // (epact + 1)) * ((21 - golden) // 11))
    full_moon = add_days(date(year, 3, 21), epact)
    sunday = last_weekday(add_days(full_moon, 7), 6)
    return Days(add_days(sunday, -before), add_days(sunday, after))


def weekday_of_month(year: int, month: int, weekday: int, number: int, later: int = 0) -> Days | None:
    """`later` days after the n-th (or last, -1) weekday of a month."""
    days = nth_weekday(months(year, month, month), weekday, number)
    return None if days is None else Days(add_days(days.start, later), add_days(days.start, later))


def turn_of_year(year: int) -> Days:
    """The last day of the old year and the first of the new one."""
    return Days(date(year - 1, 12, 31), date(year, 1, 1))


_MONDAY, _THURSDAY, _SUNDAY = 0, 3, 6

HOLIDAYS: Final[dict[str, Yearly]] = {
    # fixed days
    "new year's day": Yearly(month_day, (1, 1)),
    "new year": Yearly(turn_of_year),
    "new year's eve": Yearly(month_day, (12, 31)),
    "groundhog day": Yearly(month_day, (2, 2)),
    "valentine's day": Yearly(month_day, (2, 14)),
    "women's day": Yearly(month_day, (3, 8)),
    "arbor day": Yearly(month_day, (3, 12)),
    "st patrick's day": Yearly(month_day, (3, 17)),
    "april fools' day": Yearly(month_day, (4, 1)),
    "earth day": Yearly(month_day, (4, 22)),
    "may day": Yearly(month_day, (5, 1)),
    "may holiday": Yearly(day_range, ((5, 1), (5, 5))),
    "youth day": Yearly(month_day, (5, 4)),
    "cinco de mayo": Yearly(month_day, (5, 5)),
    "children's day": Yearly(month_day, (6, 1)),
    "618": Yearly(month_day, (6, 18)),
    "juneteenth": Yearly(month_day, (6, 19)),
    "canada day": Yearly(month_day, (7, 1)),
    "independence day": Yearly(month_day, (7, 4)),
    "bastille day": Yearly(month_day, (7, 14)),
    "army day": Yearly(month_day, (8, 1)),
    "teachers' day": Yearly(month_day, (9, 10)),
    "national day": Yearly(month_day, (10, 1)),
    "golden week": Yearly(day_range, ((10, 1), (10, 7))),
    "halloween": Yearly(month_day, (10, 31)),
    "bonfire night": Yearly(month_day, (11, 5)),
    "veterans day": Yearly(month_day, (11, 11)),
    "singles' day": Yearly(month_day, (11, 11)),
    "double twelve": Yearly(month_day, (12, 12)),
    "christmas eve": Yearly(month_day, (12, 24)),
    "christmas": Yearly(month_day, (12, 25)),
    "boxing day": Yearly(month_day, (12, 26)),
    # school holidays, roughly
    "winter vacation": Yearly(day_range, ((1, 10), (2, 25))),
    "summer vacation": Yearly(months, (7, 8)),
    # a weekday of a month
    "martin luther king day": Yearly(weekday_of_month, (1, _MONDAY, 3)),
    "presidents' day": Yearly(weekday_of_month, (2, _MONDAY, 3)),
    "mother's day": Yearly(weekday_of_month, (5, _SUNDAY, 2)),
    "memorial day": Yearly(weekday_of_month, (5, _MONDAY, -1)),
    "father's day": Yearly(weekday_of_month, (6, _SUNDAY, 3)),
    "labor day": Yearly(weekday_of_month, (9, _MONDAY, 1)),
    "columbus day": Yearly(weekday_of_month, (10, _MONDAY, 2)),
    "thanksgiving": Yearly(weekday_of_month, (11, _THURSDAY, 4)),
    "black friday": Yearly(weekday_of_month, (11, _THURSDAY, 4, 1)),
    "cyber monday": Yearly(weekday_of_month, (11, _THURSDAY, 4, 4)),
    # counted from Easter
    "mardi gras": Yearly(easter, (47, -47)),
    "ash wednesday": Yearly(easter, (46, -46)),
    "palm sunday": Yearly(easter, (7, -7)),
    "good friday": Yearly(easter, (2, -2)),
    "easter": Yearly(easter, (0, 0)),
    "easter weekend": Yearly(easter, (2, 1)),
    "easter monday": Yearly(easter, (-1, 1)),
    # the Chinese calendar
    "laba": Yearly(lunar.winter_lunar_day, (12, 8)),
    "little new year": Yearly(lunar.winter_lunar_day, (12, 23)),
    "lunar new year's eve": Yearly(lunar.new_year_eve),
    "lunar new year's day": Yearly(lunar.lunar_day, (1, 1)),
    "spring festival": Yearly(lunar.spring_festival, (1, 6)),
    "lantern festival": Yearly(lunar.lunar_day, (1, 15)),
    "qingming": Yearly(lunar.qingming),
    "dragon boat festival": Yearly(lunar.lunar_day, (5, 5)),
    "qixi": Yearly(lunar.lunar_day, (7, 7)),
    "ghost festival": Yearly(lunar.lunar_day, (7, 15)),
    "mid-autumn festival": Yearly(lunar.lunar_day, (8, 15)),
    "double ninth festival": Yearly(lunar.lunar_day, (9, 9)),
    "winter solstice": Yearly(lunar.winter_solstice),
}

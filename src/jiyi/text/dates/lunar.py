"""The Chinese calendar for the years 1970 to 2100, and the two solar terms that are holidays."""

from __future__ import annotations

from calendar import isleap
from datetime import date, timedelta
from typing import Final

from jiyi.text.dates.periods import Days

FIRST_YEAR: Final = 1970
LAST_YEAR: Final = 2100

# One number for each lunar year: bits 17-22 count the days from 1 January to its new year, bits 13-16 hold the
# month after which a leap month is inserted (0: none), and bit n is set where the n-th month of the year has 30
# days instead of 29. Generated from the astronomical calendar of lunar-python 1.4 and compared, month by month,
# with the tables of zhdate and lunardate and with new moons computed by the series of Meeus. All agree but for
# new moons within two minutes of midnight in Beijing: the ninth month of 2057 and the seventh of 2097, and a known
# slip of one package in 1978.
_YEARS: Final = (
    *(0x480B69, 0x34B752, 0x5A0B52, 0x420B25, 0x2C964B, 0x520A4B, 0x3D14AB, 0x6002AD, 0x4A056D, 0x36CB69),
    *(0x5C0DA9, 0x460D92, 0x309D25, 0x560D25, 0x415A4D, 0x640A56, 0x4E02B6, 0x38C5B5, 0x5E06D5, 0x480EA9),
    *(0x34BE92, 0x5A0E92, 0x440D26, 0x2C6A56, 0x500A57, 0x3D14D6, 0x62035A, 0x4A06D5, 0x36B6C9, 0x5C0749),
    *(0x460693, 0x2E952B, 0x54052B, 0x3E0A5B, 0x2A555A, 0x4E056A, 0x38FB55, 0x600BA4, 0x4A0B49, 0x32BA93),
    *(0x580A95, 0x42052D, 0x2C8AAD, 0x500AB5, 0x3D35AA, 0x6205D2, 0x4C0DA5, 0x36DD4A, 0x5C0D4A, 0x460C95),
    *(0x30952E, 0x540556, 0x3E0AB5, 0x2A55B2, 0x5006D2, 0x38CEA5, 0x5E0725, 0x48064B, 0x32AC97, 0x560CAB),
    *(0x42055A, 0x2C6AD6, 0x520B69, 0x3D7752, 0x620B52, 0x4C0B25, 0x36DA4B, 0x5A0A4B, 0x4404AB, 0x2EA55B),
    *(0x5405AD, 0x3E0B6A, 0x2A5B52, 0x500D92, 0x3AFD25, 0x5E0D25, 0x480A55, 0x32B4AD, 0x5804B6, 0x4005B5),
    *(0x2C6DAA, 0x520EC9, 0x3F1E92, 0x620E92, 0x4C0D26, 0x36CA56, 0x5A0A57, 0x4404D6, 0x2E86D5, 0x540755),
    *(0x400749, 0x286E93, 0x4E0693, 0x38F52B, 0x5E052B, 0x460A5B, 0x32B55A, 0x58056A, 0x420B65, 0x2C974A),
    *(0x520B4A, 0x3D1A95, 0x620A95, 0x4A052D, 0x34CAAD, 0x5A0AB5, 0x4605AA, 0x2E8BA5, 0x540DA5, 0x400D4A),
    *(0x2A7C95, 0x4E0C96, 0x38F94E, 0x5E0556, 0x480AB5, 0x32B5B2, 0x5806D2, 0x420EA5, 0x2E8E4A, 0x50068B),
    *(0x3B0C97, 0x6004AB, 0x4A055B, 0x34CAD6, 0x5A0B6A, 0x460752, 0x309725, 0x540B45, 0x3E0A8B, 0x28549B),
    0x4E04AB,
)


def lunar_month(year: int, month: int) -> Days | None:
    """A month of a lunar year (1: 正月, 12: 腊月); the first of the two where it is doubled."""
    if not FIRST_YEAR <= year <= LAST_YEAR:
        return None
    packed = _YEARS[year - FIRST_YEAR]
    leap = packed >> 13 & 0xF
    position = month - 1 + (1 if leap and month > leap else 0)
    start = date(year, 1, 1) + timedelta(days=packed >> 17)
    for earlier in range(position):
        start += timedelta(days=29 + (packed >> earlier & 1))
    return Days(start, start + timedelta(days=28 + (packed >> position & 1)))


def lunar_day(year: int, month: int, day: int) -> Days | None:
    """A day of a lunar year; None where the month has only 29 days."""
    days = lunar_month(year, month)
    if days is None or day > days.length:
        return None
    found = days.start + timedelta(days=day - 1)
    return Days(found, found)


def winter_lunar_day(year: int, month: int, day: int) -> Days | None:
    """A day of the lunar year before: what people call 腊八 or 小年 of a year comes before its Spring Festival."""
    return lunar_day(year - 1, month, day)


def spring_festival(year: int, before: int, after: int) -> Days | None:
    """The lunar new year with so many days before and after it."""
    new_year = lunar_day(year, 1, 1)
    if new_year is None:
        return None
    return Days(new_year.start - timedelta(days=before), new_year.start + timedelta(days=after))


def new_year_eve(year: int) -> Days | None:
    """除夕, the day before the lunar new year."""
    festival = spring_festival(year, 1, 0)
    return None if festival is None else Days(festival.start, festival.start)


def _solar_term_day(year: int, start: float, drift: float) -> int | None:
    """The day of the month of a solar term: it moves by `drift` days a year, minus one day for each leap year."""
    if not FIRST_YEAR <= year <= LAST_YEAR:
        return None
    leap_years = sum(map(isleap, range(FIRST_YEAR, year + 1)))
    return int(start + drift * (year - FIRST_YEAR) - leap_years)


# The two constants of each term were fitted to the table and are exact for all its years.


def qingming(year: int) -> Days | None:
    """清明, on the 4th or 5th of April."""
    day = _solar_term_day(year, 5.542, 0.2422)
    return None if day is None else Days(date(year, 4, day), date(year, 4, day))


def winter_solstice(year: int) -> Days | None:
    """冬至, on the 21st or 22nd of December."""
    day = _solar_term_day(year, 22.611, 0.2428)
    return None if day is None else Days(date(year, 12, day), date(year, 12, day))

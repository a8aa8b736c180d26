"""The value of a date expression: calendar days, or a rule that gives the days of every year."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from datetime import date, time
from typing import Final, Literal, NamedTuple, TypeAlias

Kind: TypeAlias = Literal[
    "hours", "day", "days", "weekend", "week", "month", "part", "quarter", "season", "holiday", "year"
]
"""What was named; "part" is a piece of something larger, "days" any other run of days."""

Unit: TypeAlias = Literal["day", "week", "month", "half", "year"]
"""What durations are counted in; "half" is half a year."""

Hours: TypeAlias = tuple[time, time]
"""A part of a day, from and to. It ends on the next day if the end is not after the start."""

# One year is left free at both ends, so that no zone conversion overflows `datetime`.
EARLIEST: Final = date(2, 1, 1)
LATEST: Final = date(9998, 12, 31)

DAWN: Final[Hours] = (time(0), time(6))
EARLY_MORNING: Final[Hours] = (time(4), time(10))
MORNING: Final[Hours] = (time(4), time(12))
FORENOON: Final[Hours] = (time(6), time(13))
NOON: Final[Hours] = (time(11), time(15))
AFTERNOON: Final[Hours] = (time(12), time(19))
DUSK: Final[Hours] = (time(16), time(20))
EVENING: Final[Hours] = (time(17), time(0))
NIGHT: Final[Hours] = (time(17), time(5))
LATE_NIGHT: Final[Hours] = (time(21), time(5))


@dataclass(frozen=True, slots=True)
class Days:
    """A run of days, both ends included."""

    start: date
    end: date

    @property
    def length(self) -> int:
        """How many days there are."""
        return (self.end - self.start).days + 1


Rule: TypeAlias = Callable[..., Days | None]
Shape: TypeAlias = Callable[..., Days | None]


@dataclass(frozen=True, slots=True)
class Yearly:
    """A yearly rule: a function of the year with further arguments."""

    rule: Rule
    args: tuple[Hashable, ...] = ()

    def occurrence(self, year: int) -> Days | None:
        """The days in that year, or None if it has none (a leap day; a lunar day outside the table)."""
        if not EARLIEST.year < year < LATEST.year:
            return None
        return self.rule(year, *self.args)

    def latest(self, today: date, *, ended: bool) -> Days | None:
        """The last occurrence that has begun by `today`, or that was over before it."""
        # Leap days can be eight years apart.
        for year in range(today.year + 1, today.year - 10, -1):
            days = self.occurrence(year)
            if days and (days.end < today if ended else days.start <= today):
                return days
        return None

    def following(self, today: date) -> Days | None:
        """The first occurrence that begins after `today`."""
        for year in range(today.year - 1, today.year + 10):
            days = self.occurrence(year)
            if days and days.start > today:
                return days
        return None

    def current(self, today: date) -> Days | None:
        """The occurrence that `today` lies in, else the one of this year."""
        for year in (today.year - 1, today.year):
            days = self.occurrence(year)
            if days and days.start <= today <= days.end:
                return days
        return self.occurrence(today.year)


@dataclass(frozen=True, slots=True)
class DateValue:
    """The value of one expression."""

    days: Days | Yearly
    kind: Kind
    hours: Hours | None = None
    relative: bool = False
    """Whether it depends on the present."""

    def in_year(self, year: int) -> DateValue | None:
        """The same in one year; None if it does not occur in that year."""
        if isinstance(self.days, Days):
            return self
        days = self.days.occurrence(year)
        return None if days is None else replace(self, days=days)

    def shaped(self, shape: Shape, *args: Hashable, kind: Kind) -> DateValue | None:
        """The days after applying `shape`, in every year if they are yearly."""
        if isinstance(self.days, Yearly):
            return replace(self, days=Yearly(shaped, (self.days, shape, *args)), kind=kind, hours=None)
        days = shape(self.days, *args)
        return None if days is None else replace(self, days=days, kind=kind, hours=None)

    def at(self, hours: Hours) -> DateValue:
        """Only these hours of the day."""
        return replace(self, hours=hours, kind="hours")


class DateMatch(NamedTuple):
    """An expression and where it stands in the text."""

    begin: int
    finish: int
    when: DateValue


# --- arithmetic that stays inside the calendar --------------------------------------------------------------


def add_days(day: date, count: int) -> date:
    """`count` days later, kept between EARLIEST and LATEST."""
    return date.fromordinal(min(max(day.toordinal() + count, EARLIEST.toordinal()), LATEST.toordinal()))


def add_months(day: date, count: int) -> date:
    """`count` months later, on the last day of the month where it is too short."""
    year, month = divmod(day.year * 12 + day.month - 1 + count, 12)
    if year < EARLIEST.year:
        return EARLIEST
    if year > LATEST.year:
        return LATEST
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


def month_end(year: int, month: int) -> date:
    """The last day of a month."""
    return date(year, month, monthrange(year, month)[1])


def last_weekday(day: date, weekday: int) -> date:
    """The nearest such weekday (Monday is 0) up to and including `day`."""
    return add_days(day, -((day.weekday() - weekday) % 7))


def step(day: date, count: int, unit: Unit) -> date:
    """`count` units later."""
    if unit == "day":
        return add_days(day, count)
    if unit == "week":
        return add_days(day, 7 * count)
    return add_months(day, count * {"month": 1, "half": 6, "year": 12}[unit])


# --- rules: the days of a year ------------------------------------------------------------------------------


def month_day(year: int, month: int, day: int) -> Days | None:
    """One day; None where the month is too short."""
    if day > monthrange(year, month)[1]:
        return None
    return Days(date(year, month, day), date(year, month, day))


def months(year: int, first: int, last: int) -> Days:
    """Whole months, running into the next year where `last` comes before `first`."""
    return Days(date(year, first, 1), month_end(year + (last < first), last))


def day_range(year: int, first: tuple[int, int], last: tuple[int, int]) -> Days | None:
    """From one month and day to another, both included."""
    start, end = month_day(year, *first), month_day(year + (last < first), *last)
    return None if start is None or end is None else Days(start.start, end.end)


def joined(year: int, first: Yearly, last: Yearly) -> Days | None:
    """From the beginning of one to the end of the other, which may be in the next year."""
    start, end = first.occurrence(year), last.occurrence(year)
    if start and end and end.end < start.start:
        end = last.occurrence(year + 1)
    return None if start is None or end is None else Days(start.start, end.end)


def shaped(year: int, base: Yearly, shape: Shape, *args: Hashable) -> Days | None:
    """The days of another rule after applying `shape`."""
    days = base.occurrence(year)
    return None if days is None else shape(days, *args)


# --- shapes: functions from days to days-----------------------------------------------------------------------


def third(days: Days, number: int) -> Days:
    """The early (1), middle (2) or late (3) third: ten days of a month, whole months of a quarter or a year."""
    if days.start.day == 1 and days.length >= 80:
        size = round(days.length / 30.4) // 3
        start = add_months(days.start, size * (number - 1))
        return Days(start, days.end if number == 3 else add_days(add_months(start, size), -1))
    size = 10 if 28 <= days.length <= 31 else max(days.length // 3, 1)
    start = min(add_days(days.start, size * (number - 1)), days.end)
    return Days(start, days.end if number == 3 else min(add_days(start, size - 1), days.end))


def edge(days: Days, number: int) -> Days:
    """The beginning (1), middle (2) or end (3): as `third`, but two months of a year."""
    if days.length < 300:
        return third(days, number)
    start = add_months(days.start, {1: 0, 2: 5, 3: 10}[number])
    return Days(start, add_days(add_months(start, 2), -1))


def half(days: Days, number: int) -> Days:
    """The first or second half: of a month up to the 15th, of longer periods in whole months."""
    months_in_half = round(days.length / 30.4) // 2 if days.start.day == 1 else 0
    middle = add_months(days.start, months_in_half) if months_in_half else add_days(days.start, days.length // 2)
    return Days(days.start, add_days(middle, -1)) if number == 1 else Days(middle, days.end)


def first_days(days: Days, count: int) -> Days:
    """The first `count` days."""
    return Days(days.start, min(add_days(days.start, count - 1), days.end))


def last_days(days: Days, count: int) -> Days:
    """The last `count` days."""
    return Days(max(add_days(days.end, 1 - count), days.start), days.end)


def nth_week(days: Days, number: int) -> Days | None:
    """The n-th seven days, counted from the first day; -1 is the last seven."""
    if number < 0:
        return last_days(days, 7)
    start = add_days(days.start, 7 * (number - 1))
    return None if start > days.end else Days(start, min(add_days(start, 6), days.end))


def nth_weekday(days: Days, weekday: int, number: int) -> Days | None:
    """The n-th such weekday, or the last (-1)."""
    if number < 0:
        day = last_weekday(days.end, weekday)
    else:
        day = add_days(last_weekday(add_days(days.start, 6), weekday), 7 * (number - 1))
    return Days(day, day) if days.start <= day <= days.end else None


def nth_weekend(days: Days, number: int) -> Days | None:
    """The Saturday and Sunday of the n-th Saturday, or of the last (-1)."""
    saturday = nth_weekday(days, 5, number)
    return None if saturday is None else Days(saturday.start, add_days(saturday.start, 1))


def nth_day(days: Days, number: int) -> Days | None:
    """The n-th day."""
    day = add_days(days.start, number - 1)
    return Days(day, day) if day <= days.end else None


def week_of(days: Days) -> Days:
    """The calendar week, Monday to Sunday, in which it begins."""
    monday = last_weekday(days.start, 0)
    return Days(monday, add_days(monday, 6))


def away(days: Days, count: int, unit: Unit) -> Days:
    """The day `count` units before (negative) or after, with half a unit around it if the unit is not a day."""
    day = step(days.start if count < 0 else days.end, count, unit)
    slack = {"day": 0, "week": 3, "month": 15, "half": 45, "year": 182}[unit]
    return Days(add_days(day, -slack), add_days(day, slack))


def next_to(days: Days, count: int, unit: Unit) -> Days:
    """The `count` units that end just before (negative) or begin just after."""
    if count < 0:
        return Days(step(days.start, count, unit), add_days(days.start, -1))
    return Days(add_days(days.end, 1), step(days.end, count, unit))


def weekday_next_to(days: Days, weekday: int, direction: int) -> Days:
    """The nearest such weekday before (-1) or after (1)."""
    day = last_weekday(add_days(days.start, -1) if direction < 0 else add_days(days.end, 7), weekday)
    return Days(day, day)


def weekend_next_to(days: Days, direction: int) -> Days:
    """The nearest whole weekend before (-1) or after (1)."""
    if direction < 0:
        sunday = last_weekday(add_days(days.start, -1), 6)
    else:
        sunday = add_days(last_weekday(add_days(days.end, 7), 5), 1)
    return Days(add_days(sunday, -1), sunday)


def rest_of_year(days: Days, direction: int) -> Days:
    """What of the year lies before (-1) or after (1) a month of it; of January and December the month beside it."""
    year = days.start.year
    if direction < 0:
        return next_to(days, -31, "day") if days.start.month == 1 else Days(date(year, 1, 1), add_days(days.start, -1))
    return next_to(days, 31, "day") if days.end.month == 12 else Days(add_days(days.end, 1), date(year, 12, 31))


def shortly_before(days: Days) -> Days:
    """Ten days, or as many as the period itself has, just before it."""
    return next_to(days, -max(10, days.length), "day")


def shortly_after(days: Days) -> Days:
    """Ten days, or as many as the period itself has, just after it."""
    return next_to(days, max(10, days.length), "day")


def widened(days: Days, before: int, after: int) -> Days:
    """The days, extended on both sides."""
    return Days(add_days(days.start, -before), add_days(days.end, after))


def with_weekend(days: Days) -> Days:
    """A holiday together with the weekend it touches or nearly touches."""
    weekday = days.start.weekday()
    if weekday < 2:
        return Days(add_days(days.start, -weekday - 2), days.end)
    return Days(min(days.start, add_days(days.start, 5 - weekday)), add_days(days.start, 6 - weekday))


# --- days and months ----------------------------------------------------------------------------------------

_MONTH_LENGTHS: Final = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def any_day(month: int, day: int) -> DateValue | None:
    """A month and day of any year, if there is such a day."""
    return DateValue(Yearly(month_day, (month, day)), "day") if 1 <= day <= _MONTH_LENGTHS[month - 1] else None


def any_days(month: int, first: int, last: int) -> DateValue | None:
    """Some days of a month of any year, if there are such days."""
    if not 1 <= first < last <= _MONTH_LENGTHS[month - 1]:
        return None
    return DateValue(Yearly(day_range, ((month, first), (month, last))), "days")


def known_day(year: int, month: int, day: int) -> DateValue | None:
    """A day of a known year, if there is such a day."""
    if not 1000 <= year <= 9000 or not 1 <= month <= 12 or day < 1:
        return None
    days = month_day(year, month, day)
    return None if days is None else DateValue(days, "day")


# --- combinations -------------------------------------------------------------------------------------------


def from_to(first: DateValue, last: DateValue) -> DateValue | None:
    """From the beginning of one to the end of the other; a missing year is taken from the other side."""
    relative = first.relative or last.relative
    start, end = first.days, last.days
    if isinstance(start, Yearly) and isinstance(end, Yearly):
        return DateValue(Yearly(joined, (start, end)), "days", relative=relative)
    if isinstance(start, Yearly) and isinstance(end, Days):
        found = start.latest(end.end, ended=False)
    elif isinstance(start, Days) and isinstance(end, Yearly):
        found = end.current(start.start)
        if found is None or found.end < start.start:
            found = end.following(start.start)
    else:
        found = end if isinstance(end, Days) else None
    if found is None:
        return None
    begin = start.start if isinstance(start, Days) else found.start
    finish = end.end if isinstance(end, Days) else found.end
    if first.relative and last.relative and 0 < (begin - finish).days < 7:
        # Two weekdays, each the nearest in the past: Monday to Friday on a Wednesday.
        begin = add_days(begin, -7)
    return DateValue(Days(begin, finish), "days", relative=relative) if begin <= finish else None


def since(when: DateValue, today: date) -> DateValue | None:
    """From the latest beginning of it until today."""
    days = when.days.latest(today, ended=False) if isinstance(when.days, Yearly) else when.days
    if days is None or days.start > today:
        return None
    return DateValue(Days(days.start, today), "days", relative=True)


def before_or_after(when: DateValue, direction: int) -> DateValue | None:
    """Everything before (-1) or after (1) a month or more of a known year; else a short time next to it.

    Of a month of any year it is what lies before or after it in that year.
    """
    days = when.days
    if isinstance(days, Days) and days.length >= 28:
        open_end = Days(date.min, add_days(days.start, -1)) if direction < 0 else Days(add_days(days.end, 1), date.max)
        return replace(when, days=open_end, kind="days", hours=None)
    if when.kind == "month":
        return when.shaped(rest_of_year, direction, kind="days")
    return when.shaped(shortly_before if direction < 0 else shortly_after, kind="days")

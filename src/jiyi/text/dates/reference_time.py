"""The reference time of relative expressions, and the periods that are counted from it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import TYPE_CHECKING, Literal

from jiyi.text.dates.periods import (
    EARLIEST,
    LATEST,
    DateValue,
    Days,
    Yearly,
    add_days,
    add_months,
    away,
    last_weekday,
    month_day,
    month_end,
    step,
)

if TYPE_CHECKING:
    from jiyi.text.dates.periods import Hours, Unit


@dataclass(frozen=True, slots=True)
class ReferenceTime:
    """The local time from which relative expressions are counted.

    Offsets: 0 is this week (or month, quarter, year), -1 the last, 1 the next. Weeks start on Monday.
    """

    now: datetime
    """The local time."""

    @property
    def today(self) -> date:
        """The local date."""
        return self.now.date()

    def day(self, offset: int, hours: Hours | None = None) -> DateValue:
        """A day, or some hours of it."""
        day = add_days(self.today, offset)
        when = DateValue(Days(day, day), "day", relative=True)
        return when if hours is None else when.at(hours)

    def week(self, offset: int) -> DateValue:
        """A week, Monday to Sunday."""
        monday = add_days(last_weekday(self.today, 0), 7 * offset)
        return DateValue(Days(monday, add_days(monday, 6)), "week", relative=True)

    def weekend(self, offset: int) -> DateValue:
        """The Saturday and Sunday of a week."""
        saturday = add_days(last_weekday(self.today, 0), 7 * offset + 5)
        return DateValue(Days(saturday, add_days(saturday, 1)), "weekend", relative=True)

    def recent_weekend(self) -> DateValue:
        """The weekend that has begun most recently."""
        return self.weekend(0 if self.today.weekday() >= 5 else -1)

    def weekday(self, weekday: int, week: int) -> DateValue:
        """A weekday (Monday is 0) of a week."""
        day = add_days(last_weekday(self.today, 0), 7 * week + weekday)
        return DateValue(Days(day, day), "day", relative=True)

    def recent_weekday(self, weekday: int) -> DateValue:
        """The nearest such weekday in the past, today included: most memories are about the past."""
        return self._single(last_weekday(self.today, weekday))

    def weekday_before(self, weekday: int) -> DateValue:
        """The nearest such weekday before today."""
        return self._single(last_weekday(add_days(self.today, -1), weekday))

    def weekday_after(self, weekday: int) -> DateValue:
        """The nearest such weekday after today."""
        return self._single(last_weekday(add_days(self.today, 7), weekday))

    def recent_day_of_month(self, number: int) -> DateValue | None:
        """The nearest day with this number in the past, today included."""
        for back in range(3):
            month = add_months(self.today.replace(day=1), -back)
            days = month_day(month.year, month.month, number)
            if days and days.start <= self.today:
                return DateValue(days, "day", relative=True)
        return None

    def month(self, offset: int) -> DateValue:
        """A calendar month."""
        start = add_months(self.today.replace(day=1), offset)
        return DateValue(Days(start, month_end(start.year, start.month)), "month", relative=True)

    def quarter(self, offset: int) -> DateValue:
        """A quarter of a year."""
        first_month = (self.today.month - 1) // 3 * 3 + 1
        start = add_months(self.today.replace(month=first_month, day=1), 3 * offset)
        return DateValue(Days(start, add_days(add_months(start, 3), -1)), "quarter", relative=True)

    def year(self, offset: int) -> DateValue:
        """A calendar year."""
        year = min(max(self.today.year + offset, EARLIEST.year), LATEST.year)
        return DateValue(Days(date(year, 1, 1), date(year, 12, 31)), "year", relative=True)

    def away(self, count: int, unit: Unit) -> DateValue:
        """`count` units ago (negative) or from now: the day, or half a unit around it."""
        days = away(Days(self.today, self.today), count, unit)
        return DateValue(days, "day" if unit == "day" else "days", relative=True)

    def around(self, count: int, unit: Unit) -> DateValue:
        """This time, `count` units ago (negative) or from now: a few days on either side, of a year or month ago."""
        day = step(self.today, count, unit)
        days = {"year": 10, "month": 3}.get(unit, 1)
        return DateValue(Days(add_days(day, -days), add_days(day, days)), "days", relative=True)

    def hours_ago(self, count: float) -> DateValue:
        """One hour on either side of the moment `count` hours ago."""
        middle = max(self.now.replace(tzinfo=None), datetime(3, 1, 1)) - timedelta(hours=count)  # noqa: DTZ001
        start, end = middle - timedelta(hours=1), middle + timedelta(hours=1)
        day = start.date()
        hours = (_whole_minute(start.time()), _whole_minute(end.time()))
        return DateValue(Days(day, day), "hours", hours, relative=True)

    def units_to_or_from_today(self, count: int, unit: Unit) -> DateValue:
        """The last (negative) or next `count` units, up to or from today. Both ends are included."""
        other = step(self.today, count, unit)
        return DateValue(Days(min(self.today, other), max(self.today, other)), "days", relative=True)

    def between(self, far: int, near: int, unit: Unit) -> DateValue:
        """From `far` units ago to `near` units ago."""
        days = Days(step(self.today, -far, unit), step(self.today, -near, unit))
        return DateValue(days, "days", relative=True)

    def which(self, when: DateValue, word: Literal["last", "this", "next"]) -> DateValue | None:
        """The last, this or the next occurrence of a yearly rule."""
        if not isinstance(when.days, Yearly):
            return None
        if word == "last":
            days = when.days.latest(self.today, ended=True)
        elif word == "this":
            days = when.days.current(self.today)
        else:
            days = when.days.following(self.today)
        return None if days is None else DateValue(days, when.kind, when.hours, relative=True)

    def _single(self, day: date) -> DateValue:
        return DateValue(Days(day, day), "day", relative=True)


def _whole_minute(clock: time) -> time:
    return clock.replace(second=0, microsecond=0)

"""DateSpan: a date expression of a text, and the time that it names."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from jiyi.errors import InvalidInputError
from jiyi.text.dates.periods import EARLIEST, LATEST, Days, Yearly

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jiyi.text.dates.periods import Kind

_ONE_DAY: Final = timedelta(days=1)
_MIN_STEP: Final = timedelta(microseconds=1)
_BEGINNING: Final = datetime.min.replace(tzinfo=UTC)
_END: Final = datetime.max.replace(tzinfo=UTC)

# A leap day can be eight years away.
_YEARS_AROUND: Final = 9


@dataclass(frozen=True, slots=True)
class DateSpan:
    """The time that one expression names, in local days.

    A span of a known year has `start` and `end`; "before 2020" starts at `date.min`, "after 2020" ends at
    `date.max`. One without a year ("in March", 春节) has `yearly` instead: it comes back every year.
    """

    text: str
    """The expression as it was written."""
    begin: int
    finish: int
    """Its position: `question[begin:finish] == text`."""
    kind: Kind
    """What was named: "hours", "day", "days", "weekend", "week", "month", "part", "quarter", "season", "holiday"
    or "year". A "part" is a piece of something larger (中旬, early March), "days" any other run of days."""
    start: date | None
    """The first day; None if the span is yearly."""
    end: date | None
    """The last day, itself included; None if the span is yearly."""
    yearly: Yearly | None = None
    """For a span without a year: `yearly.occurrence(2025)` has the `start` and `end` in 2025, or is None."""
    start_time: time | None = None
    """For a part of a day, when it begins on the day `start`."""
    end_time: time | None = None
    """For a part of a day, when it ends: on the day `end`, or the day after if it is not later than `start_time`
    ("last night" starts and ends with yesterday)."""
    relative: bool = False
    """Whether it was counted from the present (昨天, "last week")."""

    def contains(self, moment: datetime, tz: tzinfo) -> bool:
        """Whether the moment lies in the span, in the zone `tz`."""
        moment = _aware(moment)
        return any(start <= moment < end for start, end in self._near(moment, tz))

    @property
    def length_days(self) -> int:
        """How many days it has; for a yearly span, in the longest of ten years."""
        return max((days.length for days in self._days(range(2020, 2030))), default=1)

    def intervals(self, first: datetime, last: datetime, tz: tzinfo) -> list[tuple[datetime, datetime]]:
        """The span between two moments as times in UTC, in order; each from the first, up to but without the second.

        A moment from `first` to `last` (included) lies in one of them exactly if the span contains it.
        """
        first, last = _aware(first), _aware(last)
        after_last = last + _MIN_STEP if last < _END else last
        years = range(first.year - 2, last.year + 2)
        clipped = ((max(start, first), min(end, after_last)) for start, end in self._moments(years, tz))
        return [(start, end) for start, end in clipped if start < end]

    def whole_days(self) -> DateSpan:
        """The same span without the time of day: memories of an evening are often stored at another hour."""
        return replace(self, start_time=None, end_time=None)

    def _near(self, moment: datetime, tz: tzinfo) -> list[tuple[datetime, datetime]]:
        """The occurrences around the moment."""
        near = list(self._moments(range(moment.year - 1, moment.year + 2), tz))
        if self.yearly is None or len(near) == 3:
            return near
        # Some years have none.
        return list(self._moments(range(moment.year - _YEARS_AROUND, moment.year + _YEARS_AROUND + 1), tz))

    def _moments(self, years: Iterable[int], tz: tzinfo) -> Iterator[tuple[datetime, datetime]]:
        """The occurrences of some years (of a span of one year, itself) in UTC, from and up to."""
        for days in self._days(years):
            yield _moments(days.start, days.end, self.start_time, self.end_time, tz)

    def _days(self, years: Iterable[int]) -> Iterator[Days]:
        if self.start is not None and self.end is not None:
            yield Days(self.start, self.end)
        elif self.yearly is not None:
            for year in years:
                days = _occurrence(self.yearly, year)
                if days is not None:
                    yield days


def _aware(moment: datetime) -> datetime:
    """The moment in UTC: comparison in local time is ambiguous when clocks are set back."""
    if moment.tzinfo is None:
        raise InvalidInputError(f"moment {moment.isoformat()} has no time zone: give it one, such as datetime.UTC")
    return moment.astimezone(UTC)


# Cached because scoring asks for the same few years for every memory.
@lru_cache(maxsize=1024)
def _occurrence(yearly: Yearly, year: int) -> Days | None:
    return yearly.occurrence(year)


@lru_cache(maxsize=1024)
def _moments(
    start: date, end: date, start_time: time | None, end_time: time | None, tz: tzinfo
) -> tuple[datetime, datetime]:
    """Local days, or hours of them, in UTC."""
    begins = _instant(start, start_time or time.min, tz)
    if end_time is None:
        return begins, _instant_after(end, time.min, tz)
    passes_midnight = start_time is not None and end_time <= start_time
    return begins, (_instant_after if passes_midnight else _instant)(end, end_time, tz)


def _instant(day: date, clock: time, tz: tzinfo) -> datetime:
    """A local time as a moment in UTC; a date outside the supported years is open-ended."""
    if day < EARLIEST:
        return _BEGINNING
    if day > LATEST:
        return _END
    return datetime.combine(day, clock, tzinfo=tz).astimezone(UTC)


def _instant_after(day: date, clock: time, tz: tzinfo) -> datetime:
    return _END if day >= LATEST else _instant(day + _ONE_DAY, clock, tz)

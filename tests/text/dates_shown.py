"""Date spans as short texts, so that a table of expressions can be read."""

from datetime import date, datetime
from zoneinfo import ZoneInfo

from jiyi.text.dates import DateSpan, find_dates

SHANGHAI = ZoneInfo("Asia/Shanghai")

WEDNESDAY = datetime(2025, 6, 18, 15, 30, tzinfo=SHANGHAI)
"""The present of the tables, if they do not say otherwise."""


def shown(text: str, now: datetime | str = WEDNESDAY, year: int = 2025) -> str:
    """Every span as "2025-01-03 2025-01-05" with its hours; a yearly one as "yearly" and its days in `year`."""
    moment = datetime.fromisoformat(now).replace(tzinfo=SHANGHAI) if isinstance(now, str) else now
    return " | ".join(_shown(span, year) for span in find_dates(text, now=moment, tz=SHANGHAI))


def words(text: str) -> list[str]:
    """The expressions as they are written."""
    return [span.text for span in find_dates(text, now=WEDNESDAY, tz=SHANGHAI)]


def _shown(span: DateSpan, year: int) -> str:
    hours = f" {span.start_time:%H:%M}-{span.end_time:%H:%M}" if span.start_time and span.end_time else ""
    if span.start is not None and span.end is not None:
        return _days(span.start, span.end) + hours
    assert span.yearly is not None
    days = span.yearly.occurrence(year)
    return "yearly " + ("never" if days is None else _days(days.start, days.end)) + hours


def _days(start: date, end: date) -> str:
    if (start, end) == (date.min, end):
        return f"until {end}"
    if end == date.max:
        return f"from {start}"
    return f"{start}" if start == end else f"{start} {end}"

"""Daily notes: which file a moment belongs to, and which day a file is for.

This is the only place that knows the rule "one file for each local day". Notes by week would change this module alone.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, tzinfo
from datetime import time as time_of_day
from typing import Final

from jiyi.errors import InvalidInputError
from jiyi.model import clock

NOTES_FOLDER: Final = "memory"
SHARED_FOLDER: Final = "memory/shared"
"""Notes that a group session may see."""
IMPORTED_FOLDER: Final = "memory/imported"
"""Notes of another workspace that could not have the path they had there; no group sees them."""
DAY_FORMAT: Final = "YYYY-MM-DD"

_DAY: Final = re.compile(r"(?P<day>\d{4}-\d\d-\d\d)(?!\d)")


def local_day(moment: datetime, zone: tzinfo) -> date:
    """The day whose note a moment belongs to."""
    return clock.in_zone(moment, zone).date()


def daily_path(day: date, *, shared: bool = False) -> str:
    """The path of the note of a day, below the workspace."""
    return f"{SHARED_FOLDER if shared else NOTES_FOLDER}/{daily_title(day)}.md"


def daily_title(day: date) -> str:
    """The title of the note of a day."""
    return day.isoformat()


def daily_heading(day: date) -> str:
    """The first line of a new daily note."""
    return f"# {daily_title(day)}"


def day_of(path: str) -> date | None:
    """The day a file belongs to, by its name: `2026-11-15.md`, `2026-11-15-meeting.md`. `None` for other names."""
    match = _DAY.match(path.rpartition("/")[2])
    try:
        return date.fromisoformat(match["day"]) if match else None
    except ValueError:
        return None


def is_daily(path: str) -> bool:
    """Whether the file name is a day and nothing else."""
    day = day_of(path)
    return day is not None and path.rpartition("/")[2] == f"{daily_title(day)}.md"


def is_date_name(name: str) -> bool:
    """Whether a file name without its suffix is only a date of some kind (`2026-11-15`, `2026_11`), not a title."""
    return name.replace("-", "").replace("_", "").isdigit()


def context_days(today: date) -> tuple[tuple[str, date], ...]:
    """The notes a session begins with: (name of the layer, day), the oldest first."""
    return ("yesterday", today - timedelta(days=1)), ("today", today)


def neighbouring_days(day: date) -> tuple[date, ...]:
    """A day and the days to which a change of the time zone may move its moments."""
    return day, day - timedelta(days=1), day + timedelta(days=1)


def day_range(today: date, days: int) -> tuple[date, date]:
    """The first and the last of so many days that end today."""
    return today - timedelta(days=days - 1), today


def moment_of(day: date | None, zone: tzinfo) -> datetime | None:
    """The moment in UTC that stands for a day: noon, which is inside the day also in neighbouring zones."""
    try:
        return None if day is None else datetime.combine(day, time_of_day(12), tzinfo=zone).astimezone(UTC)
    except (OverflowError, ValueError):
        return None


def bounds_of_days(since: object, until: object, zone: tzinfo) -> tuple[datetime | None, datetime | None]:
    """Days as a caller gave them, checked, as moments: the begin of the first, and the end of the last."""
    first, last = _checked_day(since, "since"), _checked_day(until, "until")
    if first is not None and last is not None and first > last:
        raise InvalidInputError(f"since {first} is after until {last}; swap them")
    try:
        start, end = bounds_of(first, last, zone)
        return (
            None if start is None else clock.require_aware(start, "since"),
            None if end is None else clock.require_aware(end, "until"),
        )
    except OverflowError:
        raise InvalidInputError(f"the days {first} to {last} are outside the calendar") from None


def _checked_day(value: object, name: str) -> date | None:
    if value is None:
        return None
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    try:
        return date.fromisoformat(value.strip() if isinstance(value, str) else "")
    except ValueError:
        raise InvalidInputError(f"{name} {value!a} is no day; write it as 2026-11-15") from None


def bounds_of(first: date | None, last: date | None, zone: tzinfo) -> tuple[datetime | None, datetime | None]:
    """When the first day begins and the last one has ended; `OverflowError` outside the calendar."""
    start = None if first is None else datetime.combine(first, time_of_day(), tzinfo=zone)
    end = None if last is None else datetime.combine(last + timedelta(days=1), time_of_day(), tzinfo=zone)
    return start, end

"""Times on the command line: `2026-05-01`, `2026-05-01 14:30`, `2026-05-01T14:30:00+08:00`."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta, tzinfo

from jiyi.errors import InvalidInputError
from jiyi.model import clock


def start_time(text: str, option: str, zone: tzinfo) -> datetime:
    """The time that the text names; for a day, its beginning. Without an offset it is in the user's time zone."""
    return _parse(text, option, zone, days=0)


def end_time(text: str, option: str, zone: tzinfo) -> datetime:
    """The time that the text names; for a day, its end, so that the day itself is included."""
    return _parse(text, option, zone, days=1)


def local_time(moment: datetime, zone: tzinfo) -> str:
    """A time for people: to the minute, in their time zone."""
    return clock.in_zone(moment, zone).isoformat(" ", "minutes")[: len("2026-05-01 14:30")]


def _parse(text: str, option: str, zone: tzinfo, *, days: int) -> datetime:
    try:
        if len(text) <= len("2026-05-01"):
            day = date.fromisoformat(text) + timedelta(days=days)
            return datetime.combine(day, time.min, tzinfo=zone)
        moment = datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        raise InvalidInputError(
            f"{option} {text!r} is not a time; write 2026-05-01, '2026-05-01 14:30' or 2026-05-01T14:30:00+08:00"
        ) from None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=zone)

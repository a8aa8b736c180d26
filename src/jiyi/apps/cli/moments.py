"""Moments on the command line: `2026-05-01`, `2026-05-01 14:30`, `2026-05-01T14:30:00+08:00`."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta, tzinfo

from jiyi.errors import InvalidInputError


def first_moment(text: str, option: str, zone: tzinfo) -> datetime:
    """The moment that is meant; of a day alone its beginning. Without an offset it is in the user's time zone."""
    return _moment(text, option, zone, days=0)


def last_moment(text: str, option: str, zone: tzinfo) -> datetime:
    """The moment before which something has to be; of a day alone its end, so that the day itself counts."""
    return _moment(text, option, zone, days=1)


def local(moment: datetime, zone: tzinfo) -> str:
    """A moment for people: to the minute, in their time zone."""
    return moment.astimezone(zone).strftime("%Y-%m-%d %H:%M")


def _moment(text: str, option: str, zone: tzinfo, *, days: int) -> datetime:
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

"""UTC times with microseconds, and their text form in the store."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo

from jiyi.errors import InvalidInputError

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_formatted: dict[int, tuple[datetime, str]] = {}
"""Times that were formatted lately, by their identity. One write stores the same time in many columns, and formatting
is a large part of its cost."""
_MAX_FORMATTED = 512


def utc_now() -> datetime:
    """The current time in UTC."""
    return datetime.now(UTC)


def require_aware(value: object, name: str) -> datetime:
    """Returns `value` in UTC. Raises `InvalidInputError` for a naive time: a guessed zone would falsify decay."""
    if not isinstance(value, datetime):
        raise InvalidInputError(f"{name} must be a datetime, not {type(value).__name__}: {value!r}")
    if value.tzinfo is None or value.utcoffset() is None:
        raise InvalidInputError(
            f"{name} {value.isoformat()} has no time zone; pass an aware datetime, e.g. datetime.now(timezone.utc)"
        )
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise InvalidInputError(f"{name} {value.isoformat()} is outside the years 1 to 9999 in UTC") from None


def in_zone(value: datetime, zone: tzinfo) -> datetime:
    """The time in a zone; in UTC where the zone's own time would be outside the years 1 to 9999."""
    try:
        return value.astimezone(zone)
    except (OverflowError, ValueError):
        return value.astimezone(UTC)


def minutes_ahead(zone: tzinfo, at: datetime) -> int:
    """By how many minutes the day of a zone is ahead of that of UTC at a moment."""
    offset = in_zone(at, zone).utcoffset()
    return 0 if offset is None else int(offset.total_seconds() // 60)


def check_zone(value: object, name: str = "time_zone") -> tzinfo | None:
    """A time zone that a caller gave by name (`Asia/Shanghai`) or as `tzinfo`; `None` where none was given."""
    if value is None or isinstance(value, tzinfo):
        return value
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        return ZoneInfo(str(value) if isinstance(value, str) else "")
    except (ZoneInfoNotFoundError, ValueError, OSError):
        shown = ascii(value)[:80]
        raise InvalidInputError(f"{name} {shown} is unknown; use a name such as 'Asia/Shanghai', or a tzinfo") from None


def zone_of(value: datetime) -> tzinfo | None:
    """The zone that a time was given in; `None` for UTC, which says nothing about where somebody is."""
    zone = value.tzinfo
    return None if zone is None or zone is UTC or str(zone) in {"UTC", "Etc/UTC"} else zone


def microseconds(value: datetime) -> int:
    """Microseconds since 1970, exactly; before that they are negative."""
    return (value - EPOCH) // _MICROSECOND


def to_text(value: datetime) -> str:
    """Fixed-width ISO 8601 in UTC, so that text order is time order."""
    # Compare identity, not equality: in the repeated hour at the end of summer time, different moments compare equal.
    found = _formatted.get(id(value))
    if found is not None and found[0] is value:
        return found[1]
    moment = value if value.tzinfo is UTC else value.astimezone(UTC)
    text = moment.isoformat(timespec="microseconds")[:26] + "Z"
    if len(_formatted) >= _MAX_FORMATTED:
        _formatted.clear()
    _formatted[id(value)] = (value, text)
    return text


def from_text(text: str) -> datetime:
    """The inverse of `to_text`; any ISO 8601 time with an offset is read."""
    value = datetime.fromisoformat(text)
    if value.tzinfo is UTC:
        return value
    if value.tzinfo is None:
        raise ValueError(f"time {text!r} has no offset")
    return value.astimezone(UTC)


def of_driver(value: datetime | str) -> datetime:
    """A time as a database driver gives it, in UTC: text from SQLite, a time in the session's zone from PostgreSQL."""
    if isinstance(value, str):
        return from_text(value)
    return value if value.tzinfo is UTC else value.astimezone(UTC)

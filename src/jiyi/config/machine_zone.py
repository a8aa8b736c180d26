"""The time zone of the machine, for users who have not named theirs."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta, timezone, tzinfo

_OUTSIDE = (OverflowError, ValueError, OSError)
"""What `datetime` raises for moments that the C library of a system cannot convert."""


def zone_of_name(name: str | None) -> tzinfo:
    """The zone of this name, or without a name that of the machine."""
    if name is None:
        return MachineZone()
    from zoneinfo import ZoneInfo

    return ZoneInfo(name)


class MachineZone(tzinfo):
    """The local time of the machine, with the offset that each moment has.

    `datetime.astimezone()` without an argument returns the offset of one moment only. With that offset, the midnight of
    a day in summer would be shown as 23:00 of the day before in winter.
    """

    def utcoffset(self, moment: datetime | None) -> timedelta | None:
        """The offset at a local time; `fold` tells the two passes of a repeated hour apart."""
        return None if moment is None else _fixed(moment.replace(tzinfo=None)).utcoffset(None)

    def dst(self, moment: datetime | None) -> None:
        """Not known: only the whole offset is."""

    def tzname(self, moment: datetime | None) -> str | None:
        """The abbreviation at a local time."""
        return None if moment is None else _fixed(moment.replace(tzinfo=None)).tzname(None)

    def fromutc(self, moment: datetime) -> datetime:
        """The local time of a moment that is given in UTC."""
        zone = _fixed(moment.replace(tzinfo=UTC))
        local = (moment + zone.utcoffset(None)).replace(tzinfo=None, fold=0)
        repeated = _fixed(local).utcoffset(None) != zone.utcoffset(None)
        return local.replace(tzinfo=self, fold=int(repeated))

    def __repr__(self) -> str:
        return "MachineZone()"


def _fixed(moment: datetime) -> timezone:
    """The offset of the machine at a moment; a naive one is in local time."""
    try:
        zone = moment.astimezone().tzinfo
    except _OUTSIDE:
        zone = None
    # The standard offset applies where the C library knows nothing.
    return zone if isinstance(zone, timezone) else timezone(timedelta(seconds=-time.timezone))

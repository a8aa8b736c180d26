"""Until when a text speaks of the future: of the dates that it names, the last day that was ahead when it was said."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Final

from jiyi.text.dates import DateSpan, find_dates

__all__ = ["last_day_ahead"]

_MAX_CHARACTERS: Final = 2_000


def last_day_ahead(text: str, said_at: datetime) -> date | None:
    """The last day from `said_at` on that a text names; `None` when it names none.

    A date without a year is the next one. Days are those of UTC: where a day more or less counts, leave one.
    """
    spans = find_dates(text[:_MAX_CHARACTERS], now=said_at, tz=UTC)
    if not spans:
        return None
    said = said_at.astimezone(UTC).date()
    found = [_end(span, said) for span in spans]
    return max((day for day in found if day is not None), default=None)


def _end(span: DateSpan, said: date) -> date | None:
    """The last day of a span that begins after it was spoken of: "this year" is nothing that one waits for."""
    if span.yearly is not None:
        following = span.yearly.following(said)
        return None if following is None else following.end
    # "After 2020" has no end.
    if span.start is None or span.end is None or span.end == date.max or span.start <= said:
        return None
    return span.end

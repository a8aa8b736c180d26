"""Until when a text speaks of the future: of the dates that it names, the last day that was ahead when it was said."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from functools import cache, lru_cache
from typing import Final

from jiyi.text.date_prefilter import ENGLISH_ANCHORS, plain_spelling
from jiyi.text.dates import DateSpan, find_dates

__all__ = ["is_over", "is_upcoming", "last_day_ahead"]

_MAX_CHARACTERS: Final = 2_000
_GRACE: Final = timedelta(days=1)
"""The day is over everywhere."""
_NEAR: Final = timedelta(days=180)
"""No expression without a far word reaches further, however it is nested: "the month after the month after next"."""
_NEAR_WORDS: Final = """
    yesterday today tomorrow tonight hour hours minute minutes day week weekend month
    morning noon lunchtime afternoon evening night
    monday mon tuesday tue tues wednesday wed thursday thu thur thurs friday fri saturday sat sunday sun
"""
# Years, months, seasons; then days and weeks that are counted or numbered. The beginnings are written out one by one:
# the pattern is then searched by its first characters.
_FAR_CHINESE: Final = (
    *"年月季春夏秋冬节",
    *("第.{1,3}周", "后的?[0-9一二两三四五六七八九十百半几数]"),
    *(f"{unit}半?多?[之以]?后" for unit in "天周期拜"),
)
_WORD: Final = re.compile("[a-z]+")
_DIGIT: Final = re.compile("[0-9]")
# A year, a date in digits, a decade, a quarter or half of a year, or a count.
_FAR_DIGITS: Final = re.compile(
    "(?<![0-9])(?:20[0-9]{2}|2100)(?![0-9])|[2-9][0-9]{3}[-/.][0-9]|[0-9][-/.][2-9][0-9]{3}|0s|[qh][1-4]"
    "|[0-9]{2} ?(?:day|week|month|fortnight)"
)


# Events that come again: they are not over when their day has passed.
_AGAIN: Final = re.compile(
    r"\b(?:every|each|birthdays?|anniversar\w+|yearly|annual\w*)\b|每|生日|纪念日|忌日", re.IGNORECASE
)


@lru_cache(maxsize=4_096)
def is_over(text: str, said_at: datetime, today: date) -> bool:
    """Whether the last day that a text names was ahead when it was said, and has passed since."""
    if said_at.date() >= today or _AGAIN.search(text) is not None:
        return False
    day = last_day_ahead(text, said_at)
    return day is not None and day + _GRACE < today


def is_upcoming(text: str, said_at: datetime, now: datetime) -> bool:
    """Whether a text names a day that is still ahead."""
    if now - said_at > _NEAR and not _may_reach_far(text[:_MAX_CHARACTERS]):
        return False
    day = last_day_ahead(text, said_at)
    return day is not None and day + _GRACE >= now.date()


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


def _may_reach_far(text: str) -> bool:
    """Whether a text has a word without which no day is named that is further ahead than some months."""
    plain = plain_spelling(text)
    chinese, english = _far_words()
    if not plain.isascii() and chinese.search(plain):
        return True
    lower = plain.lower()
    if not english.isdisjoint(_WORD.findall(lower)):
        return True
    return _DIGIT.search(lower) is not None and _FAR_DIGITS.search(lower) is not None


@cache
def _far_words() -> tuple[re.Pattern[str], frozenset[str]]:
    """The Chinese ones as a pattern, and the English ones."""
    from jiyi.text.dates.chinese.words import HOLIDAY_NAMES
    from jiyi.text.dates.english.words import HOLIDAY_PHRASES

    far = ENGLISH_ANCHORS.difference(_NEAR_WORDS.split())
    phrases = [phrase for listed in HOLIDAY_PHRASES.values() for phrase, _ in listed]
    # "Black Friday" is known by its first word.
    english = far.union(phrase[0] for phrase in phrases if far.isdisjoint(phrase))
    return re.compile("|".join((*_FAR_CHINESE, *HOLIDAY_NAMES))), english

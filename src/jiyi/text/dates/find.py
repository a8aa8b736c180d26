"""Finding the date expressions of a question."""

from __future__ import annotations

import re
from datetime import datetime, time, tzinfo
from typing import TYPE_CHECKING, Final

from jiyi.errors import InvalidInputError
from jiyi.text.dates.clock import Clock
from jiyi.text.dates.periods import Days, Yearly
from jiyi.text.dates.span import DateSpan
from jiyi.text.undated import CHINESE_STARTS, plain_spelling

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jiyi.text.dates.periods import Found

_HAN: Final = re.compile("[\u4e00-\u9fff]")
_LATIN_OR_DIGIT: Final = re.compile("[A-Za-z0-9]")
_REPORTED: Final = re.compile(r"\b(?:mention|said|say|told|talk|discuss)|提到|提及|说|表示|告诉|抱怨|聊")
_LOOSE: Final = re.compile(r"周|星期|礼拜|下|(?:[a-z]{3,6}day|weekend|next)\b", re.IGNORECASE)
# How far apart two expressions of one statement stand.
_NEARBY: Final = 200
_SPACES: Final = re.compile(r"\s+")


def find_dates(text: str, *, now: datetime, tz: tzinfo) -> list[DateSpan]:
    """The date expressions of a text in English or Chinese, in the order in which they stand.

    Relative ones are counted from `now` as it is in `tz`; a weekday alone is the nearest in the past, today
    included. What could be something else is not taken for a date.
    """
    if now.tzinfo is None:
        raise InvalidInputError(f"now {now.isoformat()} has no time zone: give it one, such as datetime.now(UTC)")
    clock = Clock(now.astimezone(tz))
    plain = plain_spelling(text)
    found = _reported(plain, _longest(_find(plain, clock)), clock)
    return [_span(text, item) for item in found]


def without_dates(text: str, spans: Iterable[DateSpan]) -> str:
    """The text without these expressions; a space stands where each was."""
    pieces, position = [], 0
    for span in sorted(spans, key=lambda span: span.begin):
        pieces.append(text[position : span.begin])
        position = max(position, span.finish)
    pieces.append(text[position:])
    return _SPACES.sub(" ", " ".join(pieces)).strip()


def _find(text: str, clock: Clock) -> list[Found]:
    # Each grammar compiles many patterns when it is imported: only where there is something to read.
    found: list[Found] = []
    if _HAN.search(text) and not CHINESE_STARTS.isdisjoint(text):
        from jiyi.text.dates.chinese import find_chinese

        found += find_chinese(text, clock)
    if _LATIN_OR_DIGIT.search(text):
        from jiyi.text.dates.english import find_english

        found += find_english(text, clock)
    return found


def _longest(found: list[Found]) -> list[Found]:
    """Where two expressions overlap, the longer one; in order."""
    kept: list[Found] = []
    for item in sorted(found, key=lambda item: (item.begin, -item.finish)):
        if kept and item.begin < kept[-1].finish:
            if item.finish - item.begin > kept[-1].finish - kept[-1].begin:
                kept[-1] = item
        else:
            kept.append(item)
    return kept


def _reported(text: str, found: list[Found], clock: Clock) -> list[Found]:
    """What somebody said on a day is counted from that day: "last week, as mentioned on 6 November 2023".

    Where the day is not known exactly, nothing can be counted from it, and the relative expression is left out. So is
    a lone weekday, or one that lies ahead, next to any other date: it belongs to that date more often than to today.
    """
    anchors = [item for item in found if not item.when.relative]
    if not anchors or len(anchors) == len(found):
        return found
    kept: list[Found] = []
    position = 0  # how many anchors stand before
    for item in found:
        if not item.when.relative:
            position += 1
            kept.append(item)
            continue
        anchor = min(anchors[max(position - 1, 0) : position + 1], key=lambda one: abs(one.begin - item.begin))
        between = text[min(anchor.finish, item.finish) : max(anchor.begin, item.begin)][:_NEARBY]
        if between.strip(" ,") in {"on", "of"} or _REPORTED.search(between):
            kept.extend(_counted_from(text, item, anchor, clock))
        elif not _LOOSE.match(text, item.begin):
            kept.append(item)
    return kept


def _counted_from(text: str, item: Found, anchor: Found, clock: Clock) -> list[Found]:
    """The relative expression read again on the day of the other, if that is a single known day."""
    if not isinstance(anchor.when.days, Days) or anchor.when.days.length != 1:
        return []
    noon = datetime.combine(anchor.when.days.start, time(12), tzinfo=clock.now.tzinfo)
    return [item._replace(when=again.when) for again in _find(text[item.begin : item.finish], Clock(noon))[:1]]


def _span(text: str, found: Found) -> DateSpan:
    when = found.when
    start_time, end_time = when.hours or (None, None)
    return DateSpan(
        text=text[found.begin : found.finish],
        begin=found.begin,
        finish=found.finish,
        kind=when.kind,
        start=when.days.start if isinstance(when.days, Days) else None,
        end=when.days.end if isinstance(when.days, Days) else None,
        yearly=when.days if isinstance(when.days, Yearly) else None,
        start_time=start_time,
        end_time=end_time,
        relative=when.relative,
    )

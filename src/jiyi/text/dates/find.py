"""Finding date expressions in a text."""

from __future__ import annotations

import re
from datetime import datetime, time, tzinfo
from typing import TYPE_CHECKING, Final

from jiyi.errors import InvalidInputError
from jiyi.text.date_prefilter import may_contain_chinese_date, may_contain_english_date, plain_spelling
from jiyi.text.dates.periods import Days, Yearly
from jiyi.text.dates.reference_time import ReferenceTime
from jiyi.text.dates.span import DateSpan

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jiyi.text.dates.periods import DateMatch

_REPORTED: Final = re.compile(r"\b(?:mention|said|say|told|talk|discuss)|提到|提及|说|表示|告诉|抱怨|聊")
_AMBIGUOUS_RELATIVE: Final = re.compile(r"周|星期|礼拜|下|(?:[a-z]{3,6}day|weekend|next)\b", re.IGNORECASE)
# The number of characters between two expressions that are searched for a verb of saying.
_MAX_GAP: Final = 200
_SPACES: Final = re.compile(r"\s+")


def find_dates(text: str, *, now: datetime, tz: tzinfo) -> list[DateSpan]:
    """Returns the English and Chinese date expressions of a text, in order.

    Relative expressions are counted from `now` in the zone `tz`. A weekday alone is the nearest in the past, today
    included. Ambiguous words ("may", "march") are not dates without further evidence.
    """
    if now.tzinfo is None:
        raise InvalidInputError(f"now {now.isoformat()} has no time zone: give it one, such as datetime.now(UTC)")
    reference = ReferenceTime(now.astimezone(tz))
    plain = plain_spelling(text)
    found = _reported(plain, _longest(_find(plain, reference)), reference)
    return [_span(text, item) for item in found]


def without_dates(text: str, spans: Iterable[DateSpan]) -> str:
    """The text with each of these expressions replaced by a space."""
    pieces, position = [], 0
    for span in sorted(spans, key=lambda span: span.begin):
        pieces.append(text[position : span.begin])
        position = max(position, span.finish)
    pieces.append(text[position:])
    return _SPACES.sub(" ", " ".join(pieces)).strip()


def _find(text: str, reference: ReferenceTime) -> list[DateMatch]:
    # Importing a grammar compiles many patterns, so it is imported only for texts that need it.
    found: list[DateMatch] = []
    if may_contain_chinese_date(text):
        from jiyi.text.dates.chinese import find_chinese

        found += find_chinese(text, reference)
    if may_contain_english_date(text):
        from jiyi.text.dates.english import find_english

        found += find_english(text, reference)
    return found


def _longest(found: list[DateMatch]) -> list[DateMatch]:
    """Keeps the longer of two overlapping expressions; the result is in order."""
    kept: list[DateMatch] = []
    for item in sorted(found, key=lambda item: (item.begin, -item.finish)):
        if kept and item.begin < kept[-1].finish:
            if item.finish - item.begin > kept[-1].finish - kept[-1].begin:
                kept[-1] = item
        else:
            kept.append(item)
    return kept


def _reported(text: str, found: list[DateMatch], reference: ReferenceTime) -> list[DateMatch]:
    """Resolves relative expressions in reported speech: "last week, as mentioned on 6 November 2023".

    Such an expression is counted from the reported day. If that is not a single known day, the relative expression is
    dropped. A lone weekday or a future expression next to an absolute date is dropped too, because it usually belongs
    to that date and not to today.
    """
    anchors = [item for item in found if not item.when.relative]
    if not anchors or len(anchors) == len(found):
        return found
    kept: list[DateMatch] = []
    position = 0  # the number of anchors before the item
    for item in found:
        if not item.when.relative:
            position += 1
            kept.append(item)
            continue
        anchor = min(anchors[max(position - 1, 0) : position + 1], key=lambda one: abs(one.begin - item.begin))
        between = text[min(anchor.finish, item.finish) : max(anchor.begin, item.begin)][:_MAX_GAP]
        if between.strip(" ,") in {"on", "of"} or _REPORTED.search(between):
            kept.extend(_counted_from(text, item, anchor, reference))
        elif not _AMBIGUOUS_RELATIVE.match(text, item.begin):
            kept.append(item)
    return kept


def _counted_from(text: str, item: DateMatch, anchor: DateMatch, reference: ReferenceTime) -> list[DateMatch]:
    """Resolves the relative expression again with the day of `anchor` as reference, if that is a single known day."""
    if not isinstance(anchor.when.days, Days) or anchor.when.days.length != 1:
        return []
    noon = datetime.combine(anchor.when.days.start, time(12), tzinfo=reference.now.tzinfo)
    return [item._replace(when=again.when) for again in _find(text[item.begin : item.finish], ReferenceTime(noon))[:1]]


def _span(text: str, found: DateMatch) -> DateSpan:
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

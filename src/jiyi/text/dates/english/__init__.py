"""Dates in English text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jiyi.text.dates.english import absolute, relative, words
from jiyi.text.dates.english.reader import Reader
from jiyi.text.dates.periods import DateMatch, DateValue, Yearly, any_day, before_or_after, from_to, month_day, since

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jiyi.text.dates.english.reader import Hit, Rule
    from jiyi.text.dates.reference_time import ReferenceTime

_DIGIT_RULES: Final[tuple[Rule, ...]] = (
    absolute.digits,
    absolute.day_month,
    absolute.nth,
    relative.amount,
    absolute.year,
    absolute.ordinal_day,
)


def _rules() -> dict[str, tuple[Rule, ...]]:
    """The rules to try, by the first word."""
    rules: dict[str, tuple[Rule, ...]] = {}

    def add(names: Iterable[str], *more: Rule) -> None:
        for name in names:
            rules[name] = (*rules.get(name, ()), *more)

    add(words.HOLIDAY_PHRASES, absolute.holiday)
    add(words.ORDINALS, absolute.day_month, absolute.nth)
    add(words.TENS, absolute.day_month)
    add(words.NUMBERS, relative.amount)
    add(("a", "an", "few", "couple", "several", "half"), relative.amount)
    add(("last", "final"), absolute.nth)
    add(("last", "past", "this", "next", "coming", "upcoming"), relative.which)
    add(words.MONTHS, absolute.month)
    add(words.WEEKDAYS, relative.weekday)
    add(words.SEASONS, absolute.season)
    add(words.QUARTERS, absolute.quarter)
    add(words.THIRDS, absolute.thirds)
    add(words.EDGES, absolute.edges)
    add(("yesterday", "today", "tomorrow", "tonight"), relative.named_day)
    add(("earlier", "later"), relative.earlier)
    add(("day", "week", "weekend", "month", "year"), relative.unit_first)
    add(("morning", "afternoon", "evening", "night"), relative.unit_first)
    add(("year",), absolute.whole_year)
    add(("in",), relative.in_amount)
    add(("other",), relative.other_day)
    return rules


_RULES: Final = _rules()
_PREFIXES: Final = frozenset({"from", "between", "since", "before", "after"})
_STARTS: Final = _PREFIXES.union(_RULES)
_AND: Final = frozenset({",", "and", "or", "&"})


def find_english(text: str, reference: ReferenceTime) -> list[DateMatch]:
    """The English date expressions of a text, in order. Quotes must be straight and digits ASCII."""
    reader = Reader(text, reference, _RULES, _DIGIT_RULES)
    found: list[DateMatch] = []
    after = 0
    for index, token in enumerate(reader.tokens):
        if index >= after and (token.base in _STARTS or token.raw[0].isdigit()):
            hits, after = _expression(reader, index)
            found.extend(hits)
    return found


def _expression(reader: Reader, index: int) -> tuple[list[DateMatch], int]:
    """The expressions that start at a token, and the index after them (0 if there are none)."""
    prefixed = _prefixed(reader, index)
    if prefixed is not None:
        return [_found(reader, index, prefixed)], prefixed[1]
    listed = _days_of_month(reader, index)
    if listed is not None:
        return listed
    hit = reader.atom(index)
    if hit is None:
        return [], 0
    more = _more_days(reader, index, hit)
    if more is not None:
        return more
    hit = _until(reader, hit, words.THROUGH) or hit
    return [_found(reader, index, hit)], hit[1]


def _found(reader: Reader, index: int, hit: Hit) -> DateMatch:
    return DateMatch(reader.tokens[index].begin, reader.tokens[hit[1] - 1].finish, hit[0])


def _prefixed(reader: Reader, index: int) -> Hit | None:
    """From X to Y, between X and Y, since X, before X, after X."""
    word = reader.word(index)
    if word not in _PREFIXES:
        return None
    if word in {"from", "between"}:
        first = reader.after_the(index + 1)
        connectors = words.THROUGH if word == "from" else words.THROUGH | {"and"}
        return None if first is None else _until(reader, first, connectors)
    # A name needs more than "before" to be a month: "after June left".
    hit = reader.atom(index + 1 + (reader.word(index + 1) == "the"), sure=word == "since")
    if hit is None:
        return None
    if word == "since":
        when = since(hit[0], reader.reference.today)
    else:
        when = before_or_after(hit[0], -1 if word == "before" else 1)
    return None if when is None else (when, hit[1])


def _until(reader: Reader, first: Hit, connectors: frozenset[str]) -> Hit | None:
    if reader.word(first[1]) not in connectors:
        return None
    last = reader.after_the(first[1] + 1)
    if last is None:
        return None
    when = from_to(first[0], last[0])
    return None if when is None else (when, last[1])


def _more_days(reader: Reader, index: int, hit: Hit) -> tuple[list[DateMatch], int] | None:
    """May 6, 8 and 21: more days of the same month."""
    month = _month_of(hit[0])
    if month is None:
        return None
    places, found, after = [(index, hit[1])], [hit[0]], hit[1]
    while reader.word(after) in _AND:
        start = _next_in_list(reader, after)
        day = absolute.day_number(reader, start)
        when = any_day(month, day[0]) if day else None
        other = day is not None and absolute.month_name(reader, day[1] + (reader.word(day[1]) == "of"))
        if day is None or when is None or other:
            break
        places.append((start, day[1]))
        found.append(when)
        after = day[1]
    return None if len(found) == 1 else _in_one_year(reader, places, found, after)


def _days_of_month(reader: Reader, index: int) -> tuple[list[DateMatch], int] | None:
    """6, 8 and 21 May."""
    if not reader.tokens[index].raw[0].isdigit() or reader.word(index - 1) == "between":
        return None
    places, days, after = [], [], index
    # The limit keeps a text of many numbers linear.
    for _ in range(8):
        day = reader.ordinal(after) or reader.number(after)
        if day is None or not 1 <= day[0] <= 31:
            return None
        places.append((after, day[1]))
        days.append(day[0])
        after = day[1]
        if reader.word(after) not in _AND:
            break
        after = _next_in_list(reader, after)
    after += reader.word(after) == "of"
    month = absolute.month_name(reader, after)
    found = [any_day(month[0], day) for day in days] if month else []
    if month is None or len(days) == 1 or not all(found):
        return None
    places[-1] = (places[-1][0], month[1])
    return _in_one_year(reader, places, [when for when in found if when], month[1])


def _next_in_list(reader: Reader, index: int) -> int:
    """The token after a comma, "and", or both."""
    return index + 1 + (reader.word(index) == "," and reader.word(index + 1) in _AND)


def _in_one_year(
    reader: Reader, places: list[tuple[int, int]], found: list[DateValue], after: int
) -> tuple[list[DateMatch], int]:
    """The days at these tokens, in the year that follows the last of them."""
    year = reader.year(after)
    if year is not None:
        places[-1] = (places[-1][0], year[1])
        after = year[1]
    hits: list[DateMatch] = []
    for (start, end), when in zip(places, found, strict=True):
        dated = when if year is None else when.in_year(year[0])
        if dated is not None:
            hits.append(_found(reader, start, (dated, end)))
    return hits, after


def _month_of(when: DateValue) -> int | None:
    """The month of a single day without a year."""
    if isinstance(when.days, Yearly) and when.days.rule is month_day and when.kind == "day":
        month = when.days.args[0]
        return month if isinstance(month, int) else None
    return None

"""English expressions that do not depend on the present: days, months, seasons, quarters, holidays, years."""

from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING, Final

from jiyi.text.dates.english import words
from jiyi.text.dates.periods import (
    Days,
    When,
    Yearly,
    day_range,
    edge,
    first_days,
    half,
    last_days,
    month_day,
    months,
    nth_day,
    nth_week,
    nth_weekday,
    nth_weekend,
    third,
    week_of,
    widened,
    with_weekend,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from jiyi.text.dates.english.reader import Hit, Reader

_THROUGH: Final = frozenset({"-", "~", "to", "through", "thru", "until", "till"})
_LONGEST: Final = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_DECADE: Final = re.compile(r"((?:19|20)?)(\d0)s")
_WHOLE_YEAR: Final = When(Yearly(months, (1, 12)), "year")


def on_day(month: int, day: int) -> When | None:
    """A month and day of any year, if there is such a day."""
    return When(Yearly(month_day, (month, day)), "day") if 1 <= day <= _LONGEST[month - 1] else None


def digits(reader: Reader, index: int, sure: bool) -> Hit | None:  # noqa: ARG001, FBT001
    """2025-01-25, 2025/1/25, 2025.01.25, 2025-01, and 1/25/2025 where only one order makes sense."""
    parts = re.split("[-/.]", reader.tokens[index].raw)
    if reader.tokens[index].number is not None or not all(
        part.isdigit() and len(part) <= 4 for part in parts
    ):
        return None
    numbers = [int(part) for part in parts]
    if len(numbers) == 2:
        if len(parts[0]) != 4 or not 1900 <= numbers[0] <= 2100 or "-" not in reader.tokens[index].raw:
            return None
        return When(months(numbers[0], numbers[1], numbers[1]), "month"), index + 1
    if len(numbers) != 3:
        return None
    if len(parts[2]) == 4:
        first, second, year = numbers
        if first <= 12 and second <= 12 and first != second:
            return None
        numbers = [year, first, second] if first <= 12 else [year, second, first]
    elif len(parts[0]) != 4:
        return None
    year, month, day = numbers
    if not 1000 <= year <= 9000 or not 1 <= month <= 12 or day < 1:
        return None
    days = month_day(year, month, day)
    return None if days is None else (When(days, "day"), index + 1)


def month_name(reader: Reader, index: int) -> tuple[int, int] | None:
    """The number of a month by its name, and the index after it and the full stop of an abbreviation."""
    month = words.MONTHS.get(reader.word(index))
    if month is None:
        return None
    short = len(reader.word(index)) < 5 and reader.word(index) not in {"may", "june", "july"}
    return month, index + 1 + (short and reader.word(index + 1) == ".")


def day_number(reader: Reader, index: int) -> tuple[int, int] | None:
    """The number of a day after a month ("8", "the 8th", "eighth"), and the index after it."""
    index += reader.word(index) == "the"
    found = reader.ordinal(index)
    if found is None and index < len(reader.tokens) and reader.tokens[index].number is not None:
        found = reader.number(index)
    if found is None or not 1 <= found[0] <= 31:
        return None
    after = reader.word(found[1])
    if (
        reader.counted(found[1])
        or after in words.UNITS
        or after in {"%", ":"}
        or (after, reader.word(found[1] + 1)) == ("of", "us")
    ):
        return None
    return found


def day_month(reader: Reader, index: int, sure: bool) -> Hit | None:  # noqa: FBT001
    """8 May, the 8th of May 2023, 3-5 March, 3rd of last month."""
    day = reader.ordinal(index) or reader.number(index)
    if day is None or not 1 <= day[0] <= 31:
        return None
    first = last = day[0]
    after = day[1]
    joins = _THROUGH | {"and"} if reader.word(index - 1) == "between" else _THROUGH
    if reader.word(after) in joins:
        other = reader.ordinal(after + 1) or reader.number(after + 1)
        if other is None or not first < other[0] <= 31:
            return None
        last, after = other
    of_month = reader.word(after) == "of"
    after += of_month
    if (
        of_month
        and first == last
        and reader.word(after) in {"last", "this", "next"}
        and reader.word(after + 1) == "month"
    ):
        offset = {"last": -1, "this": 0, "next": 1}[reader.word(after)]
        found = reader.clock.month(offset).shaped(nth_day, first, kind="day")
        return None if found is None else (found, after + 2)
    month = month_name(reader, after)
    if month is None:
        return None
    if not (sure or of_month or _certain(reader, after, index, month[1])):
        return None
    start, end = on_day(month[0], first), on_day(month[0], last)
    if start is None or end is None:
        return None
    when = start if first == last else When(Yearly(day_range, ((month[0], first), (month[0], last))), "days")
    return reader.dated(when, month[1])


def _certain(reader: Reader, name: int, begin: int, after: int) -> bool:
    """Whether a month next to a number is one, and not "5 may come" or "march 10"."""
    token = reader.tokens[name]
    if token.capital or token.base not in words.VERBS_LIKE_MONTHS:
        return True
    prepositions = words.TIME_PREPOSITIONS | words.LOOSE_PREPOSITIONS
    return begin == 0 or reader.word(begin - 1) in prepositions or reader.year(after) is not None


def month(reader: Reader, index: int, sure: bool) -> Hit | None:  # noqa: FBT001
    """May 8, May 8-10, May 8, 2023, May 2023, in May."""
    found = month_name(reader, index)
    if found is None:
        return None
    number, after = found
    day = day_number(reader, after)
    if day is not None and (sure or _certain(reader, index, index, day[1])):
        return _month_and_day(reader, number, *day)
    when = When(Yearly(months, (number, number)), "month")
    dated = reader.dated(when, after)
    if dated is None or dated[1] > after:
        return dated
    return (when, after) if _month_is_meant(reader, index, after, sure=sure) else None


def _month_and_day(reader: Reader, number: int, day: int, after: int) -> Hit | None:
    when = on_day(number, day)
    if when is None:
        return None
    if reader.word(after) in _THROUGH:
        last = day_number(reader, after + 1)
        # Not where the second number belongs to another month ("May 30 - 2 June") or is a year.
        if last and last[0] > day and month_name(reader, last[1]) is None and on_day(number, last[0]):
            when, after = When(Yearly(day_range, ((number, day), (number, last[0]))), "days"), last[1]
    return reader.dated(when, after)


def _month_is_meant(reader: Reader, index: int, after: int, *, sure: bool) -> bool:
    """Whether a lone name of a month is one, and not a verb or a person."""
    token = reader.tokens[index]
    if token.base == "may" and reader.word(after) in words.AFTER_MODAL:
        return False
    if sure or token.base not in words.DOUBTFUL_MONTHS:
        return True
    before = reader.word(index - 1)
    if token.base in words.VERBS_LIKE_MONTHS and not token.capital:
        return (
            before in words.TIME_PREPOSITIONS
            and before not in {"last", "next", "past", "each"}
            and reader.closed(after)
        )
    if token.possessive:
        return False
    return before in words.TIME_PREPOSITIONS or (before in words.LOOSE_PREPOSITIONS and reader.ends(after))


def season(reader: Reader, index: int, sure: bool) -> Hit | None:  # noqa: FBT001
    """Summer 2021, in the winter; not spring water or to fall."""
    when = words.SEASONS[reader.word(index)]
    dated = reader.dated(when, index + 1)
    if dated is None or dated[1] > index + 1:
        return dated
    after = index + 1 + (reader.word(index + 1) in {"vacation", "break", "holiday", "holidays"})
    compound = reader.word(after) == "of" or not reader.closed(after)
    if compound or not (sure or reader.preceded(index, words.SEASON_PREPOSITIONS)):
        return None
    return reader.dated(when, after)


def quarter(reader: Reader, index: int, sure: bool) -> Hit | None:  # noqa: FBT001
    """Q3, Q3 2024, H1 2024; not the third question or a car."""
    when = words.QUARTERS[reader.word(index)]
    dated = reader.dated(when, index + 1)
    if dated is None or dated[1] > index + 1:
        return dated
    before = reader.word(index - 1)
    free = before in words.FUNCTION_WORDS or not before.isascii() or not before[:1].isalpha()
    return dated if reader.tokens[index].capital and (sure or (free and when.kind == "quarter")) else None


def holiday(reader: Reader, index: int, sure: bool) -> Hit | None:  # noqa: FBT001
    """Christmas, New Year's Eve 2024, Thanksgiving weekend; not a Christmas tree."""
    for phrase, when in words.HOLIDAY_PHRASES.get(reader.word(index), ()):
        if all(reader.word(index + offset) == word for offset, word in enumerate(phrase)):
            return _holiday(reader, index, phrase, when, sure=sure)
    return None


def _holiday(reader: Reader, index: int, phrase: tuple[str, ...], when: When, *, sure: bool) -> Hit | None:
    after = index + len(phrase)
    dated = reader.dated(when, after)
    if dated is None or reader.word(after) in words.HOLIDAY_THINGS:
        return None
    if phrase in {("may", "day"), ("good", "friday")} and not reader.tokens[index].capital:
        return None
    if phrase == ("new", "year") and not (sure or dated[1] > after or _new_year_is_meant(reader, index)):
        return None
    word = reader.word(after)
    if word in {"weekend", "week", "break", "holiday", "holidays", "season", "time"}:
        wider = when.shaped(*_WIDER.get(word, (widened, 5, 5)), kind="days")
        return None if wider is None else reader.dated(wider, after + 1)
    return dated


_WIDER: Final[dict[str, tuple[Callable[[Days], Days]]]] = {"weekend": (with_weekend,), "week": (week_of,)}


def _new_year_is_meant(reader: Reader, index: int) -> bool:
    prepositions = frozenset({"at", "on", "over", "during", "around", "since", "before", "after"})
    return reader.tokens[index + 1].possessive or reader.preceded(index, prepositions)


def year(reader: Reader, index: int, sure: bool) -> Hit | None:  # noqa: FBT001
    """In 2023, 2019-2021, 2023 Christmas, the 1990s; not Cyberpunk 2077 or 2000 words."""
    token = reader.tokens[index]
    if token.number is None:
        return _decade(reader, index)
    if token.ordinal or len(token.raw) != 4 or not 1900 <= token.number <= 2100 or reader.counted(index + 1):
        return None
    what = reader.word(index + 1)
    if what in words.SEASONS or what in words.QUARTERS or what in words.HOLIDAY_PHRASES:
        hit = reader.atom(index + 1, sure=True)
        found = hit[0].in_year(token.number) if hit else None
        if hit is not None and found is not None:
            return found, hit[1]
    last = reader.tokens[index + 2] if index + 2 < len(reader.tokens) else None
    if what in {"-", "~"} and last is not None and last.number is not None and not reader.counted(index + 3):
        end = last.number if len(last.raw) == 4 else token.number // 100 * 100 + last.number
        if token.number < end <= 2100 and len(last.raw) in {2, 4}:
            return When(Days(date(token.number, 1, 1), date(end, 12, 31)), "days"), index + 3
    if not (sure or reader.word(index - 1) in words.YEAR_PREPOSITIONS):
        return None
    return When(months(token.number, 1, 12), "year"), index + 1


def _decade(reader: Reader, index: int) -> Hit | None:
    match = _DECADE.fullmatch(reader.word(index))
    if match is None or reader.word(index - 1) not in {"the", "early", "mid", "late", "-"}:
        return None
    century = int(match[1] or (20 if match[2] < "30" else 19))
    first = century * 100 + int(match[2])
    return When(Days(date(first, 1, 1), date(first + 9, 12, 31)), "days"), index + 1


def whole_year(reader: Reader, index: int, sure: bool) -> Hit | None:  # noqa: FBT001
    """The year 2023; and, as a part of something else, "the year", which is any."""
    found = reader.year(index + 1) if reader.word(index + 1).isdigit() else None
    if found is not None:
        return When(months(found[0], 1, 12), "year"), found[1]
    return (_WHOLE_YEAR, index + 1) if sure else None


def thirds(reader: Reader, index: int, sure: bool) -> Hit | None:  # noqa: ARG001, FBT001
    """Early March, mid-2023, late last year."""
    number = words.THIRDS[reader.word(index)]
    after = index + 1 + (reader.word(index + 1) == "-")
    hit = reader.after_the(after + (reader.word(after) == "in"))
    return None if hit is None else _part(hit, third, number)


def edges(reader: Reader, index: int, sure: bool) -> Hit | None:  # noqa: ARG001, FBT001
    """The beginning of May, the end of last year."""
    if reader.word(index + 1) != "of":
        return None
    hit = reader.after_the(index + 2)
    return None if hit is None else _part(hit, edge, words.EDGES[reader.word(index)])


def _part(hit: Hit, shape: Callable[[Days, int], Days], number: int) -> Hit | None:
    when, after = hit
    if when.kind not in {"week", "month", "quarter", "season", "year"} and not _long(when):
        return None
    part = when.shaped(shape, number, kind="part")
    return None if part is None else (part, after)


def _long(when: When) -> bool:
    return isinstance(when.days, Days) and when.kind == "days" and when.days.length >= 300


def nth(reader: Reader, index: int, sure: bool) -> Hit | None:  # noqa: ARG001, FBT001
    """The first week of March, the last two weeks of August, the second Sunday in May, the third quarter."""
    number = (-1, index + 1) if reader.word(index) in {"last", "final"} else reader.ordinal(index)
    if number is None or number[0] > 31:
        return None
    count = reader.number(number[1])
    after = number[1] if count is None else count[1]
    if reader.word(after) in {"few", "couple"}:
        count, after = (3, after + 1), after + 1
    what = reader.word(after)
    if what == "quarter" and 1 <= number[0] <= 4:
        return reader.dated(words.QUARTERS[f"q{number[0]}"], after + 1)
    if reader.word(after + 1) not in {"of", "in"}:
        return None
    hit = reader.after_the(after + 2)
    if hit is None or hit[0].kind in {"day", "hours"}:
        return None
    found = _nth_of(hit[0], what, number[0], count[0] if count else None)
    return None if found is None else (found, hit[1])


def _nth_of(when: When, what: str, number: int, count: int | None) -> When | None:
    if what in words.WEEKDAYS:
        return when.shaped(nth_weekday, words.WEEKDAYS[what], number, kind="day")
    if what == "weekend":
        return when.shaped(nth_weekend, number, kind="weekend")
    if what == "half" and number in {1, 2}:
        return when.shaped(half, number, kind="part")
    if what not in {"day", "days", "week", "weeks"} or (count is not None and number not in {1, -1}):
        return None
    size = 7 if what.startswith("week") else 1
    if count is not None:
        return when.shaped(first_days if number == 1 else last_days, size * count, kind="part")
    if size == 7:
        return when.shaped(nth_week, number, kind="week")
    return when.shaped(last_days, 1, kind="day") if number < 0 else when.shaped(nth_day, number, kind="day")


def ordinal_day(reader: Reader, index: int, sure: bool) -> Hit | None:  # noqa: ARG001, FBT001
    """On the 15th."""
    token = reader.tokens[index]
    if not token.ordinal or token.number is None or not reader.ends(index + 1):
        return None
    if (reader.word(index - 2), reader.word(index - 1)) != ("on", "the") or token.number > 31:
        return None
    when = reader.clock.recent_day_of_month(token.number)
    return None if when is None else (when, index + 1)

"""Rules for English expressions that do not depend on the present: days, months, seasons, holidays, years."""

from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING, Final

from jiyi.text.dates.english import words
from jiyi.text.dates.periods import (
    DateValue,
    Days,
    Yearly,
    any_day,
    any_days,
    edge,
    first_days,
    half,
    known_day,
    last_days,
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

_DECADE: Final = re.compile(r"((?:19|20)?)(\d0)s")
_STRICT_PREPOSITIONS: Final = words.TIME_PREPOSITIONS - {"last", "next", "past", "each"}
_BEFORE_A_VERSION: Final = frozenset({"version", "v", "release", "build", "python", "update", "firmware", "driver"})
_BEFORE_A_DAY: Final = frozenset({"on", "since", "before", "after", "until", "till", "by", "from", "of", "am"})
_POSSESSIVES: Final = frozenset({"the", "my", "our", "your", "his", "her", "their"})
_WHOLE_YEAR: Final = DateValue(Yearly(months, (1, 12)), "year")


def digits(reader: Reader, index: int) -> Hit | None:
    """2025-01-25, 2025/1/25, 2025.01.25, 2025-01, 25.1.2025, and 1/25/2025 where only one order makes sense."""
    raw = reader.tokens[index].raw
    if "/" in raw and raw.count("/") == 1:
        return _day_and_month(reader, index)
    if "." in raw and len(raw) - raw.rfind(".") == 5:
        return _day_month_year(reader, index)
    parts = re.split("[-/.]", raw)
    # 2024.1.2 is a version.
    if not all(part.isdigit() and len(part) <= 4 for part in parts) or ("." in raw and len(raw) != 10):
        return None
    if len(parts) == 3:
        numbers = _year_month_day(parts)
        when = None if numbers is None else known_day(*numbers)
    else:
        when = _month_of_year(parts) if "-" in raw else None
    return None if when is None else (when, index + 1)


def _day_month_year(reader: Reader, index: int) -> Hit | None:
    """25.1.2025; after the name of a program it is a version."""
    parts = reader.tokens[index].raw.split(".")
    if len(parts) != 3 or reader.word(index - 1) in _BEFORE_A_VERSION:
        return None
    when = known_day(int(parts[2]), int(parts[1]), int(parts[0]))
    return None if when is None else (when, index + 1)


def _day_and_month(reader: Reader, index: int) -> Hit | None:
    """On 11/11, 25/12 and 12/25: a fraction stands after no such word, and 3/4 may be of two months."""
    first, second = map(int, reader.tokens[index].raw.split("/"))
    possible = sum(1 <= number <= 12 for number in (first, second))
    if not possible or (possible == 2 and first != second) or (first, second) == (24, 7):
        return None
    alone = index == 0 and (reader.ends(index + 1) or not reader.word(index + 1).isascii())
    if not (alone or reader.word(index - 1) in _BEFORE_A_DAY):
        return None
    month, day = (first, second) if 1 <= first <= 12 else (second, first)
    when = any_day(month, day)
    return None if when is None else (when, index + 1)


def _year_month_day(parts: list[str]) -> tuple[int, int, int] | None:
    """The order is clear where the year comes first, or where only one of the others can be the month."""
    first, second, third_part = map(int, parts)
    if len(parts[0]) == 4:
        return first, second, third_part
    if len(parts[2]) != 4 or (first <= 12 and second <= 12 and first != second):
        return None
    return (third_part, first, second) if first <= 12 else (third_part, second, first)


def _month_of_year(parts: list[str]) -> DateValue | None:
    if len(parts) != 2 or not 1900 <= int(parts[0]) <= 2100 or not 1 <= int(parts[1]) <= 12:
        return None
    return DateValue(months(int(parts[0]), int(parts[1]), int(parts[1])), "month")


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
    count = reader.counted(found[1]) or after in words.UNITS or after == ":" or reader.phrase(found[1], "of", "us")
    return None if count else found


def day_month(reader: Reader, index: int) -> Hit | None:
    """8 May, the 8th of May 2023, 3-5 March, 3rd of last month."""
    day = reader.ordinal(index) or reader.number(index)
    if day is None or not 1 <= day[0] <= 31:
        return None
    first = last = day[0]
    after = day[1]
    joins = words.THROUGH | {"and"} if reader.word(index - 1) == "between" else words.THROUGH
    if reader.word(after) in joins:
        other = reader.ordinal(after + 1) or reader.number(after + 1)
        if other is None or not first < other[0] <= 31:
            return None
        last, after = other
    return _of_month(reader, index, after, first, last)


def _of_month(reader: Reader, index: int, after: int, first: int, last: int) -> Hit | None:
    """The days `first` to `last`, read from `index` on, of the month that comes next."""
    of = reader.word(after) == "of"
    after += of
    if of and reader.word(after) in words.OFFSETS and reader.word(after + 1) == "month":
        found = reader.reference.month(words.OFFSETS[reader.word(after)]).shaped(nth_day, first, kind="day")
        return None if found is None or first != last else (found, after + 2)
    month = month_name(reader, after)
    if month is None or not (reader.sure or of or _certain(reader, after, index, month[1])):
        return None
    when = any_day(month[0], first) if first == last else any_days(month[0], first, last)
    return None if when is None else reader.dated(when, month[1])


def _certain(reader: Reader, name: int, begin: int, after: int) -> bool:
    """Whether a month next to a number is one, and not "5 may come" or "march 10"."""
    token = reader.tokens[name]
    if token.capital or token.base not in words.VERBS_LIKE_MONTHS:
        return True
    prepositions = words.TIME_PREPOSITIONS | words.LOOSE_PREPOSITIONS
    return begin == 0 or reader.word(begin - 1) in prepositions or reader.year(after) is not None


def month(reader: Reader, index: int) -> Hit | None:
    """May 8, May 8-10, May 8, 2023, May 2023, in May."""
    found = month_name(reader, index)
    if found is None:
        return None
    number, after = found
    day = day_number(reader, after)
    if day is not None and (reader.sure or _certain(reader, index, index, day[1])):
        return _month_and_day(reader, number, *day)
    when = DateValue(Yearly(months, (number, number)), "month")
    dated = reader.dated(when, after)
    if dated is None or dated[1] > after:
        return dated
    return (when, after) if _month_is_meant(reader, index, after) else None


def _month_and_day(reader: Reader, number: int, day: int, after: int) -> Hit | None:
    when = any_day(number, day)
    if when is None:
        return None
    if reader.word(after) in words.THROUGH:
        last = day_number(reader, after + 1)
        # Not where the second number belongs to another month ("May 30 - 2 June") or is a year.
        days = any_days(number, day, last[0]) if last and last[0] > day else None
        if last and days and month_name(reader, last[1]) is None:
            when, after = days, last[1]
    return reader.dated(when, after)


def _month_is_meant(reader: Reader, index: int, after: int) -> bool:
    """Whether a lone name of a month is one, and not a verb or a person."""
    token = reader.tokens[index]
    if token.base == "may" and reader.word(after) in words.AFTER_MODAL:
        return False
    if reader.sure or token.base not in words.DOUBTFUL_MONTHS:
        return True
    before = reader.word(index - 1)
    if token.base in words.VERBS_LIKE_MONTHS and not token.capital:
        return before in _STRICT_PREPOSITIONS and reader.closed(after)
    if token.possessive:
        return False
    if token.capital and (_joins_months(reader, after) or _describes(reader, index, after)):
        return True
    return before in words.TIME_PREPOSITIONS or (before in words.LOOSE_PREPOSITIONS and reader.ends(after))


def _joins_months(reader: Reader, after: int) -> bool:
    """May-June."""
    return reader.word(after) in words.THROUGH and month_name(reader, after + 1) is not None


def _describes(reader: Reader, index: int, after: int) -> bool:
    """The March trip, my June budget."""
    following = reader.tokens[after].raw if after < len(reader.tokens) else ""
    return reader.word(index - 1) in _POSSESSIVES and following.islower() and following not in words.FUNCTION_WORDS


def season(reader: Reader, index: int) -> Hit | None:
    """Summer 2021, in the winter; not spring water or to fall."""
    when = words.SEASONS[reader.word(index)]
    dated = reader.dated(when, index + 1)
    if dated is None or dated[1] > index + 1:
        return dated
    after = index + 1 + (reader.word(index + 1) in {"vacation", "break", "holiday", "holidays"})
    compound = reader.word(after) == "of" or not reader.closed(after)
    if compound or not (reader.sure or reader.preceded(index, words.SEASON_PREPOSITIONS)):
        return None
    return reader.dated(when, after)


def quarter(reader: Reader, index: int) -> Hit | None:
    """Q3, Q3 2024, H1 2024; not the third question or a car."""
    when = words.QUARTERS[reader.word(index)]
    dated = reader.dated(when, index + 1)
    if dated is None or dated[1] > index + 1:
        return dated
    before = reader.word(index - 1)
    free = before in words.FUNCTION_WORDS or not before.isascii() or not before[:1].isalpha()
    meant = reader.sure or (free and when.kind == "quarter")
    return dated if meant and reader.tokens[index].capital else None


def holiday(reader: Reader, index: int) -> Hit | None:
    """Christmas, New Year's Eve 2024, Thanksgiving weekend; not a Christmas tree."""
    for phrase, when in words.HOLIDAY_PHRASES.get(reader.word(index), ()):
        if reader.phrase(index, *phrase):
            return _holiday(reader, index, phrase, when)
    return None


def _holiday(reader: Reader, index: int, phrase: tuple[str, ...], when: DateValue) -> Hit | None:
    after = index + len(phrase)
    dated = reader.dated(when, after)
    if dated is None or reader.word(after) in words.HOLIDAY_THINGS:
        return None
    if phrase in {("may", "day"), ("good", "friday")} and not reader.tokens[index].capital:
        return None
    clear = reader.sure or dated[1] > after
    if phrase == ("new", "year") and not (clear or _new_year_is_meant(reader, index)):
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


def year(reader: Reader, index: int) -> Hit | None:
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
    last = _last_year(reader, index + 2, token.number) if what in {"-", "~"} else None
    if last is not None:
        return DateValue(Days(date(token.number, 1, 1), date(last, 12, 31)), "days"), index + 3
    if not (reader.sure or reader.word(index - 1) in words.YEAR_PREPOSITIONS):
        return None
    return DateValue(months(token.number, 1, 12), "year"), index + 1


def _last_year(reader: Reader, index: int, first: int) -> int | None:
    """The second year of 2019-2021 or 2019-21."""
    number = reader.tokens[index].number if index < len(reader.tokens) else None
    if number is None or len(reader.tokens[index].raw) not in {2, 4} or reader.counted(index + 1):
        return None
    last = number if number >= 100 else first // 100 * 100 + number
    return last if first < last <= 2100 else None


def _decade(reader: Reader, index: int) -> Hit | None:
    match = _DECADE.fullmatch(reader.word(index))
    if match is None or reader.word(index - 1) not in {"the", "early", "mid", "late", "-"}:
        return None
    century = int(match[1] or (20 if match[2] < "30" else 19))
    first = century * 100 + int(match[2])
    return DateValue(Days(date(first, 1, 1), date(first + 9, 12, 31)), "days"), index + 1


def whole_year(reader: Reader, index: int) -> Hit | None:
    """The year 2023; and, as a part of something else, "the year", which is any."""
    found = reader.year(index + 1) if reader.word(index + 1).isdigit() else None
    if found is not None:
        return DateValue(months(found[0], 1, 12), "year"), found[1]
    return (_WHOLE_YEAR, index + 1) if reader.sure else None


def thirds(reader: Reader, index: int) -> Hit | None:
    """Early March, mid-2023, late last year."""
    number = words.THIRDS[reader.word(index)]
    after = index + 1 + (reader.word(index + 1) == "-")
    hit = reader.after_the(after + (reader.word(after) == "in"))
    return None if hit is None else _part(hit, third, number)


def edges(reader: Reader, index: int) -> Hit | None:
    """The beginning of May, the end of last year."""
    number = words.EDGES[reader.word(index)]
    if reader.phrase(index + 1, "of", "the", "month"):
        return _part((reader.reference.month(0), index + 4), edge, number)
    if reader.phrase(index + 1, "of", "the", "week"):
        return _part((reader.reference.week(0), index + 4), edge, number)
    hit = reader.after_the(index + 2) if reader.word(index + 1) == "of" else None
    return None if hit is None else _part(hit, edge, number)


def _part(hit: Hit, shape: Callable[[Days, int], Days], number: int) -> Hit | None:
    when, after = hit
    if when.kind not in {"week", "month", "quarter", "season", "year"} and not _long(when):
        return None
    part = when.shaped(shape, number, kind="part")
    return None if part is None else (part, after)


def _long(when: DateValue) -> bool:
    return isinstance(when.days, Days) and when.kind == "days" and when.days.length >= 300


def nth(reader: Reader, index: int) -> Hit | None:
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


def _nth_of(when: DateValue, what: str, number: int, count: int | None) -> DateValue | None:
    if what in words.WEEKDAYS:
        return when.shaped(nth_weekday, words.WEEKDAYS[what], number, kind="day")
    if what == "weekend":
        return when.shaped(nth_weekend, number, kind="weekend")
    if what == "half":
        return when.shaped(half, number, kind="part") if number in {1, 2} else None
    size = {"day": 1, "days": 1, "week": 7, "weeks": 7}.get(what)
    return None if size is None else _nth_days(when, size, number, count)


def _nth_days(when: DateValue, size: int, number: int, count: int | None) -> DateValue | None:
    if count is not None:
        shape = {1: first_days, -1: last_days}.get(number)
        return None if shape is None else when.shaped(shape, size * count, kind="part")
    if size == 7:
        return when.shaped(nth_week, number, kind="week")
    return when.shaped(last_days, 1, kind="day") if number < 0 else when.shaped(nth_day, number, kind="day")


def ordinal_day(reader: Reader, index: int) -> Hit | None:
    """On the 15th."""
    token = reader.tokens[index]
    if not token.ordinal or token.number is None or not reader.ends(index + 1):
        return None
    if (reader.word(index - 2), reader.word(index - 1)) != ("on", "the") or token.number > 31:
        return None
    when = reader.reference.recent_day_of_month(token.number)
    return None if when is None else (when, index + 1)

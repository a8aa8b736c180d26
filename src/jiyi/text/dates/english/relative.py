"""Rules for English expressions that are counted from the present, or from another date."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from jiyi.text.dates import periods
from jiyi.text.dates.english import words
from jiyi.text.dates.periods import (
    DateValue,
    Days,
    away,
    next_to,
    week_of,
    weekday_next_to,
    weekend_next_to,
    with_weekend,
)

if TYPE_CHECKING:
    from jiyi.text.dates.english.reader import Hit, Reader
    from jiyi.text.dates.periods import Unit

_BEFORE_OR_AFTER: Final = {"before": -1, "preceding": -1, "after": 1, "following": 1}
_DAYS: Final = {"yesterday": -1, "today": 0, "tomorrow": 1}
_WHICH: Final[dict[str, Literal["last", "this", "next"]]] = {
    "last": "last",
    "past": "last",
    "this": "this",
    "next": "next",
    "coming": "next",
    "upcoming": "next",
}
# How far back "a few" reaches, in units.
_UNITS_OF_A_FEW: Final[dict[Unit, tuple[int, int]]] = {"day": (7, 2), "week": (5, 2), "month": (6, 2), "year": (6, 2)}
_SMALLER: Final[dict[Unit, tuple[int, Unit]]] = {"year": (12, "month"), "month": (30, "day"), "week": (7, "day")}
_PAST_AUXILIARIES: Final = frozenset({"did", "was", "were", "had", "done", "finished", "completed", "took"})


def named_day(reader: Reader, index: int) -> Hit | None:
    """Yesterday, today, tomorrow, tonight."""
    word = reader.word(index)
    if word == "tonight":
        return reader.reference.day(0, periods.NIGHT), index + 1
    return reader.reference.day(_DAYS[word]), index + 1


def earlier(reader: Reader, index: int) -> Hit | None:
    """Earlier today, earlier this year, later this week: up to today, or from today."""
    if reader.word(index + 1) not in {"today", "this"}:
        return None
    hit = reader.atom(index + 1)
    if hit is None or not isinstance(hit[0].days, Days) or hit[0].kind in {"day", "hours"}:
        return hit
    today = reader.reference.today
    if reader.word(index) == "earlier":
        days = Days(hit[0].days.start, min(hit[0].days.end, today))
    else:
        days = Days(max(hit[0].days.start, today), hit[0].days.end)
    return None if days.start > days.end else (DateValue(days, "days", relative=True), hit[1])


def which(reader: Reader, index: int) -> Hit | None:
    """Last, this or next: night, week, Friday, March, summer, Christmas, ten days."""
    if reader.word(index) == "this" and reader.word(index + 1) == "past":
        index += 1
    word = _WHICH[reader.word(index)]
    for rule in (_this_time, _which_part_of_day, _which_count, _which_unit, _which_weekday):
        hit = rule(reader, index, word)
        if hit is not None:
            return hit
    if word == "last" and reader.word(index - 1) == "the" and reader.word(index + 1) == "march":
        return None
    hit = reader.atom(index + 1, sure=True)
    found = reader.reference.which(hit[0], word) if hit else None
    return None if hit is None or found is None else (found, hit[1])


def _this_time(reader: Reader, index: int, word: str) -> Hit | None:
    """This time last year."""
    if word != "this" or reader.word(index + 1) != "time" or reader.word(index + 2) not in {"last", "next"}:
        return None
    unit = words.UNITS.get(reader.word(index + 3))
    if unit is None:
        return None
    return reader.reference.around(words.OFFSETS[reader.word(index + 2)] * unit[0], unit[1]), index + 4


def _which_part_of_day(reader: Reader, index: int, word: str) -> Hit | None:
    part = reader.word(index + 1)
    if word == "this" and part in {"morning", "noon", "afternoon", "evening"}:
        return reader.reference.day(0, words.PARTS_OF_DAY[part]), index + 2
    if word == "last" and part in {"night", "evening"}:
        return reader.reference.day(-1, words.PARTS_OF_DAY[part]), index + 2
    return None


def _which_count(reader: Reader, index: int, word: str) -> Hit | None:
    """The last 10 days, the next two weeks, the past few months."""
    if word == "this":
        return None
    number = reader.number(index + 1)
    if number is None and reader.word(index + 1) in {"few", "couple", "several"}:
        vague = reader.word(index + 1)
        after = index + 2 + (vague == "couple" and reader.word(index + 2) == "of")
        number = (2 if vague == "couple" else 5, after)
    if number is None or not 1 <= number[0] <= 1000:
        return None
    unit = words.UNITS.get(reader.word(number[1]))
    if unit is None:
        return None
    return reader.reference.units_to_or_from_today(number[0] * unit[0] * words.OFFSETS[word], unit[1]), number[1] + 1


def _which_unit(reader: Reader, index: int, word: str) -> Hit | None:
    """Last week, this month, next year; "the last week" is the seven days up to today."""
    what = reader.word(index + 1)
    offset = words.OFFSETS[word]
    reference = reader.reference
    found = {
        "week": reference.week,
        "weekend": reference.weekend,
        "month": reference.month,
        "quarter": reference.quarter,
        "year": reference.year,
    }.get(what)
    if found is None:
        return None
    after = index + 2
    if offset < 0 and what != "quarter":
        anchored = _beside(reader, after, what)
        if anchored is not None:
            return anchored
    unit = words.UNITS.get(what)
    if unit and (reader.word(index) == "past" or (offset and reader.word(index - 1) == "the")):
        return reference.units_to_or_from_today(offset, unit[1]), after
    # "Last week on Wednesday", "last week Wednesday".
    on = after + (reader.word(after) == "on")
    if what == "week" and reader.word(on) in words.WEEKDAYS:
        return reference.weekday(words.WEEKDAYS[reader.word(on)], offset), on + 1
    if what == "year":
        return _within_year(reader, after, reference.today.year + offset) or (found(offset), after)
    return found(offset), after


def _within_year(reader: Reader, index: int, year: int) -> Hit | None:
    """Last year's Christmas, last year in May."""
    index += reader.word(index) in {"in", "during", "at", "on", "around"}
    hit = reader.after_the(index)
    if hit is None or hit[0].relative or isinstance(hit[0].days, Days):
        return None
    when = hit[0].in_year(year)
    return None if when is None else (when, hit[1])


def _which_weekday(reader: Reader, index: int, word: str) -> Hit | None:
    """The last such weekday before today, the one of this week, the next one after today."""
    weekday = words.WEEKDAYS.get(reader.word(index + 1))
    if weekday is None:
        return None
    if word == "last":
        anchored = _beside(reader, index + 2, reader.word(index + 1))
        return anchored or (reader.reference.weekday_before(weekday), index + 2)
    if word == "this":
        return reader.reference.weekday(weekday, 0), index + 2
    return reader.reference.weekday_after(weekday), index + 2


def weekday(reader: Reader, index: int) -> Hit | None:
    """Friday (the nearest in the past, today included), Tuesday of last week, the Sunday before Christmas."""
    token = reader.tokens[index]
    number = words.WEEKDAYS[token.base]
    after = index + 1 + (len(token.base) < 6 and reader.word(index + 1) == ".")
    date = reader.atom(after + (reader.word(after) == ","), sure=True)
    if date is not None and date[0].kind == "day" and not date[0].relative:
        return date
    before = reader.word(index - 1)
    habit = before in {"every", "each", "most", "some"} or reader.word(after) in {"school", "addams"}
    on = before in {"on", "since", "by", "until", "till", "from", "to"} and token.capital
    if habit or not (reader.sure or len(token.base) >= 6 or on):
        return None
    beside = _beside(reader, after, token.base)
    if beside is not None:
        return beside
    week = after + (reader.word(after) == "of")
    if reader.word(week) in words.OFFSETS and reader.word(week + 1) == "week":
        return reader.reference.weekday(number, words.OFFSETS[reader.word(week)]), week + 2
    return reader.reference.recent_weekday(number), after


def unit_first(reader: Reader, index: int) -> Hit | None:
    """The day before yesterday, the week before last, the week of 3 March, the night before Christmas."""
    what = reader.word(index)
    beside = _beside(reader, index + 1, what)
    if beside is not None:
        return beside
    if reader.word(index + 1) == "of":
        return _unit_of(reader, index, what)
    lately = reader.word(index - 1) == "the" and reader.word(index - 2) in {"over", "on", "during", "at"}
    if what == "weekend" and lately and reader.closed(index + 1):
        return reader.reference.recent_weekend(), index + 1
    return None


def _unit_of(reader: Reader, index: int, what: str) -> Hit | None:
    hit = reader.after_the(index + 2)
    if hit is None or hit[0].kind not in {"day", "holiday"}:
        return None
    if what in words.PARTS_OF_DAY:
        return hit[0].at(words.PARTS_OF_DAY[what]), hit[1]
    if what == "week":
        when = hit[0].shaped(week_of, kind="week")
    else:
        when = hit[0].shaped(with_weekend, kind="weekend") if what == "weekend" else None
    return None if when is None else (when, hit[1])


def _beside(reader: Reader, index: int, what: str) -> Hit | None:
    """The unit or weekday `what` before or after the date that comes next."""
    word = reader.word(index)
    direction, index = _direction(reader, index)
    if direction is None:
        return None
    # "Last" may also belong to what follows: "before last Christmas".
    if (word, reader.word(index)) in {("before", "last"), ("after", "next")} and reader.atom(index) is None:
        double = _two_away(reader, what, 2 * direction)
        if double is not None:
            return double, index + 1
    hit = reader.after_the(index)
    if hit is None:
        return None
    when = _next_to(hit[0], what, direction)
    return None if when is None else (when, hit[1])


def _direction(reader: Reader, index: int) -> tuple[int | None, int]:
    """-1 for "before" or "prior to", 1 for "after", else None; and the index after the words."""
    prior = reader.phrase(index, "prior", "to")
    return -1 if prior else _BEFORE_OR_AFTER.get(reader.word(index)), index + 1 + prior


def _two_away(reader: Reader, what: str, offset: int) -> DateValue | None:
    reference = reader.reference
    if what in words.WEEKDAYS:
        weekday = words.WEEKDAYS[what]
        nearest = reference.weekday_before(weekday) if offset < 0 else reference.weekday_after(weekday)
        return nearest.shaped(away, offset // 2, "week", kind="day")
    if what == "night":
        return reference.day(offset, periods.NIGHT)
    units = {"week": reference.week, "weekend": reference.weekend, "month": reference.month, "year": reference.year}
    return units[what](offset) if what in units else None


def _next_to(when: DateValue, what: str, direction: int) -> DateValue | None:
    if what in words.WEEKDAYS:
        return when.shaped(weekday_next_to, words.WEEKDAYS[what], direction, kind="day")
    if what == "weekend":
        return when.shaped(weekend_next_to, direction, kind="weekend")
    if what == "day" or what in words.PARTS_OF_DAY:
        day = when.shaped(next_to, direction, "day", kind="day")
        return day if what == "day" or day is None else day.at(words.PARTS_OF_DAY[what])
    unit = words.UNITS.get(what)
    return None if unit is None else when.shaped(next_to, direction * unit[0], unit[1], kind="days")


def amount(reader: Reader, index: int) -> Hit | None:
    """Three days ago, a couple of weeks ago, half a year ago, two weeks before 11 August, two hours ago."""
    counted = _amount(reader, index)
    if counted is None:
        return None
    count, after = counted
    what = reader.word(after)
    if count is not None and reader.phrase(after + 1, "and", "a", "half"):
        count, after = count + 0.5, after + 3
    tail = reader.word(after + 1)
    ago = tail in {"ago", "back"} or (tail, reader.word(after + 2)) == ("before", "now")
    finish = after + (3 if tail == "before" else 2)
    if what in {"hour", "hours", "minute", "minutes"} and count is not None:
        hours = count / (60 if what.startswith("minute") else 1)
        return (reader.reference.hours_ago(hours), finish) if ago and hours <= 96 else None
    if what not in words.UNITS:
        return None
    size, unit = words.UNITS[what]
    if ago:
        return _ago(reader, count, size, unit), finish
    return None if count is None else _away(reader, after + 1, int(count * size), unit)


def _ago(reader: Reader, count: float | None, size: int, unit: Unit) -> DateValue:
    if count is None:
        far, near = _UNITS_OF_A_FEW[unit]
        return reader.reference.between(far * size, near * size, unit)
    if count == 0.5 and unit == "year" and size == 1:
        return reader.reference.away(-1, "half")
    if count != int(count):
        factor, unit = _SMALLER.get(unit, (1, unit))
        return reader.reference.away(-round(count * size * factor), unit)
    return reader.reference.away(-int(count * size), unit)


def _away(reader: Reader, index: int, count: int, unit: Unit) -> Hit | None:
    """`count` units before or after a date."""
    if (reader.word(index), reader.word(index + 1)) == ("from", "now"):
        return reader.reference.away(count, unit), index + 2
    direction, index = _direction(reader, index)
    hit = reader.after_the(index) if direction else None
    if hit is None or direction is None or count == 0:
        return None
    when = hit[0].shaped(away, direction * count, unit, kind="day" if unit == "day" else "days")
    return None if when is None else (when, hit[1])


def _amount(reader: Reader, index: int) -> tuple[float | None, int] | None:
    """How many (None: a few), and the index of the unit."""
    article = reader.word(index) in {"a", "an"}
    index += article
    word = reader.word(index)
    if word in {"few", "several"}:
        return None, index + 1
    if word == "couple":
        return 2, index + 1 + (reader.word(index + 1) == "of")
    if word == "half":
        return 0.5, index + 1 + (reader.word(index + 1) in {"a", "an"})
    if article:
        return 1, index
    number = reader.number(index)
    if number is None:
        return None
    half = reader.phrase(number[1], "and", "a", "half")
    return number[0] + 0.5 * half, number[1] + 3 * half


def in_amount(reader: Reader, index: int) -> Hit | None:
    """In three days; not where the sentence is about the past ("what did I finish in three days")."""
    number = _amount(reader, index + 1)
    if number is None or number[0] is None or number[0] != int(number[0]):
        return None
    unit = words.UNITS.get(reader.word(number[1]))
    past = any(token.base in _PAST_AUXILIARIES for token in reader.tokens[max(index - 12, 0) : index])
    if unit is None or past or not reader.closed(number[1] + 1) or reader.word(number[1] + 1) == "of":
        return None
    return reader.reference.away(int(number[0]) * unit[0], unit[1]), number[1] + 1


def other_day(reader: Reader, index: int) -> Hit | None:
    """The other day."""
    if reader.word(index - 1) != "the" or reader.word(index + 1) != "day":
        return None
    return reader.reference.between(10, 1, "day"), index + 2

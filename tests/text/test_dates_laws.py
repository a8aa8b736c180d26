"""What holds for every date expression, every text and every moment."""

import re
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from jiyi.errors import InvalidInputError
from jiyi.text import dates
from jiyi.text.date_prefilter import (
    CHINESE_STARTS,
    ENGLISH_ANCHORS,
    cannot_contain_date,
    may_contain_english_date,
)
from jiyi.text.dates import DateSpan, chinese, english, find_dates, lunar, without_dates
from jiyi.text.dates.english import words
from jiyi.text.dates.periods import Days, Yearly
from jiyi.text.dates.reference_time import ReferenceTime
from tests.text.dates_shown import SHANGHAI, WEDNESDAY
from tests.text.test_dates_chinese import TABLE as CHINESE
from tests.text.test_dates_english import TABLE as ENGLISH

ZONES = [
    UTC,
    SHANGHAI,
    ZoneInfo("America/New_York"),
    ZoneInfo("Australia/Lord_Howe"),
    timezone(timedelta(hours=14)),
    timezone(timedelta(hours=-12)),
]
EXPRESSIONS = [text for text, _ in (*ENGLISH, *CHINESE)]
SPANS = [span for text in EXPRESSIONS for span in find_dates(text, now=WEDNESDAY, tz=SHANGHAI)]
ONE_YEAR = [span for span in SPANS if span.start is not None]

zones = st.sampled_from(ZONES)
moments = st.datetimes(datetime(1990, 1, 1), datetime(2090, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
spans = st.sampled_from(SPANS)
pieces = st.sampled_from(
    [*EXPRESSIONS, *"0123456789一二十年月日号周上下前后、,-/.~到至 的在 ", "May", "last", "the", "of", "week"]
)
texts = st.one_of(st.text(), st.lists(st.one_of(pieces, st.text(max_size=3)), max_size=30).map("".join))


@given(st.dates(date(1000, 1, 1), date(9000, 12, 31)), zones)
def test_an_iso_date_is_read_back(day: date, zone: tzinfo) -> None:
    (span,) = find_dates(f"what happened on {day.isoformat()}?", now=WEDNESDAY, tz=zone)
    assert (span.start, span.end, span.text) == (day, day, day.isoformat())


@given(st.dates(date(1900, 1, 1), date(2100, 12, 31)))
def test_a_day_is_the_same_in_both_languages(day: date) -> None:
    english = f"{day.day} {day:%B} {day.year}"
    chinese = f"{day.year}年{day.month}月{day.day}日"
    found = [find_dates(text, now=WEDNESDAY, tz=SHANGHAI) for text in (english, chinese)]
    assert [[(span.start, span.end) for span in spans] for spans in found] == [[(day, day)], [(day, day)]]


@given(texts)
@example("-" * 50 + "1月")
@example("İİ May 5")
@example("9999-12-31 9999 years ago 999年前 两百年后 before 9000-01-01")
def test_any_text_is_read_and_the_spans_lie_in_it_in_order(text: str) -> None:
    end = 0
    for span in find_dates(text, now=WEDNESDAY, tz=SHANGHAI):
        assert end <= span.begin < span.finish <= len(text)
        assert span.text == text[span.begin : span.finish]
        assert (span.yearly is None) == (span.start is not None) == (span.end is not None)
        assert span.start is None or span.end is None or span.start <= span.end
        assert span.length_days >= 1
        end = span.finish


@given(texts, st.datetimes(timezones=st.just(UTC)), zones)
def test_any_present_will_do(text: str, now: datetime, zone: tzinfo) -> None:
    try:
        now.astimezone(zone)
    except OverflowError:
        return
    for span in find_dates(text, now=now, tz=zone):
        assert span.contains(WEDNESDAY, zone) == bool(span.intervals(WEDNESDAY, WEDNESDAY, zone))


@given(texts)
def test_a_text_without_its_dates_keeps_everything_else(text: str) -> None:
    found = find_dates(text, now=WEDNESDAY, tz=SHANGHAI)
    rest = without_dates(text, found)
    outside = [c for i, c in enumerate(text) if not any(span.begin <= i < span.finish for span in found)]
    assert "".join(rest.split()) == "".join("".join(outside).split())


def test_a_question_without_its_dates_is_still_a_question() -> None:
    text = "What did I eat on 8 May, 2023 in Rome, and last week?"
    found = find_dates(text, now=WEDNESDAY, tz=SHANGHAI)
    assert without_dates(text, found) == "What did I eat on in Rome, and ?"
    assert (
        without_dates("我上周三去了哪里", find_dates("我上周三去了哪里", now=WEDNESDAY, tz=SHANGHAI)) == "我 去了哪里"
    )
    assert without_dates("nothing here", []) == "nothing here"


@given(spans, moments, st.timedeltas(timedelta(0), timedelta(days=3000)), zones, st.floats(0, 1))
def test_intervals_agree_with_contains(
    span: DateSpan, first: datetime, length: timedelta, zone: tzinfo, share: float
) -> None:
    last = first + length
    intervals = span.intervals(first, last, zone)
    assert all(start < end and start.utcoffset() == end.utcoffset() == timedelta(0) for start, end in intervals)
    assert intervals == sorted(intervals)
    edges = [edge for interval in intervals for edge in interval]
    for moment in (first, last, first + length * share, *edges, *(edge - timedelta(microseconds=1) for edge in edges)):
        if first <= moment <= last:
            assert span.contains(moment, zone) == any(start <= moment < end for start, end in intervals)


def _only(text: str) -> DateSpan:
    (span,) = find_dates(text, now=WEDNESDAY, tz=SHANGHAI)
    return span


def test_last_night_runs_into_this_morning() -> None:
    span = _only("昨晚")
    assert span.contains(datetime(2025, 6, 17, 23, 59, tzinfo=SHANGHAI), SHANGHAI)
    assert span.contains(datetime(2025, 6, 18, 3, 0, tzinfo=SHANGHAI), SHANGHAI)
    assert not span.contains(datetime(2025, 6, 18, 5, 0, tzinfo=SHANGHAI), SHANGHAI)
    assert not span.contains(datetime(2025, 6, 17, 16, 59, tzinfo=SHANGHAI), SHANGHAI)


def test_the_whole_day_of_an_evening_holds_its_morning() -> None:
    morning = datetime(2025, 6, 17, 9, tzinfo=SHANGHAI)
    assert not _only("昨晚").contains(morning, SHANGHAI)
    assert _only("昨晚").whole_days().contains(morning, SHANGHAI)


def test_a_day_is_the_local_day_of_the_person_who_asks() -> None:
    late = datetime(2025, 6, 17, 17, 0, tzinfo=UTC)
    assert _only("今天").contains(late, SHANGHAI)
    (span,) = find_dates("today", now=late, tz=ZoneInfo("America/New_York"))
    assert span.start == date(2025, 6, 17)
    (span,) = find_dates("today", now=late, tz=SHANGHAI)
    assert span.start == date(2025, 6, 18)


def test_a_day_on_which_clocks_are_put_forward_has_23_hours() -> None:
    new_york = ZoneInfo("America/New_York")
    span = _only("2025-03-09")
    ((start, end),) = span.intervals(datetime(2025, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC), new_york)
    assert end - start == timedelta(hours=23)


def test_a_yearly_span_has_one_interval_for_every_year() -> None:
    intervals = _only("春节").intervals(datetime(2023, 6, 1, tzinfo=UTC), datetime(2025, 12, 31, tzinfo=UTC), UTC)
    assert [start.date().isoformat() for start, _ in intervals] == ["2024-02-09", "2025-01-28"]


def test_a_winter_without_a_year_lies_over_the_turn_of_the_year() -> None:
    span = _only("in winter")
    assert span.contains(datetime(2024, 12, 31, 12, tzinfo=UTC), UTC)
    assert span.contains(datetime(2025, 2, 28, 12, tzinfo=UTC), UTC)
    assert not span.contains(datetime(2025, 3, 2, tzinfo=UTC), UTC)
    assert len(span.intervals(datetime(2025, 1, 1, tzinfo=UTC), datetime(2025, 12, 31, tzinfo=UTC), UTC)) == 2


def test_what_is_open_at_one_end_holds_every_moment_on_that_side() -> None:
    span = _only("before 2020")
    first, last = datetime(1, 1, 1, tzinfo=UTC), datetime(2025, 1, 1, tzinfo=UTC)
    assert span.contains(datetime(1500, 1, 1, tzinfo=UTC), SHANGHAI)
    assert span.intervals(first, last, UTC) == [(first, datetime(2020, 1, 1, tzinfo=UTC))]
    assert _only("2023年以后").contains(datetime(9999, 12, 30, tzinfo=UTC), SHANGHAI)


def test_lengths_are_counted_in_days() -> None:
    lengths = {text: _only(text).length_days for text in ("昨天", "昨晚", "last week", "in February", "国庆")}
    assert lengths == {"昨天": 1, "昨晚": 1, "last week": 7, "in February": 29, "国庆": 7}


def test_a_rule_that_never_happens_contains_no_moment() -> None:
    def never(_year: int) -> Days | None:
        return None

    span = DateSpan("x", 0, 1, "day", None, None, Yearly(never))
    assert not span.contains(WEDNESDAY, UTC)


def test_times_without_a_zone_are_refused() -> None:
    naive = datetime(2025, 1, 1)  # noqa: DTZ001
    with pytest.raises(InvalidInputError, match="no time zone"):
        find_dates("today", now=naive, tz=UTC)
    with pytest.raises(InvalidInputError, match="no time zone"):
        _only("today").contains(naive, UTC)


def test_spans_of_equal_meaning_are_equal() -> None:
    assert _only("in March") == _only("in March")
    assert len({_only("春节"), _only("春节")}) == 1


def test_lunar_years_follow_one_another_without_a_gap() -> None:
    for year in range(lunar.FIRST_YEAR, lunar.LAST_YEAR):
        last, first = lunar.lunar_month(year, 12), lunar.lunar_month(year + 1, 1)
        assert last is not None
        assert first is not None
        assert last.end + timedelta(days=1) == first.start
        assert date(year + 1, 1, 20) < first.start < date(year + 1, 2, 22)


def test_months_of_the_lunar_calendar_have_29_or_30_days() -> None:
    lengths = {
        month.length
        for year in range(lunar.FIRST_YEAR, lunar.LAST_YEAR + 1)
        for number in range(1, 13)
        if (month := lunar.lunar_month(year, number))
    }
    assert lengths == {29, 30}


def test_outside_the_table_lunar_holidays_are_unknown() -> None:
    assert lunar.lunar_month(1969, 1) is None
    assert lunar.qingming(2101) is None
    assert find_dates("1950年中秋节", now=WEDNESDAY, tz=SHANGHAI)[0].kind != "holiday"


def test_the_public_names_are_these() -> None:
    assert sorted(dates.__all__) == ["DateSpan", "Days", "Kind", "Yearly", "find_dates", "without_dates"]


HOSTILE = [
    "1",
    "1,",
    "1,111,",
    "1.1.",
    "1-",
    "1/1/",
    "2025-01-",
    "一",
    "十",
    "1月",
    "1日、",
    "1月1日、",
    "1月1日到",
    "周",
    "上周",
    "从",
    "的",
    "的1月",
    "五一",
    "May ",
    "May 1, ",
    "1, and ",
    "the day before ",
    "two weeks before ",
    "last ",
    "the ",
    "first week of ",
    "from May to ",
    "between ",
    "early ",
    "end of ",
    "'",
    " ",
    "\n",
    "a_",
    "_1",
    "İ",
    "last week on May 5, 2023 ",
    "昨天5月提到",
]


def _steps(work: Callable[[], object]) -> int:
    """How many function calls the work makes; unlike time it is the same on every machine."""
    count = 0

    def tick(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    sys.setprofile(tick)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("piece", HOSTILE)
def test_four_times_the_text_takes_about_four_times_the_work(piece: str) -> None:
    def steps(length: int) -> int:
        text = (piece * length)[:length]
        return _steps(lambda: find_dates(text, now=WEDNESDAY, tz=SHANGHAI))

    assert steps(2048) <= 6 * steps(512) + 500


@pytest.mark.parametrize("piece", HOSTILE)
def test_a_very_long_text_is_read_to_its_end(piece: str) -> None:
    text = (piece * 32768)[:32768]
    for span in find_dates(text, now=WEDNESDAY, tz=SHANGHAI):
        assert span.finish <= len(text)


def test_the_characters_that_a_chinese_date_begins_with_are_those_that_the_grammar_has_rules_for() -> None:
    assert set(chinese._RULES) == CHINESE_STARTS


@given(texts)
def test_a_text_that_cannot_contain_a_date_has_none(text: str) -> None:
    if cannot_contain_date(text):
        assert not find_dates(text, now=WEDNESDAY, tz=SHANGHAI)


_WORD_LISTS = [value for name, value in vars(words).items() if name.isupper() and isinstance(value, dict | frozenset)]
_GRAMMAR = {
    *english._RULES,
    *english._PREFIXES,
    *(word for group in _WORD_LISTS for word in group),
    *(word for phrases in words.HOLIDAY_PHRASES.values() for phrase, _ in phrases for word in phrase),
    *("ago", "back", "now", "of", "the", "and", "prior", "preceding", "following", "other", "'", "-", "."),
}
_NO_ANCHORS = sorted(word for word in _GRAMMAR if not re.search("[0-9 ]", word) and word not in ENGLISH_ANCHORS)


@given(st.lists(st.sampled_from(_NO_ANCHORS), max_size=12))
def test_without_one_of_the_words_that_it_needs_there_is_no_english_date(others: list[str]) -> None:
    assert not english.find_english(" ".join(others), ReferenceTime(WEDNESDAY))


_NUMBERS = ["1", "12", "31", "123", "2024", "12345", "15th", "2nd", "90s", "1990s", "q3", "h1", "12:30", "1,000", "'23"]


@given(st.lists(st.sampled_from([*_NO_ANCHORS, *_NUMBERS]), max_size=12))
def test_numbers_that_are_no_part_of_a_date_make_none(others: list[str]) -> None:
    text = " ".join(others)
    if not may_contain_english_date(text):
        assert not english.find_english(text, ReferenceTime(WEDNESDAY))


@pytest.mark.parametrize("phrase", sorted(" ".join(p) for ps in words.HOLIDAY_PHRASES.values() for p, _ in ps))
def test_every_holiday_has_one_of_the_words_that_are_looked_for(phrase: str) -> None:
    assert may_contain_english_date(phrase)


@pytest.mark.parametrize(
    "text",
    [
        "花园",
        "我家的猫叫什么",
        "ねこ",
        "",
        "garden",
        "Where does my sister live?",
        "用 vim 吗",
        "Is order AS-89204 paid?",
    ],
)
def test_most_short_questions_cannot_contain_a_date(text: str) -> None:
    assert cannot_contain_date(text)


@pytest.mark.parametrize(
    "text",
    [
        *("後天", "３月", "週五", "春节", "last Week", "ＦＲＩＤＡＹ", "Q3", "two hours ago"),
        *("on the 15th", "in the 90s", "in 2019", "1/25/2025", "２０２４"),
    ],
)
def test_what_may_be_a_date_is_not_excluded(text: str) -> None:
    assert not cannot_contain_date(text)

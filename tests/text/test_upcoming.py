"""Days that are ahead, of what was said long ago: a cheap look at the words must not miss one."""

from datetime import UTC, datetime, timedelta

import pytest

from jiyi.text.dates.chinese.words import HOLIDAY_NAMES
from jiyi.text.dates.english.words import HOLIDAY_PHRASES
from jiyi.text.statements.keeping.upcoming import is_upcoming, last_day_ahead

_SAID = [datetime(2025, month, 18, 9, tzinfo=UTC) for month in range(1, 13)]
_HOLIDAYS = [
    *(f"我们{name}期间去" for name in HOLIDAY_NAMES),
    *(f"we meet on {' '.join(phrase)}" for listed in HOLIDAY_PHRASES.values() for phrase, _ in listed),
]
_LATER = [
    "the lease ends in 18 months",
    "the lease ends in 40 weeks",
    "see you 300 days from now",
    "she retires next year",
    "she retires in three years",
    "the visa expires on 2027-03-04",
    "the visa expires on 25/03/2027",
    "the visa expires in March 2027",
    "the launch is in Q4 2026",
    "a decade from now",
    "三百天后到期",
    "四十个星期之后交房",
    "十八个月后到期",
    "明年第四十周开会",
    "后年毕业",
    "2027年3月到期",
    "2027.3.4到期",
    "下半年交房",
    "明年冬天去滑雪",
]


@pytest.mark.parametrize("text", [*_LATER, *_HOLIDAYS])
def test_a_day_that_is_far_ahead_is_upcoming_until_it_is_over(text: str) -> None:
    for said in _SAID:
        last = last_day_ahead(text, said)
        for days in (181, 250, 365):
            now = said + timedelta(days=days)
            ahead = last is not None and last + timedelta(days=1) >= now.date()
            assert is_upcoming(text, said, now) is ahead, (said, now)


@pytest.mark.parametrize("text", _LATER)
def test_expressions_that_name_a_far_day_do_so(text: str) -> None:
    assert any(is_upcoming(text, said, said + timedelta(days=181)) for said in _SAID)


@pytest.mark.parametrize(
    "text", ["dinner on Friday", "the month after next", "下周三开会", "后天见", "every Monday morning"]
)
def test_a_day_that_is_near_is_over_after_half_a_year(text: str) -> None:
    said = _SAID[0]
    assert not is_upcoming(text, said, said + timedelta(days=181))

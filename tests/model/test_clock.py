"""The one text form of a moment."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from jiyi.model import clock


@given(st.datetimes(min_value=datetime(2, 1, 1), max_value=datetime(9998, 1, 1), timezones=st.timezones()))  # noqa: DTZ001
def test_a_moment_comes_back_from_its_text_whatever_was_written_before_it(moment: datetime) -> None:
    assert clock.from_text(clock.to_text(moment)) == moment.astimezone(UTC)
    # Once more, now that it was the last.
    assert clock.from_text(clock.to_text(moment)) == moment.astimezone(UTC)


def test_the_two_moments_of_an_hour_that_runs_twice_are_told_apart() -> None:
    first = datetime(2026, 10, 25, 2, 30, tzinfo=ZoneInfo("Europe/Berlin"))
    second = first.replace(fold=1)
    assert first == second
    between = clock.from_text(clock.to_text(second)) - clock.from_text(clock.to_text(first))
    assert between == timedelta(hours=1)

"""The timeline's periods, and the places and groups of the map, as laws."""

from __future__ import annotations

from datetime import UTC, date, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jiyi.apps.server.console.projection import MAX_GROUPS, landmarks, project
from jiyi.apps.server.console.timeline import STEPS, period_of, periods_until

days = st.dates(date(1900, 1, 1), date(2200, 12, 31))


@given(days, st.sampled_from(sorted(STEPS)), st.integers(1, 40))
def test_periods_follow_each_other_without_gap_or_overlap(end: date, step: str, most: int) -> None:
    periods = periods_until(end, step, most)
    assert len(periods) == most
    assert periods[0].first <= end <= periods[0].last
    for later, earlier in pairwise(periods):
        assert earlier.last + timedelta(days=1) == later.first
        assert earlier.bounds(UTC)[1] == later.bounds(UTC)[0]


@given(days)
def test_a_finer_period_lies_inside_or_at_the_edge_of_the_coarser_one(day: date) -> None:
    month, week = period_of(day, "month"), period_of(day, "week")
    assert month.first <= day <= month.last
    assert week.first.weekday() == 0
    assert (week.last - week.first).days == 6
    assert month.first.day == 1
    assert (month.last + timedelta(days=1)).day == 1


def test_the_day_on_which_the_clock_is_put_forward_has_23_hours() -> None:
    since, until = period_of(date(2026, 3, 29), "day").bounds(ZoneInfo("Europe/Berlin"))
    assert until.astimezone(UTC) - since.astimezone(UTC) == timedelta(hours=23)


@given(st.integers(0, 5_000))
def test_landmarks_are_few_distinct_and_on_the_list(count: int) -> None:
    found = landmarks(count)
    assert len(found) == min(count, 32)
    assert len(set(found)) == len(found)
    assert all(0 <= place < count for place in found)


@pytest.mark.filterwarnings("error")
@settings(max_examples=40, deadline=None)
@given(st.integers(0, 60), st.integers(1, 8), st.integers(0, 2**32 - 1), st.booleans())
def test_every_memory_has_a_place_in_the_square_and_one_group(count: int, width: int, seed: int, holes: bool) -> None:
    random = np.random.default_rng(seed)
    table = random.uniform(-1, 1, (count, width))
    if holes and count:
        table[random.random((count, width)) < 0.3] = np.nan
    made = project(table.tolist(), [f"word{place % 5} memory" for place in range(count)])
    assert made.points.shape == (count, 2)
    assert np.isfinite(made.points).all()
    assert (np.abs(made.points) <= 1).all()
    members = [place for group in made.groups for place in group.members]
    assert sorted(members) == list(range(count))
    assert len(made.groups) <= MAX_GROUPS
    for number, group in enumerate(made.groups):
        assert all(made.group_of[place] == number for place in group.members)


def test_what_is_alike_lies_together_and_a_group_is_named_by_its_own_words() -> None:
    random = np.random.default_rng(1)
    themes = ["green tea leaves", "北京 火车 车站", "rust compiler errors"]
    rows, texts = [], []
    for place in range(90):
        theme = place % 3
        rows.append((np.eye(3)[theme] + random.normal(0, 0.05, 3)).tolist())
        texts.append(f"{themes[theme]} and the memory of it {place}")
    made = project(rows, texts)
    for group in made.groups:
        assert len({place % 3 for place in group.members}) == 1
    words = {word for group in made.groups for word in group.words}
    assert {"tea", "火车", "rust"} <= words
    assert "memory" not in words
    again = project(rows, texts)
    assert (again.points == made.points).all()

"""Laws of the curve of forgetting."""

import math
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jiyi import EbbinghausForgetting
from jiyi.errors import InvalidInputError
from jiyi.model.scoring import FinalWeights, time_decay

hours = st.floats(0, 1e7)
counts = st.integers(0, 5_000)
shares = st.floats(0, 1)
curves = st.builds(EbbinghausForgetting, st.floats(0.01, 1.0), st.floats(1.0, 10.0))
NOW = datetime(2026, 5, 1, tzinfo=UTC)


def test_it_is_the_formula_of_the_design() -> None:
    curve = EbbinghausForgetting(0.9, 1.5)
    assert curve == EbbinghausForgetting()
    assert curve.calculate_retention(48, 3, 0.6) == pytest.approx(0.9 ** (48 / (24 * 1.5**3)) * (0.5 + 0.5 * 0.6))
    assert curve.calculate_retention(0, 0, 1.0) == 1.0
    assert curve.calculate_retention(0, 0, 0.0) == 0.5
    assert curve.calculate_retention(24, 0, 1.0) == pytest.approx(0.9)


def test_unused_memories_fall_after_fifteen_to_twenty_two_days() -> None:
    curve = EbbinghausForgetting()
    assert 15 < curve.hours_until(0.1, 0, 0.0) / 24 < 16
    assert 21 < curve.hours_until(0.1, 0, 1.0) / 24 < 22


@given(curves, hours, counts, shares)
def test_retention_is_between_zero_and_one(
    curve: EbbinghausForgetting, elapsed: float, count: int, importance: float
) -> None:
    assert 0.0 <= curve.calculate_retention(elapsed, count, importance) <= 1.0


@given(curves, hours, hours, counts, shares)
def test_time_never_brings_anything_back(
    curve: EbbinghausForgetting, one: float, other: float, count: int, importance: float
) -> None:
    sooner, later = sorted((one, other))
    assert curve.calculate_retention(sooner, count, importance) >= curve.calculate_retention(later, count, importance)


@given(curves, hours, counts, counts, shares)
def test_each_recall_makes_it_last_longer(
    curve: EbbinghausForgetting, elapsed: float, one: int, other: int, importance: float
) -> None:
    fewer, more = sorted((one, other))
    least = curve.calculate_retention(elapsed, fewer, importance)
    assert curve.calculate_retention(elapsed, more, importance) >= least - 1e-12


@given(curves, hours, counts, shares, shares)
def test_what_matters_more_lasts_longer(
    curve: EbbinghausForgetting, elapsed: float, count: int, one: float, other: float
) -> None:
    less, more = sorted((one, other))
    assert curve.calculate_retention(elapsed, count, more) >= curve.calculate_retention(elapsed, count, less)


@given(curves, st.floats(0.01, 1), st.integers(0, 40), shares)
def test_it_falls_below_the_threshold_when_it_is_said_to(
    curve: EbbinghausForgetting, threshold: float, count: int, importance: float
) -> None:
    moment = curve.hours_until(threshold, count, importance)
    if math.isinf(moment):
        assert curve.calculate_retention(1e9, count, importance) >= threshold or curve.base_retention == 1.0
    else:
        assert curve.calculate_retention(moment * 0.999, count, importance) >= threshold - 1e-9 or moment == 0
        assert curve.calculate_retention(moment * 1.001 + 1e-6, count, importance) <= threshold + 1e-9


def test_a_time_in_the_future_counts_as_now() -> None:
    assert EbbinghausForgetting().calculate_retention(-5, 0, 1.0) == 1.0


def test_a_memory_that_outlives_the_calendar_never_falls() -> None:
    curve = EbbinghausForgetting()
    assert curve.falls_below_at(0.1, NOW, 5_000, 1.0) is None
    falls = curve.falls_below_at(0.1, NOW, 0, 1.0)
    assert falls is not None
    assert timedelta(days=21) < falls - NOW < timedelta(days=22)


@pytest.mark.parametrize("base", [0.0, -0.1, 1.1, math.nan, True, "0.9", None])
def test_a_base_that_makes_no_curve_is_refused(base: float) -> None:
    with pytest.raises(InvalidInputError, match="base_retention"):
        EbbinghausForgetting(base)


@pytest.mark.parametrize("factor", [0.99, 0, -1, math.inf, math.nan, "2"])
def test_a_recall_must_not_make_a_memory_weaker(factor: float) -> None:
    with pytest.raises(InvalidInputError, match="strengthening_factor"):
        EbbinghausForgetting(strengthening_factor=factor)


@pytest.mark.parametrize("arguments", [(1, -1, 0.5), (1, 1.5, 0.5), (1, 0, 1.1), (1, 0, math.nan), (math.nan, 0, 0.5)])
def test_numbers_that_mean_nothing_are_refused(arguments: tuple[float, int, float]) -> None:
    with pytest.raises(InvalidInputError):
        EbbinghausForgetting().calculate_retention(*arguments)


@given(shares, shares, shares)
def test_the_score_of_the_design_stays_between_zero_and_one(relevance: float, decay: float, importance: float) -> None:
    assert 0.0 <= FinalWeights().final_score(relevance, decay, importance) <= 1.0 + 1e-12


@given(st.floats(0, 1e6), st.floats(0, 1e6), st.floats(0.01, 1))
def test_decay_falls_with_time(one: float, other: float, rate: float) -> None:
    sooner, later = sorted((one, other))
    older, newer = NOW - timedelta(hours=later), NOW - timedelta(hours=sooner)
    assert 0.0 <= time_decay(older, NOW, rate) <= time_decay(newer, NOW, rate) <= 1.0

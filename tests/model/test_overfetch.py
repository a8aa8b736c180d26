"""Fetching until enough pass."""

from hypothesis import given
from hypothesis import strategies as st

from jiyi.model.overfetch import Fetched, enough, fetch_until_enough


@given(st.lists(st.booleans(), max_size=200), st.integers(1, 20), st.integers(1, 50))
def test_the_best_that_pass_are_found_however_few_they_are(passes: list[bool], limit: int, first: int) -> None:
    def fetch(asked: int) -> Fetched[int]:
        return [place for place, passed in enumerate(passes[:asked]) if passed], asked > len(passes)

    wanted = [place for place, passed in enumerate(passes) if passed][:limit]
    assert (fetch_until_enough(fetch, limit, first) or [])[:limit] == wanted


def test_it_gives_up_where_too_few_of_the_most_pass() -> None:
    asked_for: list[int] = []

    def fetch(asked: int) -> Fetched[int]:
        asked_for.append(asked)
        return [1], False

    assert fetch_until_enough(fetch, 2, 3, max_fetched=10) is None
    assert asked_for == [3, 9, 10]


def test_without_an_answer_there_is_none() -> None:
    assert fetch_until_enough(lambda _: None, 2, 3) is None


def test_no_more_are_fetched_than_there_are() -> None:
    assert enough(10, 50, 100) == 29
    assert enough(10, 0, 100) == 100

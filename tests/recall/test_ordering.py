"""In which order scored candidates come, and what becomes of their relevance."""

from hypothesis import given
from hypothesis import strategies as st

from jiyi.recall.ordering import Key, by_relevance, by_score

CANDIDATES = st.lists(st.tuples(st.floats(0, 2), st.floats(0, 1), st.integers(0, 3), st.booleans()), max_size=12)


def keys_of(*candidates: tuple[float, float]) -> list[Key]:
    return [Key(-score, -relevance, 0) for score, relevance in candidates]


@given(CANDIDATES)
def test_relevance_falls_along_the_answer_and_every_candidate_is_in_it(
    given_: list[tuple[float, float, int, bool]],
) -> None:
    keys = [Key(-score, -relevance, -time) for score, relevance, time, _ in given_]
    places = list(range(len(keys)))
    for found in (by_score(places, keys), by_relevance(places, keys, [alone for *_, alone in given_])):
        assert sorted(found.places) == places
        relevance = [found.relevance[place] for place in found.places]
        assert relevance == sorted(relevance, reverse=True)
        assert all(found.relevance[place] <= keys[place].relevance for place in places)
        ranks = [found.ranks[place] for place in found.places]
        assert ranks == sorted(ranks)


@given(CANDIDATES)
def test_what_stands_alone_keeps_its_own_relevance(given_: list[tuple[float, float, int, bool]]) -> None:
    keys = [Key(-score, -relevance, -time) for score, relevance, time, _ in given_]
    found = by_relevance(range(len(keys)), keys, [True] * len(keys))
    assert all(
        found.relevance[place] == keys[place].relevance for place in found.places if keys[place].relevance > 1e-6
    )


def test_the_better_score_comes_first_in_a_conversation_unless_it_is_far_less_likely() -> None:
    near, far = keys_of((1.0, 0.3), (0.8, 0.5)), keys_of((1.0, 0.03), (0.8, 0.5))
    assert by_relevance([0, 1], near, [False, False]).places == [0, 1]
    assert by_relevance([0, 1], far, [False, False]).places == [1, 0]


def test_a_standalone_fact_and_a_message_are_compared_by_relevance() -> None:
    keys = keys_of((1.0, 0.3), (0.8, 0.5))
    assert by_relevance([0, 1], keys, [False, True]).places == [1, 0]
    assert by_score([0, 1], keys).places == [0, 1]


def test_equals_share_a_rank() -> None:
    found = by_relevance([0, 1, 2], keys_of((1.0, 0.5), (1.0, 0.5), (0.9, 0.4)), [True] * 3)
    assert [found.ranks[place] for place in (0, 1, 2)] == [0, 0, 1]

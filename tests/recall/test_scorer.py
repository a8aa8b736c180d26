"""What the scorer promises about an order, on hand-made counts."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jiyi.model.relevance import CONFIDENT
from jiyi.recall.scorer import NOBODY, Candidates, FieldCounts, Scores, score
from jiyi.recall.settings import ScoringWeights

if TYPE_CHECKING:
    from jiyi.recall.scorer import Floats, Rows

WEIGHTS = ScoringWeights()
ALONE = (NOBODY, NOBODY, NOBODY, NOBODY)
USUAL_LENGTH = 30.0


def counts(
    rows: list[list[float]], *, lengths: list[float] | None = None, df: list[float] | None = None
) -> FieldCounts:
    """A field of texts of the usual length with terms that few texts have, unless said otherwise."""
    terms = len(rows[0]) if rows else 0
    return FieldCounts(
        np.asarray(rows, dtype=np.float64).reshape(len(rows), terms),
        np.asarray(lengths if lengths is not None else [USUAL_LENGTH] * len(rows), dtype=np.float64),
        np.asarray(df if df is not None else [5.0] * terms, dtype=np.float64),
        USUAL_LENGTH,
        np.ones(terms),
    )


def candidates(words: FieldCounts, **given_: Any) -> Candidates:
    """All rows of the field, without neighbours, conversations, dates or vectors, unless said otherwise."""
    scored = np.asarray(given_.pop("scored", range(len(words.length))), dtype=np.int64)
    known: dict[str, Any] = {
        "neighbours": [ALONE] * len(scored),
        "conversation": [NOBODY] * len(scored),
        "question_share": [0.0] * len(scored),
        "day": [NOBODY] * len(scored),
        "row_question_share": [0.0] * len(words.length),
        "standalone": [False] * len(scored),
        "in_conversation": [True] * len(scored),
        **given_,
    }
    return Candidates(
        scored=scored,
        neighbours=np.asarray(known["neighbours"], dtype=np.int64).reshape(len(scored), 4),
        entries=known.get("entries", 1000),
        words=words,
        bigrams=known.get("bigrams"),
        conversation=np.asarray(known["conversation"], dtype=np.int64),
        conversation_counts=known.get("conversation_counts", counts([])),
        conversations=known.get("conversations", 0),
        date_nearness=None if known.get("nearness") is None else np.asarray(known["nearness"], dtype=np.float64),
        inside_dates=known.get("inside_dates", 0),
        cosine=None if known.get("cosine") is None else np.asarray(known["cosine"], dtype=np.float64),
        only_dates=known.get("only_dates", False),
        mean_cosine=known.get("mean_cosine", 0.0),
        question_share=np.asarray(known["question_share"], dtype=np.float64),
        query_is_question=known.get("query_is_question", True),
        row_question_share=np.asarray(known["row_question_share"], dtype=np.float64),
        standalone=np.asarray(known["standalone"], dtype=np.bool_),
        in_conversation=np.asarray(known["in_conversation"], dtype=np.bool_),
        maximal_words=np.ones(words.tf.shape[1], dtype=np.bool_),
        related=np.asarray(known.get("related", np.zeros((len(scored), words.tf.shape[1]))), dtype=np.float64),
        answers=None if known.get("answers") is None else np.asarray(known["answers"], dtype=np.float64),
        states_attribute=None
        if known.get("states_attribute") is None
        else np.asarray(known["states_attribute"], dtype=np.float64),
        personal=known.get("personal", 0.0),
        day=np.asarray(known["day"], dtype=np.int64),
    )


def totals(words: FieldCounts, **given_: Any) -> list[float]:
    found: list[float] = score(candidates(words, **given_), WEIGHTS).total.tolist()
    return found


# --- words ------------------------------------------------------------------------------------------------------------


def test_a_text_with_the_word_comes_before_one_without() -> None:
    assert totals(counts([[0], [1]])) == [0.0, 1.0]


def test_a_rare_word_says_more_than_a_common_one() -> None:
    common, rare = totals(counts([[1, 0], [0, 1]], df=[500, 2]))
    assert rare > 2 * common > 0


def test_the_second_mention_of_a_word_adds_less_than_the_first() -> None:
    once, twice = totals(counts([[1], [2]]))
    assert once < twice < 2 * once


def test_two_words_of_the_question_beat_one_that_is_repeated() -> None:
    repeated, both = totals(counts([[3, 0], [1, 1]]))
    assert both > repeated


def test_a_longer_text_counts_the_same_word_less() -> None:
    short, long = totals(counts([[1], [1]], lengths=[30, 300]))
    assert short > 1.5 * long


def test_being_very_short_is_no_merit() -> None:
    greeting, sentence = totals(counts([[1], [1]], lengths=[2, 25]))
    assert greeting == sentence


def test_a_word_of_nearly_every_text_never_counts_against_a_text() -> None:
    assert min(score(candidates(counts([[1], [0]], df=[1000])), WEIGHTS).lexical) == 0.0


def test_a_count_that_is_behind_the_texts_does_no_harm() -> None:
    # A statistic of a moment ago may know fewer entries than the terms have.
    values = score(candidates(counts([[1]], df=[12]), entries=10), WEIGHTS)
    assert np.isfinite(values.total).all()
    assert values.lexical[0] > 0


def test_pairs_of_characters_help_where_the_words_are_cut_otherwise() -> None:
    words, pairs = counts([[0], [0]]), counts([[0], [1]])
    assert totals(words, bigrams=pairs) == [0.0, 1.0]


def test_words_weigh_more_than_pairs_of_characters() -> None:
    by_word, by_pair = totals(counts([[1], [0]]), bigrams=counts([[0], [1]]))
    assert by_pair == pytest.approx(WEIGHTS.bigrams * by_word)


def test_a_chinese_question_does_not_weigh_its_text_twice_against_dates_and_conversations() -> None:
    words = counts([[1], [2]])
    both = score(candidates(words, bigrams=words), WEIGHTS).lexical
    assert both.tolist() == pytest.approx(score(candidates(words), WEIGHTS).lexical.tolist())


# --- who stands next to it --------------------------------------------------------------------------------------------

QUESTION_THEN_ANSWER = counts([[1], [0], [0]])


def test_the_answer_after_a_matching_question_is_found_by_it() -> None:
    asked, answered, elsewhere = totals(QUESTION_THEN_ANSWER, neighbours=[ALONE, (0, *ALONE[1:]), ALONE])
    assert asked > answered > elsewhere == 0


@pytest.mark.parametrize("place", range(4))
def test_each_of_the_four_neighbours_lends_its_words(place: int) -> None:
    near = [NOBODY] * 4
    near[place] = 0
    lent = score(candidates(QUESTION_THEN_ANSWER, neighbours=[ALONE, near, ALONE]), WEIGHTS)
    assert lent.parts["words"][1] == 0
    assert lent.parts["neighbours"][1] == pytest.approx(lent.total[1])
    assert lent.total[1] > 0


def test_the_one_before_lends_more_than_the_one_after_and_both_more_than_those_beyond() -> None:
    matching_neighbour = [np.roll([0, *ALONE[1:]], place) for place in range(4)]
    before, after, *beyond = totals(
        counts([[1], [0], [0], [0], [0]]), scored=[1, 2, 3, 4], neighbours=matching_neighbour
    )
    assert before > after > max(beyond) > 0


def test_a_word_said_twice_in_a_row_is_saturated_once_not_counted_twice() -> None:
    alone = score(candidates(counts([[1]])), WEIGHTS).lexical[0]
    echoed = score(candidates(counts([[1], [1]]), scored=[0], neighbours=[(1, *ALONE[1:])]), WEIGHTS).lexical[0]
    assert alone < echoed < (1 + WEIGHTS.spoken_neighbours[0]) * alone


def test_pairs_of_characters_are_lent_like_words() -> None:
    nothing = counts([[0], [0]])
    lent = totals(nothing, bigrams=counts([[1], [0]]), neighbours=[ALONE, (0, *ALONE[1:])])
    assert lent[0] > lent[1] > 0


# --- conversations, dates, bare questions -----------------------------------------------------------------------------


def test_a_conversation_about_the_subject_lifts_what_was_said_in_it() -> None:
    lifted, other, outside = totals(
        counts([[1], [1], [1]]),
        conversation=[1, 0, NOBODY],
        conversation_counts=counts([[0], [4]], lengths=[200, 200], df=[1]),
        conversations=20,
    )
    assert lifted > other == outside > 0


def test_a_memory_of_the_day_asked_for_comes_before_one_that_only_has_the_words() -> None:
    on_the_day, with_the_word = totals(counts([[0], [1]], df=[50]), nearness=[1.0, 0.0], inside_dates=5)
    assert on_the_day > with_the_word > 0


def test_a_day_says_more_than_a_year() -> None:
    words = counts([[0]])
    day = score(candidates(words, nearness=[1.0], inside_dates=3), WEIGHTS).lexical[0]
    year = score(candidates(words, nearness=[1.0], inside_dates=900), WEIGHTS).lexical[0]
    assert day > 10 * year > 0


def test_near_the_day_is_better_than_far_from_it() -> None:
    inside, near, far = totals(counts([[0], [0], [0]]), nearness=[1.0, 0.6, 0.0], inside_dates=3)
    assert (inside, near, far) == pytest.approx((1.0, 0.6, 0.0))


def test_a_question_without_dates_has_no_part_for_them() -> None:
    assert not score(candidates(counts([[1]])), WEIGHTS).parts["date"].any()


def test_a_bare_question_stands_behind_a_statement_with_the_same_words() -> None:
    statement, half, question = totals(counts([[1, 0], [1, 0], [1, 0]]), question_share=[0.0, 0.5, 1.0])
    assert statement > half > question > 0


def test_the_same_question_asked_before_counts_next_to_nothing_and_is_not_relevant() -> None:
    before = score(
        candidates(counts([[1, 0], [1, 1]]), question_share=[0.0, 1.0], row_question_share=[0.0, 1.0]), WEIGHTS
    )
    assert before.total[0] > 10 * before.total[1] > 0
    assert before.relevance[0] > before.relevance[1] < 0.02


def test_words_that_are_looked_for_are_found_in_a_bare_question() -> None:
    given_ = candidates(counts([[1]]), question_share=[1.0], row_question_share=[1.0], query_is_question=False)
    assert score(given_, WEIGHTS).relevance[0] > CONFIDENT


def test_a_bare_question_is_never_confident() -> None:
    asked = score(candidates(counts([[3, 0]], df=[1, 900]), question_share=[1.0], row_question_share=[1.0]), WEIGHTS)
    told = score(candidates(counts([[3, 0]], df=[1, 900])), WEIGHTS)
    assert asked.relevance[0] < CONFIDENT < told.relevance[0]


def test_what_is_lost_for_being_a_question_is_shown_as_a_part() -> None:
    scores = score(candidates(counts([[1, 0], [1, 0]]), question_share=[0.0, 1.0]), WEIGHTS)
    assert scores.parts["question"][0] == 0
    assert scores.parts["question"][1] == pytest.approx(-WEIGHTS.question * scores.total[0])


def test_nothing_gains_by_being_a_bare_question() -> None:
    unlike = score(
        candidates(counts([[0], [0]]), cosine=[0.1, 0.5], mean_cosine=0.3, question_share=[1.0, 0.0]), WEIGHTS
    )
    assert unlike.total[0] < 0
    assert unlike.parts["question"][0] == 0


def test_many_poor_hits_do_not_make_a_day_the_right_one() -> None:
    poor: list[list[float]] = [[1, 0]] * 6
    words = counts([[3, 3], *poor], df=[200, 3])
    same_period = score(candidates(words, day=[1, *[40] * 6]), WEIGHTS).parts["same_period"]
    assert same_period[0] > 10 * same_period[1]


def test_the_day_with_several_good_hits_lifts_what_else_happened_on_it() -> None:
    words = counts([[2, 2], [2, 2], [1, 0], [1, 0]])
    *_, same_day, other_day = totals(words, day=[1, 1, 1, 2])
    assert same_day > other_day > 0


def test_a_good_day_lifts_the_days_around_it_less_and_less() -> None:
    words = counts([[2, 2], [2, 2], [1, 0], [1, 0], [1, 0], [1, 0]])
    *_, same, next_day, week_later, month_later = totals(words, day=[10, 10, 10, 11, 17, 40])
    assert same > next_day > week_later > month_later > 0


def test_a_good_day_makes_no_answer_of_what_fits_in_nothing() -> None:
    same_period = score(candidates(counts([[2, 2], [0, 0]]), day=[3, 3]), WEIGHTS).parts["same_period"]
    assert same_period[0] > 0
    assert same_period[1] == 0


def test_a_text_that_states_what_was_asked_for_comes_before_one_with_a_word_of_the_question() -> None:
    found = score(candidates(counts([[1], [0], [0]]), states_attribute=[0, 1, 0]), WEIGHTS)
    assert found.parts["attribute"].tolist() == [0, WEIGHTS.attribute, 0]
    assert found.relevance[1] > found.relevance[2]


def test_of_many_texts_that_state_it_each_is_less_relevant() -> None:
    alone = score(candidates(counts([[0], [0], [0]]), states_attribute=[1, 0, 0]), WEIGHTS).relevance
    beside = score(candidates(counts([[0], [0], [0]]), states_attribute=[1, 1, 1]), WEIGHTS).relevance
    assert alone[0] > beside[0]


def test_the_kind_of_answer_counts_only_beside_words_or_meaning() -> None:
    kind = score(candidates(counts([[2], [2], [0]]), answers=[1, 0, 1]), WEIGHTS).parts["answer_kind"]
    assert kind.tolist() == [WEIGHTS.answer_kind, 0, 0]


def test_messages_have_no_day() -> None:
    assert not score(candidates(counts([[1], [1]])), WEIGHTS).parts["same_period"].any()


def test_a_day_gives_a_dated_text_nothing_that_a_message_as_good_does_not_get() -> None:
    message, dated = score(candidates(counts([[1], [1]]), day=[NOBODY, 3]), WEIGHTS).parts["same_period"]
    assert message == pytest.approx(dated)


def test_memories_that_are_all_of_one_day_keep_their_order() -> None:
    words = counts([[1, 0], [3, 0], [1, 1], [0, 0]])
    assert np.argsort(totals(words, day=[7] * 4)).tolist() == np.argsort(totals(words)).tolist()


# --- meaning ----------------------------------------------------------------------------------------------------------


def test_between_equal_words_the_nearer_meaning_comes_first() -> None:
    far, near = totals(counts([[1], [1]]), cosine=[0.2, 0.6], mean_cosine=0.1)
    assert near > far


def test_meaning_finds_what_shares_no_word() -> None:
    unrelated, paraphrase = totals(counts([[0], [0]]), cosine=[0.1, 0.7], mean_cosine=0.1)
    assert paraphrase > unrelated == 0


def test_the_best_word_match_stands_before_the_best_meaning() -> None:
    by_word, by_meaning = totals(counts([[1], [0]]), cosine=[0.1, 0.9], mean_cosine=0.1)
    assert by_word > by_meaning > 0


def test_a_memory_without_a_vector_is_neither_helped_nor_harmed_by_meaning() -> None:
    parts = score(candidates(counts([[1], [1]]), cosine=[np.nan, 0.6], mean_cosine=0.1), WEIGHTS).parts
    assert parts["dense"][0] == 0
    assert parts["dense"][1] > 0


def test_a_neighbour_without_a_vector_does_not_dilute_the_meaning() -> None:
    values = score(
        candidates(counts([[0], [0]]), cosine=[0.6, np.nan], mean_cosine=0.1, neighbours=[(1, *ALONE[1:]), ALONE]),
        WEIGHTS,
    )
    alone = score(candidates(counts([[0], [0]]), cosine=[0.6, np.nan], mean_cosine=0.1), WEIGHTS)
    assert values.total.tolist() == alone.total.tolist()


def test_what_stands_among_similar_texts_is_nearer_in_meaning_than_what_stands_among_others() -> None:
    rows = counts([[0]] * 4)
    among_similar, among_others = totals(
        rows,
        scored=[0, 1],
        cosine=[0.5, 0.5, 0.7, 0.0],
        mean_cosine=0.1,
        neighbours=[(2, *ALONE[1:]), (3, *ALONE[1:])],
    )
    assert among_similar > among_others


def test_a_text_with_the_words_is_an_answer_however_unlike_the_rest_it_is() -> None:
    by_word, *_ = totals(counts([[1], [0], [0]]), cosine=[-0.9, 0.31, 0.3], mean_cosine=0.3)
    assert by_word == pytest.approx(1.0 - WEIGHTS.dense)


def test_neighbours_that_are_just_as_similar_change_nothing() -> None:
    in_company, alone, _ = totals(
        counts([[0]] * 3), cosine=[0.5, 0.5, 0.5], mean_cosine=0.1, neighbours=[(1, 2, *ALONE[2:]), ALONE, ALONE]
    )
    assert in_company == pytest.approx(alone)


@pytest.mark.parametrize(("cosine", "share"), [(0.16, 0.2), (0.4, 1.0), (0.9, 1.0)])
def test_the_nearest_meaning_counts_in_full_only_if_it_stands_out(cosine: float, share: float) -> None:
    # One embedder calls strangers 0.1 alike, another 0.8: what counts is what stands out by 0.3.
    values = score(candidates(counts([[0], [0]]), cosine=[0.1, cosine], mean_cosine=0.1), WEIGHTS)
    assert values.total[1] == pytest.approx(WEIGHTS.dense * share)


def test_a_text_that_stands_alone_and_a_turn_that_fit_in_full_are_equal() -> None:
    fact, turn = totals(counts([[1], [1]]), cosine=[0.9, 0.9], mean_cosine=0.1, standalone=[True, False])
    assert fact == pytest.approx(turn)


def test_meaning_decides_between_texts_that_stand_alone_and_share_a_few_words() -> None:
    some_words, meant = totals(counts([[1, 0], [0, 0]]), cosine=[0.2, 0.5], mean_cosine=0.1, standalone=[True, True])
    assert meant > some_words


def test_texts_that_are_all_alike_in_meaning_are_ranked_by_words_alone() -> None:
    values = score(candidates(counts([[1], [2]]), cosine=[0.3, 0.3], mean_cosine=0.3), WEIGHTS)
    assert not values.parts["dense"].any()
    assert values.total[1] > values.total[0] > 0


def test_asked_for_meaning_alone_words_and_dates_do_not_count() -> None:
    values = score(
        candidates(counts([[5], [0]]), cosine=[0.2, 0.4], mean_cosine=0.1, nearness=[1.0, 0.0], inside_dates=1),
        WEIGHTS,
        keyword=False,
    )
    assert values.total.tolist() == pytest.approx([0.2, 0.4])


# --- nothing to go by -------------------------------------------------------------------------------------------------


def test_no_candidates_have_no_scores() -> None:
    nobody = candidates(counts([[1]]), scored=[], neighbours=[])
    values = score(nobody, WEIGHTS)
    assert values.total.shape == values.relevance.shape == (0,)
    assert all(part.shape == (0,) for part in values.parts.values())


def test_a_question_of_nothing_but_unknown_words_makes_everything_irrelevant() -> None:
    assert totals(counts([[0, 0], [0, 0]], df=[0, 0])) == [0.0, 0.0]


def test_a_question_without_any_term_makes_everything_irrelevant() -> None:
    assert totals(counts([[], []])) == [0.0, 0.0]


# --- laws -------------------------------------------------------------------------------------------------------------

TERMS = 3


@st.composite
def settings_of_a_question(draw: st.DrawFn) -> Candidates:
    """Some texts, some of them candidates, with everything a question can bring."""
    size = draw(st.integers(1, 8))
    whole = st.integers(0, 4)
    share = st.floats(0, 1, allow_subnormal=False)

    def table(rows: int) -> list[list[float]]:
        return [[float(draw(whole)) for _ in range(TERMS)] for _ in range(rows)]

    def field(rows: int, longest: int) -> FieldCounts:
        lengths = [float(draw(st.integers(1, longest))) for _ in range(rows)]
        return counts(table(rows), lengths=lengths, df=[float(draw(st.integers(0, 50))) for _ in range(TERMS)])

    scored = draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=size, unique=True))
    conversations = draw(st.integers(0, 3))
    nearness = [draw(st.sampled_from([0.0, 0.3, 0.6, 1.0])) for _ in scored]
    cosine = [draw(st.one_of(st.just(np.nan), st.floats(-1, 1, allow_subnormal=False))) for _ in range(size)]
    return candidates(
        field(size, 200),
        entries=draw(st.integers(50, 1000)),
        scored=scored,
        neighbours=[[draw(st.integers(NOBODY, size - 1)) for _ in range(4)] for _ in scored],
        bigrams=draw(st.sampled_from([None, field(size, 400)])),
        conversation=[draw(st.integers(NOBODY, conversations - 1)) for _ in scored],
        conversation_counts=field(conversations, 900) if conversations else counts([]),
        conversations=50,
        nearness=draw(st.sampled_from([None, nearness])),
        inside_dates=draw(st.integers(0, 50)),
        cosine=draw(st.sampled_from([None, cosine])),
        mean_cosine=draw(st.floats(-0.5, 0.5, allow_subnormal=False)),
        question_share=[draw(share) for _ in scored],
        day=draw(st.sampled_from([[NOBODY] * len(scored), [draw(st.integers(NOBODY, 2)) for _ in scored]])),
    )


@given(settings_of_a_question())
def test_the_parts_add_up_to_the_score(given_: Candidates) -> None:
    values = score(given_, WEIGHTS)
    total = np.sum(list(values.parts.values()), axis=0)
    assert np.allclose(values.total, total, atol=1e-12)


@given(settings_of_a_question(), st.booleans())
def test_relevance_is_a_number_from_0_to_1(given_: Candidates, keyword: bool) -> None:
    values = score(given_, WEIGHTS, keyword=keyword)
    assert np.isfinite(values.total).all()
    assert ((values.relevance >= 0) & (values.relevance <= 1)).all()


@given(settings_of_a_question(), st.randoms(use_true_random=False))
def test_the_order_in_which_candidates_are_proposed_changes_no_score(given_: Candidates, random: Any) -> None:
    order = list(range(len(given_.scored)))
    random.shuffle(order)
    _same(_only(given_, order), score(given_, WEIGHTS), order)


def _only(given_: Candidates, order: list[int]) -> Scores:
    picked = given_._replace(
        scored=given_.scored[order],
        neighbours=given_.neighbours[order],
        conversation=given_.conversation[order],
        date_nearness=None if given_.date_nearness is None else given_.date_nearness[order],
        question_share=given_.question_share[order],
        day=given_.day[order],
    )
    return score(picked, WEIGHTS)


def _same(found: Scores, expected: Scores, order: list[int]) -> None:
    # Sums over a day may differ in the last bit, far below what an order looks at.
    assert np.allclose(found.total, expected.total[order], rtol=0, atol=1e-12)
    for name, part in expected.parts.items():
        assert np.allclose(found.parts[name], part[order], rtol=0, atol=1e-12), name


@given(settings_of_a_question(), st.randoms(use_true_random=False))
def test_the_order_in_which_texts_are_read_changes_no_score(given_: Candidates, random: Any) -> None:
    rows = len(given_.words.length)
    order = list(range(rows))
    random.shuffle(order)
    place = np.append(np.argsort(order), NOBODY)  # the last place is where NOBODY looks
    moved = given_._replace(
        scored=place[given_.scored],
        neighbours=place[given_.neighbours],
        words=_rows(given_.words, order),
        bigrams=None if given_.bigrams is None else _rows(given_.bigrams, order),
        cosine=None if given_.cosine is None else given_.cosine[order],
    )
    _same(score(moved, WEIGHTS), score(given_, WEIGHTS), list(range(len(given_.scored))))


def _rows(field: FieldCounts, order: list[int]) -> FieldCounts:
    return field._replace(tf=field.tf[order], length=field.length[order])


@given(settings_of_a_question())
def test_a_text_that_is_nobodys_neighbour_contributes_nothing(given_: Candidates) -> None:
    """Such as a text of another scope, or a forgotten one: neither its words nor its meaning."""
    strange = len(given_.words.length)
    bigger = given_._replace(
        words=_and_one_more(given_.words),
        bigrams=None if given_.bigrams is None else _and_one_more(given_.bigrams),
        cosine=None if given_.cosine is None else np.append(given_.cosine, 1.0),
    )
    assert strange not in bigger.neighbours
    _same(score(bigger, WEIGHTS), score(given_, WEIGHTS), list(range(len(given_.scored))))


def _and_one_more(field: FieldCounts) -> FieldCounts:
    return field._replace(tf=np.vstack((field.tf, np.full(TERMS, 9.0))), length=np.append(field.length, 3.0))


@given(settings_of_a_question())
def test_a_neighbour_with_none_of_the_words_and_no_vector_is_like_no_neighbour(given_: Candidates) -> None:
    empty = len(given_.words.length)
    blank = np.zeros((1, TERMS))
    bigger = given_._replace(
        words=given_.words._replace(
            tf=np.vstack((given_.words.tf, blank)), length=np.append(given_.words.length, 10.0)
        ),
        bigrams=None
        if given_.bigrams is None
        else given_.bigrams._replace(
            tf=np.vstack((given_.bigrams.tf, blank)), length=np.append(given_.bigrams.length, 10.0)
        ),
        cosine=None if given_.cosine is None else np.append(given_.cosine, np.nan),
        neighbours=np.where(given_.neighbours == NOBODY, empty, given_.neighbours),
    )
    _same(score(bigger, WEIGHTS), score(given_, WEIGHTS), list(range(len(given_.scored))))


@given(settings_of_a_question(), st.data())
def test_one_more_mention_of_a_word_never_lowers_a_text_nor_its_neighbours(
    given_: Candidates, data: st.DataObject
) -> None:
    row = data.draw(st.integers(0, len(given_.words.length) - 1))
    term = data.draw(st.integers(0, TERMS - 1))
    more = given_.words.tf.copy()
    more[row, term] += 1
    before = score(given_, WEIGHTS).lexical
    after = score(given_._replace(words=given_.words._replace(tf=more)), WEIGHTS).lexical
    touched = (given_.scored == row) | (given_.neighbours == row).any(axis=1)
    assert (after >= before - 1e-12).all()
    assert (after[touched] > before[touched]).all()
    assert after[~touched].tolist() == before[~touched].tolist()


@given(settings_of_a_question(), st.data())
def test_what_matches_better_never_comes_later(given_: Candidates, data: st.DataObject) -> None:
    """A word more in one candidate: no other passes it that did not stand before it already."""
    assume_alone = given_._replace(
        neighbours=np.full_like(given_.neighbours, NOBODY), question_share=_zeros(given_), day=_no_days(given_)
    )
    chosen = data.draw(st.integers(0, len(given_.scored) - 1))
    more = given_.words.tf.copy()
    more[given_.scored[chosen], data.draw(st.integers(0, TERMS - 1))] += 1
    before = score(assume_alone, WEIGHTS).total
    after = score(assume_alone._replace(words=given_.words._replace(tf=more)), WEIGHTS).total
    passed = (before <= before[chosen]) & (after > after[chosen] + 1e-12)
    assert not passed.any()


def _zeros(given_: Candidates) -> "Floats":
    return np.zeros_like(given_.question_share)


def _no_days(given_: Candidates) -> "Rows":
    return np.full_like(given_.day, NOBODY)


@given(settings_of_a_question(), st.data())
def test_nearer_in_meaning_never_comes_later(given_: Candidates, data: st.DataObject) -> None:
    """A candidate that becomes more similar: no other passes it that did not stand before it already."""
    rows = len(given_.words.length)
    cosine = np.asarray([data.draw(st.floats(0, 0.5, allow_subnormal=False)) for _ in range(rows)])
    alone = given_._replace(
        neighbours=np.full_like(given_.neighbours, NOBODY),
        question_share=_zeros(given_),
        day=_no_days(given_),
        cosine=cosine,
        mean_cosine=0.0,
    )
    chosen = data.draw(st.integers(0, len(given_.scored) - 1))
    nearer = cosine.copy()
    nearer[given_.scored[chosen]] += data.draw(st.floats(0.01, 0.5))
    before, after = score(alone, WEIGHTS).total, score(alone._replace(cosine=nearer), WEIGHTS).total
    passed = (before <= before[chosen]) & (after > after[chosen] + 1e-9)
    assert not passed.any()

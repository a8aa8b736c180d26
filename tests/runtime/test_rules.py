"""The pure rules of the runtime."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jiyi.errors import InvalidInputError
from jiyi.model.entry import MemoryEntry, Source
from jiyi.model.feedback import (
    MAX_STRENGTH,
    FeedbackOutcome,
    MergeGroup,
    added_strength,
    merge_entries,
    merged_scope,
    united_tags,
    why_not_merged,
)
from jiyi.model.limits import Limits
from jiyi.model.strength_decay import DecayRules, Usage, decay
from jiyi.runtime.answer_shares import chained_shares, fair_shares
from jiyi.runtime.checks import feedback_order, new_memory
from jiyi.runtime.near_duplicates import ContentWords, said, says_all_of
from jiyi.text import Analyzer, tag_form

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
ANALYZER = Analyzer()


def entry(identity: str = "1", **fields: object) -> MemoryEntry:
    made = MemoryEntry(
        id=identity, scope="a", key=None, content="tea", created_at=NOON, updated_at=NOON, last_accessed_at=NOON
    )
    return replace(made, **fields)  # type: ignore[arg-type]


# --- fair shares and chains -------------------------------------------------------------------------------------------


@given(
    ranked=st.lists(st.tuples(st.sampled_from("abc"), st.integers()), unique=True, max_size=20),
    limit=st.integers(1, 25),
)
def test_a_fair_share_takes_turns_and_keeps_the_order(ranked: list[tuple[str, int]], limit: int) -> None:
    chosen = fair_shares(ranked, lambda pair: pair[0], limit)
    assert len(chosen) == min(limit, len(ranked))
    assert chosen == [pair for pair in ranked if pair in chosen]
    counts = {kind: [p[0] for p in chosen].count(kind) for kind in "abc"}
    given_in_all = {kind: [p[0] for p in ranked].count(kind) for kind in "abc"}
    for kind, count in counts.items():
        # Nobody has two more than another who has some left.
        assert all(count <= counts[other] + 1 for other in counts if counts[other] < given_in_all[other])
        assert [p for p in ranked if p[0] == kind][:count] == [p for p in chosen if p[0] == kind]


@pytest.mark.parametrize(
    ("direct", "linked", "limit", "shares"),
    [
        (10, 10, 10, (5, 5)),
        (10, 2, 10, (8, 2)),
        (3, 10, 10, (3, 7)),
        (0, 4, 10, (0, 4)),
        (9, 9, 1, (1, 0)),
        (4, 0, 2, (2, 0)),
    ],
)
def test_at_most_half_of_a_chained_answer_is_linked(
    direct: int, linked: int, limit: int, shares: tuple[int, int]
) -> None:
    first, second = chained_shares(range(direct), range(linked), limit)
    assert (len(first), len(second)) == shares


# --- merging ----------------------------------------------------------------------------------------------------------


def test_a_private_scope_wins_and_two_private_scopes_never_meet() -> None:
    assert merged_scope(["public", "a", "public"]) == "a"
    assert merged_scope(["public"]) == "public"
    assert merged_scope(["a", "a"]) == "a"
    with pytest.raises(InvalidInputError, match="different private scopes"):
        merged_scope(["a", "b"])
    assert "private scopes" in str(why_not_merged([entry("1"), entry("2", scope="b")]))


def test_what_cannot_be_merged_says_why() -> None:
    assert why_not_merged([entry("1"), entry("2")]) is None
    assert "at least two" in str(why_not_merged([entry("1")]))
    assert "under its key" in str(why_not_merged([entry("1"), entry("2", key="k")]))
    assert "messages" in str(why_not_merged([entry("1"), entry("2", memory_type="message")]))


def test_tags_are_united_in_their_first_spelling() -> None:
    assert united_tags(["Tea", "ＴＥＡ", "cake", " tea"], tag_form) == ("Tea", "cake")


def test_strength_has_an_end() -> None:
    assert added_strength(2, 3) == 5
    assert added_strength(MAX_STRENGTH, MAX_STRENGTH) == MAX_STRENGTH


def test_the_strongest_gives_the_text_and_of_equals_the_newest() -> None:
    old, new = entry("1", content="old", created_at=NOON - DAY, reasoning="why"), entry("2", content="new")
    merged, sources = merge_entries([old, new], MergeGroup(("1", "2")), scope="a", now=NOON, form=tag_form)
    assert (merged.content, merged.reasoning, merged.created_at) == ("new", "why", NOON)
    strong = entry("3", content="strong", strength=7, created_at=NOON - 9 * DAY)
    merged, sources = merge_entries([old, new, strong], MergeGroup(()), scope="a", now=NOON, form=tag_form)
    assert (merged.content, merged.strength, merged.source.references) == ("strong", 9, ("3", "2", "1"))
    assert all(not s.is_active and s.source == Source("superseded", "user", (merged.id,)) for s in sources)
    assert [s.content for s in sources] == ["strong", "new", "old"]


def test_the_least_trusted_source_gives_the_trust() -> None:
    pair = [entry("1", source=Source("stored", "user")), entry("2", source=Source("runtime", "tool"))]
    merged, _ = merge_entries(pair, MergeGroup(()), scope="a", now=NOON, form=tag_form)
    assert merged.source.trust == "tool"


def test_an_outcome_can_be_kept_for_a_second_answer() -> None:
    outcome = FeedbackOutcome(
        strengthened=("a",), created=("b",), merged=(("c", ("d", "e")),), unknown=("f",), refused=((("g",), "why"),)
    )
    assert FeedbackOutcome.from_json(outcome.to_json()) == replace(outcome, repeated=True)


# --- decay ------------------------------------------------------------------------------------------------------------


def test_what_was_useful_strong_pinned_or_inactive_does_not_fade() -> None:
    late, rules = NOON + 1_000 * DAY, DecayRules()
    assert decay(entry(), Usage(), late, rules) is not None
    assert decay(entry(), Usage(useful=1, missed=9), late, rules) is None
    assert decay(entry(strength=rules.weak_below), Usage(), late, rules) is None
    assert decay(entry(pinned=True), Usage(), late, rules) is None
    assert decay(entry(is_active=False), Usage(), late, rules) is None


def test_what_was_recalled_for_nothing_fades_faster() -> None:
    rules = DecayRules()
    assert decay(entry(strength=5), Usage(), NOON + 29 * DAY, rules) is None
    ignored = decay(entry(strength=5), Usage(missed=1), NOON + 29 * DAY, rules)
    assert ignored is not None
    assert (ignored.strength, ignored.decayed_at) == (3, NOON + 20 * DAY)


@given(
    strength=st.integers(0, 9),
    missed=st.integers(0, 2),
    days=st.lists(st.integers(0, 400), min_size=1, max_size=6).map(sorted),
)
def test_fading_in_steps_is_fading_at_once(strength: int, missed: int, days: list[int]) -> None:
    rules = DecayRules()
    now, usage = entry(strength=strength), Usage(missed=missed)
    for day in days:
        left = decay(now, usage, NOON + day * DAY, rules)
        if left is not None:
            now = replace(now, strength=left.strength)
            usage = replace(usage, decayed_at=left.decayed_at)
    at_once = decay(entry(strength=strength), Usage(missed=missed), NOON + days[-1] * DAY, rules)
    assert now.strength == (strength if at_once is None else at_once.strength)


@pytest.mark.parametrize(
    "wrong", [{"idle_days": 0}, {"grace_days": -1}, {"weak_below": 1.5}, {"ignored_idle_days": True}]
)
def test_a_rule_that_makes_no_sense_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(InvalidInputError, match=next(iter(wrong))):
        DecayRules(**wrong)


# --- near-duplicates --------------------------------------------------------------------------------------------------


def near(longer: str, shorter: str) -> bool:
    return says_all_of(said(longer, ANALYZER), said(shorter, ANALYZER))


@pytest.mark.parametrize(
    ("longer", "shorter"),
    [
        (
            "Ann booked the quiet table near the window in the new bakery",
            "Ann booked the table near the window in the new bakery",
        ),
        ("小明周末经常和同事一起去公园旁边的老店吃火锅", "小明周末和同事一起去公园旁边的老店吃火锅"),
    ],
)
def test_an_addition_is_still_the_same_memory(longer: str, shorter: str) -> None:
    assert near(longer, shorter)
    assert not near(shorter, longer)


@pytest.mark.parametrize(
    ("longer", "shorter"),
    [
        (
            "Ann booked the table near the window in the new bakery 2 times",
            "Ann booked the table near the window in the new bakery",
        ),
        (
            "Ann never booked the table near the window in the bakery",
            "Ann booked the table near the window in the bakery",
        ),
        ("小明周末没和同事一起去公园旁边的老店吃火锅", "小明周末和同事一起去公园旁边的老店吃火锅"),
        ("Ann met Bob at the bakery by the river", "Bob met Ann at the bakery by the river"),
        ("tea", "cake"),
    ],
)
def test_a_number_a_negation_or_another_order_is_another_memory(longer: str, shorter: str) -> None:
    assert not near(longer, shorter)
    assert not near(shorter, longer)


@pytest.mark.parametrize("text", ["tea", "小明爱吃火锅", "！？", "🍲 🍲", "not", "a b c", "C++ (v2)"])
def test_what_is_said_can_be_written_in_a_line_and_read_again(text: str) -> None:
    what = said(text, ANALYZER)
    assert ContentWords.from_text(what.text()) == what
    assert what.content or what.particles
    assert says_all_of(what, what)


@pytest.mark.parametrize("reasoning", [["said so"], {"why": 1}, 5])
def test_a_reason_that_is_no_text_is_refused_in_words(reasoning: object) -> None:
    with pytest.raises(InvalidInputError, match="reasoning must be text"):
        new_memory(Limits(), "a", memory_type="preference", judgment="short", reasoning=reasoning)
    with pytest.raises(InvalidInputError, match="reasoning must be text"):
        feedback_order(
            Limits(),
            "a",
            useful=[],
            recalled=[],
            new=[],
            merges=[{"memory_ids": ["1", "2"], "reasoning": reasoning}],
            request_id=None,
        )

"""Which attribute a text is about: corrections without a set phrase, and the model behind them."""

from __future__ import annotations

import numpy as np
import pytest

from bench.judgement_examples import sequences
from bench.judgement_sets import attribute_lines, attributes
from jiyi.longterm.trained import Weights, stored_weights
from jiyi.ports import Embedder
from jiyi.wiring.models import judging_embedder
from tests.longterm.conftest import OpenMemory


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I use an old Nokia phone.", "The iPhone takes such nice photos, got it on Saturday"),
        ("I don't want a refund, just the replacement.", "Hmm, on second thought I'd rather have a refund."),
    ],
)
def test_a_new_state_replaces_the_old_one_without_a_phrase_that_says_so(
    open_room: OpenMemory, bundled_embedder: Embedder, old: str, new: str
) -> None:
    room = open_room(embedder=bundled_embedder)
    for message in (old, new):
        room.longterm.extract_and_store_memories_for_round("alice", "c", message, "")
    assert old not in [entry.content for entry in room.list(scope="alice")]
    assert old in [each.entry.content for each in room.longterm.superseded("alice")]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I live in Croydon with my parents.", "Painted my bedroom green"),
        ("My sister is a dentist.", "My sister got a new kitten"),
        ("我姐姐是护士", "我姐姐新买了条裙子"),
        ("I work at a bakery.", "Our bakery has new opening hours"),
    ],
)
def test_news_of_another_attribute_replaces_nothing(
    open_room: OpenMemory, bundled_embedder: Embedder, old: str, new: str
) -> None:
    room = open_room(embedder=bundled_embedder)
    for message in (old, new):
        room.longterm.extract_and_store_memories_for_round("alice", "c", message, "")
    assert old in [entry.content for entry in room.list(scope="alice")]


def test_the_attribute_of_a_plain_sentence_is_found_in_both_languages() -> None:
    model = Weights.of(stored_weights()["models"]).attributes
    texts = ["I weigh 71 kilos", "我体重一百四十斤", "My email is x@example.org", "我对花生过敏"]
    names = list(attributes())
    found = [names[place] for place in model.probabilities(judging_embedder().embed(texts)).argmax(axis=1)]
    assert found == ["weight", "weight", "email", "allergy"]


def test_the_best_clause_of_a_message_is_the_one_that_is_compared() -> None:
    model = Weights.of(stored_weights()["models"]).attributes
    said = ["the weather is awful", "my weight is 70 kilos", "the weather is awful, my weight is 70 kilos"]
    known = model.probabilities(judging_embedder().embed(["I weigh 80 kilos", "My cat is called Tom"]))
    first, second = model.matches(model.probabilities(judging_embedder().embed(said)), known)
    assert first.same > 0.5 > second.same
    assert first.same >= first.same_as_whole
    assert first.best == first.same
    assert second.best == 0.0
    assert first.same == pytest.approx(first.same_single + first.same_many, abs=1e-5)


def test_every_line_has_a_known_attribute_and_teaches_what_goes_and_what_stays() -> None:
    lines = attribute_lines()
    assert {line.attribute for line in lines} == set(attributes())
    assert all(line.old and line.change and line.beside for line in lines)
    taught = [said for said in sequences([]) if said.line is lines[0] or said.line == lines[0]]
    assert [bool(said.gone) for said in taught] == [True] * (len(taught) - 1) + [False]
    assert np.array_equal(stored_weights()["models"]["single"], [float(one) for one in attributes().values()])

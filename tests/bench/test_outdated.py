"""The set of invented people, and how decisions on it are counted."""

from __future__ import annotations

from collections import Counter

import pytest

from bench.judgement_sets import PersonMessage, messages_of_people
from bench.outdated import known_facts, outcome
from jiyi.longterm.corrections import CONFLICTS, REPLACES, Finding
from jiyi.text import Analyzer

MESSAGE = PersonMessage("here:1", "en", ("I rent a flat in Norwich with my cousin Dee", "I have a cat"), "", ())
GONE = PersonMessage(MESSAGE.place, "en", MESSAGE.facts, "movers just left", ("I rent a flat in Norwich",))


def test_every_label_of_the_set_names_a_part_of_a_fact() -> None:
    found = messages_of_people()
    languages = Counter(message.language for message in found)
    assert min(languages["zh"], languages["en"]) > 6_000
    for message in found:
        assert message.text, message.place
        assert message.facts, message.place
        assert all(any(part in fact for fact in message.facts) for part in message.gone), message.place


@pytest.mark.parametrize(
    ("message", "place", "verdict", "result"),
    [
        (GONE, 1, REPLACES, "right"),
        (GONE, 0, REPLACES, "wrong"),
        (GONE, 1, CONFLICTS, "linked"),
        (GONE, 0, CONFLICTS, "missed"),
        (MESSAGE, 1, REPLACES, "wrong"),
        (MESSAGE, 1, CONFLICTS, "linked"),
    ],
)
def test_a_decision_counts_as_right_only_for_the_outdated_fact(
    message: PersonMessage, place: int, verdict: str, result: str
) -> None:
    olds = known_facts(message, Analyzer())
    assert outcome(message, [Finding(olds[place], verdict, 1.0)]) == result


def test_nothing_found_is_right_only_where_nothing_changes() -> None:
    assert outcome(MESSAGE, []) == "right"
    assert outcome(GONE, []) == "missed"

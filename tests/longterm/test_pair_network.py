"""The network that compares a message with facts that it may make outdated."""

from __future__ import annotations

import pytest

from jiyi.longterm.pair_network import PairNetwork, texts_of_message
from jiyi.wiring.models import pair_reader

FACTS = {
    "en": ("I live in Leeds", "I'm a dental nurse", "My sister Ana teaches maths", "I drive a blue Corsa"),
    "zh": ("我住在长沙", "我是牙科护士", "我妹妹小安教数学", "我开一辆蓝色的飞度"),
}


@pytest.fixture(scope="module")
def network() -> PairNetwork:
    return PairNetwork(pair_reader)


@pytest.mark.parametrize(
    ("message", "language", "outdated"),
    [
        ("We moved to York last week", "en", 0),
        ("I quit the surgery, I'm a baker now", "en", 1),
        ("Sold the Corsa, I cycle everywhere", "en", 3),
        ("上周我们搬到株洲了", "zh", 0),
        ("小安现在改教物理了", "zh", 2),
        ("换了辆特斯拉，电费一个月才一百", "zh", 3),
    ],
)
def test_the_fact_that_a_message_makes_outdated_has_the_highest_value(
    network: PairNetwork, message: str, language: str, outdated: int
) -> None:
    values = network.values(message, FACTS[language])
    assert values.index(max(values)) == outdated


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_value_of_a_fact_does_not_depend_on_the_others(network: PairNetwork, language: str) -> None:
    message = "We moved to York, and the Corsa is gone. 车也卖了，搬家了。"
    together = network.values(message, FACTS[language])
    assert together == pytest.approx([network.values(message, [fact])[0] for fact in FACTS[language]], abs=1e-3)


def test_without_facts_there_are_no_values(network: PairNetwork) -> None:
    assert network.values("anything", []) == []
    assert network.outdated("anything", []) == []


@pytest.mark.parametrize(
    ("message", "parts", "gone"),
    [
        ("I quit the surgery, I'm a baker now", ("I'm a dental nurse,", "I live in Leeds"), 0),
        ("宽带换成联通了", ("家里宽带是移动的，", "我养了一只猫"), 0),
    ],
)
def test_of_a_fact_with_several_parts_only_the_outdated_one_is_likely_to_go(
    network: PairNetwork, message: str, parts: tuple[str, ...], gone: int
) -> None:
    shares = network.outdated(message, parts)
    assert shares[gone] > 0.5
    assert all(share < 0.5 for place, share in enumerate(shares) if place != gone)


def test_a_message_is_compared_by_its_clauses_and_as_a_whole() -> None:
    assert texts_of_message("I moved") == ["I moved"]
    said = texts_of_message("I sold the car, and my sister moved to Hull.")
    assert said[-1] == "I sold the car, and my sister moved to Hull."
    assert len(said) == 3

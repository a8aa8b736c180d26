"""Grouping the alternatives of a pattern changes nothing but the time that it takes."""

import re

import pytest

from jiyi.text.attribute_forms import ATTRIBUTES
from jiyi.text.patterns import grouped_by_boundary

_TEXTS = [
    "i work at a bakery and live in leeds with my two kids",
    "my sister is called anna, 31, and she is allergic to nuts",
    "我在杭州工作，住在西湖边，养了一只猫，属龙",
    "my表妹 plays the piano; 我对花生过敏 and i'm vegan",
    "born in 1990, 1990年出生的, 30岁, size 42, 42码",
]


@pytest.mark.parametrize("pattern", [form for forms in ATTRIBUTES.values() for form in (forms.stated, forms.asked)])
def test_a_grouped_pattern_finds_the_same(pattern: str) -> None:
    grouped = re.compile(grouped_by_boundary(pattern))
    for text in _TEXTS:
        assert [found.span() for found in grouped.finditer(text)] == [
            found.span() for found in re.finditer(pattern, text)
        ]


@pytest.mark.parametrize(
    ("pattern", "grouped"),
    [
        (r"\bcat|\bdog|bird", r"\b(?:cat|dog)|bird"),
        (r"x|\b(?:a|b)", r"\b(?:(?:a|b))|x"),
        (r"[|()]|\|\b|\by", r"\b(?:y)|[|()]|\|\b"),
        ("a|b", "a|b"),
    ],
)
def test_only_alternatives_outside_of_groups_and_classes_are_moved(pattern: str, grouped: str) -> None:
    assert grouped_by_boundary(pattern) == grouped

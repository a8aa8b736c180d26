"""The conditions of a filter: every field of `Filters` that is set leads to one, and an empty filter to none."""

from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

import pytest

from jiyi.backends.shared.filters import AnyDomain, AnyId, AnyOf, Condition, EveryTag, InPeriods, NoneOf, conditions
from jiyi.model.filters import Filters, make_filters

START, END = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 2, 1, tzinfo=UTC)
EXPECTED: dict[str, tuple[Any, Condition]] = {
    "categories": (("core",), AnyOf("category", ("core",))),
    "memory_types": (("fact",), AnyOf("memory_type", ("fact",))),
    "without_types": (("message",), NoneOf("memory_type", ("message",))),
    "domains": (("work",), AnyDomain(("work",))),
    "tags": (("tea", "green"), EveryTag(("tea", "green"))),
    "conversations": (("s",), AnyOf("conversation", ("s",))),
    "since": (START, InPeriods(((START, None),))),
    "until": (END, InPeriods(((None, END),))),
    "exact_ids": (frozenset({"a", "b"}), AnyId(frozenset({"a", "b"}))),
    "periods": (((START, END),), InPeriods(((START, END),))),
}

UNINDEXED = {"where", "key_prefix", "namespace", "known_at", "also_active", "beyond_expired"}
"""What no index holds; `conformance.records` shows that the record store checks them."""


def test_a_filter_of_scopes_alone_has_no_condition() -> None:
    assert list(conditions(Filters(scopes=("main",)))) == []


@pytest.mark.parametrize("name", [field.name for field in fields(Filters) if field.name in EXPECTED])
def test_every_field_of_a_filter_becomes_a_condition(name: str) -> None:
    value, condition = EXPECTED[name]
    filters = Filters(**{"scopes": ("main",), name: value})
    (found,) = conditions(filters)
    assert (type(found), found) == (type(condition), condition)
    assert not filters.only_scopes


def test_every_field_is_known_to_indexes_or_to_records() -> None:
    # What the records know about the conditions of theirs, and no conditions themselves.
    known = {"superset_ids", "estimate"}
    assert {field.name for field in fields(Filters)} == {"scopes", "alive_at", *EXPECTED, *UNINDEXED, *known}


def test_what_only_records_can_check_is_left_to_them() -> None:
    asked = (make_filters(("main",), where={"a": 1}), make_filters(("main",), key_prefix="k"))
    for filters in (*asked, make_filters(("main",), namespace=("n",))):
        assert list(conditions(filters)) == []
        assert filters.has_unindexed
        assert not filters.only_scopes


def test_both_ends_of_a_time_are_one_condition() -> None:
    assert list(conditions(Filters(scopes=("main",), since=START, until=END))) == [InPeriods(((START, END),))]

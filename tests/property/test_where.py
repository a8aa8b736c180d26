"""`where` means in every engine of the record store what it means in Python, for any JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from jiyi.backends.embedded.database import SqliteDatabase
from jiyi.backends.postgres.database import PostgresDatabase
from jiyi.backends.records import metadata_index
from jiyi.backends.records.store import SqlRecordStore
from jiyi.model.filters import make_filters
from jiyi.model.metadata import check_metadata, metadata_of, metadata_text
from jiyi.ports import Draft, RecordStore
from jiyi.testing.conformance.examples import entry
from tests.servers.fixtures import NewDatabase

ON_STORE = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])

# Few names and values, so that conditions and metadata meet; and some that engines are known to confuse.
names = st.sampled_from(["a", "b", "0", "键", "a b", "%", "[0]", "a$", "'", "A"])
texts = st.one_of(
    st.sampled_from(["", "a", "A", "1", "true", "null", "é", "键", "\U0001f600", "\uffff", 'q"uo\\te\n', "{}", "[1]"]),
    st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=5),
)
numbers = st.one_of(
    st.sampled_from([0, 1, -1, 1.0, -0.0, 0.1, 2**53, 2**53 + 1, float(2**53), 2**60, 2**60 + 1, float(2**60), 1e300]),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
)
scalars = st.one_of(st.none(), st.booleans(), numbers, texts)
operands = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3), max_leaves=5)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(names, inner, max_size=3)),
    max_leaves=8,
)
metadata = st.dictionaries(names, values, max_size=4)
conditions = st.one_of(
    operands,
    st.fixed_dictionaries(
        {},
        optional={
            "$eq": operands,
            "$ne": operands,
            "$gt": st.one_of(numbers, texts),
            "$gte": st.one_of(numbers, texts),
            "$lt": st.one_of(numbers, texts),
            "$lte": st.one_of(numbers, texts),
            "$in": st.lists(operands, max_size=3),
            "$nin": st.lists(operands, max_size=3),
            "$exists": st.booleans(),
        },
    ).filter(bool),
)
wheres = st.dictionaries(st.lists(names, min_size=1, max_size=3).map(".".join), conditions, min_size=1, max_size=2)

_scopes = count()


@pytest.fixture(scope="module", params=["indexed", "some pending"])
def sqlite(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[RecordStore]:
    folder: Path = tmp_path_factory.mktemp("where")
    store = SqlRecordStore(SqliteDatabase(folder / "memory.db", busy_timeout=5))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(metadata_index, "_MAX_PENDING", 1 if request.param == "indexed" else 10)
        yield store
    store.close()


@pytest.fixture
def postgres(new_postgres: NewDatabase) -> Iterator[RecordStore]:
    store = SqlRecordStore(PostgresDatabase(new_postgres()))
    yield store
    store.close()


def compare(store: RecordStore, all_metadata: list[dict[str, Any]], where: dict[str, Any]) -> None:
    """Store entries with these metadata in a scope of their own, and ask for those that meet the condition."""
    scope = f"s{next(_scopes)}"
    filters = make_filters((scope,), where=where)
    stored = store.put([Draft(entry(None, "x", scope=scope, metadata=each)) for each in all_metadata], actor="a")
    expected = {each.id for each in stored if filters.admits(each)}
    ids = [each.id for each in stored]
    assert set(store.matching_ids(filters)) == expected
    assert store.admitted(ids, filters) == expected
    assert store.count(filters) == len(expected)
    few = store.few_matching(filters, limit=100)
    assert few is None or set(few) == expected
    if store.estimate(filters, limit=100) is not None:
        listed = store.listed_matches(filters, limit=100)
        assert listed is None or listed >= expected
    assert {each.id: each.metadata for each in store.fetch(ids, None).values()} == {
        each.id: each.metadata for each in stored
    }


@ON_STORE
@given(all_metadata=st.lists(metadata, min_size=1, max_size=4), where=wheres)
@example(all_metadata=[{"a": 1}, {"a": True}, {"a": 1.0}, {"a": "1"}, {}], where={"a": 1})
@example(all_metadata=[{"a": None}, {}, {"a": []}], where={"a": None})
@example(all_metadata=[{"a": ["x"]}, {"a": {"0": "x"}}], where={"a.0": "x"})
@example(all_metadata=[{"a": 2**60}, {"a": float(2**60)}, {"a": 2**60 + 1}], where={"a": {"$in": [2**60]}})
def test_where_on_sqlite_equals_the_model(
    sqlite: RecordStore, all_metadata: list[dict[str, Any]], where: dict[str, Any]
) -> None:
    compare(sqlite, all_metadata, where)


@pytest.mark.server
@ON_STORE
@given(all_metadata=st.lists(metadata, min_size=1, max_size=4), where=wheres)
@example(all_metadata=[{"a": 1}, {"a": True}, {"a": 1.0}, {"a": "1"}, {}], where={"a": 1})
@example(all_metadata=[{"a": None}, {}, {"a": []}], where={"a": None})
@example(all_metadata=[{"a": ["x"]}, {"a": {"0": "x"}}], where={"a.0": "x"})
@example(all_metadata=[{"a": 2**60}, {"a": float(2**60)}, {"a": 2**60 + 1}], where={"a": {"$in": [2**60]}})
@example(all_metadata=[{"a": 5e-324}, {"a": 1.7976931348623157e308}], where={"a": {"$lt": 1}})
def test_where_on_postgres_equals_the_model(
    postgres: RecordStore, all_metadata: list[dict[str, Any]], where: dict[str, Any]
) -> None:
    compare(postgres, all_metadata, where)


@given(metadata)
def test_metadata_come_back_as_they_were_stored(value: dict[str, Any]) -> None:
    again = metadata_of(metadata_text(check_metadata(value)))
    assert again == value
    assert repr(again) == repr(value) or any(isinstance(each, float) and math.isinf(each) for each in value.values())

"""What a merged memory takes from its sources."""

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from jiyi.model.entry import MemoryEntry
from jiyi.model.feedback import MergeGroup, merge_entries, united_metadata
from jiyi.model.metadata import MAX_BYTES, check_metadata, metadata_text

NOW = datetime(2026, 5, 1, tzinfo=UTC)
OBJECTS = st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 3) | st.text(max_size=3), max_size=4)


def entry(name: str, strength: int, **fields: Any) -> MemoryEntry:
    times: dict[str, Any] = {"created_at": NOW, "updated_at": NOW, "last_accessed_at": NOW}
    return MemoryEntry(id=name, scope="main", key=None, content=name, strength=strength, **times, **fields)


def merged(*entries: MemoryEntry) -> MemoryEntry:
    return merge_entries(entries, MergeGroup(tuple(e.id for e in entries)), scope="main", now=NOW, form=str.lower)[0]


def test_metadata_of_all_are_kept_and_the_strongest_gives_the_value_of_a_common_key() -> None:
    weak = entry("weak", 1, metadata={"project": "x", "page": 3})
    strong = entry("strong", 5, metadata={"project": "y", "who": {"name": "Ann"}})
    assert merged(weak, strong).metadata == {"project": "y", "who": {"name": "Ann"}, "page": 3}


def test_a_merged_memory_expires_only_if_every_source_would_have() -> None:
    day = timedelta(days=1)
    one, two = entry("one", 1, expires_at=NOW + day), entry("two", 2, expires_at=NOW + 2 * day)
    assert merged(one, two).expires_at == NOW + 2 * day
    assert merged(one, two, entry("three", 3)).expires_at is None


@given(st.lists(OBJECTS, max_size=4))
def test_every_key_is_kept_with_the_value_of_the_first_that_has_it(objects: list[dict[str, Any]]) -> None:
    united = united_metadata(objects)
    assert united == {key: value for each in reversed(objects) for key, value in each.items()}


def test_what_is_too_large_together_is_left_out_and_the_rest_is_kept() -> None:
    large = {"a": "x" * (MAX_BYTES // 2)}
    united = united_metadata([large, {"b": "y" * (MAX_BYTES // 2)}, {"c": 1}])
    assert united == {**large, "c": 1}
    assert check_metadata(united) == united
    assert len(metadata_text(united)) <= MAX_BYTES

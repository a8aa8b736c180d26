"""A hit as JSON: nothing of it is lost on the way to a client."""

from dataclasses import fields, replace
from datetime import UTC, datetime

from jiyi.client.decoding import hit_of
from jiyi.model.entry import Explanation, IndexCoverage, MemoryEntry

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


def entry(identity: str) -> MemoryEntry:
    return MemoryEntry(
        id=identity, scope="a", key=None, content="tea", created_at=NOON, updated_at=NOON, last_accessed_at=NOON
    )


def test_every_field_of_a_hit_reaches_a_client() -> None:
    plain = entry("1")
    coverage = (IndexCoverage("text", answered=True, behind=2, note="late"),)
    explanation = Explanation({"text": 0.5}, ("tea",), coverage, ((0, 3),))
    hit = replace(
        plain.as_hit(0.5, explanation, similarity=0.25, confident=True),
        context=(entry("2"),),
        other_sources=(entry("3"),),
        corrected_by=(entry("4"),),
    )
    # A field that is added to hits has to be set above.
    unset = {f.name for f in fields(hit) if getattr(hit, f.name) == getattr(plain, f.name)}
    assert {f.name for f in fields(hit)} - unset == {
        *("relevance_score", "similarity", "confident", "explanation", "context", "other_sources", "corrected_by")
    }
    assert hit_of(hit.to_dict()) == hit
    assert hit.as_record() == plain

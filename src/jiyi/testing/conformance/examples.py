"""Example entries for the suites: cheap to make, all different, with every field used somewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from jiyi.model.category import MemoryCategory
from jiyi.model.entry import MemoryEntry, Source
from jiyi.model.filters import Filters, make_filters
from jiyi.model.identity import new_id
from jiyi.ports import Draft

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
"""A fixed moment, so that the suites do not depend on the current date."""

LOOK_ALIKE_SCOPES = ("a", "a1", "A", "ａ", "á", "a%", "a_", "a'", "a b")
"""Different scopes that an inexact comparison would confuse."""

ACTOR = "conformance"


def entry(key: str | None, content: str, *, scope: str = "main", minutes: int = 0, **fields: Any) -> MemoryEntry:
    """A new entry, created `minutes` after noon."""
    moment = NOON + timedelta(minutes=minutes)
    known: dict[str, Any] = {"created_at": moment, "updated_at": moment, "last_accessed_at": moment}
    return MemoryEntry(id=new_id(), scope=scope, key=key, content=content, **{**known, **fields})


def draft(key: str | None, content: str, *, keep: frozenset[str] = frozenset(), **fields: Any) -> Draft:
    """An entry to be stored."""
    return Draft(entry(key, content, **fields), keep)


def full_entry(key: str | None = "配置 one") -> MemoryEntry:
    """An entry that uses every field."""
    return replace(
        entry(key, "杭州的早报 C++ (v2) 😀\nsecond line\t\u200b", scope="用户 1"),
        category=MemoryCategory("project"),
        memory_type="reflection",
        domain="work",
        reasoning="because 因为",
        importance_score=0.875,
        strength=3,
        tags=("红", "a b", "'quoted'", "%"),
        conversation_id="2024-05-01",
        position=7,
        source=Source("note", "tool", ("MEMORY.md:1-2", "x")),
        occurred_at=datetime(1999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
        created_at=NOON + timedelta(microseconds=1),
        updated_at=NOON + timedelta(microseconds=2),
        last_accessed_at=NOON + timedelta(microseconds=3),
        access_count=2,
        pinned=True,
        version=1,
    )


def varied_entries(count: int = 48) -> list[MemoryEntry]:
    """Entries that differ in every field that a filter can select by; all contain the word `apple`."""
    scopes = ("main", "public", "other")
    categories = ("core", "daily", "project")
    types = ("fact", "message", "reflection", "judgment")
    domains = (None, "work", "life")
    tags = ((), ("red",), ("red", "big"), ("big",), ("re",))
    return [
        entry(
            f"key {i}",
            f"apple number{i} of the tree",
            scope=scopes[i % 3],
            minutes=i,
            category=MemoryCategory(categories[i // 2 % 3]),
            memory_type=types[i // 3 % 4],
            domain=domains[i // 5 % 3],
            tags=tags[i // 7 % 5],
            conversation_id=(None, "talk", "note:a.md")[i // 4 % 3],
            occurred_at=NOON - timedelta(days=i) if i % 4 == 0 else None,
            metadata=({}, {"score": i, "kind": "fruit"}, {"score": i / 2, "tree": {"old": True, "rows": [1, 2]}})[
                i % 5 % 3
            ],
            namespace=((), ("trees",), ("trees", "old"), ("tree",), ("trees old",))[i % 7 % 5],
            expires_at=(None, NOON + timedelta(days=36_500), NOON)[i // 6 % 3],
        )
        for i in range(count)
    ]


FILTERS = {
    "one scope": Filters(scopes=("main",)),
    "two scopes": Filters(scopes=("main", "public")),
    "a scope without entries": Filters(scopes=("nobody",)),
    "category": Filters(scopes=("main",), categories=("daily",)),
    "categories": Filters(scopes=("main", "other"), categories=("daily", "project")),
    "type": Filters(scopes=("main",), memory_types=("fact",)),
    "types": Filters(scopes=("main",), memory_types=("fact", "message")),
    "without a type": Filters(scopes=("main", "public"), without_types=("reflection",)),
    "domain": Filters(scopes=("main",), domains=("work",)),
    "domains": Filters(scopes=("main", "public"), domains=("work", "life")),
    "tag": Filters(scopes=("main",), tags=("red",)),
    "all of two tags": Filters(scopes=("main", "public", "other"), tags=("red", "big")),
    "a tag nobody has": Filters(scopes=("main",), tags=("green",)),
    "conversation": Filters(scopes=("main",), conversations=("talk",)),
    "conversations": Filters(scopes=("main", "public"), conversations=("talk", "note:a.md")),
    "a conversation nobody had": Filters(scopes=("main",), conversations=("silence",)),
    "since": Filters(scopes=("main",), since=NOON + timedelta(minutes=9)),
    "until": Filters(scopes=("main",), until=NOON + timedelta(minutes=9)),
    "a period": Filters(scopes=("main", "public"), since=NOON - timedelta(days=20), until=NOON + timedelta(minutes=21)),
    "one of two periods": Filters(
        scopes=("main", "public"),
        periods=(
            (NOON - timedelta(days=20), NOON - timedelta(days=4)),
            (NOON + timedelta(minutes=3), NOON + timedelta(minutes=6)),
        ),
    ),
    "everything at once": Filters(
        scopes=("main", "public", "other"),
        categories=("core", "daily", "project"),
        memory_types=("fact", "message", "judgment"),
        without_types=("judgment",),
        domains=("work", "life"),
        tags=("big",),
        conversations=("talk", "note:a.md"),
        since=NOON - timedelta(days=60),
        until=NOON + timedelta(minutes=60),
        periods=((NOON - timedelta(days=365), NOON + timedelta(minutes=50)),),
    ),
}
"""Every condition that an index knows, alone and together, by a name that says what it asks for."""

RECORD_FILTERS = {
    **FILTERS,
    "metadata": make_filters(("main",), where={"kind": "fruit"}),
    "metadata that is not so": make_filters(("main", "public"), where={"kind": {"$ne": "fruit"}}),
    "a number in metadata": make_filters(("main", "other"), where={"score": {"$gte": 8, "$lt": 20.5}}),
    "metadata inside an object": make_filters(("main",), where={"tree.old": True, "tree.rows": [1, 2.0]}),
    "metadata that exist": make_filters(("main",), where={"tree": {"$exists": True}}),
    "metadata that do not exist": make_filters(("main",), where={"tree": {"$exists": False}}),
    "one of some metadata": make_filters(("main",), where={"score": {"$in": [1, 4, 10, "x", None]}}),
    "none of some metadata": make_filters(("main",), where={"score": {"$nin": [1, 4, 10]}}),
    "a prefix of keys": make_filters(("main", "public"), key_prefix="key 1"),
    "a namespace": make_filters(("main",), namespace=("trees",)),
    "a namespace below another": make_filters(("main", "public"), namespace=("trees", "old")),
    "a namespace that only begins so": make_filters(("main",), namespace=("tre",)),
    "a time before anything expired": make_filters(("main", "public"), alive_at=NOON - timedelta(days=1)),
    "what was known at a time": Filters(("main", "public"), known_at=NOON),
    "what was known of a kind at a time": Filters(("main",), tags=("red",), known_at=NOON - timedelta(days=2)),
    "everything of records": make_filters(
        ("main", "public", "other"),
        category=("core", "daily"),
        where={"score": {"$gt": 1}},
        key_prefix="key ",
        namespace=("trees",),
        alive_at=NOON - timedelta(days=1),
    ),
}
"""`FILTERS`, and what only a record store can check."""


def proposed_by_an_index(filters: Filters, entries: Sequence[MemoryEntry]) -> set[str]:
    """The entries that an index proposes for these filters.

    Expiry, metadata, keys, namespaces and when something was known are checked by the record store alone.
    """
    held = replace(filters, where=(), key_prefix="", namespace=(), alive_at=NOON - timedelta(days=1), known_at=None)
    return {entry.id for entry in entries if held.admits(entry)}

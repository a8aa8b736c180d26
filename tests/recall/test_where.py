"""Recall with `where`: however many entries meet the condition, and whichever way they are found, the answer is one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from jiyi.backends.embedded.text import matches
from jiyi.backends.records import match_cache, metadata_index
from jiyi.backends.records.store import SqlRecordStore
from jiyi.components import Components
from jiyi.model.filters import make_filters
from jiyi.recall import Request, filter_pushdown, search
from jiyi.testing.conformance.examples import draft
from jiyi.testing.fakes import HashEmbedder
from jiyi.wiring import build

SCOPES = ("main", "public")
QUESTIONS = ("garden gate", "花园的门 zebra", "the lamp of room 7 on 3 March 2026")
WHERES: dict[str, dict[str, Any]] = {
    "a half": {"even": True},
    "a tenth": {"of.ten": 3},
    "a few": {"rare": {"$in": ["r7", "r8"]}},
    "none": {"rare": "nothing"},
    "a range": {"number": {"$gte": 100, "$lt": 160}},
    "two conditions": {"even": True, "of.ten": {"$lte": 4}},
    "the rest": {"even": {"$ne": True}},
}
# Limits so small that a store of some hundred entries is a large one.
WAYS: dict[str, dict[str, int]] = {
    "ids in the query": {"_IDS_IN_QUERY": 1_000, "_IDS_HASHED": 1_000},
    "hashes of ids": {"_IDS_IN_QUERY": 0, "_IDS_HASHED": 1_000},
    "too many matches for hashes": {"_IDS_IN_QUERY": 0, "_IDS_HASHED": 1_000, "_MATCHES_LOOKED_AT": 1},
    "among the matches": {"_IDS_IN_QUERY": 0, "_IDS_HASHED": 0, "WIDE": 5},
    "an estimate": {"_MAX_LISTED_IDS": -1, "_MAX_IDS": -1},
    "an estimate, a large scope": {"_MAX_LISTED_IDS": -1, "_MAX_IDS": -1, "_MIN_TEXTS_OF_LOOK_AHEAD": 10},
    "ids, a large scope": {"_MIN_TEXTS_OF_LOOK_AHEAD": 10},
}


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Components]:
    parts = build(
        tmp_path_factory.mktemp("where"),
        embedder=HashEmbedder(),
        background_indexing=False,
        background_jobs=False,
        time_zone="UTC",
    )
    texts = ("the garden gate is green", "花园的门是绿色的", "the kitchen has a new lamp", "room 7 at the airport")
    drafts = [
        draft(
            f"note {number}",
            f"{texts[number % 4]} {number}",
            metadata={
                "even": number % 2 == 0,
                "of": {"ten": number % 10},
                "rare": f"r{number // 3}",
                "number": number,
            },
        )
        for number in range(160)
    ]
    # The index of metadata has the values of most of them, and the last ones are pending.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(metadata_index, "_MAX_PENDING", 100)
        parts.store.put(drafts[:120], actor="a")
        parts.store.put(drafts[120:], actor="a")
    yield parts
    parts.engine.close()
    parts.store.close()


def patch(monkeypatch: pytest.MonkeyPatch, limits: dict[str, int]) -> None:
    for name, value in limits.items():
        having = [module for module in (matches, filter_pushdown, search, match_cache) if hasattr(module, name)]
        assert having, name
        for module in having:
            monkeypatch.setattr(module, name, value)


@pytest.mark.parametrize("mode", ["hybrid", "keyword"])
@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_find_what_meets_a_condition_gives_the_same_answer(
    way: str, mode: str, parts: Components, monkeypatch: pytest.MonkeyPatch
) -> None:
    patch(monkeypatch, WAYS[way])
    for where in WHERES.values():
        filters = make_filters(SCOPES, where=where)
        for question in QUESTIONS:
            request = Request(question, filters, limit=8, mode=mode)
            found = parts.engine.answer(request)
            with monkeypatch.context() as plainly:
                # Without help of the records each proposal is checked, and if too few pass, the whole scope.
                plainly.setattr(SqlRecordStore, "estimate", lambda *_, **__: None)
                plainly.setattr(SqlRecordStore, "few_matching", lambda *_, **__: None)
                expected = parts.engine.answer(request)
            assert [hit.id for hit in found] == [hit.id for hit in expected], (where, question)
            assert all(filters.admits(hit) for hit in found)

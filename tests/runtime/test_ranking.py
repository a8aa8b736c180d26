"""Recall by tags is what the design says, for any memories, tags and questions."""

import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jiyi.backends.embedded.database import SqliteDatabase
from jiyi.backends.records.store import SqlRecordStore
from jiyi.model import clock
from jiyi.model.entry import MemoryEntry
from jiyi.model.filters import Filters, make_filters
from jiyi.model.identity import new_id
from jiyi.model.scope import visible_scopes
from jiyi.ports import Draft
from jiyi.recall.tags import TagMirror, recall_by_tags, stands_in
from jiyi.sync import AgentMemory
from jiyi.text import fold, tag_form
from jiyi.text import substrings as substrings_module
from jiyi.text.substrings import SubstringSet
from tests.support import database, examples

OpenMemory = Callable[..., AgentMemory]

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
# Tags that contain each other, single characters, other spellings of the same, what SQL and patterns treat as special,
# pictures, and a very long one.
TAGS = [
    *("小", "明", "小明", "小明明", "明小", "火锅", "火鍋", "a", "A", "ａ", "aa", "aaa", "ab", "tea", "TEA", "ｔｅａ"),
    *("%", "_", "'", '"', "''", "--", ";", "\\", "*", "?", "a%", "[", "é", "e\u0301", "ß", "SS", " tea", "tea time"),
    *("🍲", "👩‍👩‍👧", "👩", "🇨🇳", "\u200b", "x" * 1_000, "İ", "ﬁ", "Ⅷ", "㎏"),
]
QUERIES = [
    *TAGS,
    "小明说晚上去吃火锅",
    "TEA time?",
    "100%_' OR 1=1 --",
    "aaaa",
    "👩‍👩‍👧🍲",
    "Straße",
    "é e\u0301",
    "fi viii kg",
]


ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=5)


@dataclass(frozen=True)
class Ranking:
    """Section 6.2 in plain Python."""

    entries: list[MemoryEntry]

    def expected(self, query: str, filters: Filters) -> list[tuple[str, int]]:
        folded = fold(query)

        def hits(entry: MemoryEntry) -> int:
            return sum(1 for tag in entry.tags if tag_form(tag) and stands_in(tag_form(tag), folded))

        found = [entry for entry in self.entries if filters.admits(entry) and hits(entry)]
        found.sort(key=lambda e: (hits(e), e.created_at.date(), e.strength, e.created_at, e.id), reverse=True)
        return [(entry.id, hits(entry)) for entry in found]


@st.composite
def memories(draw: st.DrawFn) -> MemoryEntry:
    moment = NOON + timedelta(hours=draw(st.integers(-40, 40)))
    return MemoryEntry(
        id=new_id(),
        scope=draw(st.sampled_from(["a", "A", "public", "b"])),
        key=None,
        content="text",
        memory_type=draw(st.sampled_from(["fact", "event"])),
        tags=tuple(
            draw(
                st.lists(
                    st.sampled_from(TAGS) | st.text("ab小明%_ ", min_size=1, max_size=4) | ANY_TEXT,
                    unique=True,
                    max_size=6,
                )
            )
        ),
        strength=draw(st.integers(0, 3)),
        is_active=draw(st.integers(0, 5)) > 0,
        created_at=moment,
        updated_at=moment,
        last_accessed_at=moment,
    )


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def open_store(folder: Path) -> SqlRecordStore:
    return SqlRecordStore(SqliteDatabase(folder / "memory.db", busy_timeout=30))


@settings(max_examples=examples(1))
@given(
    found=st.lists(memories(), max_size=14),
    queries=st.lists(st.lists(st.sampled_from(QUERIES), min_size=1, max_size=3).map(" ".join), min_size=1, max_size=3),
    scope=st.sampled_from(["a", "A", "public", "b", "nobody"]),
    limit=st.integers(1, 16),
    kinds=st.sampled_from([None, "event"]),
)
def test_the_ranking_in_sql_is_the_one_of_the_design(
    found: list[MemoryEntry], queries: list[str], scope: str, limit: int, kinds: str | None
) -> None:
    with tempfile.TemporaryDirectory() as name:
        store = open_store(Path(name))
        try:
            mirror = TagMirror(store)
            half = len(found) // 2
            filters = make_filters(visible_scopes(scope), memory_types=kinds)
            for part in (found[:half], found[half:]):
                # Asked in between: the mirror has to take in what comes later.
                store.put([Draft(entry) for entry in part], actor="test")
                mirror.refresh()
            for query in (*queries, *("".join(entry.tags).upper() or "x" for entry in found[:3])):
                answer = recall_by_tags(store, mirror, query, filters, limit)
                expected = Ranking(found).expected(query, filters)
                counted = [
                    (hit.id, len(hit.explanation.matched_terms) if hit.explanation else 0) for hit in answer.hits
                ]
                assert counted == expected[:limit]
                folded = fold(query)
                tagged = [
                    entry
                    for entry in found
                    if entry.scope in filters.scopes
                    and any(tag_form(t) and stands_in(tag_form(t), folded) for t in entry.tags)
                ]
                assert answer.candidates == (len(tagged) if answer.hits else 0)
                each = recall_by_tags(store, mirror, query, filters, limit, each_type=True)
                kind_of = {entry.id: entry.memory_type for entry in found}
                assert [hit.id for hit in each.hits] == [
                    memory_id
                    for place, (memory_id, _) in enumerate(expected)
                    if [kind_of[i] for i, _ in expected[:place]].count(kind_of[memory_id]) < limit
                ]
        finally:
            store.close()


@settings(max_examples=examples(1))
@given(
    words=st.lists(st.sampled_from(TAGS) | st.text("ab小明", max_size=5), max_size=40),
    text=st.lists(st.sampled_from(QUERIES), max_size=4).map("".join),
    few=st.sampled_from([0, 3, 1_000]),
    max_matches=st.sampled_from([0, 1_000]),
)
def test_the_texts_that_are_found_are_those_that_stand_in_the_text(
    words: list[str], text: str, few: int, max_matches: int
) -> None:
    patch = pytest.MonkeyPatch()
    with patch.context() as changed:
        changed.setattr(substrings_module, "_MAX_RECENT", few)
        changed.setattr(substrings_module, "_MAX_MATCHES", max_matches)
        found = SubstringSet()
        for start in range(0, len(words), 3):
            found.add(words[start : start + 3])
        assert found.found_in(text) == {word for word in words if word and word in text}
        assert len(found) == len({word for word in words if word})


def test_adding_texts_one_by_one_builds_few_automata(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[int] = []
    segment = substrings_module._Segment

    class Counted(segment):  # type: ignore[misc, valid-type]
        def __init__(self, words: list[str]) -> None:
            built.append(len(words))
            super().__init__(words)

    monkeypatch.setattr(substrings_module, "_Segment", Counted)
    found = SubstringSet(f"tag {number}" for number in range(5_000))
    for number in range(2_000):
        found.add([f"new {number}"])
    assert built[0] == 5_000
    # The large one is left alone until as many have come.
    assert sum(size for size in built[1:] if size >= 5_000) == 0
    assert sum(built[1:]) < 20_000
    assert found.found_in("new 1999 and tag 4999") >= {"new 1999", "tag 4999"}


def test_a_text_that_repeats_itself_takes_no_longer_than_a_loop() -> None:
    words = ["a" * length for length in range(1, 1_001)]
    assert SubstringSet(words).found_in("a" * 30_000) == set(words)


# --- how it stands with the tags themselves ---------------------------------------------------------------------------


def test_an_orphan_stays_until_it_is_collected_and_then_the_mirror_forgets_it(
    open_memory: OpenMemory, tmp_path: Path
) -> None:
    memory = open_memory(enable_simple_memory=True)
    runtime = memory.runtime
    kept = runtime.remember("fact", "one", "", ["tea", "cake"])
    gone = runtime.remember("fact", "two", "", ["rain"])
    mirror = memory._target._components.engine.tags

    def names() -> set[str]:
        with database(tmp_path / "data") as connection:
            return {row[0] for row in connection.execute("SELECT name FROM memory_tags")}

    runtime.forget(gone)
    assert names() == {"tea", "cake", "rain"}
    assert len(mirror.matches("rain and tea")) == 2
    assert list(runtime.recall("rain")) == []
    assert runtime.collect_tags() == 1
    assert names() == {"tea", "cake"}
    assert len(mirror.matches("rain and tea")) == 1
    again = runtime.remember("fact", "three", "", ["rain"])
    assert [m.id for m in runtime.recall("rain")] == [again]
    assert [m.id for m in runtime.recall("cake")] == [kept]


def test_changing_the_tags_of_an_entry_rebuilds_its_relations(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory = open_memory(enable_simple_memory=True)
    memory.store("k", "text", tags=["tea", "cake"], scope="alice")
    memory.store("k", "text", tags=["cake", "rain"], scope="alice")
    assert [m.judgment for m in memory.runtime.recall("rain cake tea", memory_scope="alice")] == ["text"]
    assert list(memory.runtime.recall("tea", memory_scope="alice")) == []
    with database(tmp_path / "data") as connection:
        rows = connection.execute(
            "SELECT t.name, r.scope FROM memory_tag_rel r JOIN memory_tags t ON t.id = r.tag_id ORDER BY t.name"
        ).fetchall()
    assert rows == [("cake", "alice"), ("rain", "alice")]


def test_the_original_spelling_is_kept(open_memory: OpenMemory) -> None:
    runtime = open_memory(enable_simple_memory=True).runtime
    runtime.remember("fact", "one", "", ["ＴＥＡ"])
    runtime.remember("fact", "two", "", ["Tea"])
    found = runtime.recall("a cup of tea")
    assert {memory.matched for memory in found} == {("ＴＥＡ",), ("Tea",)}
    assert {name for name, _ in runtime.list_tags()} == {"ＴＥＡ", "Tea"}


def test_the_day_counts_before_the_strength_and_the_strength_before_the_hour(folder: Path) -> None:
    store = open_store(folder)
    base = MemoryEntry(
        id="",
        scope="main",
        key=None,
        content="",
        tags=("tea",),
        created_at=NOON,
        updated_at=NOON,
        last_accessed_at=NOON,
    )
    entries = {
        "newer day, weak": replace(base, id="1", created_at=NOON + timedelta(days=1), strength=1),
        "same day, strong, early": replace(base, id="2", created_at=NOON - timedelta(hours=5), strength=9),
        "same day, weak, late": replace(base, id="3", created_at=NOON + timedelta(hours=5), strength=1),
        "same day, weak, early": replace(base, id="4", created_at=NOON - timedelta(hours=5), strength=1),
        "two tags, old, weak": replace(
            base, id="5", created_at=NOON - timedelta(days=9), strength=0, tags=("tea", "cup")
        ),
    }
    store.put([Draft(entry) for entry in entries.values()], actor="test")
    answer = recall_by_tags(store, TagMirror(store), "a cup of tea", make_filters(("main",)), 10)
    store.close()
    assert [hit.id for hit in answer.hits] == ["5", "1", "2", "3", "4"]


@pytest.mark.parametrize(
    ("zone", "order"),
    [
        # 23:30 and 00:30 of UTC are one day in Shanghai and in Los Angeles, where the strength decides, and two in UTC.
        ("UTC", ["late and weak", "early and strong"]),
        ("Asia/Shanghai", ["early and strong", "late and weak"]),
        ("America/Los_Angeles", ["early and strong", "late and weak"]),
    ],
)
def test_the_day_that_counts_is_the_day_of_the_user(
    open_memory: OpenMemory, monkeypatch: pytest.MonkeyPatch, zone: str, order: list[str]
) -> None:
    midnight = datetime(2026, 5, 2, tzinfo=UTC)
    opened = open_memory(enable_simple_memory=True, time_zone=zone)
    runtime = opened.runtime
    for moment, text, strength in (
        (midnight - timedelta(minutes=30), "early and strong", 9),
        (midnight + timedelta(minutes=30), "late and weak", 1),
    ):
        monkeypatch.setattr(clock, "utc_now", lambda moment=moment: moment)
        runtime.remember("fact", text, "", ["tea"], strength=strength)
    assert [memory.judgment for memory in runtime.recall("tea")] == order
    assert [hit.content for hit in opened.recall("tea")] == order
    assert [hit.content for hit in opened.recall("tea", mode="tags")] == order


@pytest.mark.embedded
def test_a_store_of_an_older_version_gets_the_scopes_of_its_tags(open_memory: OpenMemory, tmp_path: Path) -> None:
    with open_memory() as memory:
        memory.store("k", "text", tags=["tea", "红茶"], scope="alice")
        memory.store("l", "text", tags=["tea"], scope="public")
    make_old(tmp_path / "data/memory.db")
    with open_memory(enable_simple_memory=True) as memory:
        assert [m.memory_scope for m in memory.runtime.recall("tea", memory_scope="bob")] == ["public"]
        assert [m.memory_scope for m in memory.runtime.recall("红茶 tea", memory_scope="alice")] == ["alice", "public"]
        assert memory.runtime.remember("fact", "new", "", ["tea"])
        assert memory.doctor()["store_problems"] == []


def make_old(file: Path) -> None:
    """Take back what the development versions since the fourth have changed."""
    connection = sqlite3.connect(file)
    connection.executescript(
        """
        CREATE TABLE old (memory_id TEXT NOT NULL REFERENCES memory_records (id) ON DELETE CASCADE,
            tag_id INTEGER NOT NULL REFERENCES memory_tags (id), PRIMARY KEY (memory_id, tag_id));
        INSERT INTO old SELECT memory_id, tag_id FROM memory_tag_rel;
        DROP TABLE memory_tag_rel;
        ALTER TABLE old RENAME TO memory_tag_rel;
        CREATE INDEX ix_memory_tag_rel_tag ON memory_tag_rel (tag_id, memory_id);
        DROP TABLE runtime_memories;
        DROP TABLE runtime_requests;
        DROP INDEX ix_memory_records_inactive;
        UPDATE schema_migrations SET version = 4;
        """
    )
    connection.close()


def test_a_mirror_notices_a_database_that_was_put_back(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    entry = MemoryEntry(
        id="1",
        scope="main",
        key=None,
        content="",
        tags=("tea",),
        created_at=NOON,
        updated_at=NOON,
        last_accessed_at=NOON,
    )
    store.put([Draft(entry)], actor="test")
    mirror = TagMirror(store)
    mirror.refresh()
    store.put([Draft(replace(entry, id="2", tags=("cake", "rain")))], actor="test")
    assert len(mirror.matches("tea cake rain")) == 3
    with database(tmp_path) as connection:
        connection.execute("DELETE FROM memory_tag_rel WHERE memory_id = '2'")
        connection.execute("DELETE FROM memory_tags WHERE name <> 'tea'")
        connection.execute("UPDATE sqlite_sequence SET seq = 1 WHERE name = 'memory_tags'")
    store.put([Draft(replace(entry, id="3", tags=("snow",)))], actor="test")
    found = mirror.matches("tea cake rain snow")
    assert len(found) == 2
    assert [e.id for e, _ in store.tagged(found, make_filters(("main",)), limit=5).found] == ["3", "1"]
    store.close()

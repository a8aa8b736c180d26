"""What every profile must do with metadata, patches, lists, expiry and namespaces."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from jiyi.sync import AgentMemory


def keys_of(found: Any) -> list[str | None]:
    """The keys of these entries."""
    return [entry.key for entry in found]


def exported(memory: AgentMemory, folder: Path) -> list[str]:
    """The lines of an export after its header, which holds the time."""
    memory.export_jsonl(folder / "export.jsonl")
    return (folder / "export.jsonl").read_text("utf-8").split("\n")[1:]


class EntriesOfProfile:
    """A part of `ProfileConformance`."""

    _soundly: Callable[[AgentMemory], None]
    """Asks for the memory to be compared with its indexes at the end of the test."""

    def test_where_is_applied_before_the_limit(self, memory: AgentMemory) -> None:
        memory.store_many(
            {"key": f"k{i}", "content": f"green tea number {i}", "metadata": {"n": i, "even": i % 2 == 0}}
            for i in range(120)
        )
        found = memory.recall("green tea", 3, where={"n": {"$gte": 117}})
        assert sorted(e.metadata["n"] for e in found) == [117, 118, 119]
        assert memory.recall("green tea", where={"n": 7, "even": True}) == []
        assert keys_of(memory.recall("green tea", where={"n": 7})) == ["k7"]
        assert memory.count(where={"even": True}) == 60
        assert keys_of(memory.list(where={"n": {"$in": [3, 5]}})) == ["k5", "k3"]
        self._soundly(memory)

    def test_a_memory_without_a_key_can_be_read_changed_and_forgotten(self, memory: AgentMemory) -> None:
        one = memory.add("the ferry to Ystad leaves at nine", tags=["trip"], metadata={"city": "Ystad"})
        other = memory.add("the ferry to Ystad leaves at nine")
        assert one.id != other.id
        assert memory.get(id=one.id) == one
        new = memory.update(one.id, content="the ferry to Ystad leaves at ten", clear=["tags"])
        assert (new.version, new.tags, new.metadata) == (2, (), {"city": "Ystad"})
        assert [e.content for e in memory.recall("ferry", where={"city": "Ystad"})] == [new.content]
        assert [v.operation for v in memory.history(id=one.id)] == ["create", "update"]
        assert memory.forget(id=one.id)
        assert memory.get(id=one.id) is None
        assert [e.id for e in memory.recall("ferry")] == [other.id]
        self._soundly(memory)

    def test_what_store_leaves_out_is_kept(self, memory: AgentMemory) -> None:
        memory.store("k", "old", "daily", tags=["a"], metadata={"n": 1}, namespace=("p", "x"))
        new = memory.store("k", "new")
        assert (new.category, new.tags, new.metadata, new.namespace) == ("daily", ("a",), {"n": 1}, ("p", "x"))

    def test_what_has_expired_is_in_no_answer(self, memory: AgentMemory) -> None:
        hour = timedelta(hours=1)
        now = datetime.now(UTC)
        memory.store("old", "the code of the gate is 1234", expires_at=now - hour, namespace=("gate",))
        memory.store("new", "the code of the gate is 5678", expires_at=now + hour)
        assert keys_of(memory.recall("code of the gate")) == ["new"]
        assert set(keys_of(memory.recall("code of the gate", now=now - 2 * hour, duplicates=True))) == {"old", "new"}
        assert (keys_of(memory.list()), memory.count(), memory.get("old")) == (["new"], 1, None)
        assert memory.list_namespaces() == []
        assert (memory.maintain(dry_run=True)["expired"], memory.maintain()["expired"]) == (1, 1)
        assert keys_of(memory.recall("code of the gate")) == ["new"]
        # As of an earlier time it is there, although it was archived since.
        earlier = now - 2 * hour
        for mode in ("hybrid", "keyword"):
            found = memory.recall("code of the gate", mode=mode, now=earlier, duplicates=True)
            assert set(keys_of(found)) == {"old", "new"}, mode
        assert set(keys_of(memory.list(now=earlier))) == {"old", "new"}
        assert (memory.count(now=earlier), memory.count(now=now), memory.count()) == (2, 1, 1)
        assert memory.recall("1234", now=earlier, scope="other") == []
        memory.forget("old")
        assert (memory.count(now=earlier), keys_of(memory.recall("1234", mode="keyword", now=earlier))) == (1, [])
        self._soundly(memory)

    def test_what_has_expired_and_is_not_archived_takes_no_place_in_an_answer(self, memory: AgentMemory) -> None:
        now = datetime.now(UTC)
        gone = {"expires_at": now - timedelta(seconds=1)}
        memory.store_many({"key": f"old{i}", "content": f"green tea {i % 7}", **gone} for i in range(300))
        memory.store_many({"key": f"new{i}", "content": f"green tea and much more to say {i}"} for i in range(10))
        for mode in ("hybrid", "keyword"):
            found = memory.recall("green tea", mode=mode, duplicates=True)
            assert set(keys_of(found)) == {f"new{i}" for i in range(10)}, mode
        found = memory.recall("green tea", category="core", duplicates=True)
        assert set(keys_of(found)) == {f"new{i}" for i in range(10)}

    def test_namespaces_file_entries_inside_a_scope(self, memory: AgentMemory) -> None:
        for name in ("x", "y", "xx"):
            memory.store(name, f"plan of project {name}", namespace=("projects", name))
        memory.store("deep", "plan of a part", namespace=("projects", "x", "part"))
        memory.store("none", "plan of nothing")
        memory.store("public", "plan of all", scope="public", namespace=("shared",))
        assert sorted(map(str, keys_of(memory.recall("plan", namespace=("projects", "x"))))) == ["deep", "x"]
        assert memory.count(namespace=("projects",)) == 4
        assert keys_of(memory.list(namespace=["projects", "x"], sort="key")) == ["deep", "x"]
        assert memory.list_namespaces(max_depth=1) == [("projects",), ("shared",)]
        assert memory.list_namespaces(prefix=("projects", "x")) == [("projects", "x"), ("projects", "x", "part")]
        assert memory.list_namespaces(suffix=("part",)) == [("projects", "x", "part")]
        assert memory.list_namespaces(scope="other") == [("shared",)]

    def test_lists_are_filtered_sorted_and_continued(self, memory: AgentMemory) -> None:
        memory.store_many(
            {"key": f"tea/{i:02}", "content": f"tea {i}", "tags": ["even"] if i % 2 == 0 else []} for i in range(25)
        )
        memory.store("coffee", "coffee", domain="work", conversation_id="c")
        seen: list[str | None] = []
        cursor = None
        while True:
            page = memory.list(key_prefix="tea/", tags=["even"], sort="key", limit=5, cursor=cursor)
            seen += keys_of(page)
            if (cursor := page.next_cursor) is None:
                break
        assert seen == [f"tea/{i:02}" for i in range(0, 25, 2)]
        assert memory.count(key_prefix="tea/", tags=["even"]) == 13
        assert keys_of(memory.list(domains="work")) == keys_of(memory.list(conversation_id="c")) == ["coffee"]
        tomorrow = datetime.now(UTC) + timedelta(days=1)
        assert (memory.count(since=tomorrow), memory.count(until=tomorrow)) == (0, 26)

    def test_keys_are_known_also_of_what_was_forgotten_and_the_trust_is_kept(self, memory: AgentMemory) -> None:
        memory.store_many(({"key": f"k{i}", "content": f"fact {i}"} for i in range(30)), trust="import")
        memory.forget("k7")
        memory.forget("k8", erase=True)
        memory.store("other", "of another", scope="other")
        asked = [f"k{i}" for i in range(40)] + ["other"]
        assert memory.known_keys(asked) == {f"k{i}" for i in range(30)}
        assert memory.known_keys(asked, scope="other") == {"other"}
        source = memory.list(limit=1)[0].source
        assert (source.kind, source.trust) == ("import", "import")
        chat = memory.chat("c")
        chat.put_many([{"role": "user", "content": "the ferry leaves at nine", "imported_from": "elsewhere"}])
        hit = memory.recall("ferry", limit=1)[0]
        assert (hit.source.trust, hit.role) == ("import", "user")

    def test_many_are_forgotten_after_they_were_counted(self, memory: AgentMemory, tmp_path: Path) -> None:
        memory.store_many({"key": f"k{i}", "content": f"secret {i}", "metadata": {"n": i}} for i in range(20))
        memory.store("public", "secret of all", scope="public", metadata={"n": 3})
        tried = memory.forget_many(where={"n": {"$lt": 15}}, dry_run=True)
        assert (tried.matched, tried.forgotten, memory.count()) == (15, 0, 21)
        done = memory.forget_many(where={"n": {"$lt": 15}}, erase=True)
        assert (done.matched, done.forgotten, done.erased) == (15, 15, True)
        assert memory.count() == 6
        assert {e.metadata["n"] for e in memory.recall("secret", 20)} == {3, 15, 16, 17, 18, 19}
        assert not any('"secret 3"' in line for line in exported(memory, tmp_path))
        self._soundly(memory)

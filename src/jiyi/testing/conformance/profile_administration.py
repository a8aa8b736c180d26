"""What every profile must do for those who operate it: searched metadata, scopes, the change feed, erasing."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from pathlib import Path

from jiyi.model.change import MemoryChange
from jiyi.sync import AgentMemory
from jiyi.testing.conformance.profile_entries import exported, keys_of

Open = Callable[..., AgentMemory]


class AdministrationOfProfile:
    """A part of `ProfileConformance`."""

    _soundly: Callable[[AgentMemory], None]
    """Asks for the memory to be compared with its indexes at the end of the test."""

    def test_metadata_is_searched_only_if_the_store_was_told_so(self, opening: Open) -> None:
        first = opening()
        first.store("a", "first reading", metadata={"title": "Hyperion", "body": "Keats"})
        first.store("b", "second reading", metadata={"title": "Endymion", "author": {"name": "Selene"}})
        assert first.recall("Hyperion", mode="keyword") == []
        again = opening(index_metadata=["title", "author.name"])
        assert keys_of(again.recall("Hyperion", mode="keyword")) == ["a"]
        assert keys_of(again.recall("Hyperion", 1, mode="semantic")) == ["a"]
        assert keys_of(again.recall("Selene", mode="keyword")) == ["b"]
        assert again.recall("Keats", mode="keyword") == []
        # What is written later is searched by the same fields, and the other handle has learned them.
        again.update("a", metadata={"title": ["Lamia", 1820]})
        first.store("c", "third reading", metadata={"title": "Hyperion"})
        for memory in (again, first):
            assert keys_of(memory.recall("Hyperion", mode="keyword")) == ["c"]
            assert keys_of(memory.recall("Lamia 1820", mode="keyword")) == ["a"]
        # It is kept in the store: whoever opens it next searches the same.
        third = opening()
        assert keys_of(third.recall("Selene", mode="keyword")) == ["b"]
        assert third.recall("reading Selene", 1)[0].content == "second reading"
        third.rebuild()
        self._soundly(third)
        content_only = opening(index_metadata=[])
        assert content_only.recall("Selene", mode="keyword") == []
        self._soundly(content_only)

    def test_an_erased_scope_is_nowhere_and_others_stay(self, memory: AgentMemory, tmp_path: Path) -> None:
        for scope in ("ann", "bob"):
            memory.store("k", f"the word of {scope}", scope=scope, tags=[f"tag-{scope}"], metadata={"who": scope})
            memory.save_conversation_history("s", [{"role": "user", "content": f"{scope} said so"}], scope=scope)
            memory.longterm.schedule_round(scope, "r", f"My name is {scope}", "Hello")
            memory.runtime.remember("habit", f"{scope} gets up early", "seen", [f"early-{scope}"], memory_scope=scope)
        memory.recall("the word", scope="ann")
        found = {info.scope: (info.entries, info.messages, info.sessions, info.jobs) for info in memory.scopes()}
        assert found == {"ann": (2, 3, 2, 1), "bob": (2, 3, 2, 1)}
        receipt = memory.forget_scope("ann")
        assert (receipt.complete, receipt.remaining) == (True, {})
        assert {"memory_records", "conversation_history", "jobs"} <= set(receipt.removed)
        assert [info.scope for info in memory.scopes()] == ["bob"]
        assert memory.recall("the word", scope="ann") == []
        assert memory.list_sessions(scope="ann") == []
        assert memory.history("k", scope="ann") == []
        assert not any("ann" in line for line in exported(memory, tmp_path))
        assert keys_of(memory.recall("the word of bob", 1, scope="bob")) == ["k"]
        again = memory.forget_scope("ann")
        assert (again.complete, again.removed) == (True, {})
        self._soundly(memory)

    def test_the_feed_has_every_change_in_order_and_continues_after_a_restart(self, opening: Open) -> None:
        memory = opening()
        memory.store("a", "one", scope="ann")
        memory.store("a", "two", scope="ann")
        memory.store("b", "three", scope="bob")
        memory.forget("a", scope="ann")
        feed = memory.changes()
        assert [(each.operation, each.scope, each.key, each.version) for each in feed] == [
            ("create", "ann", "a", 1),
            ("update", "ann", "a", 2),
            ("create", "bob", "b", 1),
            ("forget", "ann", "a", 3),
        ]
        assert [each.position for each in memory.changes(scopes="bob")] == [feed[2].position]
        memory.close()
        again = opening()
        assert again.changes(after=feed[1].position, limit=1) == [feed[2]]
        later = again.store("c", "four")
        assert [each.entry_id for each in again.changes(after=feed[-1].position)] == [later.id]

    def test_the_feed_of_a_scope_tells_that_it_was_erased(self, opening: Open) -> None:
        memory = opening()
        memory.store("a", "one", scope="ann")
        memory.store("b", "two", scope="bob")
        after = memory.last_position()
        memory.forget_scope("ann")
        memory.store("a", "three", scope="ann")
        told = memory.changes(after=after, scopes=["ann", "bob"])
        assert [(each.operation, each.scope, each.key) for each in told] == [
            ("erase_scope", "ann", None),
            ("create", "ann", "a"),
        ]
        assert memory.changes(after=told[-1].position, scopes=["ann", "bob"]) == []

    def test_a_watcher_sees_what_another_handle_writes(self, opening: Open) -> None:
        memory, other = opening(), opening()
        memory.store("before", "not seen")
        seen: queue.Queue[MemoryChange] = queue.Queue()
        watching = threading.Event()
        start = memory.changes()[-1].position

        def watch() -> None:
            watching.set()
            for change in memory.watch(after=start, scopes=["ann", "bob"], interval=0.05):
                seen.put(change)
                if change.key == "last":
                    return

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        assert watching.wait(10)
        other.store("x", "one", scope="ann")
        other.store("y", "two", scope="nobody")
        other.store("last", "three", scope="bob")
        thread.join(30)
        assert not thread.is_alive()
        assert [seen.get_nowait().key for _ in range(seen.qsize())] == ["x", "last"]

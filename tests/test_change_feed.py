"""The change feed: every change in order, once, from any process."""

import subprocess
import sys
from pathlib import Path

import pytest

from jiyi.errors import InvalidInputError
from jiyi.sync import AgentMemory, NoopMemory
from tests.support import QUICK

WRITER = """
import sys
from jiyi.sync import AgentMemory
with AgentMemory.open(sys.argv[1], embedder="none", background_indexing=False, background_jobs=False) as memory:
    for number in range(25):
        memory.store(f"{sys.argv[2]}-{number}", "a text")
"""


def test_every_change_is_told_in_order(memory: AgentMemory) -> None:
    memory.store("pet", "Mochi")
    memory.store("pet", "Mochi the cat")
    memory.forget("pet")
    told = memory.changes()
    assert [(change.operation, change.key, change.version) for change in told] == [
        ("create", "pet", 1),
        ("update", "pet", 2),
        ("forget", "pet", 3),
    ]
    assert memory.changes(after=told[1].position) == told[2:]
    assert memory.changes(after=told[-1].position) == []


def test_a_feed_of_scopes_tells_of_these_only(memory: AgentMemory) -> None:
    for scope in ("alice", "bob", "carol"):
        memory.store("pet", "Mochi", scope=scope)
    assert [change.scope for change in memory.changes(scopes="alice")] == ["alice"]
    assert [change.scope for change in memory.changes(scopes=["alice", "carol"])] == ["alice", "carol"]
    assert len(memory.changes(limit=2)) == 2


def test_positions_survive_a_restart(tmp_path: Path) -> None:
    with AgentMemory.open(tmp_path, **QUICK) as memory:
        memory.store("a", "one")
        position = memory.changes()[-1].position
    with AgentMemory.open(tmp_path, **QUICK) as memory:
        memory.store("b", "two")
        assert [change.key for change in memory.changes(after=position)] == ["b"]


def test_the_feed_of_four_writing_processes_misses_and_doubles_nothing(tmp_path: Path) -> None:
    with AgentMemory.open(tmp_path, **QUICK) as memory:
        feed = memory.watch(after=0, interval=0.01)
        writers = [
            subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), f"writer{number}"]) for number in range(4)
        ]
        told = [next(feed) for _ in range(100)]
        assert [writer.wait(60) for writer in writers] == [0, 0, 0, 0]
        assert {change.key for change in told} == {f"writer{w}-{n}" for w in range(4) for n in range(25)}
        assert [change.position for change in told] == sorted({change.position for change in told})
        for writer in range(4):
            own = [change.key for change in told if (change.key or "").startswith(f"writer{writer}-")]
            assert own == [f"writer{writer}-{number}" for number in range(25)]
        assert memory.changes(after=told[-1].position) == []


def test_what_cannot_be_a_position_or_an_interval_is_refused(memory: AgentMemory) -> None:
    with pytest.raises(InvalidInputError, match="after"):
        memory.changes(after=-1)
    with pytest.raises(InvalidInputError, match="interval"):
        memory.watch(interval=0)


def test_a_memory_that_keeps_nothing_has_no_changes() -> None:
    with NoopMemory() as memory:
        assert memory.changes() == []
        assert list(memory.watch()) == []


def test_the_feed_of_a_scope_tells_that_it_was_erased(memory: AgentMemory) -> None:
    for scope in ("alice", "bob"):
        memory.store("pet", "Mochi", scope=scope)
    after = memory.last_position()
    memory.forget_scope("alice")
    memory.store("pet", "Taro", scope="bob")
    memory.store("pet", "Luna", scope="alice")
    assert [(change.operation, change.key) for change in memory.changes(after=after, scopes="alice")] == [
        ("erase_scope", None),
        ("create", "pet"),
    ]
    assert [change.operation for change in memory.changes(after=after, scopes="bob")] == ["update"]
    told = memory.changes(after=after, scopes=["alice", "bob"])
    assert [(change.operation, change.scope) for change in told] == [
        ("erase_scope", "alice"),
        ("update", "bob"),
        ("create", "alice"),
    ]
    assert told[0].entry_id == ""
    # Told once, also page by page, and not to those who begin with nothing.
    assert [memory.changes(after=change.position, scopes=["alice", "bob"], limit=1) for change in told] == [
        [told[1]],
        [told[2]],
        [],
    ]
    assert [change.operation for change in memory.changes(scopes="alice")] == ["create"]


def test_a_second_erasure_of_others_does_not_hide_the_first(memory: AgentMemory) -> None:
    memory.store("pet", "Mochi", scope="alice")
    memory.store("pet", "Mochi", scope="carol")
    after = memory.last_position()
    memory.forget_scope("alice")
    memory.store("pet", "Luna", scope="alice")
    memory.forget_scope("carol")
    told = memory.changes(after=after, scopes="alice")
    assert [change.operation for change in told] == ["erase_scope", "create"]
    assert memory.changes(after=told[-1].position, scopes="alice") == []


def test_who_watches_a_scope_sees_its_erasure(memory: AgentMemory) -> None:
    memory.store("pet", "Mochi", scope="alice")
    feed = memory.watch(scopes="alice", after=memory.last_position(), interval=0.01)
    memory.forget_scope("alice")
    assert next(feed).operation in {"erase", "erase_scope"}

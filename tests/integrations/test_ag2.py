"""JiyiKnowledgeStore beside AG2's own store in memory: what holds for ours must hold for theirs."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest
from ag2.knowledge import DefaultBootstrap, EventLogWriter, KnowledgeStore, MemoryKnowledgeStore
from hypothesis import given, settings
from hypothesis import strategies as st

import jiyi
from jiyi.errors import InvalidInputError
from jiyi.integrations.ag2 import JiyiKnowledgeStore
from jiyi.sync import AgentMemory
from tests.support import QUICK, examples, present


@pytest.fixture(params=["ag2", "jiyi"])
def store(request: pytest.FixtureRequest) -> KnowledgeStore:
    if request.param == "ag2":
        return MemoryKnowledgeStore()
    return JiyiKnowledgeStore(request.getfixturevalue("memory"))


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(work)


def test_files_are_written_read_listed_and_deleted(store: KnowledgeStore) -> None:
    async def use() -> None:
        assert isinstance(store, KnowledgeStore)
        assert await store.read("/a.txt") is None
        await store.write("/a.txt", "one\n二")
        await store.write("dir//sub/b.txt/", "two")
        assert await store.read("a.txt") == "one\n二"
        assert await store.read("/dir/sub/b.txt") == "two"
        assert await store.list() == ["a.txt", "dir/"]
        assert await store.list("/dir") == ["sub/"]
        assert await store.list("/nothing") == []
        assert [await store.exists(path) for path in ("/", "/dir", "/dir/sub/b.txt", "/di")] == [
            True,
            True,
            True,
            False,
        ]
        await store.write("/a.txt", "three")
        assert await store.read("/a.txt") == "three"
        await store.delete("/nothing")
        await store.delete("/dir")
        assert await store.read("/dir/sub/b.txt") is None
        assert await store.list() == ["a.txt"]

    run(use())


def test_an_append_says_where_it_stands_and_ranges_are_bytes(store: KnowledgeStore) -> None:
    async def use() -> None:
        assert await store.append("/log/x.jsonl", "茶\n") == 0
        assert await store.append("/log/x.jsonl", "tea\n") == 4
        assert await store.read("/log/x.jsonl") == "茶\ntea\n"
        assert await store.read_range("/log/x.jsonl", 4) == "tea\n"
        assert await store.read_range("/log/x.jsonl", 0, 3) == "茶"
        assert await store.read_range("/log/x.jsonl", 99) == ""
        assert await store.read_range("/nothing", 0) == ""
        with pytest.raises(UnicodeDecodeError):
            await store.read_range("/log/x.jsonl", 1, 3)
        await store.write("/log/x.jsonl", "new")
        assert await store.append("/log/x.jsonl", "er") == 3
        assert await store.read("/log/x.jsonl") == "newer"

    run(use())


def test_appends_at_the_same_time_are_all_there_and_know_their_places(store: KnowledgeStore) -> None:
    async def use() -> None:
        pieces = [f"{number:03}\n" for number in range(20)]
        offsets = await asyncio.gather(*(store.append("/log", piece) for piece in pieces))
        whole = present(await store.read("/log"))
        assert [whole[offset : offset + 4] for offset in offsets] == pieces
        assert len(whole) == 80

    run(use())


def test_callbacks_are_told_of_changes_below_their_path(store: KnowledgeStore) -> None:
    async def use() -> None:
        seen: list[str] = []

        async def told(path: str) -> None:
            seen.append(path)

        subscription = await store.on_change("/a", told)
        await store.write("/a/x", "1")
        await store.append("/a/y", "2")
        await store.write("/ab", "3")
        await store.delete("/a/x")
        await subscription.close()
        await subscription.close()
        await store.write("/a/x", "4")
        assert seen == ["/a/x", "/a/y", "/a/x"]

    run(use())


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["write", "append", "delete"]),
        st.sampled_from(["/a", "/a/b", "/a/c", "/d/e/f", "/"]),
        st.sampled_from(["", "x", "茶\n", "\ttwo words "]),
    ),
    max_size=8,
)


@settings(max_examples=examples(4))
@given(STEPS)
def test_any_steps_leave_the_same_files_in_both(steps: list[tuple[str, str, str]]) -> None:
    async def use(store: KnowledgeStore) -> list[Any]:
        said: list[Any] = []
        for step, path, text in steps:
            if step == "delete":
                await store.delete(path)
            elif step == "write":
                await store.write(path, text)
            else:
                said.append(await store.append(path, text))
        for path in ("/", "/a", "/a/b", "/a/c", "/d", "/d/e/f"):
            said += [await store.read(path), await store.list(path), await store.exists(path)]
        return said

    with AgentMemory.open(":memory:", **QUICK) as memory:
        ours = asyncio.run(use(JiyiKnowledgeStore(memory)))
    assert ours == asyncio.run(use(MemoryKnowledgeStore()))


def test_what_ag2_writes_itself_can_be_written(memory: AgentMemory) -> None:
    async def use() -> None:
        store = JiyiKnowledgeStore(memory)
        await DefaultBootstrap().bootstrap(store, "assistant")
        assert "SKILL.md" in await store.list("/")
        assert EventLogWriter(store) is not None

    run(use())


def test_files_are_recalled_logs_are_not_and_scopes_do_not_see_each_other(memory: AgentMemory) -> None:
    async def use() -> None:
        ann, bob = (JiyiKnowledgeStore(memory, scope=scope) for scope in ("ann", "bob"))
        await ann.write("/memory/working.md", "Paula is allergic to penicillin")
        await ann.append("/log/events.jsonl", '{"event": "penicillin"}\n')
        assert await bob.list() == []
        assert await bob.read("/memory/working.md") is None

    run(use())
    assert [hit.content for hit in memory.recall("penicillin", scope="ann")] == ["Paula is allergic to penicillin"]
    assert memory.recall("penicillin", scope="bob") == []


def test_a_memory_with_async_serves_as_well_and_mistakes_are_told() -> None:
    async def use() -> None:
        async with jiyi.AgentMemory.open(":memory:", embedder="none") as memory:
            store = JiyiKnowledgeStore(memory, scope="ann")
            await store.write("/a", "x")
            assert await store.read("/a") == "x"
            with pytest.raises(InvalidInputError, match="path must be a text"):
                await store.read(7)  # type: ignore[arg-type]
            with pytest.raises(InvalidInputError, match="content must be text"):
                await store.write("/a", b"x")  # type: ignore[arg-type]
        with pytest.raises(InvalidInputError, match="JiyiKnowledgeStore needs an open AgentMemory"):
            JiyiKnowledgeStore("data")  # type: ignore[arg-type]

    run(use())

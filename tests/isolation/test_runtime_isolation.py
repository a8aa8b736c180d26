"""No scope sees a byte of another one through the runtime, whichever runtime it is."""

import inspect
import itertools
import logging
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from jiyi.model import clock
from jiyi.model.scope import PUBLIC
from jiyi.runtime import MemoryRuntime
from jiyi.sync import AgentMemory
from tests.isolation.test_isolation import COMMON, SCOPES, contents_by_scope, foreign_secrets, secret, shown

Call = Callable[[Any, str, list[str]], Any]

ALL = " ".join([COMMON, "shared", *map(secret, SCOPES)])


def fill(runtime: Any, scope: str) -> list[str]:
    """Memories of one scope with its secret in every place that takes text; returns their ids."""
    word = secret(scope)
    kinds = ("fact", f"type-{word}")
    ids = [
        runtime.remember(
            kind, f"{COMMON}: {word} {n}", f"because {word}", ["shared", f"tag {word}"], memory_scope=scope
        )
        for kind, n in itertools.product(kinds, ("one", "two", "three"))
    ]
    runtime.feedback([ids[0]], ids[:2], merge_groups=[ids[1:3]], memory_scope=scope, request_id="first turn")
    runtime.forget(ids[3], memory_scope=scope)
    return ids


# Every method that takes a scope, asked as broadly as it can be asked: with everybody's words and everybody's ids.
READING: dict[str, Call] = {
    "recall": lambda runtime, scope, _: [
        runtime.recall(ALL, 100, memory_scope=scope),
        *(runtime.recall(ALL, memory_scope=scope, memory_types=f"type-{secret(other)}") for other in SCOPES),
    ],
    "comprehensive_recall": lambda runtime, scope, _: runtime.comprehensive_recall(ALL, 100, memory_scope=scope),
    "chained_recall": lambda runtime, scope, _: [
        runtime.chained_recall(query, 100, memory_scope=scope) for query in (ALL, "shared", secret(scope))
    ],
    "get": lambda runtime, scope, ids: [runtime.get(each, memory_scope=scope) for each in ids[::3]],
    "history": lambda runtime, scope, ids: [runtime.history(each, memory_scope=scope) for each in ids[::3]],
    "list_tags": lambda runtime, scope, _: runtime.list_tags(1_000, memory_scope=scope),
}
WRITING: dict[str, Call] = {
    "remember": lambda runtime, scope, _: runtime.remember("fact", f"new {secret(scope)}", memory_scope=scope),
    "feedback": lambda runtime, scope, ids: runtime.feedback(
        ids, ids, [{"memory_type": "fact", "judgment": f"new {secret(scope)}"}], memory_scope=scope
    ),
    "consolidate_memories": lambda runtime, scope, _: runtime.consolidate_memories(
        memory_scope=scope, now=clock.utc_now() + timedelta(days=3_000)
    ),
    "update": lambda runtime, scope, ids: [
        runtime.update(each, judgment=f"changed {secret(scope)}", memory_scope=scope) for each in ids[::3]
    ],
    "restore": lambda runtime, scope, ids: [runtime.restore(each, memory_scope=scope) for each in ids[::3]],
    "forget": lambda runtime, scope, ids: [runtime.forget(each, memory_scope=scope, erase=True) for each in ids[::3]],
}


@pytest.fixture(scope="module", params=[True, False], ids=["simple", "vector"])
def filled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, list[str]]]:
    """A memory with something in every scope, and the ids of everything."""
    settings: dict[str, Any] = {"embedder": "none", "background_indexing": False, "enable_simple_memory": request.param}
    with AgentMemory.open(tmp_path_factory.mktemp("isolation"), **settings) as memory:
        yield memory, [each for scope in SCOPES for each in fill(memory.runtime, scope)]


def test_every_method_that_takes_a_scope_is_asked() -> None:
    methods = inspect.getmembers(MemoryRuntime, inspect.iscoroutinefunction)
    taking = {name for name, method in methods if "memory_scope" in inspect.signature(method).parameters}
    assert taking == set(READING) | set(WRITING)


@pytest.mark.parametrize("method", READING)
def test_no_foreign_byte_is_in_any_result_or_log_line(
    filled: tuple[Any, list[str]], method: str, caplog: pytest.LogCaptureFixture
) -> None:
    memory, ids = filled
    for scope in SCOPES:
        caplog.clear()
        with caplog.at_level(logging.DEBUG):
            text = shown(READING[method](memory.runtime, scope, ids))
        assert foreign_secrets(scope, text + caplog.text) == [], scope
        assert secret(scope) in text, scope
        assert secret(scope) not in caplog.text


def test_the_number_of_candidates_tells_nothing_of_others(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with AgentMemory.open(tmp_path, enable_simple_memory=True) as memory:
        for scope in ("a", "A", PUBLIC):
            fill(memory.runtime, scope)
        with caplog.at_level(logging.INFO):
            caplog.clear()
            memory.runtime.recall(ALL, 100, memory_scope="a")
    # Of its own and of what is public: six remembered and one merged each, one of them forgotten.
    assert "candidates=12 " in caplog.text


def test_a_tag_of_another_scope_changes_no_score(tmp_path: Path) -> None:
    with AgentMemory.open(tmp_path, enable_simple_memory=True) as memory:
        memory.runtime.remember("fact", "mine", "", ["tea"], memory_scope="a")
        before = memory.runtime.recall("tea and cake", memory_scope="a")
        memory.runtime.remember("fact", "theirs", "", ["cake"], memory_scope="b")
        assert memory.runtime.recall("tea and cake", memory_scope="a") == before


def kept(rows: list[dict[str, Any]], without: set[str]) -> list[dict[str, Any]]:
    """The rows of other kinds than these."""
    return [row for row in rows if row["kind"] not in without]


@pytest.mark.parametrize("simple", [True, False])
def test_what_is_written_in_one_scope_changes_no_other(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, simple: bool
) -> None:
    settings: dict[str, Any] = {"embedder": "none", "background_indexing": False, "enable_simple_memory": simple}
    with AgentMemory.open(tmp_path, **settings) as memory:
        ids = [each for scope in SCOPES for each in fill(memory.runtime, scope)]
        before = contents_by_scope(memory)
        for (name, call), scope in itertools.product(WRITING.items(), ["a", "public1", PUBLIC]):
            caplog.clear()
            with caplog.at_level(logging.DEBUG):
                text = shown(call(memory.runtime, scope, ids))
            if name != "feedback":
                # There the unknown ids are named, as they were given.
                assert foreign_secrets(scope, text + caplog.text) == []
            after = contents_by_scope(memory)
            # What others think of a public memory goes with it.
            gone = {"overlay"} if (name, scope) == ("forget", PUBLIC) else set()
            touched = {other for other in SCOPES if kept(after[other], gone) != kept(before[other], gone)}
            assert scope in touched, name
            assert touched == {scope}, name
            before = after

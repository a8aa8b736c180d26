"""The client has the names of the memory: every method of it can be called as the memory's own."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

from jiyi.agent import Agent, Turn
from jiyi.chat import Chat
from jiyi.client.agent import ClientAgent, ClientTurn
from jiyi.client.memory import MemoryClient
from jiyi.client.rooms import ClientChat, ClientLongterm, ClientNotes
from jiyi.client.runtime import ClientRuntime
from jiyi.longterm.api import Longterm
from jiyi.memory import AgentMemory
from jiyi.notes import Notes
from jiyi.runtime import MemoryRuntime

PAIRS: tuple[tuple[type, type], ...] = (
    (MemoryClient, AgentMemory),
    (ClientChat, Chat),
    (ClientLongterm, Longterm),
    (ClientNotes, Notes),
    (ClientRuntime, MemoryRuntime),
    (ClientAgent, Agent),
    (ClientTurn, Turn),
)
OF_THE_SERVER: dict[str, set[str]] = {
    "ClientChat.get_all": {"epoch"},
    "ClientChat.put": {"created_at"},
    "ClientChat.put_many": {"created_at"},
    "ClientLongterm.schedule_round": {"created_at"},
    "ClientNotes.attribution": {"kind"},
    "ClientNotes.curate": {"now"},
    "ClientNotes.memory_append": {"at", "by", "kind", "source"},
    "ClientNotes.memory_get": {"kind"},
    "ClientRuntime.consolidate_memories": {"now", "rules"},
    "ClientRuntime.feedback": {"request_id"},
    "MemoryClient.chat": {
        "count_tokens",
        "reserve",
        "soft_threshold",
        "summarize_prompt",
        "summarizer",
        "token_limit",
    },
    "MemoryClient.export_jsonl": {"progress"},
    "MemoryClient.forget_scope": {"erase"},
    "MemoryClient.import_jsonl": {"progress"},
    "MemoryClient.maintain": {"scope"},
    "MemoryClient.reject_candidate": {"by"},
    "MemoryClient.save_conversation_history": {"created_at"},
    "MemoryClient.store_many": {"trust"},
    "MemoryClient.take_candidate": {"by"},
    "MemoryClient.watch": {"interval", "scopes"},
}
"""Parameters of the memory that the client has not, by method: the server, the key or its clock decides them."""
OF_THE_CLIENT = {"MemoryClient.changes": {"wait"}}
"""Parameters that only the client has."""
REQUIRED = {"MemoryClient.agent", "MemoryClient.chat", "MemoryClient.load_conversation_history"}
"""Methods whose session has to be named: a server has no session of today."""
METHODS = [
    (client, memory, name)
    for client, memory in PAIRS
    for name in sorted(vars(client))
    if not name.startswith("_") and inspect.isfunction(vars(client)[name])
]


def parameters_of(function: Any) -> dict[str, inspect.Parameter]:
    found = dict(inspect.signature(function).parameters)
    found.pop("self")
    return found


@pytest.mark.parametrize(
    ("client", "memory", "name"), METHODS, ids=[f"{client.__name__}.{name}" for client, _, name in METHODS]
)
def test_a_method_of_the_client_is_called_like_that_of_the_memory(client: type, memory: type, name: str) -> None:
    assert hasattr(memory, name), f"{memory.__name__} has no {name}"
    ours, theirs = parameters_of(getattr(client, name)), parameters_of(getattr(memory, name))
    full = f"{client.__name__}.{name}"
    others = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in ours.values())
    for place, (word, parameter) in enumerate(ours.items()):
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            continue
        if word in OF_THE_CLIENT.get(full, ()):
            continue
        assert word in theirs, f"{memory.__name__}.{name} has no parameter {word}"
        if full not in REQUIRED or word != "session_id":
            assert parameter.default == theirs[word].default, word
        assert parameter.kind is theirs[word].kind, word
        if parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD:
            assert list(theirs).index(word) == place, f"{word} stands at another place"
    missing = set() if others else set(theirs) - set(ours)
    assert missing == OF_THE_SERVER.get(full, set())


@pytest.mark.parametrize("guide", ["server.md", "server.zh-CN.md"])
def test_the_guide_names_what_a_client_does_not_have(guide: str) -> None:
    text = (Path(__file__).parents[2] / "docs" / "guides" / guide).read_text("utf-8")
    rooms = {"longterm", "notes", "runtime", "open"}
    missing = {name for name in dir(AgentMemory) if not name.startswith("_") and not hasattr(MemoryClient, name)}
    assert [name for name in sorted(missing - rooms) if f"`{name}`" not in text] == []

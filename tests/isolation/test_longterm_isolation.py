"""No user sees or changes a byte of another one in the long-term room, whatever is asked."""

import inspect
import logging
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from jiyi.longterm.api import Longterm
from jiyi.model import clock
from jiyi.model.scope import PUBLIC
from jiyi.sync import AgentMemory
from jiyi.testing.fakes import HashEmbedder
from tests.isolation.test_isolation import contents_by_scope, foreign_secrets, secret, shown
from tests.support import QUICK

USERS = ["a", "A", "ａ", "a%", "a' OR '1'='1", PUBLIC]
Call = Callable[[AgentMemory, str], Any]


def fill(memory: AgentMemory, user: str) -> None:
    """Facts, a correction, a reflection, something forgotten, a dead job: each with the user's secret."""
    word = secret(user)
    tell = memory.longterm.extract_and_store_memories_for_round
    tell(user, f"conversation-{word}", f"我对{word}过敏", "好")
    tell(user, f"conversation-{word}", f"My name is {word.title()}", "ok")
    tell(user, f"conversation-{word}", f"My name is {word.title()}x", "ok")
    memory.longterm.try_generate_reflection(user, f"conversation-{word}", 0.5, 0)
    memory.store(f"faded-{word}", f"{word} faded", scope=user, domain="user_preferences", importance=0.0)
    chat = memory.chat(f"chat-{word}", scope=user)
    chat.put({"role": "user", "content": f"Remember that I always drink {word}."})
    chat.put({"role": "assistant", "content": "Noted."})
    chat.compact()
    memory.longterm.schedule_round(user, f"later-{word}", f"I like {word}", "ok")


def everybodys(memory: AgentMemory) -> list[str]:
    """Every id there is, and every key."""
    rows = [row for rows in contents_by_scope(memory).values() for row in rows if row["kind"] == "entry"]
    return [name for row in rows for name in (row["id"], row["key"]) if name is not None]


def each(method: str) -> Call:
    """Calls a method with every memory there is, anybody's."""
    return lambda memory, user: [getattr(memory.longterm, method)(user, name) for name in everybodys(memory)]


QUESTION = "过敏 name faded like " + " ".join(map(secret, USERS))
READING: dict[str, Call] = {
    "retrieve_relevant_memories": lambda memory, user: [
        memory.longterm.retrieve_relevant_memories(user, QUESTION, top_k_final=100),
        memory.longterm.retrieve_relevant_memories(user, QUESTION, as_of=clock.utc_now(), top_k_final=100),
        memory.longterm.retrieve_relevant_memories(user, QUESTION, as_of=clock.utc_now() - timedelta(seconds=5)),
        memory.longterm.retrieve_relevant_memories(user, QUESTION, domains=["user_preferences"]),
    ],
    "get_memory_context_for_prompt": lambda memory, user: [
        memory.longterm.get_memory_context_for_prompt(user, question)
        for question in (QUESTION, f"过敏 {secret(user)}", f"my name is {secret(user)}", f"I like {secret(user)}")
    ],
    "explain": each("explain"),
    "conflicts": lambda memory, user: [memory.longterm.conflicts(user), secret(user)],
    "superseded": lambda memory, user: [memory.longterm.superseded(user), secret(user)],
    "cleanup_forgotten_memories": lambda memory, user: memory.longterm.cleanup_forgotten_memories(user, dry_run=True),
}
WRITING: dict[str, Call] = {
    "extract_and_store_memories_for_round": lambda memory, user: memory.longterm.extract_and_store_memories_for_round(
        user, "shared", f"我对新的{secret(user)}过敏", "好"
    ),
    "schedule_round": lambda memory, user: memory.longterm.schedule_round(user, "shared", f"I am {secret(user)}", "ok"),
    "schedule_conversation": lambda memory, user: memory.longterm.schedule_conversation(
        user, "shared", [{"role": "user", "content": f"I am {secret(user)}"}, {"role": "assistant", "content": "ok"}]
    ),
    "schedule_messages": lambda memory, user: memory.longterm.schedule_messages(
        user,
        "shared",
        memory.chat("shared", scope=user).put_many([{"role": "user", "content": f"I am {secret(user)}"}]),
    ),
    "pin": lambda memory, user: [memory.longterm.pin(user, name) for name in everybodys(memory)],
    "try_generate_reflection": lambda memory, user: memory.longterm.try_generate_reflection(user, None, 0, 0),
    "cleanup_forgotten_memories": lambda memory, user: memory.longterm.cleanup_forgotten_memories(user, threshold=1.0),
    "take_candidates": lambda memory, user: memory.longterm.take_candidates(user),
    "feedback": lambda memory, user: memory.longterm.feedback(user, everybodys(memory)),
    "settle_conflict": lambda memory, user: [
        memory.longterm.settle_conflict(user, first, second)
        for first, second in zip(everybodys(memory), everybodys(memory)[1:], strict=False)
    ],
    "restore": lambda memory, user: [memory.longterm.restore(user, everybodys(memory)), memory.longterm.restore(user)],
}


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentMemory]:
    """A memory with something of every user."""
    folder = tmp_path_factory.mktemp("isolation")
    with AgentMemory.open(folder, **{**QUICK, "embedder": HashEmbedder(), "job_attempts": 1}) as memory:
        for user in USERS:
            fill(memory, user)
        yield memory


def test_every_method_that_takes_a_user_is_asked() -> None:
    methods = {
        name
        for name, method in inspect.getmembers(Longterm, inspect.iscoroutinefunction)
        if not name.startswith("_") and "user_id" in inspect.signature(method).parameters
    }
    assert methods == set(READING) | set(WRITING)


@pytest.mark.parametrize("user", USERS, ids=ascii)
@pytest.mark.parametrize("method", READING)
def test_no_foreign_byte_is_in_any_result_or_log_line(
    filled: AgentMemory, method: str, user: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        text = shown(READING[method](filled, user)).lower()
    assert foreign_secrets(user, text + caplog.text.lower()) == []
    assert secret(user) in text
    if user == PUBLIC:
        assert [word for word in map(secret, USERS) if word != secret(PUBLIC) and word in text] == []


def test_jobs_are_seen_and_retried_by_their_own_user_only(filled: AgentMemory) -> None:
    jobs = {user: filled.jobs(scope=user, states=["queued", "running", "done", "dead"]) for user in USERS}
    for user in USERS:
        assert jobs[user]
        assert foreign_secrets(user, shown(jobs[user])) == []
        for other in USERS:
            if other != user:
                assert not any(filled.retry_job(job.id, scope=other) for job in jobs[user])


def test_what_is_written_for_one_user_changes_no_other(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with AgentMemory.open(tmp_path / "data", **{**QUICK, "embedder": HashEmbedder()}) as memory:
        for user in USERS:
            fill(memory, user)
        before = contents_by_scope(memory)
        for method, call in WRITING.items():
            for user in ("a", PUBLIC):
                caplog.clear()
                with caplog.at_level(logging.DEBUG):
                    text = shown(call(memory, user)).lower()
                assert foreign_secrets(user, text + caplog.text.lower()) == [], method
                after = contents_by_scope(memory)
                assert {other for other in after if after[other] != before[other]} <= {user}, method
                before = after
        memory.maintain(scope="a")
        after = contents_by_scope(memory)
        assert {user for user in after if after[user] != before[user]} == {"a"}

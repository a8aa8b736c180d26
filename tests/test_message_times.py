"""When messages were said: by the argument, by the message itself, or now."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from jiyi.errors import InvalidInputError
from jiyi.sync import AgentMemory

PAST = datetime(2024, 3, 5, 8, 30, tzinfo=UTC)
OTHER = datetime(2023, 11, 2, 12, 0, tzinfo=UTC)
STILL: dict[str, Any] = {"background_indexing": False, "background_jobs": False, "embedder": "none"}


@pytest.fixture
def memory(tmp_path: Path) -> Any:
    with AgentMemory.open(tmp_path / "data", **STILL) as opened:
        yield opened


def said(memory: AgentMemory, session: str) -> dict[str, datetime]:
    found = memory.list(conversation_id=session, limit=50)
    return {entry.content: entry.event_time for entry in found}


def test_saved_messages_that_are_new_were_said_at_the_given_time(memory: AgentMemory) -> None:
    first = {"role": "user", "content": "the ferry is late", "timestamp": OTHER.timestamp()}
    memory.save_conversation_history("trip", [first])
    memory.save_conversation_history("trip", [first, {"role": "assistant", "content": "then wait"}], created_at=PAST)
    assert said(memory, "trip") == {"the ferry is late": OTHER, "then wait": PAST}


def test_several_messages_that_are_put_were_said_at_the_given_time(memory: AgentMemory) -> None:
    chat = memory.chat("trip")
    chat.put_many(
        [{"role": "user", "content": "the ferry is late"}, {"role": "assistant", "content": "then wait"}],
        created_at=PAST,
    )
    chat.put_many([{"role": "user", "content": "it is here", "date": "2023-11-02T12:00:00Z"}])
    assert said(memory, "trip") == {"the ferry is late": PAST, "then wait": PAST, "it is here": OTHER}


@pytest.mark.parametrize("name", ["created_at", "timestamp", "create_time", "date"])
def test_a_message_that_plainly_names_its_time_was_said_then(memory: AgentMemory, name: str) -> None:
    values: dict[str, Any] = {"a": OTHER.isoformat(), "b": OTHER.timestamp(), "c": int(OTHER.timestamp() * 1000)}
    memory.save_conversation_history(
        "trip", [{"role": "user", "content": text, name: value} for text, value in values.items()]
    )
    assert said(memory, "trip") == dict.fromkeys(values, OTHER)


def test_a_field_that_is_no_time_is_left_alone(memory: AgentMemory) -> None:
    before = datetime.now(UTC)
    message = {"role": "user", "content": "a letter", "date": "next Tuesday", "timestamp": 7}
    memory.save_conversation_history("trip", [message])
    assert said(memory, "trip")["a letter"] >= before
    assert memory.load_conversation_history("trip")[0].to_dict() == message


def test_a_round_was_said_at_the_given_time_and_so_was_what_is_kept_of_it(memory: AgentMemory) -> None:
    user, reply = "我住在杭州，对花生过敏", "记住了"
    kept = memory.longterm.extract_and_store_memories_for_round("ann", "talk", user, reply, created_at=PAST)
    assert kept
    assert {entry.event_time for entry in kept} == {PAST}
    assert memory.longterm.schedule_round("ann", "later", "我在上海工作", "好", created_at=OTHER)
    memory.run_jobs()
    assert {e.event_time for e in memory.list(scope="ann", conversation_id="later")} == {OTHER}


def test_a_time_without_a_zone_is_refused_and_nothing_is_stored(memory: AgentMemory) -> None:
    naive = PAST.replace(tzinfo=None)
    message = {"role": "user", "content": "a"}
    for call in (
        lambda: memory.save_conversation_history("s", [message], created_at=naive),
        lambda: memory.chat("s").put_many([message], created_at=naive),
        lambda: memory.longterm.schedule_round("main", "s", "a", "b", created_at=naive),
    ):
        with pytest.raises(InvalidInputError, match="created_at"):
            call()
    assert memory.list_sessions() == []


def test_a_hit_says_who_said_it(memory: AgentMemory, tmp_path: Path) -> None:
    messages = [
        {"role": "user", "content": "the ferry is late", "name": "安"},
        {"role": "assistant", "content": "then the ferry waits"},
    ]
    memory.save_conversation_history("trip", messages)
    memory.store("k", "the ferry has a key")
    found = {hit.content: (hit.role, hit.name) for hit in memory.recall("ferry", duplicates=True)}
    assert found == {
        "安: the ferry is late": ("user", "安"),
        "then the ferry waits": ("assistant", None),
        "the ferry has a key": (None, None),
    }
    memory.export_jsonl(tmp_path / "all.jsonl")
    with AgentMemory.open(tmp_path / "other", **STILL) as other:
        other.import_jsonl(tmp_path / "all.jsonl")
        assert [hit.name for hit in other.recall("late", 1, memory_types="message")] == ["安"]

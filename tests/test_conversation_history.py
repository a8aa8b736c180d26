"""Conversation history: what is saved comes back exactly, or the part that cannot is reported."""

import json
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jiyi import Message
from jiyi.errors import HistoryUnreadableError, InvalidInputError, StorageError
from jiyi.model import clock
from jiyi.sync import AgentMemory
from tests.support import QUICK, contents_of, database, examples

OpenMemory = Callable[..., AgentMemory]

CONVERSATION: list[dict[str, Any]] = [
    {"role": "system", "content": "You are helpful."},
    {"role": "user", "content": "天气怎么样？", "name": "小明"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"city":"北京"}'}}
        ],
    },
    {"role": "tool", "content": '{"rain": true}', "tool_call_id": "call_1"},
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "and this? 🌧"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
        ],
    },
    {"role": "assistant", "content": "", "refusal": None, "annotations": [], "usage": {"tokens": 12, "cost": 0.1}},
    {"role": "tool_result", "content": "line\r\nline\x00\x01\t\u2028\ud800end"},
]


def messages_of(memory: AgentMemory, session: str | None = None, **where: str) -> list[dict[str, Any]]:
    """A session as dictionaries."""
    return [message.to_dict() for message in memory.load_conversation_history(session, **where)]


def rows(folder: Path) -> list[tuple[int, str, int, str]]:
    """Every row of the table, replaced ones too: (id, session, position, content)."""
    with database(folder) as connection:
        statement = "SELECT id, session_id, position, content FROM conversation_history ORDER BY id"
        return connection.execute(statement).fetchall()


# --- exactness ----------------------------------------------------------------------------------------------------


def test_a_conversation_comes_back_exactly(memory: AgentMemory) -> None:
    assert memory.save_conversation_history("s", CONVERSATION) == "s"
    assert messages_of(memory, "s") == CONVERSATION


def test_messages_and_dictionaries_are_the_same(memory: AgentMemory) -> None:
    values = [Message.from_dict(message) for message in CONVERSATION]
    memory.save_conversation_history("values", values)
    memory.save_conversation_history("dictionaries", CONVERSATION)
    assert memory.load_conversation_history("values") == values
    assert memory.load_conversation_history("dictionaries") == values


TEXTS = st.text(st.characters(codec=None, exclude_categories=[]), max_size=12)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
ROLES = st.sampled_from(["user", "assistant", "system", "tool", "tool_result", "开发者"])
MESSAGES = st.builds(
    Message,
    role=ROLES,
    content=st.none() | TEXTS | st.lists(JSON, max_size=3),
    tool_calls=st.none() | st.lists(JSON, max_size=2),
    tool_call_id=st.none() | TEXTS,
    name=st.none() | TEXTS,
    extra=st.dictionaries(
        TEXTS.filter(lambda name: name not in {"role", "content", "tool_calls", "tool_call_id", "name"}),
        JSON,
        max_size=2,
    ),
).filter(lambda message: json.loads(json.dumps(message.to_dict())) == message.to_dict())


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """One memory for all generated examples, each in a session of its own."""
    with AgentMemory.open(tmp_path_factory.mktemp("generated"), **QUICK) as memory:
        yield memory


@settings(max_examples=examples(2))
@given(first=st.lists(MESSAGES, max_size=5), second=st.lists(MESSAGES, max_size=5))
def test_any_messages_come_back_exactly_whatever_stood_there_before(
    shared: AgentMemory, first: list[Message], second: list[Message]
) -> None:
    session = f"session {len(shared.list_sessions())}"
    for messages in (first, second, [*second, *first], second):
        shared.save_conversation_history(session, messages)
        assert shared.load_conversation_history(session) == messages
        assert [type(message.content) for message in shared.load_conversation_history(session)] == [
            type(message.content) for message in messages
        ]
    shared.save_conversation_history(f"{session} is over", [{"role": "user"}])


def test_two_halves_of_one_character_are_refused_instead_of_joined(memory: AgentMemory) -> None:
    with pytest.raises(InvalidInputError, match=r"messages\[0\].*unchanged"):
        memory.save_conversation_history("s", [{"role": "user", "content": "\ud83d\ude00"}])


# --- replacing ----------------------------------------------------------------------------------------------------


def test_saving_replaces_the_record_of_the_session(memory: AgentMemory) -> None:
    memory.save_conversation_history("s", CONVERSATION)
    memory.save_conversation_history("s", CONVERSATION[3:5])
    assert messages_of(memory, "s") == CONVERSATION[3:5]
    memory.save_conversation_history("s", [])
    assert messages_of(memory, "s") == []
    assert messages_of(memory, "never saved") == []


@pytest.mark.embedded
def test_a_conversation_that_grows_only_adds_rows(memory: AgentMemory, tmp_path: Path) -> None:
    for length in range(len(CONVERSATION) + 1):
        memory.save_conversation_history("s", CONVERSATION[:length])
    stored = rows(tmp_path / "data")
    assert [position for _, _, position, _ in stored] == list(range(len(CONVERSATION)))
    memory.save_conversation_history("s", CONVERSATION)
    assert rows(tmp_path / "data") == stored


@pytest.mark.embedded
def test_replaced_messages_stay_in_the_table(memory: AgentMemory, tmp_path: Path) -> None:
    memory.save_conversation_history("s", [{"role": "user", "content": "the first wording"}])
    memory.save_conversation_history("s", [{"role": "user", "content": "the second wording"}])
    assert [json.loads(content)["content"] for *_, content in rows(tmp_path / "data")] == [
        "the first wording",
        "the second wording",
    ]
    assert messages_of(memory, "s") == [{"role": "user", "content": "the second wording"}]


def test_a_save_that_breaks_off_changes_nothing(memory: AgentMemory, tmp_path: Path) -> None:
    memory.save_conversation_history("s", CONVERSATION)
    before = contents_of(memory)
    with database(tmp_path / "data") as connection:
        connection.execute(
            "CREATE TRIGGER break_off BEFORE INSERT ON conversation_history WHEN new.content LIKE '%poison%' "
            "BEGIN SELECT raise(ABORT, 'the disk is gone'); END"
        )
    new = [{"role": "user", "content": word} for word in ("one", "two", "poison", "four")]
    with pytest.raises(StorageError, match="the disk is gone"):
        memory.save_conversation_history("s", new)
    assert messages_of(memory, "s") == CONVERSATION
    assert contents_of(memory) == before


# --- sessions and scopes ------------------------------------------------------------------------------------------


def test_sessions_and_scopes_do_not_touch_each_other(memory: AgentMemory) -> None:
    def said(text: str) -> list[dict[str, Any]]:
        return [{"role": "user", "content": text}]

    memory.save_conversation_history("s", said("main"))
    memory.save_conversation_history("s", said("ada"), scope="ada")
    memory.save_conversation_history("t", said("ada again"), scope="ada")
    memory.save_conversation_history("s", said("everybody"), scope="public")
    memory.save_conversation_history("s", [], scope="bob")
    assert messages_of(memory, "s") == said("main")
    assert messages_of(memory, "s", scope="ada") == said("ada")
    assert messages_of(memory, "t", scope="ada") == said("ada again")
    assert messages_of(memory, "t") == []
    assert messages_of(memory, "s", scope="bob") == []
    memory.save_conversation_history("s", [], scope="ada")
    assert messages_of(memory, "s") == said("main")
    assert messages_of(memory, "t", scope="ada") == said("ada again")


def test_sessions_are_listed_the_last_written_first(memory: AgentMemory) -> None:
    for session in ("a", "b", "c"):
        memory.save_conversation_history(session, CONVERSATION[:2])
    memory.save_conversation_history("b", CONVERSATION[:3])
    memory.save_conversation_history("elsewhere", CONVERSATION, scope="ada")
    assert memory.list_sessions() == ["b", "c", "a"]
    assert memory.list_sessions(scope="ada") == ["elsewhere"]
    memory.save_conversation_history("c", [])
    assert memory.list_sessions() == ["b", "a"]


@pytest.mark.date_sensitive
@pytest.mark.parametrize(
    ("zone", "moment", "day"),
    [
        # 26 hours lie between these two places: it is never the same day in both.
        ("Pacific/Kiritimati", "2027-12-31T10:00:00+00:00", "2028-01-01"),
        ("Etc/GMT+12", "2027-12-31T10:00:00+00:00", "2027-12-30"),
        ("Asia/Kathmandu", "2028-02-28T18:14:59+00:00", "2028-02-28"),
        ("Asia/Kathmandu", "2028-02-28T18:15:00+00:00", "2028-02-29"),
    ],
)
def test_the_session_is_the_local_date_when_none_is_named(
    open_memory: OpenMemory, monkeypatch: pytest.MonkeyPatch, zone: str, moment: str, day: str
) -> None:
    memory = open_memory(time_zone=zone)
    monkeypatch.setattr(clock, "utc_now", lambda: datetime.fromisoformat(moment).astimezone(UTC))
    assert memory.save_conversation_history(None, CONVERSATION) == day
    assert messages_of(memory, day) == CONVERSATION
    assert messages_of(memory) == CONVERSATION


def test_a_conversation_outlives_the_process(open_memory: OpenMemory) -> None:
    with open_memory() as memory:
        memory.save_conversation_history("s", CONVERSATION)
    assert messages_of(open_memory(), "s") == CONVERSATION


# --- damage -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("damage", ["", "{", "[]", "null", '"text"', '{"content":"x"}', '{"role":5}', b"\xff\xfe\x00"])
def test_a_row_that_cannot_be_read_is_reported_with_the_readable_ones(
    memory: AgentMemory, tmp_path: Path, damage: str | bytes
) -> None:
    memory.save_conversation_history("s", CONVERSATION)
    memory.save_conversation_history("other", CONVERSATION)
    with database(tmp_path / "data") as connection:
        connection.execute(
            "UPDATE conversation_history SET content = ? WHERE session_id = 's' AND position IN (1, 4)",
            (damage if isinstance(damage, str) else sqlite3.Binary(damage),),
        )
    with pytest.raises(HistoryUnreadableError) as caught:
        memory.load_conversation_history("s")
    error = caught.value
    assert [position for position, _ in error.readable] == [0, 2, 3, 5, 6]
    assert [message.to_dict() for _, message in error.readable] == [
        message for position, message in enumerate(CONVERSATION) if position not in {1, 4}
    ]
    assert [position for position, _ in error.unreadable] == [1, 4]
    assert all(reason for _, reason in error.unreadable)
    for word in ("2 of 7", "'s'", "1, 4", ".readable", "backup"):
        assert word in str(error)
    assert messages_of(memory, "other") == CONVERSATION


def test_an_unreadable_session_can_be_saved_again(memory: AgentMemory, tmp_path: Path) -> None:
    memory.save_conversation_history("s", CONVERSATION)
    with database(tmp_path / "data") as connection:
        connection.execute("UPDATE conversation_history SET content = '{' WHERE position = 2")
    with pytest.raises(HistoryUnreadableError) as caught:
        memory.load_conversation_history("s")
    rescued = [message for _, message in caught.value.readable]
    memory.save_conversation_history("s", rescued)
    assert memory.load_conversation_history("s") == rescued


@settings(max_examples=20)
@given(st.dictionaries(TEXTS, JSON, max_size=4), ROLES)
def test_a_message_keeps_every_field_it_came_with(fields: dict[str, Any], role: str) -> None:
    message = {"content": None, **fields, "role": role}
    shown = Message.from_dict(message).to_dict()
    unsaid = {"tool_calls", "tool_call_id", "name"}
    assert shown == {name: value for name, value in message.items() if value is not None or name not in unsaid}

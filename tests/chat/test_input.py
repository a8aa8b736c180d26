"""What a chat refuses, and what its settings mean."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from jiyi.errors import InvalidInputError
from jiyi.model.clock import utc_now
from jiyi.sync import AgentMemory, NoopMemory
from tests.chat.support import said

OpenMemory = Callable[..., AgentMemory]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"token_limit": 0}, "token_limit 0"),
        ({"token_limit": -5}, "token_limit -5"),
        ({"token_limit": "many"}, "token_limit"),
        ({"token_limit": True}, "token_limit"),
        ({"soft_threshold": 0}, "soft_threshold"),
        ({"soft_threshold": 1.5}, "soft_threshold"),
        ({"soft_threshold": "half"}, "soft_threshold"),
        ({"reserve": -1}, "reserve"),
        ({"token_limit": 100, "reserve": 51}, "reserve"),
        ({"session_id": ""}, "session_id"),
        ({"session_id": 5}, "session_id"),
        ({"scope": ""}, "scope"),
        ({"summarize_prompt": ""}, "content"),
    ],
)
def test_a_chat_with_wrong_arguments_is_refused(memory: AgentMemory, arguments: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidInputError, match=named):
        memory.chat(**{"session_id": "s", **arguments})


@pytest.mark.parametrize(
    "message", [None, "text", 5, {}, {"role": ""}, {"role": "user", "content": 5}, {"content": "x"}]
)
def test_a_message_that_is_none_is_refused_and_changes_nothing(memory: AgentMemory, message: Any) -> None:
    chat = memory.chat("s")
    with pytest.raises(InvalidInputError, match="message"):
        chat.put(message)
    with pytest.raises(InvalidInputError, match=r"messages\[1\]"):
        chat.put_many([said(0), message])
    assert chat.get_all() == []


def test_the_settings_are_the_defaults_of_a_chat(open_memory: OpenMemory) -> None:
    memory = open_memory(token_limit=500, soft_threshold=0.5, reserve_tokens=200)
    budget = memory.chat("s")._target._service.budget
    assert (budget.limit, budget.soft, budget.reserve) == (500, 250, 200)
    small = memory.chat("s", token_limit=100)._target._service.budget
    assert (small.limit, small.reserve) == (100, 50)
    assert memory.chat("s", reserve=10)._target._service.budget.reserve == 10
    assert open_memory("other").chat("s").token_limit == 64_000


def test_no_memory_has_a_chat_too() -> None:
    with NoopMemory() as memory:
        chat = memory.chat("s", token_limit=100)
        assert chat.put(said(0))
        assert chat.get() == []
        assert chat.get_all() == []
        assert not chat.compact().compacted
        assert chat.status().messages == 0
        assert chat.candidates() == memory.candidates() == []


MOMENT = datetime(2020, 9, 13, 12, 26, 40, tzinfo=UTC)


@pytest.mark.parametrize(
    "field",
    [
        {"timestamp": 1_600_000_000},
        {"timestamp": 1_600_000_000_000},
        {"create_time": 1_600_000_000.0},
        {"date": "2020-09-13T14:26:40+02:00"},
        {"created_at": "2020-09-13 12:26:40"},
        {"timestamp": "2020-09-13T12:26:40Z", "date": "next week"},
    ],
)
def test_a_message_that_says_when_it_was_said_is_kept_with_that_time(
    memory: AgentMemory, field: dict[str, Any]
) -> None:
    chat = memory.chat("s")
    chat.put({"role": "user", "content": "the ferry was late", **field})
    memory.save_conversation_history("t", [{"role": "user", "content": "the kiln was hot", **field}])
    assert [one.created_at for one in (*chat.messages(), *memory.chat("t").messages())] == [MOMENT, MOMENT]
    assert memory.recall("the ferry")[0].event_time == MOMENT
    assert memory.recall("the ferry", until=MOMENT + timedelta(days=1))


@pytest.mark.parametrize(
    "field", [{"timestamp": 17}, {"date": "Friday"}, {"timestamp": True}, {"create_time": None}, {"date": "2020-99-99"}]
)
def test_what_is_not_plainly_a_time_is_not_taken_for_one(memory: AgentMemory, field: dict[str, Any]) -> None:
    before = utc_now()
    chat = memory.chat("s")
    chat.put({"role": "user", "content": "the ferry was late", **field})
    (stored,) = chat.messages()
    assert stored.created_at is not None
    assert stored.created_at >= before
    assert stored.message.extra == field


def test_the_time_can_be_given(memory: AgentMemory) -> None:
    chat = memory.chat("s")
    chat.put({"role": "user", "content": "x", "timestamp": 1_700_000_000}, created_at=MOMENT)
    assert chat.messages()[0].created_at == MOMENT
    with pytest.raises(InvalidInputError, match="created_at"):
        chat.put(said(1), created_at=datetime(2020, 1, 1))  # noqa: DTZ001


def test_the_newest_message_can_be_taken_back(memory: AgentMemory) -> None:
    chat = memory.chat("s")
    chat.put_many([said(0), said(1)])
    chat.insert_message(1, said(2))
    assert [one.text for one in chat.get_all()] == [said(n)["content"] for n in (0, 2, 1)]
    taken = chat.pop_message()
    assert taken is not None
    assert taken.to_dict() == said(1)
    assert chat.delete_message(0) is not None
    assert [one.to_dict() for one in chat.get_all()] == [said(2)]
    assert chat.pop_message() is not None
    assert chat.pop_message() is None
    with pytest.raises(InvalidInputError, match="index"):
        chat.delete_message("last")  # type: ignore[arg-type]

"""What a chat refuses, and what its settings mean."""

from collections.abc import Callable
from typing import Any

import pytest

from jiyi.errors import InvalidInputError
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

"""What is shown and what leaves: laws of the pure decisions."""

from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jiyi.backends.records.schema import SYSTEM_ROLES_SQL
from jiyi.chat.groups import groups, is_tool_result, orphaned_results, tool_call_ids, tool_result_ids
from jiyi.chat.window import ChatWindow, choose_leaving, choose_window, first_portion, make_budget, oldest_groups
from jiyi.errors import InvalidInputError
from jiyi.model.chat import FIRST_EPOCH, SYSTEM_ROLES, Snapshot, StoredMessage, Summary
from jiyi.model.clock import utc_now
from jiyi.model.message import Message

SUMMARY = Summary(
    id="s",
    scope="main",
    session_id="s",
    epoch=1,
    generation=1,
    first_position=0,
    last_position=0,
    first_message_id="0",
    last_message_id="0",
    previous_id=None,
    content="x",
    tokens=7,
    made_by="rules",
    created_at=utc_now(),
)


def size(stored: StoredMessage) -> int:
    """The tokens of a message stand in its text."""
    return int(stored.message.extra["tokens"])


@st.composite
def conversations(draw: st.DrawFn) -> list[StoredMessage]:
    """Users, assistants, prompts, and tool calls with all, some or none of their results, also late ones."""
    found: list[Message] = []
    open_calls: list[str] = []
    for number in range(draw(st.integers(0, 14))):
        kind = draw(st.sampled_from(["user", "assistant", "system", "call", "result", "result"]))
        extra = {"tokens": draw(st.integers(1, 30))}
        if kind == "call":
            ids = [f"{number}-{place}" for place in range(draw(st.integers(1, 2)))]
            open_calls += ids
            found.append(Message("assistant", None, tool_calls=[{"id": i} for i in ids], extra=extra))
        elif kind == "result" and open_calls:
            place = draw(st.integers(0, len(open_calls) - 1))
            found.append(Message("tool", "r", tool_call_id=open_calls.pop(place), extra=extra))
        else:
            found.append(Message("user" if kind == "result" else kind, "text", extra=extra))
    return [StoredMessage(str(place), place + 1, message, place) for place, message in enumerate(found)]


def spoken(messages: list[StoredMessage]) -> list[StoredMessage]:
    return [one for one in messages if not one.is_system]


@given(conversations())
def test_groups_are_the_messages_in_order_and_no_result_is_without_its_call(messages: list[StoredMessage]) -> None:
    talk = spoken(messages)
    together = groups(talk)
    assert [one for group in together for one in group] == talk
    for group in together:
        assert orphaned_results(group) <= orphaned_results(talk)


@given(conversations(), st.integers(0, 200), st.booleans(), st.booleans())
def test_what_is_shown_fits_or_says_that_it_cannot(
    messages: list[StoredMessage], room: int, with_summary: bool, complete: bool
) -> None:
    snapshot = Snapshot(FIRST_EPOCH, SUMMARY if with_summary else None, (), tuple(messages), complete)
    shown = choose_window(snapshot, available=room, summary_tokens=7, count=size)
    assert shown.tokens == sum(map(size, shown.messages)) + (7 if shown.with_summary else 0)
    assert shown.tokens <= room or shown.over_limit
    if shown.over_limit:
        assert not shown.with_summary
    positions = [one.position for one in shown.messages]
    assert positions == sorted(positions)
    assert [one for one in shown.messages if one.is_system] == [one for one in messages if one.is_system]
    talk = spoken(messages)
    visible = spoken(list(shown.messages))
    assert len(visible) + shown.left_out == len(talk)
    if talk:
        assert visible[-1] == talk[-1]
    if with_summary or not complete:
        assert orphaned_results(visible) <= {talk[-1].position} if talk else True
    if complete and not with_summary:
        assert visible == talk[len(talk) - len(visible) :]
        # Nothing that would have fitted is missing.
        if shown.left_out and not shown.over_limit:
            together = groups(talk)
            sizes = list(accumulate(len(group) for group in reversed(together)))
            following = together[-sizes.index(len(visible)) - 2]
            assert shown.tokens + sum(map(size, following)) > room


@given(conversations(), st.integers(-50, 150), st.integers(1, 100))
def test_what_leaves_is_the_oldest_in_whole_groups_and_never_the_newest(
    messages: list[StoredMessage], keep: int, portion: int
) -> None:
    talk = spoken(messages)
    together = groups(talk)
    goes = choose_leaving(messages, keep=keep, portion=portion, count=size)
    assert goes == talk[: len(goes)]
    boundaries = {0, *accumulate(len(group) for group in together)}
    assert len(goes) in boundaries
    if together:
        assert len(goes) <= len(talk) - len(together[-1])
    if sum(map(size, talk)) <= keep:
        assert goes == []
    elif len(together) > 1:
        assert goes
    assert sum(map(size, goes)) <= portion or len(goes) <= len(together[0])
    assert first_portion(messages, portion=portion, count=size) == choose_leaving(
        messages, keep=-1, portion=portion, count=size
    )


@given(conversations(), st.integers(0, 100))
def test_what_is_looked_through_early_is_the_oldest_too(messages: list[StoredMessage], tokens: int) -> None:
    talk = spoken(messages)
    found = oldest_groups(messages, tokens=tokens, count=size)
    assert found == talk[: len(found)]
    assert not found or found[-1] != talk[-1]
    assert (found == []) == (tokens == 0 or len(groups(talk)) < 2)


@pytest.mark.parametrize(
    ("message", "calls", "answers"),
    [
        ({"role": "assistant", "tool_calls": [{"id": "a"}, {"id": "b"}]}, ("a", "b"), ()),
        ({"role": "assistant", "tool_calls": ["odd", {"id": 5}]}, ("", ""), ()),
        ({"role": "assistant", "function_call": {"name": "f"}}, ("",), ()),
        ({"role": "assistant", "content": [{"type": "tool_use", "id": "u"}]}, ("u",), ()),
        ({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "u"}]}, (), ("u",)),
        ({"role": "tool", "tool_call_id": "a"}, (), ("a",)),
        ({"role": "tool_result", "content": "x"}, (), ()),
        ({"role": "user", "content": "x"}, (), ()),
    ],
)
def test_calls_and_results_of_every_common_form_are_recognised(
    message: dict[str, object], calls: tuple[str, ...], answers: tuple[str, ...]
) -> None:
    read = Message.from_dict(message)
    assert (tool_call_ids(read), tool_result_ids(read)) == (calls, answers)
    assert is_tool_result(read) == (bool(answers) or message["role"] == "tool_result")


def test_a_window_is_a_list_and_carries_what_is_known_of_it() -> None:
    window = ChatWindow([Message("user", "x")], tokens=3, token_limit=9)
    assert window == [Message("user", "x")]
    assert (window.tokens, window.token_limit, window.left_out, window.over_limit) == (3, 9, 0, False)


def test_a_budget_leaves_room_for_everything() -> None:
    for limit in (1, 10, 100, 1_000, 64_000, 1_000_000):
        budget = make_budget(limit, 0.8, None)
        assert 0 < budget.soft <= limit
        assert budget.reserve == limit // 4
        assert budget.max_summary <= max(limit // 2, 48)
    with pytest.raises(InvalidInputError, match="soft_threshold"):
        make_budget(10, 0, None)


def test_the_record_store_knows_the_same_roles_of_system_messages() -> None:
    assert f"role IN {SYSTEM_ROLES!r}" == SYSTEM_ROLES_SQL

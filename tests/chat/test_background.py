"""A long backlog is summarised in the background; answers meanwhile say what they miss."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from jiyi import AgentMemory as AsyncMemory
from jiyi import Message
from jiyi.chat import session_window
from jiyi.errors import InvalidInputError, ModelTimeoutError
from jiyi.sync import AgentMemory
from tests.chat.support import Clock, Model, check_whole, said, use
from tests.support import present

OpenMemory = Callable[..., AgentMemory]
LONG = " and the ferry was late again because of the wind" * 20


class Gate:
    """A model's summary that waits until it is let through."""

    def __init__(self) -> None:
        self.asked = threading.Semaphore(0)
        self.let = threading.Semaphore(0)

    def __call__(self, _messages: Sequence[Message]) -> str:
        self.asked.release()
        assert self.let.acquire(timeout=60)
        return "a summary"


def test_an_answer_does_not_wait_for_a_slow_model_and_says_how_far_the_work_is(open_memory: OpenMemory) -> None:
    gate = Gate()
    chat = use(open_memory(recall_messages=False), Model(summary=gate)).chat("s", token_limit=2_000)
    chat.put_many([said(number, f"turn {number}{LONG}") for number in range(60)])
    window = chat.get(max_wait=0)
    assert window.tokens <= 2_000
    assert present(window.pending).messages == window.left_out > 0
    assert (present(window.pending).done, present(window.pending).running) == (0, True)
    assert gate.asked.acquire(timeout=60)
    first = chat.get(max_wait=0)
    assert first.pending == window.pending
    gate.let.release()
    assert gate.asked.acquire(timeout=60)  # the first portion is under a summary
    second = present(chat.status().backlog)
    assert second.running
    assert second.done > 0
    assert second.done + second.messages >= present(first.pending).messages
    assert second.messages < present(first.pending).messages
    for _ in range(50):
        gate.let.release()
    done = chat.get(max_wait=None)
    assert (done.left_out, done.pending, done.trouble) == (0, None, None)
    assert chat.status().backlog is None
    check_whole(chat, done)


def test_an_answer_at_once_asks_no_model_at_all(open_memory: OpenMemory) -> None:
    model = Model()
    chat = use(open_memory(recall_messages=False), model, now=Clock()).chat("s", token_limit=2_000, soft_threshold=0.5)
    chat.put_many([said(number, f"turn {number}{LONG}") for number in range(6)])
    assert 1_000 < chat.get(max_wait=0).tokens <= 2_000
    assert model.asked == []
    chat.get()
    assert model.asked == ["candidates"]


def test_the_work_goes_on_in_the_foreground_until_the_time_is_up(
    open_memory: OpenMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed = [0.0]

    def slow(_messages: Sequence[Message]) -> str:
        passed[0] += 4
        return "a summary"

    monkeypatch.setattr(session_window, "time", SimpleNamespace(monotonic=lambda: passed[0]))
    memory = use(open_memory(recall_messages=False), Model(summary=slow), now=Clock())
    chat = memory.chat("s", token_limit=2_000)
    chat.put_many([said(number, f"turn {number}{LONG}") for number in range(200)])
    window = chat.get()
    assert passed[0] >= 12
    assert window.compacted
    assert present(window.pending).running
    done = chat.get(max_wait=None)
    assert (done.left_out, done.pending) == (0, None)


def test_a_failure_in_the_background_is_reported_by_the_next_answer(open_memory: OpenMemory) -> None:
    def broken(_messages: Sequence[Message]) -> str:
        raise ModelTimeoutError("slow")

    chat = use(open_memory(recall_messages=False), Model(summary=broken), now=Clock()).chat("s", token_limit=2_000)
    chat.put_many([said(number, f"turn {number}{LONG}") for number in range(60)])
    assert present(chat.get(max_wait=0).pending).running
    window = chat.get(max_wait=None)
    assert "slow" in present(window.trouble)
    assert present(window.pending).messages == window.left_out > 0
    assert chat.status().failures == 1


def test_a_memory_that_is_closed_leaves_the_rest_to_the_next_opening(tmp_path: Path) -> None:
    async def interrupted() -> int:
        async with AsyncMemory.open(tmp_path, embedder="none", recall_messages=False) as memory:
            chat = memory.chat("s", token_limit=2_000)
            await chat.put_many([said(number, f"turn {number}{LONG}") for number in range(300)])
            window = await chat.get(max_wait=0)
            assert window.pending is not None
            return window.pending.messages

    assert asyncio.run(interrupted()) > 0
    with AgentMemory.open(tmp_path, embedder="none") as memory:
        chat = memory.chat("s", token_limit=2_000)
        window = chat.get(max_wait=None)
        assert (window.left_out, window.pending) == (0, None)
        check_whole(chat, window)


@pytest.mark.parametrize("wait", [-1, "10", True, float("nan")])
def test_a_wait_that_is_no_time_is_refused(open_memory: OpenMemory, wait: object) -> None:
    with pytest.raises(InvalidInputError, match="max_wait"):
        open_memory().chat("s").get(max_wait=wait)  # type: ignore[arg-type]

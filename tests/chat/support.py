"""Chats with models and clocks of the test's own."""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

from jiyi.chat.dependencies import chat_deps
from jiyi.model.message import Message
from jiyi.ports import ChatStore
from jiyi.prompts.chat import summary_message
from jiyi.sync import AgentMemory

Reply = Callable[[Sequence[Message]], str]


class Clock:
    """A time that passes only when it is told to."""

    def __init__(self) -> None:
        self.now = datetime(2026, 5, 1, 8, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def pass_(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


class Model:
    """A chat model that says what the test says: one answer for summaries, one for candidates."""

    name = "test-model"

    def __init__(self, summary: Reply | str = "a summary", candidates: Reply | str = '{"candidates": []}') -> None:
        self.summary = summary
        self.candidates = candidates
        self.asked: list[str] = []
        """What it was asked for: `summary` or `candidates`."""
        self.questions: list[Sequence[Message]] = []

    def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int | None = None,
        schema: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> str:
        self.asked.append("summary" if schema is None else "candidates")
        self.questions.append(messages)
        reply = self.summary if schema is None else self.candidates
        return reply if isinstance(reply, str) else reply(messages)

    def stream(self, messages: Sequence[Message], *, max_tokens: int | None = None) -> Any:
        raise NotImplementedError


def use(
    memory: AgentMemory, model: Model | None = None, *, now: Clock | None = None, store: ChatStore | None = None
) -> AgentMemory:
    """Let the chats of a memory have this model, clock and store."""
    target = memory._target
    given = {} if now is None else {"now": now}
    chats = target._components.chats if store is None else store
    deps = chat_deps(chats, model, actor="test", recallable=True, **given)
    target._chat_deps = lambda: deps
    return memory


def said(number: int, text: str = "") -> dict[str, Any]:
    """A turn of a conversation that can be told from every other."""
    return {"role": ("user", "assistant")[number % 2], "content": text or f"turn {number}: nothing of note happened"}


def call(name: str, *ids: str) -> dict[str, Any]:
    """An assistant's tool call without a word."""
    calls = [{"id": i, "type": "function", "function": {"name": name, "arguments": "{}"}} for i in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(call_id: str, text: str = "done") -> dict[str, Any]:
    """The result of a call."""
    return {"role": "tool", "content": text, "tool_call_id": call_id}


def found(*contents: str, kind: str = "fact", first: int = 1, last: int = 1) -> str:
    """A model's reply with these candidates."""
    return json.dumps(
        {
            "candidates": [
                {"content": c, "kind": kind, "confidence": 0.9, "first": first, "last": last} for c in contents
            ]
        }
    )


def check_whole(chat: Any, window: Any = None) -> None:
    """What must hold of every session at every moment: nothing lost, nothing twice, groups whole, limit kept."""
    everything = chat.messages()
    summaries = chat.summaries()
    # The summaries stand for one stretch after the other, without a gap and without an overlap.
    assert [s.previous_id for s in summaries] == [None, *(s.id for s in summaries[:-1])][: len(summaries)]
    for before, after in pairwise(summaries):
        assert after.first_position == before.last_position + 1
    pointer = summaries[-1].last_position if summaries else chat.epochs()[-1].first_position - 1
    prompts = [m for m in everything if m.message.role == "system"]
    talk = [m for m in everything if m.message.role != "system"]
    covered = [m for m in talk if m.position <= pointer]
    recent = [m for m in talk if m.position > pointer]
    if summaries:
        assert chat.expand(summaries[-1].id) == covered
        assert summaries[-1].last_message_id == covered[-1].id
    else:
        assert covered == []
    assert [m.message for m in everything] == chat.get_all()
    if window is None:
        return
    assert window.tokens <= window.token_limit or window.over_limit
    summary = None if window.summary is None else summary_message(window.summary.content)
    shown = [m for m in window if m.role != "system" and m is not summary]
    assert len(shown) + window.left_out == len(recent)
    assert shown == [m.message for m in recent][len(recent) - len(shown) :] or window.left_out
    if recent:
        assert shown[-1] == recent[-1].message
    systems = [m for m in window if m.role == "system"]
    assert [m for m in systems if m in [p.message for p in prompts]] == [p.message for p in prompts]
    assert len(systems) == len(prompts)
    assert (summary in list(window)) is (summary is not None)
    for place, message in enumerate(shown):
        if message.tool_call_id is not None and (window.left_out or summaries):
            earlier = [c["id"] for m in shown[:place] for c in m.tool_calls or ()]
            assert message.tool_call_id in earlier or place == len(shown) - 1

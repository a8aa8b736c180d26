"""The whole loop with the configured model: tools, streams, faults, cancellation, and what is on disk at each step."""

import asyncio
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from jiyi import AgentMemory as AsyncMemory
from jiyi.errors import (
    ConfigError,
    ContextOverflowError,
    InvalidInputError,
    ModelRejectedError,
    ModelUnavailableError,
)
from jiyi.sync import Agent, AgentMemory
from tests.agent.conftest import Talk, call
from tests.support import QUICK

OpenMemory = Callable[..., AgentMemory]


def said(agent: Agent, text: str | None, **options: Any) -> str:
    return "".join(agent.reply(text, **options))


def stored(memory: AgentMemory) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in memory.chat("s").get_all()]


def test_the_reply_comes_in_pieces_and_is_stored_once(open_memory: OpenMemory, talk: Talk) -> None:
    memory = open_memory(llm=talk.model())
    talk.answers = ["Good morning, Anna."]
    pieces = list(memory.agent("s").reply("Good morning, I am Anna"))
    assert len(pieces) > 1
    assert "".join(pieces) == "Good morning, Anna."
    assert stored(memory) == [("user", "Good morning, I am Anna"), ("assistant", "Good morning, Anna.")]


def test_the_model_uses_tools_until_it_answers(open_memory: OpenMemory, talk: Talk) -> None:
    memory = open_memory(llm=talk.model())
    memory.store("k", "Anna likes green tea")
    talk.answers = [
        [call("recall", "a", query="Anna"), call("nothing", "b")],
        [call("remember", content="Anna was asked about")],
        "Green tea.",
    ]
    assert said(memory.agent("s"), "hello") == "Green tea."
    assert [role for role, _ in stored(memory)] == [
        *("user", "assistant", "tool", "tool", "assistant", "tool", "assistant"),
    ]
    results = [message.text for message in talk.asked[1].messages if message.role == "tool"]
    assert "Anna likes green tea" in results[0]
    assert results[1].startswith("Error: there is no tool 'nothing'")
    assert "Anna was asked about" in [entry.content for entry in memory.list()]


def test_a_model_that_asks_for_tools_for_ever_has_to_answer(open_memory: OpenMemory, talk: Talk) -> None:
    memory = open_memory(llm=talk.model())
    talk.answers = [*([call("list", f"c{n}")] for n in range(3)), "Enough."]
    assert said(memory.agent("s", max_rounds=3), "hello") == "Enough."
    assert [bool(asked.tools) for asked in talk.asked] == [True, True, True, False]


def test_a_failing_model_costs_no_word_and_the_turn_goes_on(open_memory: OpenMemory, talk: Talk) -> None:
    memory = open_memory(llm=talk.model())
    agent = memory.agent("s")
    talk.answers = [[call("remember", content="Anna likes tea")], ModelRejectedError("401: the key is wrong"), "Done."]
    with pytest.raises(ModelRejectedError) as failed:
        said(agent, "I am Anna and I like tea")
    assert "goes on with it" in "".join(failed.value.__notes__)
    [open_turn] = agent.unfinished()
    assert (open_turn.text, open_turn.calls) == ("I am Anna and I like tea", 1)
    assert said(memory.agent("s"), None) == "Done."
    assert [role for role, _ in stored(memory)] == ["user", "assistant", "tool", "assistant"]
    assert agent.unfinished() == []
    with pytest.raises(InvalidInputError, match="no open turn"):
        said(agent, None)


def test_a_failure_that_may_pass_is_tried_again_before_the_first_word(open_memory: OpenMemory, talk: Talk) -> None:
    memory = open_memory(llm=talk.model(), llm_retries=1)
    talk.answers = [ModelUnavailableError("503", retry_after=0.001), "Here I am."]
    assert said(memory.agent("s"), "hello") == "Here I am."
    talk.answers = [ModelUnavailableError("503", retry_after=0.001)] * 2
    with pytest.raises(ModelUnavailableError):
        said(memory.agent("s"), "hello again")


def test_a_prompt_that_the_model_finds_too_long_is_shortened_once(open_memory: OpenMemory, talk: Talk) -> None:
    memory = open_memory(llm=talk.model())
    agent = memory.agent("s")
    for number in range(6):
        said(agent, f"number {number} " + "word " * 50)
    talk.answers = [ContextOverflowError("the maximum context length is 4096 tokens"), "Shorter now."]
    assert said(agent, "the last question") == "Shorter now."
    assert len(talk.asked[-1].messages) < len(talk.asked[-2].messages)
    assert talk.asked[-1].messages[-1].text == "the last question"
    assert any(talk.summary in message.text for message in talk.asked[-1].messages)


def test_without_a_model_the_program_has_to_answer(memory: AgentMemory) -> None:
    agent = memory.agent("s")
    assert agent.answers is False
    with pytest.raises(ConfigError, match="call begin, ask a model of your own"):
        said(agent, "hello")
    assert stored(memory) == []


def test_a_reader_that_stops_leaves_what_was_said_marked_as_broken_off(open_memory: OpenMemory, talk: Talk) -> None:
    memory = open_memory(llm=talk.model())
    talk.answers = ["one two three four five six seven"]
    with closing(memory.agent("s").reply("count")) as pieces:  # type: ignore[type-var]
        first = next(pieces)
    [_, reply] = memory.chat("s").get_all()
    assert reply.text.startswith(first)
    assert reply.extra["broken_off"] == "the reader stopped"
    assert memory.agent("s").unfinished() == []
    assert said(memory.agent("s"), "go on") == "ok"


def test_a_repetition_of_a_broken_off_turn_says_that_its_reply_is_only_a_part(
    open_memory: OpenMemory, talk: Talk
) -> None:
    memory = open_memory(llm=talk.model())
    talk.answers = ["one two three four five six seven"]
    with closing(memory.agent("s").reply("count", request_id="m-1")) as pieces:  # type: ignore[type-var]
        next(pieces)
    turn = memory.agent("s").begin("count", request_id="m-1")
    assert turn.reply
    assert turn.broken_off == "the reader stopped"
    events = [(event.kind, event.text) for event in memory.agent("s").stream("count", request_id="m-1")]
    assert events == [("turn", turn.id), ("piece", turn.reply), ("broken_off", "the reader stopped")]
    assert said(memory.agent("s"), "count", request_id="m-1") == turn.reply
    assert said(memory.agent("s"), "and now?", request_id="m-2") == "ok"
    whole = memory.agent("s").begin("and now?", request_id="m-2")
    assert (whole.reply, whole.broken_off) == ("ok", None)


def test_a_turn_knows_how_it_was_ended_also_by_another_process(open_memory: OpenMemory) -> None:
    memory = open_memory()
    turn = memory.agent("s").begin("hello")
    assert turn.broken_off is None
    other = open_memory().agent("s").open_turn(turn.id)
    assert other is not None
    other.break_off("", "the power failed")
    assert (other.reply, other.broken_off) == ("", "the power failed")
    with pytest.raises(InvalidInputError, match="finished"):
        turn.finish("hi")
    assert turn.broken_off == "the power failed"


def test_a_task_that_is_cancelled_leaves_what_was_said(tmp_path: Path, talk: Talk) -> None:
    async def run() -> list[Any]:
        async with AsyncMemory.open(tmp_path, llm=talk.model(), **QUICK) as memory:
            began = asyncio.Event()
            talk.answers = ["one two three four five six seven"]

            async def listen() -> None:
                async for _ in memory.agent("s").reply("count"):
                    began.set()
                    await asyncio.Event().wait()

            task = asyncio.create_task(listen())
            await began.wait()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            # The generator is closed by the event loop once the task has let go of it.
            found: list[Any] = []
            for _ in range(500):
                found = list(await memory.chat("s").get_all())
                if len(found) == 2:
                    break
                await asyncio.sleep(0.01)
            return found

    [question, reply] = asyncio.run(run())
    assert (question.text, reply.role) == ("count", "assistant")
    assert "broken_off" in reply.extra


def test_a_message_that_is_delivered_twice_is_answered_once(open_memory: OpenMemory, talk: Talk) -> None:
    memory = open_memory(llm=talk.model())
    talk.answers = ["First answer."]
    assert said(memory.agent("s"), "hello", request_id="m-1") == "First answer."
    assert said(memory.agent("s"), "hello", request_id="m-1") == "First answer."
    assert stored(memory) == [("user", "hello"), ("assistant", "First answer.")]
    assert len(talk.asked) == 1
    turn = memory.agent("s").begin("next", request_id="m-2")
    again = memory.agent("s").begin("next", request_id="m-2")
    assert again.id == turn.id
    assert [text for role, text in stored(memory) if role == "user"] == ["hello", "next"]


def test_a_turn_whose_messages_went_under_a_summary_is_still_known(open_memory: OpenMemory, talk: Talk) -> None:
    memory = open_memory(llm=talk.model())
    talk.answers = ["First answer.", *(f"Answer {number}." for number in range(5))]
    said(memory.agent("s"), "hello", request_id="m-1")
    left = memory.agent("s").begin("a question that waits", request_id="m-2")
    for number in range(5):
        said(memory.agent("s"), f"question {number} " + "and more " * 200)
    memory.chat("s").compact()
    assert "a question that waits" not in [message.text for message in memory.chat("s").get()]
    before = len(stored(memory))
    assert said(memory.agent("s"), "hello", request_id="m-1") == "First answer."
    assert memory.agent("s").begin("a question that waits", request_id="m-2").id == left.id
    assert [turn.text for turn in memory.agent("s").unfinished()] == ["a question that waits"]
    assert len(stored(memory)) == before


def test_replies_of_one_session_queue_and_all_are_stored(tmp_path: Path, talk: Talk) -> None:
    async def run() -> list[tuple[str, str]]:
        async with AsyncMemory.open(tmp_path, llm=talk.model(), **QUICK) as memory:

            async def say(number: int) -> None:
                async for _ in memory.agent("s").reply(f"question {number}"):
                    pass

            await asyncio.gather(*(say(number) for number in range(8)))
            return [(message.role, message.text) for message in await memory.chat("s").get_all()]

    messages = asyncio.run(run())
    assert [role for role, _ in messages] == ["user", "assistant"] * 8
    assert {text for role, text in messages if role == "user"} == {f"question {n}" for n in range(8)}


def test_turns_that_overlap_each_see_their_own_question_last(memory: AgentMemory) -> None:
    agent = memory.agent("s")
    first, second = agent.begin("first question"), agent.begin("second question")
    first.call({"name": "list", "arguments": {}})
    second.call({"name": "list", "arguments": {}})
    assert [message.text for message in first.messages if message.role == "user"][-1] == "first question"
    assert [message.text for message in second.messages if message.role == "user"][-1] == "second question"
    second.finish("second answer")
    first.finish("first answer")
    assert sorted(text for role, text in stored(memory) if role == "assistant" and text) == [
        "first answer",
        "second answer",
    ]
    assert agent.unfinished() == []

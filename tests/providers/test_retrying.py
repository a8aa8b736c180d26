"""RetryingModel: asked again when that can help, by few at a time, and counted."""

import threading
from pathlib import Path

import pytest

from jiyi.errors import ModelError, ModelRejectedError, ModelReplyError, ModelTimeoutError, ModelUnavailableError
from jiyi.model.message import Message
from jiyi.providers.retrying import ModelUsage, RetryingModel, RetryPolicy
from jiyi.sync import AgentMemory
from jiyi.testing.models import ModelCall, ScriptedModel
from jiyi.text.token_count import EstimatedTokens
from tests.longterm.answers import model as fake_model
from tests.support import QUICK

ASK = [Message("user", "hello there")]


def retrying(model: ScriptedModel, slept: list[float] | None = None, retries: int = 2) -> RetryingModel:
    naps = [] if slept is None else slept
    policy = RetryPolicy(retries=retries, sleep=naps.append, jitter=lambda: 1.0)
    usage = ModelUsage(model.name, input_price=2.0, output_price=4.0)
    limit = threading.BoundedSemaphore(2)
    return RetryingModel(model, counter=EstimatedTokens(), limit=limit, policy=policy, usage=usage)


def test_a_failure_that_may_pass_is_tried_again_after_growing_pauses() -> None:
    slept: list[float] = []
    model = retrying(ScriptedModel([ModelUnavailableError("500"), ModelTimeoutError("slow"), "hi"]), slept)
    assert model.complete(ASK) == "hi"
    assert slept == [0.5, 1.0]
    assert (model.usage.calls, model.usage.failures, model.usage.retries) == (3, 2, 2)


def test_the_server_is_given_the_time_that_it_asks_for() -> None:
    slept: list[float] = []
    assert retrying(ScriptedModel([ModelUnavailableError("429", retry_after=7), "hi"]), slept).complete(ASK) == "hi"
    assert slept == [7]


@pytest.mark.parametrize(
    "error",
    [
        ModelUnavailableError("429", retry_after=3600),
        ModelRejectedError("401"),
        ModelReplyError("refused", reason="refused"),
    ],
)
def test_what_waiting_cannot_mend_is_reported_at_once(error: ModelError) -> None:
    slept: list[float] = []
    with pytest.raises(type(error)):
        retrying(ScriptedModel([error]), slept).complete(ASK)
    assert slept == []


def test_it_gives_up_after_its_retries() -> None:
    with pytest.raises(ModelUnavailableError):
        retrying(ScriptedModel(lambda _: ModelUnavailableError("down")), retries=3).complete(ASK)


def test_no_more_than_the_limit_ask_at_the_same_time() -> None:
    inside: list[int] = []
    most: list[int] = []
    both = threading.Barrier(2)

    def answer(_call: ModelCall) -> str:
        inside.append(1)
        most.append(len(inside))
        both.wait(10)
        inside.pop()
        return "hi"

    model = retrying(ScriptedModel(answer))
    threads = [threading.Thread(target=model.complete, args=(ASK,)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert max(most) <= 2
    assert model.usage.calls == 6


def test_a_stream_is_counted_as_well() -> None:
    model = retrying(ScriptedModel(["four four"]))
    assert "".join(model.stream(ASK)) == "four four"
    shown = model.usage.to_dict()
    assert shown["calls"] == 1
    assert shown["output_tokens"] > 0
    assert shown["cost"] == pytest.approx((2 * shown["input_tokens"] + 4 * shown["output_tokens"]) / 1e6)


def test_doctor_tells_what_each_task_has_used(tmp_path: Path) -> None:
    with AgentMemory.open(tmp_path, llm=fake_model(), llm_input_price=1.0, **QUICK) as memory:
        memory.longterm.extract_and_store_memories_for_round("alice", "c", "I like tea", "ok")
        memory.longterm.get_intent_domains("what do I drink")
        usage = memory.doctor()["model_usage"]
    assert usage["scorer"]["calls"] == usage["router"]["calls"] == 1
    assert usage["scorer"]["cost"] > 0
    assert usage["reflection"]["calls"] == 0


def test_each_task_can_have_a_model_of_its_own(tmp_path: Path) -> None:
    from jiyi.testing.model_server import ModelServer

    with ModelServer() as server:
        server.reply('{"domains": ["user_preferences"]}')
        settings = {
            **QUICK,
            "llm": "openai-compatible",
            "llm_base_url": server.base_url,
            "llm_model": "large",
            "router_model": "small",
        }
        with AgentMemory.open(tmp_path, **settings) as memory:
            assert memory.longterm.get_intent_domains("what do I drink") == ["user_preferences"]
            with pytest.raises(ModelError):
                memory.longterm.extract_and_store_memories_for_round("alice", "c", "I like tea", "ok")
        assert [request["model"] for request in server.requests] == ["small", "large", "large"]

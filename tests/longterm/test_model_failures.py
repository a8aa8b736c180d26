"""Every place that asks a model, times everything a model can do wrong: nothing is lost, nothing pretends."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from jiyi.errors import ModelError, ModelUnavailableError
from jiyi.model.domain import DOMAINS
from jiyi.ports import ModelIdentity
from jiyi.sync import AgentMemory
from jiyi.testing.fakes import HashEmbedder
from jiyi.testing.models import EMBEDDER_FAULTS, MODEL_FAULTS, FailingModel, ModelCall, ScriptedModel
from tests.longterm.answers import fact, model, task_of
from tests.longterm.conftest import FakeClock, OpenMemory
from tests.support import present

Vectors = NDArray[np.float32]
LASTING = {"context overflow", "401"}
"""Faults that asking again cannot mend."""


def failing(fault: str, task: str, good: ScriptedModel | None = None) -> ScriptedModel:
    """A model that fails at one task and does the others."""
    broken, whole = FailingModel(fault), good or model()

    def answer(call: ModelCall) -> str:
        chosen = broken if task_of(call) == task else whole
        return chosen.complete(call.messages, max_tokens=call.max_tokens, schema=call.schema)

    return ScriptedModel(answer, name="sometimes failing")


def states(memory: AgentMemory, user: str = "alice") -> dict[str, str]:
    """The user's jobs: kind and state."""
    return {job.kind: job.state for job in memory.jobs(scope=user, states=["queued", "running", "done", "dead"])}


@pytest.mark.parametrize("fault", MODEL_FAULTS)
def test_a_scheduled_round_is_tried_again_and_ends_in_the_dead_letter_list(
    open_room: OpenMemory, clock: FakeClock, fault: str
) -> None:
    memory = open_room(embedder="none", llm=failing(fault, "scorer"), job_attempts=3)
    memory.longterm.schedule_round("alice", "conversation", "I am allergic to nuts", "noted")
    for _ in range(5):
        memory.run_jobs()
        clock.advance(hours=2)
    (job,) = memory.jobs(scope="alice")
    assert job.state == "dead"
    assert job.reason
    assert job.attempt == (1 if fault in LASTING else 3)
    assert memory.doctor()["dead_jobs"][0]["reason"] == job.reason
    assert not memory.doctor()["healthy"]
    # The round is there, and so is the work, as soon as the model is.
    assert memory.load_conversation_history("conversation", scope="alice")[0].content == "I am allergic to nuts"
    assert memory.count(scope="alice") == 0


@pytest.mark.parametrize("fault", MODEL_FAULTS)
def test_a_dead_round_is_done_when_it_is_retried_with_a_model_that_answers(
    open_room: OpenMemory, clock: FakeClock, fault: str
) -> None:
    with open_room(embedder="none", llm=failing(fault, "scorer"), job_attempts=1) as memory:
        memory.longterm.schedule_round("alice", "conversation", "I am allergic to nuts", "noted")
        memory.run_jobs()
        (job,) = memory.jobs(scope="alice")
    memory = open_room(embedder="none", llm=model())
    assert not memory.retry_job(job.id, scope="bob")
    assert memory.retry_job(job.id, scope="alice")
    memory.run_jobs()
    assert states(memory) == {"longterm.round": "done"}
    assert [entry.content for entry in memory.list(scope="alice", memory_types="fact")] == ["I am allergic to nuts"]
    assert memory.doctor()["dead_jobs"] == []


@pytest.mark.parametrize("fault", MODEL_FAULTS)
def test_a_round_in_the_foreground_raises_and_stays_to_be_done(
    open_room: OpenMemory, clock: FakeClock, fault: str
) -> None:
    memory = open_room(embedder="none", llm=failing(fault, "scorer"))
    with pytest.raises(ModelError) as caught:
        memory.longterm.extract_and_store_memories_for_round("alice", "conversation", "I am allergic to nuts", "noted")
    assert "the round is stored" in caught.value.__notes__[0]
    assert states(memory) == {"longterm.round": "dead" if fault in LASTING else "queued"}
    assert len(memory.load_conversation_history("conversation", scope="alice")) == 2


@pytest.mark.parametrize("fault", MODEL_FAULTS)
def test_a_router_that_fails_searches_everything_and_says_so(open_room: OpenMemory, fault: str) -> None:
    memory = open_room(embedder="none", llm=failing(fault, "router"))
    memory.longterm.extract_and_store_memories_for_round("alice", "conversation", "I am allergic to nuts", "noted")
    assert memory.longterm.get_intent_domains("what am I allergic to") == list(DOMAINS)
    hits = memory.longterm.retrieve_relevant_memories("alice", "what am I allergic to")
    assert [hit.content for hit in hits] == ["I am allergic to nuts"]
    assert hits.routed_by == "fallback"
    assert "all domains were searched" in hits.notes[0]


@pytest.mark.parametrize("fault", MODEL_FAULTS)
def test_a_reflection_that_fails_leaves_the_facts_as_they_are(
    open_room: OpenMemory, clock: FakeClock, fault: str
) -> None:
    memory = open_room(embedder="none", llm=failing(fault, "reflection"), job_attempts=2)
    facts = [
        {"key": thing, "content": f"no {thing}", "scope": "alice", "domain": DOMAINS[1], "importance": 0.9}
        for thing in ("nuts", "milk", "wheat", "soy")
    ]
    memory.store_many(facts)
    said = "I am allergic to fish"
    memory.longterm.extract_and_store_memories_for_round("alice", "conversation", said, "noted")
    with pytest.raises(ModelError):
        memory.longterm.try_generate_reflection("alice", "conversation")
    for _ in range(3):
        memory.run_jobs()
        clock.advance(hours=2)
    assert states(memory)["longterm.reflection"] == "dead"
    entries = memory.list(scope="alice")
    assert len(entries) == 5
    assert {(entry.memory_type, entry.summarized_by) for entry in entries} == {("fact", None)}


@pytest.mark.parametrize("fault", MODEL_FAULTS)
def test_compression_that_fails_is_an_error_and_the_prompt_says_what_was_done_instead(
    open_room: OpenMemory, fault: str
) -> None:
    memory = open_room(embedder="none", llm=failing(fault, "compression"))
    texts = [f"The user is allergic to the {number}th kind of nuts that grows in the garden." for number in range(12)]
    with pytest.raises(ModelError):
        memory.longterm.compress_memories(texts, max_chars=200)
    memory.store_many(
        [
            {"key": str(n), "content": text, "scope": "alice", "domain": "user_preferences"}
            for n, text in enumerate(texts)
        ]
    )
    block = memory.longterm.get_memory_context_for_prompt("alice", "allergic to nuts", token_budget=200)
    assert "rules, because of" in block


def test_a_server_that_asks_for_patience_gets_it(open_room: OpenMemory, clock: FakeClock) -> None:
    busy = ModelUnavailableError("429", retry_after=1234.0)
    memory = open_room(llm=ScriptedModel(lambda _: busy))
    memory.longterm.schedule_round("alice", "conversation", "I am allergic to nuts", "noted")
    memory.run_jobs()
    (job,) = memory.jobs(scope="alice", states="queued")
    assert (job.not_before - clock.time).total_seconds() == pytest.approx(1234, abs=1)
    clock.advance(seconds=1000)
    assert memory.run_jobs() == 0
    clock.advance(seconds=300)
    assert memory.run_jobs() == 1


def test_json_inside_prose_is_read(open_room: OpenMemory) -> None:
    good = json.dumps({"memories": [{"importance_score": 0.9, "extracted_fact": "likes tea", "domain": DOMAINS[1]}]})
    memory = open_room(llm=ScriptedModel([f"Sure! Here it is:\n```json\n{good}\n```\nAnything else?"]))
    stored = memory.longterm.extract_and_store_memories_for_round("alice", "c", "I like tea", "ok")
    assert [entry.content for entry in stored] == ["likes tea"]


WRONG = [
    '{"memories": [{"importance_score": 1.5, "extracted_fact": "x", "domain": "user_preferences"}]}',
    '{"memories": [{"importance_score": true, "extracted_fact": "x", "domain": "user_preferences"}]}',
    '{"memories": [{"importance_score": NaN, "extracted_fact": "x", "domain": "user_preferences"}]}',
    '{"memories": [{"importance_score": 0.9, "domain": "user_preferences"}]}',
    '{"memories": {}}',
    '{"memories": [7]}',
    "[7]",
    "null",
]


@pytest.mark.parametrize("reply", WRONG)
def test_a_reply_of_another_shape_is_asked_for_once_more_and_then_an_error(open_room: OpenMemory, reply: str) -> None:
    fake = ScriptedModel([reply, reply])
    memory = open_room(llm=fake)
    with pytest.raises(ModelError):
        memory.longterm.extract_and_store_memories_for_round("alice", "c", "I like tea", "ok")
    assert len(fake.calls) == 2
    assert memory.count(scope="alice") == 0


NUTS = fact("The user is allergic to nuts", domain="lifestyle_and_interests")
MENDED = [
    ([{**NUTS, "importance_score": "0.9"}], "lifestyle_and_interests"),
    ([{**NUTS, "importance_score": [0.9], "corrects": "none"}], "lifestyle_and_interests"),
    ([{**NUTS, "domain": "health"}], "lifestyle_and_interests"),
    ([{**NUTS, "domain": None}], "lifestyle_and_interests"),
    ([{**NUTS, "domain": ["allergies", "user_preferences"]}], "user_preferences"),
    ([NUTS["extracted_fact"], None], "lifestyle_and_interests"),
]


@pytest.mark.parametrize(("items", "domain"), MENDED)
def test_an_item_that_can_be_mended_is_kept(open_room: OpenMemory, items: list[Any], domain: str) -> None:
    memory = open_room(llm=ScriptedModel([json.dumps({"memories": items})]))
    [stored] = memory.longterm.extract_and_store_memories_for_round("alice", "c", "No nuts for me", "ok")
    assert (stored.content, stored.domain) == (NUTS["extracted_fact"], domain)


@pytest.mark.parametrize(
    "reply",
    [
        '{"memories": null}',
        '{"memories": [null, "none"]}',
        '{"memories": [{"importance_score": 0, "extracted_fact": null, "domain": null}]}',
        "Nothing: []",
    ],
)
def test_a_reply_that_says_that_there_is_nothing_ends_the_round(open_room: OpenMemory, reply: str) -> None:
    fake = ScriptedModel([reply])
    memory = open_room(llm=fake)
    assert memory.longterm.extract_and_store_memories_for_round("alice", "c", "I like tea", "ok") == []
    assert len(fake.calls) == 1


def test_a_list_alone_is_read(open_room: OpenMemory) -> None:
    memory = open_room(llm=ScriptedModel([f"Not in [] but {json.dumps([NUTS])}"]))
    stored = memory.longterm.extract_and_store_memories_for_round("alice", "c", "No nuts for me", "ok")
    assert [entry.content for entry in stored] == [NUTS["extracted_fact"]]


def test_the_first_ten_are_kept_and_what_is_left_out_is_counted(open_room: OpenMemory) -> None:
    items = [fact(f"The user owns {number} cats") for number in range(12)]
    items[3] = fact("x", score=7)
    memory = open_room(llm=ScriptedModel([json.dumps({"memories": items})]))
    memory.longterm.extract_and_store_memories_for_round("alice", "c", "I own cats", "ok")
    assert memory.doctor()["model_usage"]["scorer"]["left_out"] == 3
    assert memory.count(scope="alice") == 9


# --- embedders --------------------------------------------------------------------------------------------------------


class Moody:
    """An embedder that can be told to fail."""

    def __init__(self) -> None:
        self._whole = HashEmbedder()
        self.mood: Callable[[Vectors], Vectors] | ModelError | None = None

    @property
    def identity(self) -> ModelIdentity:
        return self._whole.identity

    def embed(self, texts: list[str]) -> Vectors:
        vectors = self._whole.embed(texts)
        if isinstance(self.mood, ModelError):
            raise self.mood
        return vectors if self.mood is None else np.asarray(self.mood(vectors))


@pytest.mark.parametrize("fault", [*EMBEDDER_FAULTS, "timeout"])
def test_an_embedder_that_fails_costs_no_memory(open_room: OpenMemory, clock: FakeClock, fault: str) -> None:
    embedder = Moody()
    memory = open_room(embedder=embedder, job_attempts=2)
    embedder.mood = EMBEDDER_FAULTS.get(fault) or ModelUnavailableError("down")
    memory.longterm.schedule_round("alice", "conversation", "I am allergic to nuts", "noted")
    for _ in range(3):
        memory.run_jobs()
        clock.advance(hours=2)
    hits = memory.recall("allergic", scope="alice", memory_types="fact")
    assert [hit.content for hit in hits] == ["I am allergic to nuts"]
    vectors = next(part for part in present(hits[0].explanation).coverage if part.index == "vectors")
    assert not vectors.answered
    assert vectors.note
    embedder.mood = None
    hits = memory.recall("allergic", scope="alice", memory_types="fact", mode="semantic")
    assert [hit.content for hit in hits] == ["I am allergic to nuts"]

"""The design's path once with a real small model behind a real server. It proves the path, not the quality."""

import pytest

from jiyi.errors import ModelError
from jiyi.model.domain import DOMAINS
from jiyi.providers.openai_compatible import OpenAICompatibleModel
from jiyi.testing.models import ScriptedModel
from tests.longterm.conftest import OpenMemory

pytestmark = pytest.mark.server


def test_the_path_of_the_design_with_a_real_model(open_room: OpenMemory, real_model: OpenAICompatibleModel) -> None:
    # Short replies: a small model has little to say, and says it for long.
    short = ScriptedModel(
        lambda call: real_model.complete(call.messages, max_tokens=100, schema=call.schema), name=real_model.name
    )
    memory = open_room(llm=short)
    lt = memory.longterm
    try:
        stored = lt.extract_and_store_memories_for_round("alice", "c", "I am allergic to penicillin.", "Noted.")
    except ModelError:
        stored = []
    states = {job.state for job in memory.jobs(scope="alice", states=["queued", "running", "done", "dead"])}
    assert states in ({"done"}, {"queued"}, {"dead"})
    assert all(entry.importance_score >= 0.7 and entry.domain in DOMAINS for entry in stored)
    assert len(memory.load_conversation_history("c", scope="alice")) == 2

    for number in range(3):
        memory.store(
            f"k{number}", f"Alice owns cat number {number}", scope="alice", domain="user_preferences", importance=0.9
        )
    assert set(lt.get_intent_domains("Which cats does Alice own?")) <= set(DOMAINS)
    hits = lt.retrieve_relevant_memories("alice", "Which cats does Alice own?", domains=["user_preferences"])
    assert len(hits) >= 3
    facts = [entry.id for entry in memory.list(scope="alice")]
    try:
        reflection = lt.try_generate_reflection("alice", "c", 1.0, 0)
    except ModelError:
        assert {entry.summarized_by for entry in memory.list(scope="alice")} == {None}
    else:
        assert reflection.source.kind == f"model:{real_model.name}"
        assert set(reflection.source.references) == set(facts)
    usage = memory.doctor()["model_usage"]
    assert usage["scorer"]["calls"] >= 1
    assert usage["scorer"]["input_tokens"] > 100
    assert lt.cleanup_forgotten_memories("alice") == 0

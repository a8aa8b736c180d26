"""The design's seven steps once with a real small model behind a real server. It proves the path, not the quality."""

import pytest

from jiyi import EbbinghausForgetting
from jiyi.model.domain import DOMAINS
from jiyi.providers.openai_compatible import OpenAICompatibleModel
from jiyi.testing.models import ScriptedModel
from tests.longterm.conftest import FakeClock, OpenMemory

pytestmark = pytest.mark.server

# The server holds 2,048 tokens, question and reply together.
REPLY_TOKENS = 1_000


def test_the_seven_steps_of_the_design_with_a_real_model(
    open_room: OpenMemory, clock: FakeClock, real_model: OpenAICompatibleModel
) -> None:
    model = ScriptedModel(
        lambda call: real_model.complete(call.messages, max_tokens=REPLY_TOKENS, schema=call.schema),
        name=real_model.name,
    )
    memory = open_room(llm=model)
    lt = memory.longterm

    # 1. the fact is written, once, however often the model says it
    (extracted,) = lt.extract_and_store_memories_for_round("alice", "c", "I am allergic to penicillin.", "Noted.")
    assert {job.state for job in memory.jobs(scope="alice", states=["queued", "running", "done", "dead"])} == {"done"}
    assert "penicillin" in extracted.content
    assert extracted.importance_score >= 0.7
    assert extracted.domain in DOMAINS
    assert extracted.source.kind == f"model:{real_model.name}"
    assert len(memory.load_conversation_history("c", scope="alice")) == 2
    for cat in range(2):
        memory.store(
            f"cat {cat}", f"Alice owns cat number {cat}", scope="alice", domain="user_preferences", importance=0.9
        )
    facts = {entry.id for entry in memory.list(scope="alice")}

    # 2. a reflection on them
    reflection = lt.try_generate_reflection("alice", "c", 1.0, 0)
    assert reflection is not None
    assert reflection.source.kind == f"model:{real_model.name}"
    assert set(reflection.source.references) == facts

    # 3. recall, in the domains that the model names
    assert set(lt.get_intent_domains("What is Alice allergic to?")) <= set(DOMAINS)
    hits = lt.retrieve_relevant_memories("alice", "allergic to penicillin", domains=list(DOMAINS))
    assert any("penicillin" in hit["content"] for hit in hits)

    # 4. compression
    assert 0 < len(lt.compress_memories(hits, max_chars=80)) <= 80

    # 5. retention
    curve = EbbinghausForgetting()
    assert all(0.85 <= curve.calculate_retention(0, hit.access_count, hit.importance_score) <= 1 for hit in hits)

    # 6. forgetting; an allergy is exempt where the model's words show that it is one
    assert lt.cleanup_forgotten_memories("alice") == 0
    clock.advance(days=365)
    plan = lt.cleanup_forgotten_memories("alice", dry_run=True)
    kept = sum(plan.exempt.values())
    assert kept in (0, 1)
    assert lt.cleanup_forgotten_memories("alice") == len(facts) - kept

    # 7. what was not deleted is still there
    left = {entry.id for entry in memory.list(scope="alice")}
    assert reflection.id in left
    assert left - {reflection.id} <= {extracted.id}
    assert len(left) == 1 + kept
    usage = memory.doctor()["model_usage"]
    assert usage["scorer"]["calls"] == 1
    assert usage["reflection"]["calls"] >= 1

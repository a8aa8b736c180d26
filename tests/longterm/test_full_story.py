"""The design's full test, its seven steps: without a model, with the fake one, and asked through the async front."""

from typing import Any

import pytest

from jiyi import EbbinghausForgetting
from jiyi.sync import AgentMemory
from tests.longterm.answers import fact, model
from tests.longterm.conftest import FakeClock, OpenMemory
from tests.support import present

ROUNDS = [
    ("我对青霉素过敏，看病的时候一定要注意", "好的，我记住了，您对青霉素过敏。"),
    ("我们决定后端用 FastAPI 加 PostgreSQL", "明白，技术栈已经定下来了。"),
    ("我住在杭州", "好的。"),
    ("我女儿叫小雨", "很好听的名字。"),
    ("我们决定前端用 Vue 3", "好的。"),
    ("今天天气不错", "是啊。"),
]
DOMAINS = {
    "青霉素": "lifestyle_and_interests",
    "FastAPI": "professional_and_academic",
    "杭州": "lifestyle_and_interests",
    "小雨": "social_and_relationships",
    "Vue": "professional_and_academic",
}


def score(data: dict[str, Any]) -> list[dict[str, Any]]:
    found = [fact(data["user"], 0.9, domain) for word, domain in DOMAINS.items() if word in data["user"]]
    return found or [fact("", 0.1, "general_chat")]


@pytest.mark.parametrize("with_model", [False, True], ids=["rules", "model"])
def test_the_seven_steps_of_the_design(open_room: OpenMemory, clock: FakeClock, with_model: bool) -> None:
    fake = model(score, ["lifestyle_and_interests", "professional_and_academic"])
    memory: AgentMemory = open_room(**({"llm": fake} if with_model else {}))
    lt = memory.longterm

    # 1. what matters is written, small talk is not
    stored = [
        entry for said in ROUNDS for entry in lt.extract_and_store_memories_for_round("alice", "conversation", *said)
    ]
    assert len(stored) == 5
    assert all(entry.importance_score >= 0.7 and entry.memory_type == "fact" for entry in stored)
    assert {entry.source.kind for entry in stored} == {"model:fake" if with_model else "rules"}

    # 2. a reflection, which was queued when the facts added up to 4.0
    assert memory.run_jobs() == 1
    reflections = [entry for entry in memory.list(scope="alice") if entry.memory_type == "reflection"]
    assert len(reflections) == 1
    reflection = reflections[0]
    assert reflection.importance_score == 0.9
    assert set(reflection.source.references) == {entry.id for entry in stored}
    assert set(reflection.domains) == {entry.domain for entry in stored}
    assert lt.try_generate_reflection("alice", "conversation") is None

    # 3. hybrid recall
    hits = lt.retrieve_relevant_memories("alice", "青霉素 过敏", 0.5, 0.2, 0.3, 0.99, 50, 10)
    assert "青霉素" in hits[0]["content"]
    for hit in hits:
        parts = hit.score_parts
        expected = 0.5 * parts["relevance"] + 0.2 * parts["decay"] + 0.3 * parts["importance"]
        assert hit.final_score == pytest.approx(expected, abs=1e-6)
    finals = [present(hit.final_score) for hit in hits]
    assert finals == sorted(finals, reverse=True)

    # 4. compression
    summary = lt.compress_memories(hits, max_chars=60)
    assert 0 < len(summary) <= 60

    # 5. retention
    curve = EbbinghausForgetting()
    assert all(0.85 <= curve.calculate_retention(0, hit.access_count, hit.importance_score) <= 1 for hit in hits)

    # 6. forgetting: after a year the facts fall; the reflection stays, and so do an allergy, a name and a home
    assert lt.cleanup_forgotten_memories("alice") == 0
    clock.advance(days=365)
    plan = lt.cleanup_forgotten_memories("alice", dry_run=True)
    assert plan.count == 2
    assert lt.cleanup_forgotten_memories("alice") == 2

    # 7. what was not deleted is still found
    assert "青霉素" in lt.retrieve_relevant_memories("alice", "青霉素 过敏")[0].content
    assert memory.get(id=reflection.id, scope="alice") is not None
    assert len(lt.restore("alice")) == 2
    assert len(lt.retrieve_relevant_memories("alice", "青霉素 过敏 PostgreSQL 杭州")) > 1

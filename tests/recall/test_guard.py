"""The guard: a small set of questions in two languages, asked as a user asks, must not get worse answers than today.

The floors stand at most two points below what was measured when they were set. Recall within the first five answers:
95.0 overall, 96.7 in English and 93.3 in Chinese, 100 for keywords, 90.0 for paraphrases; keyword mode 78.3, semantic
mode 86.7.
"""

from collections.abc import Iterator
from datetime import datetime

import pytest

from jiyi.model import clock
from jiyi.ports import Embedder
from jiyi.sync import AgentMemory
from tests.recall import guard_set
from tests.recall.guard_set import NOW, ZONE, Question

STORED = datetime(2024, 7, 20, 12, tzinfo=ZONE)
"""When everything was written down; no question asks for that day."""
QUESTIONS = list(guard_set.questions())
FLOORS = {"overall": 93.0, "en": 94.7, "zh": 91.3, "keyword": 98.0, "paraphrase": 88.0}

Answers = dict[Question, list[str | None]]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory, bundled_embedder: Embedder) -> Iterator[dict[str, Answers]]:
    """The first five answers to every question, by mode."""
    folder = tmp_path_factory.mktemp("guard")
    with (
        pytest.MonkeyPatch.context() as patch,
        AgentMemory.open(folder, embedder=bundled_embedder, background_indexing=False, time_zone=str(ZONE)) as memory,
    ):
        patch.setattr(clock, "utc_now", lambda: STORED)
        memory.store_many(guard_set.memories())
        yield {
            mode: {
                question: [hit.key for hit in memory.recall(question.text, 5, now=NOW, mode=mode)]
                for question in QUESTIONS
            }
            for mode in ("hybrid", "keyword", "semantic")
        }


def recall_at_5(answers: Answers, part: str = "overall") -> float:
    """The mean share of the right memories among the first five, in percent."""
    asked = [question for question in QUESTIONS if part in {"overall", question.language, question.kind}]
    shares = [len(question.gold.intersection(answers[question])) / len(question.gold) for question in asked]
    return 100 * sum(shares) / len(shares)


def shown(answers: dict[str, Answers]) -> str:
    """Every number, and the questions whose answers were not found."""
    lines = [
        f"{mode}: " + ", ".join(f"{part} {recall_at_5(found, part):.1f}" for part in FLOORS)
        for mode, found in answers.items()
    ]
    missed = (
        f"  {question.text} needs {', '.join(sorted(question.gold))}, got {', '.join(map(str, found))}"
        for question, found in answers["hybrid"].items()
        if not question.gold <= set(found)
    )
    return "\n".join(["", "recall within the first five answers, in percent:", *lines, "not found:", *missed])


def test_the_set_is_what_it_says_it_is() -> None:
    memories = {memory["key"]: memory for memory in guard_set.memories()}
    assert len(memories) == 200
    assert len(QUESTIONS) == 60
    assert sum(question.language == "zh" for question in QUESTIONS) == 30
    assert sum(question.kind == "paraphrase" for question in QUESTIONS) == 30
    assert all(question.gold <= memories.keys() for question in QUESTIONS)
    assert sum("conversation_id" in memory for memory in memories.values()) == 60


@pytest.mark.parametrize("part", FLOORS)
def test_answers_are_found_as_often_as_before(answers: dict[str, Answers], part: str) -> None:
    assert recall_at_5(answers["hybrid"], part) >= FLOORS[part], shown(answers)


@pytest.mark.parametrize("mode", ["keyword", "semantic"])
def test_words_and_meaning_together_find_at_least_as_much_as_either_alone(
    answers: dict[str, Answers], mode: str
) -> None:
    assert recall_at_5(answers["hybrid"]) >= recall_at_5(answers[mode]), shown(answers)

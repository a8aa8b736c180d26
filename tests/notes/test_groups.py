"""A group session never sees what is private, whichever door it asks at."""

import random
from datetime import UTC, datetime

import pytest

from jiyi.errors import InvalidInputError
from jiyi.testing.fakes import HashEmbedder
from tests.notes.conftest import Desk, OpenDesk

NOW = datetime(2026, 11, 15, 4, tzinfo=UTC)
CANARY = "kanarienvogel"
WORDS = [
    *("salary", "password", "allergy", "wedding", "Hangzhou", "passport", "diagnosis", "loan", "MEMORY.md", "memory"),
    *(
        "工资",
        "密码",
        "过敏",
        "婚礼",
        "杭州",
        "护照",
        "病历",
        "贷款",
        "秘密",
        "私人",
        "昨天",
        "private",
        "secret",
        "canary",
    ),
    *("today", "long-term", "who", "what", "when", "how", "much", "does", "the", "user", "have"),
]
QUESTIONS = 2_000


@pytest.fixture
def desk(open_desk: OpenDesk) -> Desk:
    desk = open_desk(embedder=HashEmbedder())
    private = [f"- {word}: {CANARY} {number} {word}" for number, word in enumerate(WORDS)]
    desk.write("MEMORY.md", "# Long-term\n\n" + "\n".join(private) + "\n")
    desk.write("memory/2026-11-15.md", "\n".join(private) + "\n")
    desk.write("memory/topic.md", f"---\nvisibility: private\n---\n{CANARY} in a topic about salary\n")
    desk.write("memory/shared/plan.md", "the wedding plan that all may know: Hangzhou\n")
    desk.write("memory/open.md", "---\nvisibility: group\n---\nthe passport office opens at nine\n")
    desk.notes.memory_append(f"{CANARY} written by the agent", at=NOW)
    desk.notes.scan()
    return desk


def questions(count: int) -> list[str]:
    chance = random.Random(18)
    made = [" ".join(chance.choices(WORDS, k=chance.randrange(1, 7))) for _ in range(count - 3)]
    return [CANARY, f"what is {CANARY}", "what is in MEMORY.md", *made]


def test_two_thousand_questions_through_every_door_never_show_what_is_private(desk: Desk) -> None:
    chance = random.Random(7)
    seen = ""
    for number, question in enumerate(questions(QUESTIONS)):
        mode = chance.choice(("keyword", "hybrid", "semantic")) if number % 10 == 0 else "keyword"
        door = number % 3
        if door == 0:
            seen += "".join(hit.content for hit in desk.memory.recall(question, 20, kind="group", mode=mode))
        elif door == 1:
            seen += "".join(hit.content for hit in desk.notes.memory_search(question, 20, kind="group", mode=mode))
        else:
            seen += str(desk.notes.call_tool("memory_search", {"query": question, "limit": 20}, kind="group"))
    seen += desk.notes.build_context("group", now=NOW).text
    assert CANARY not in seen
    assert "wedding plan" in seen
    assert "passport office" in seen
    # The questions are good enough to find it where that is allowed.
    assert CANARY in "".join(hit.content for hit in desk.memory.recall(CANARY, 20))


def test_no_path_leads_a_group_to_a_private_note(desk: Desk) -> None:
    for path in ("MEMORY.md", "memory.md", "memory/2026-11-15.md", "memory/topic.md", "memory/shared/../../MEMORY.md"):
        with pytest.raises(InvalidInputError):
            desk.notes.memory_get(path, kind="group")
    assert "wedding plan" in desk.notes.memory_get("memory/shared/plan.md", kind="group").text


def test_recall_of_a_kind_that_is_not_known_is_refused(desk: Desk) -> None:
    with pytest.raises(InvalidInputError, match="kind"):
        desk.memory.recall("salary", kind="party")


def test_with_its_context_a_hit_of_a_group_shows_shared_neighbours_only(desk: Desk) -> None:
    hits = desk.memory.recall("wedding plan", 20, kind="group", context=5)
    assert CANARY not in str([(hit.content, [near.content for near in hit.context]) for hit in hits])

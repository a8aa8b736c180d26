"""A date alone, and a date beside a question, find what happened then; what was only stored then comes after it."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from jiyi.model.relevance import CONFIDENT, MIN_RELEVANCE
from jiyi.ports import Embedder
from jiyi.sync import AgentMemory
from tests.support import present

OpenMemory = Callable[..., AgentMemory]
NOW = datetime(2026, 11, 19, 22, tzinfo=UTC)  # a Thursday


def on(month: int, day: int, year: int = 2026) -> datetime:
    return datetime(year, month, day, 12, tzinfo=UTC)


EVENTS = {
    "camera": ("Sold the old camera", on(5, 14)),
    "boiler": ("The boiler was serviced", on(10, 28)),
    "tuner": ("The piano tuner was here", on(11, 11)),
    "fence": ("Repaired the garden fence", on(11, 18)),
    "tooth": ("Broke a tooth on a cherry stone", on(7, 22)),
    "exam": ("帆船考试通过", on(6, 21, 2024)),
    "moon": ("赏月吃月饼", on(9, 25)),
}


@pytest.fixture
def events(open_memory: OpenMemory, bundled_embedder: Embedder) -> AgentMemory:
    memory = open_memory(embedder=bundled_embedder, time_zone="UTC")
    memory.store("tea", "I prefer tea over coffee")
    memory.store("bank", "My bank is ING")
    for key, (content, moment) in EVENTS.items():
        memory.store(key, content, occurred_at=moment)
    return memory


def test_a_date_alone_finds_what_happened_then(events: AgentMemory) -> None:
    asked = {
        "camera": (
            "14 May",
            "14 May?",
            "on 14 May",
            "in May",
            "May 14",
            "2026-05-14",
            "14.5.2026",
            "events in May",
            "5月14号",
        ),
        "boiler": ("last month", "上个月", "上个月？", "十月", "10月28日", "三周前", "28号做了什么"),
        "fence": ("yesterday", "Wednesday", "周三"),
        "tuner": ("11/11", "上周三"),
        "exam": ("2024年六月",),
        "moon": ("中秋那天",),
    }
    for key, questions in asked.items():
        for question in questions:
            best = events.recall(question, 1, now=NOW)[0]
            assert (best.key, best.confident) == (key, True), question


def test_what_a_question_asks_beside_its_date_does_not_take_its_relevance(events: AgentMemory) -> None:
    for question, key in {
        "Who came on 11 November?": "tuner",
        "What did I sell in May?": "camera",
        "What happened between 20 and 25 July?": "tooth",
        "Where was I on 22 July?": "tooth",
    }.items():
        best = events.recall(question, 1, now=NOW)[0]
        assert (best.key, best.confident) == (key, True), question


@pytest.mark.parametrize(
    "question",
    [
        "What did I eat on 11 November?",
        "How much did the dentist charge on 28 October?",
        "Who won the match on 22 July?",
    ],
)
def test_another_event_of_that_day_is_no_sure_answer(events: AgentMemory, question: str) -> None:
    assert present(events.recall(question, 1, now=NOW)[0].relevance_score) < CONFIDENT


def test_a_text_that_names_the_date_is_found_by_it_too(open_memory: OpenMemory, bundled_embedder: Embedder) -> None:
    memory = open_memory(embedder=bundled_embedder, time_zone="UTC")
    memory.store("birthday", "Ben's birthday is on 4 May")
    memory.store("cat", "Took the cat to the vet", occurred_at=on(5, 4))
    hits = memory.recall("4 May", now=NOW, min_relevance=MIN_RELEVANCE)
    assert {hit.key for hit in hits} == {"birthday", "cat"}


def test_what_was_only_stored_on_a_day_is_less_likely_to_have_happened_then(
    open_memory: OpenMemory, bundled_embedder: Embedder
) -> None:
    memory = open_memory(embedder=bundled_embedder, time_zone="UTC")
    plumber = memory.store("plumber", "The plumber is Mr. Osowski")
    now = plumber.created_at
    memory.store("fence", "Repaired the garden fence", occurred_at=now)
    happened = {hit.key: present(hit.relevance_score) for hit in memory.recall("What happened today?", now=now)}
    assert happened["fence"] > 2 * happened["plumber"] >= 2 * MIN_RELEVANCE
    said = {hit.key: present(hit.relevance_score) for hit in memory.recall("What did I tell you today?", now=now)}
    assert said["plumber"] >= CONFIDENT


@pytest.mark.parametrize("said", ["Have a good trip.", "路上小心。", "Get well soon!", "祝你面试顺利！"])
def test_good_wishes_are_no_content_of_a_talk(open_memory: OpenMemory, said: str) -> None:
    memory = open_memory(time_zone="UTC")
    chat = memory.chat("c")
    chat.put({"role": "user", "content": "The lab in Hamburg wants the samples"}, created_at=on(11, 17))
    chat.put({"role": "assistant", "content": said}, created_at=on(11, 17))
    hits = memory.recall("What did we talk about last Tuesday?", now=NOW)
    assert [hit.content for hit in hits] == ["The lab in Hamburg wants the samples"]

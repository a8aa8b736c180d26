"""Dates in a question prefer what happened then; `since` and `until` admit nothing else.

Somebody has the same lunch every day, so only the date of the question can tell the days apart.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from jiyi.model import clock
from jiyi.model.entry import MemoryEntry
from jiyi.sync import AgentMemory
from jiyi.testing.fakes import HashEmbedder
from tests.support import QUICK, keys

pytestmark = pytest.mark.date_sensitive

OpenMemory = Callable[..., AgentMemory]

ZONE = ZoneInfo("Asia/Shanghai")
NOW = datetime(2025, 6, 18, 21, 30, tzinfo=ZONE)  # a Wednesday
FIRST = date(2024, 1, 1)
DAYS = (NOW.date() - FIRST).days + 1


@pytest.fixture(scope="module", params=["hybrid", "keyword", "without an embedder"])
def ask(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Any]]:
    """Asks a memory of 535 days; by words and meaning, by words, and where there is no meaning at all."""
    mode = "keyword" if request.param == "keyword" else "hybrid"
    embedder = "none" if request.param == "without an embedder" else HashEmbedder()
    folder = tmp_path_factory.mktemp("days")
    with AgentMemory.open(folder, **{**QUICK, "embedder": embedder, "time_zone": str(ZONE)}) as memory:
        memory.store_many(
            {
                "key": (FIRST + timedelta(days=number)).isoformat(),
                "content": "和李雷吃午饭 lunch with Lee",
                "occurred_at": datetime(2024, 1, 1, 12, tzinfo=ZONE) + timedelta(days=number),
            }
            for number in range(DAYS)
        )
        yield lambda question, limit=5, **more: memory.recall(question, limit, mode=mode, now=NOW, **more)


def days(hits: list[MemoryEntry]) -> list[date]:
    return [hit.event_time.astimezone(ZONE).date() for hit in hits]


def between(first: str, last: str | None = None) -> tuple[date, date]:
    return date.fromisoformat(first), date.fromisoformat(last or first)


ENGLISH = {
    "lunch with Lee yesterday": between("2025-06-17"),
    "who had lunch the day before yesterday?": between("2025-06-16"),
    "lunch this morning": between("2025-06-18"),
    "lunch last night": between("2025-06-17"),
    "the lunch last Tuesday": between("2025-06-10", "2025-06-17"),
    "lunch on Monday": between("2025-06-16"),
    "lunch last weekend": between("2025-06-14", "2025-06-15"),
    "lunch last week": between("2025-06-09", "2025-06-15"),
    "lunch two weeks ago": between("2025-06-02", "2025-06-08"),
    "lunch three days ago": between("2025-06-15"),
    "lunch last month": between("2025-05-01", "2025-05-31"),
    "lunch on 3 May 2025": between("2025-05-03"),
    "lunch on March 8th, 2024": between("2024-03-08"),
    "lunch on 2024-02-29": between("2024-02-29"),
    "lunch in early March 2025": between("2025-03-01", "2025-03-10"),
    "lunch between 3 and 5 April 2025": between("2025-04-03", "2025-04-05"),
    "lunch at Christmas 2024": between("2024-12-24", "2024-12-26"),
    "lunch on New Year's Eve": between("2024-12-31"),
    "lunch last year": between("2024-01-01", "2024-12-31"),
    "lunch in October": between("2024-10-01", "2024-10-31"),
    "Lee in summer 2024": between("2024-06-01", "2024-08-31"),
}
CHINESE = {
    "昨天和谁吃午饭": between("2025-06-17"),
    "前天的午饭": between("2025-06-16"),
    "今天早上的午饭": between("2025-06-18"),
    "昨晚和李雷": between("2025-06-17"),
    "上周三的午饭": between("2025-06-11"),
    "周一和谁吃午饭": between("2025-06-16"),
    "上周末的午饭": between("2025-06-14", "2025-06-15"),
    "上周和谁吃饭": between("2025-06-09", "2025-06-15"),
    "三天前的午饭": between("2025-06-15"),
    "上个月的午饭": between("2025-05-01", "2025-05-31"),
    "2025年5月3日的午饭": between("2025-05-03"),
    "去年3月8号的午饭": between("2024-03-08"),
    "今年3月中旬的午饭": between("2025-03-11", "2025-03-20"),
    "10月上旬的午饭": between("2024-10-01", "2024-10-10"),
    "2025年4月3日到5日的午饭": between("2025-04-03", "2025-04-05"),
    "去年春节的午饭": between("2024-02-09", "2024-02-17"),
    "今年春节的午饭": between("2025-01-28", "2025-02-04"),
    "去年国庆和李雷": between("2024-10-01", "2024-10-07"),
    "中秋节的午饭": between("2024-09-17"),
    "去年的午饭": between("2024-01-01", "2024-12-31"),
    "去年夏天和李雷": between("2024-06-01", "2024-08-31"),
    "去年十二月的午飯": between("2024-12-01", "2024-12-31"),
}


@pytest.mark.parametrize(("question", "expected"), [*ENGLISH.items(), *CHINESE.items()])
def test_what_happened_then_comes_first(
    ask: Callable[..., list[MemoryEntry]], question: str, expected: tuple[date, date]
) -> None:
    first, last = expected
    found = days(ask(question))
    wanted = 1 if question.endswith("last Tuesday") else min(5, (last - first).days + 1)
    # The first and the last day of a holiday are counted differently from place to place.
    certain = found[: min(wanted, 2)] if "节" in question or "Christmas" in question else found[:wanted]
    assert certain
    assert all(first <= day <= last for day in certain), found


def test_a_month_without_a_year_is_one_of_every_year(ask: Callable[..., list[MemoryEntry]]) -> None:
    for question in ("lunch in March", "3月的午饭"):
        found = days(ask(question, 62))
        assert {day.month for day in found[:30]} == {3}
    dates = days(ask("Lee on May 4th", 2))
    assert set(dates) == {date(2024, 5, 4), date(2025, 5, 4)}


def test_the_days_beside_a_date_come_next(ask: Callable[..., list[MemoryEntry]]) -> None:
    """People misremember a date by a day."""
    for question in ("lunch on 3 May 2025", "2025年5月3日的午饭"):
        found = days(ask(question))
        assert found[0] == date(2025, 5, 3)
        assert set(found[1:3]) == {date(2025, 5, 2), date(2025, 5, 4)}


def test_a_date_alone_is_a_question(ask: Callable[..., list[MemoryEntry]]) -> None:
    for question in ("yesterday", "昨天", "2025-06-17", "what happened yesterday?", "昨天发生了什么"):
        assert days(ask(question, 1)) == [date(2025, 6, 17)]


@pytest.mark.parametrize(
    "question",
    [
        "What did I do last week on Wednesday?",
        "what happened on June 11?",
        "tell me everything I said on 2025-06-11",
        "上周三我说了什么？",
        "上周三發生了什麼",
        "6月11号我都干嘛了",
    ],
)
def test_a_question_for_whatever_was_on_a_day_is_sure_of_all_that_was_then(
    open_memory: OpenMemory, question: str
) -> None:
    memory = open_memory(time_zone="Asia/Shanghai")
    for text, days_ago in {
        "把咖啡机换成意式的": 7,
        "Watched a film about owls": 7,
        "膝盖有点疼": 6,
        "打算去爬山": 5,
    }.items():
        memory.store(text, text, occurred_at=NOW - timedelta(days=days_ago))
    hits = memory.recall(question, now=NOW)
    assert {hit.key for hit in hits if hit.confident} == {"把咖啡机换成意式的", "Watched a film about owls"}
    assert keys(hits[:2]) == keys([hit for hit in hits if hit.confident])


def test_what_says_last_week_is_found_by_a_question_for_it(open_memory: OpenMemory) -> None:
    memory = open_memory(time_zone="Asia/Shanghai")
    memory.store("report", "Last week: the release went out", occurred_at=NOW)
    memory.store("other", "The parrot likes nuts", occurred_at=NOW)
    assert keys(memory.recall("what happened last week?", 1, now=NOW)) == ["report"]


def test_a_question_for_days_to_come_is_looked_for_in_words(open_memory: OpenMemory) -> None:
    memory = open_memory(time_zone="Asia/Shanghai")
    memory.store("plan", "明天要交房租", occurred_at=NOW - timedelta(days=9))
    memory.store("other", "鹦鹉喜欢坚果", occurred_at=NOW - timedelta(days=8))
    assert keys(memory.recall("明天有什么事？", 1, now=NOW)) == ["plan"]


def test_a_date_prefers_and_does_not_exclude(open_memory: OpenMemory) -> None:
    memory = open_memory(time_zone="Asia/Shanghai")
    memory.store("then", "rain all day", occurred_at=NOW - timedelta(days=1))
    memory.store("other", "lunch with Lee", occurred_at=NOW - timedelta(days=100))
    assert set(keys(memory.recall("lunch yesterday", now=NOW))) == {"then", "other"}
    parts = {hit.key: hit.score_parts for hit in memory.recall("lunch yesterday", now=NOW)}
    assert (parts["then"]["words"], parts["other"]["date"]) == (0, 0)
    assert parts["then"]["date"] > 0
    assert parts["other"]["words"] > 0


def test_since_and_until_are_hard(ask: Callable[..., list[MemoryEntry]]) -> None:
    start, end = datetime(2025, 2, 1, tzinfo=ZONE), datetime(2025, 2, 4, tzinfo=ZONE)
    for question in ("lunch yesterday", "昨天的午饭", "lunch on 2 February 2025", "lunch"):
        found = days(ask(question, 50, since=start, until=end))
        assert sorted(found) == [date(2025, 2, day) for day in (1, 2, 3)]
    assert days(ask("lunch on 2 February 2025", 1, since=start, until=end)) == [date(2025, 2, 2)]
    assert days(ask("lunch", 500, until=datetime(2024, 1, 3, tzinfo=ZONE))) == [date(2024, 1, 2), date(2024, 1, 1)]


def test_yesterday_is_that_of_the_users_time_zone(open_memory: OpenMemory) -> None:
    late = datetime(2025, 6, 17, 15, 30, tzinfo=UTC)
    moments = {"a": late, "b": late + timedelta(hours=2), "c": late - timedelta(hours=5)}
    now = datetime(2025, 6, 18, 15, tzinfo=UTC)
    # In Shanghai `b` happened on the 18th, which is today; in Lisbon on the 17th; in Auckland, where it is the 19th
    # already, `a` and `b` happened on the 18th.
    yesterdays = {"Asia/Shanghai": {"a", "c"}, "Europe/Lisbon": {"a", "b", "c"}, "Pacific/Auckland": {"a", "b"}}
    for zone, expected in yesterdays.items():
        memory = open_memory(zone.replace("/", "-"), time_zone=zone)
        for key, moment in moments.items():
            memory.store(key, "tea", occurred_at=moment)
        hits = memory.recall("tea yesterday", now=now)
        best = max(hit.score_parts["date"] for hit in hits)
        assert {hit.key for hit in hits if hit.score_parts["date"] == best} == expected, zone


def test_facts_happened_when_they_were_stored(open_memory: OpenMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = open_memory(time_zone="Asia/Shanghai")
    for key, ago in (("old", 30), ("yesterday", 1), ("new", 0)):
        monkeypatch.setattr(clock, "utc_now", lambda ago=ago: NOW - timedelta(days=ago))
        memory.store(key, "green tea")
    assert keys(memory.recall("tea yesterday", 1, now=NOW)) == ["yesterday"]
    assert keys(memory.recall("昨天 green tea", 1, now=NOW)) == ["yesterday"]


def test_now_is_the_present_when_nothing_else_is_said(open_memory: OpenMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = open_memory(time_zone="UTC")
    monkeypatch.setattr(clock, "utc_now", lambda: NOW.astimezone(UTC))
    for key, ago in (("old", 40), ("hour", 0)):
        memory.store(key, "green tea", occurred_at=NOW - timedelta(days=ago))
    assert keys(memory.recall("tea this week or today", 1)) == ["hour"]


def test_the_ends_of_the_calendar_are_no_obstacle(open_memory: OpenMemory) -> None:
    """Some programs write the year 1 or 9999 where they mean never or always."""
    memory = open_memory(time_zone="Asia/Shanghai")
    moments = {
        "never": datetime.min.replace(tzinfo=UTC),
        "before 1970": datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
        "today": NOW,
        "always": datetime.max.replace(tzinfo=UTC),
    }
    for key, moment in moments.items():
        memory.store(key, "green tea", occurred_at=moment)
    for question in ("tea yesterday", "tea in May", "去年春节的茶 tea", "tea next year", "昨天 tea"):
        for now in (*moments.values(), datetime(1900, 1, 1, tzinfo=UTC)):
            assert set(keys(memory.recall(question, now=now))) == set(moments)


@pytest.mark.parametrize("mode", ["hybrid", "keyword", "semantic"])
def test_the_last_moment_before_1970_lies_before_1970(open_memory: OpenMemory, mode: str) -> None:
    memory = open_memory(embedder=HashEmbedder(), time_zone="UTC")
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    memory.store("before", "green tea", occurred_at=epoch - timedelta(microseconds=1))
    memory.store("after", "green tea", occurred_at=epoch)
    assert keys(memory.recall("tea", mode=mode)) == ["after", "before"]
    assert keys(memory.recall("tea", mode=mode, until=epoch)) == ["before"]
    assert keys(memory.recall("tea", mode=mode, since=epoch)) == ["after"]
    hits = {hit.key: hit.score_parts["date"] for hit in memory.recall("tea in 1970", mode=mode)}
    if mode != "semantic":
        assert hits["after"] > hits["before"]

"""Days are those of whoever asks: by an argument, the zone of `now`, or the settings."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from jiyi.errors import InvalidInputError
from jiyi.model import clock
from jiyi.sync import AgentMemory
from tests.support import QUICK

NEW_YORK = ZoneInfo("America/New_York")
SUNDAY_EVENING = datetime(2026, 11, 15, 22, 0, tzinfo=NEW_YORK)
"""Monday in Shanghai."""
MONDAY = datetime(2026, 11, 16, 17, 0, tzinfo=NEW_YORK)
"""Tuesday in Shanghai."""


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[AgentMemory]:
    settings = {**QUICK, "time_zone": "Asia/Shanghai", "clock": lambda: MONDAY.astimezone(UTC)}
    with AgentMemory.open(tmp_path, **settings) as memory:
        memory.store("canoe", "Bought a canoe", occurred_at=SUNDAY_EVENING)
        memory.store("fence", "Painted the fence", occurred_at=SUNDAY_EVENING - timedelta(days=1))
        yield memory


def of_sunday(memory: AgentMemory, **asked: Any) -> str | None:
    hits = memory.recall("What did I do on Sunday?", **asked)
    return max(hits, key=lambda hit: hit.score_parts.get("date", 0.0)).key


@pytest.mark.parametrize(
    ("zone", "key"),
    [(NEW_YORK, "canoe"), (timezone(timedelta(hours=-5)), "canoe"), (UTC, "fence"), (ZoneInfo("UTC"), "fence")],
    ids=["by name", "by offset", "UTC says nothing", "nor by name"],
)
def test_the_zone_of_now_is_that_of_the_question(memory: AgentMemory, zone: tzinfo, key: str) -> None:
    assert of_sunday(memory, now=MONDAY.astimezone(zone)) == key


@pytest.mark.parametrize("zone", ["America/New_York", NEW_YORK], ids=["name", "tzinfo"])
def test_a_question_can_name_its_zone(memory: AgentMemory, zone: str | tzinfo) -> None:
    assert of_sunday(memory, now=MONDAY.astimezone(UTC), time_zone=zone) == "canoe"


def test_recall_by_tags_has_the_days_of_whoever_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    midnight = datetime(2026, 5, 2, tzinfo=UTC)
    with AgentMemory.open(tmp_path, **{**QUICK, "time_zone": "Asia/Shanghai"}) as memory:
        for minutes, text, strength in ((-30, "early and strong", 9), (30, "late and weak", 1)):
            monkeypatch.setattr(clock, "utc_now", lambda at=midnight + timedelta(minutes=minutes): at)
            memory.runtime.remember("fact", text, "", ["tea"], strength=strength)
        assert [hit.content for hit in memory.recall("tea", mode="tags")] == ["early and strong", "late and weak"]
        by_utc = memory.recall("tea", mode="tags", time_zone="UTC", now=midnight)
        assert [hit.content for hit in by_utc] == ["late and weak", "early and strong"]


def test_the_prompt_of_an_agent_has_the_days_of_its_user(memory: AgentMemory) -> None:
    longterm = memory.longterm
    longterm.extract_and_store_memories_for_round("u", "s", "I am allergic to bees.", "ok", created_at=SUNDAY_EVENING)

    def prompt(**options: Any) -> str:
        return memory.agent("next", user="u", **options).begin("Am I allergic to bees?").messages[0].text

    assert "[2026-11-15 ·" in prompt(time_zone="America/New_York")
    assert "Monday, 2026-11-16" in prompt(time_zone="America/New_York")
    assert "[2026-11-16 ·" in prompt()
    assert "Tuesday, 2026-11-17" in prompt()


def test_an_unknown_zone_is_named(memory: AgentMemory) -> None:
    for call in (lambda: memory.recall("x", time_zone="Mars/Olympus"), lambda: memory.agent("s", time_zone="../etc")):
        with pytest.raises(InvalidInputError, match="is unknown; use a name such as 'Asia/Shanghai'"):
            call()


def test_a_turn_happens_at_the_time_of_the_clock(memory: AgentMemory) -> None:
    turn = memory.agent("s").begin("What did I do on Sunday?")
    assert "Painted the fence" in turn.messages[0].text
    turn.finish("You painted the fence.")
    assert {each.created_at for each in memory.chat("s").messages()} == {MONDAY}
    dated = {"role": "user", "content": "Hello again", "created_at": "2026-01-01T00:00:00Z"}
    memory.agent("s").begin(dated).finish("Hello.")
    assert memory.chat("s").messages()[2].created_at == datetime(2026, 1, 1, tzinfo=UTC)

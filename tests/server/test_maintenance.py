"""A server maintains its memory by itself, at fixed hours of the user's day."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from jiyi import AgentMemory
from jiyi.apps.server import maintenance
from jiyi.apps.server.maintenance import maintain_regularly, maintenance_task, next_run
from jiyi.errors import StorageError
from tests.support import QUICK

SHANGHAI, NEW_YORK = ZoneInfo("Asia/Shanghai"), ZoneInfo("America/New_York")


@pytest.mark.parametrize(
    ("now", "hours", "zone", "expected"),
    [
        ("2026-05-01T03:59:00+00:00", 24, UTC, "2026-05-01T04:00:00+00:00"),
        ("2026-05-01T04:00:00+00:00", 24, UTC, "2026-05-02T04:00:00+00:00"),
        ("2026-05-01T20:30:00+00:00", 24, SHANGHAI, "2026-05-03T04:00:00+08:00"),
        ("2026-05-01T19:30:00+00:00", 24, SHANGHAI, "2026-05-02T04:00:00+08:00"),
        ("2026-05-01T05:00:00+00:00", 6, UTC, "2026-05-01T10:00:00+00:00"),
        ("2026-05-01T22:30:00+00:00", 6, UTC, "2026-05-02T04:00:00+00:00"),
        ("2026-05-01T01:00:00+00:00", 10, UTC, "2026-05-01T04:00:00+00:00"),
        ("2026-11-01T03:30:00-05:00", 24, NEW_YORK, "2026-11-01T04:00:00-05:00"),
    ],
)
def test_the_next_run_is_at_an_hour_of_the_users_day(now: str, hours: int, zone: Any, expected: str) -> None:
    assert next_run(datetime.fromisoformat(now), hours, zone) == datetime.fromisoformat(expected)


class Days:
    """A clock that goes on by half an hour with each pause, for some days."""

    def __init__(self, start: datetime, days: int) -> None:
        self.now = start
        self._end = start + timedelta(days=days)

    async def pause(self, seconds: float) -> None:
        assert seconds > 0
        self.now += timedelta(minutes=30)
        if self.now >= self._end:
            raise asyncio.CancelledError


def maintained_at(
    path: Path, monkeypatch: pytest.MonkeyPatch, days: int, *, failing: bool = False, **settings: Any
) -> list[datetime]:
    """When the memory was maintained in these days, from midnight on."""
    clock = Days(datetime(2026, 5, 1, tzinfo=UTC), days)
    runs: list[datetime] = []
    maintain = AgentMemory.maintain

    async def noted(memory: AgentMemory, **how: Any) -> dict[str, Any]:
        runs.append(clock.now)
        if failing:
            raise StorageError("the disk is full")
        return await maintain(memory, **how)

    async def run() -> None:
        async with AgentMemory.open(path, **{**QUICK, "time_zone": "UTC", **settings}) as memory:
            with pytest.raises(asyncio.CancelledError):
                await maintain_regularly(memory, now=lambda: clock.now, pause=clock.pause)

    monkeypatch.setattr(AgentMemory, "maintain", noted)
    asyncio.run(run())
    return runs


def test_a_server_maintains_its_memory_once_a_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = maintained_at(tmp_path, monkeypatch, days=3)
    assert [run.isoformat() for run in runs] == [f"2026-05-0{day}T04:00:00+00:00" for day in (1, 2, 3)]


def test_the_setting_says_how_often(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [run.hour for run in maintained_at(tmp_path, monkeypatch, days=1, maintain_hours=8)] == [4, 12, 20]


def test_maintenance_that_fails_is_tried_again_the_next_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    assert len(maintained_at(tmp_path, monkeypatch, days=2, failing=True)) == 2
    assert "maintenance failed (StorageError)" in caplog.text
    assert "disk" not in caplog.text


def test_maintenance_that_is_turned_off_does_not_begin(tmp_path: Path) -> None:
    async def run() -> None:
        async with AgentMemory.open(tmp_path, **QUICK, maintain_hours=0) as memory:
            await maintain_regularly(memory)

    asyncio.run(run())


def test_maintenance_ends_with_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[str] = []

    async def run() -> None:
        begun = asyncio.Event()

        async def waiting(_memory: AgentMemory) -> None:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.append("ended")

        monkeypatch.setattr(maintenance, "maintain_regularly", waiting)
        async with AgentMemory.open(tmp_path, **QUICK) as memory, maintenance_task(memory):
            await begun.wait()
            assert not ended

    asyncio.run(run())
    assert ended == ["ended"]

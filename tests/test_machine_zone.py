"""A user who has named no time zone has that of the machine, with the offset of each day and not that of today."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jiyi.config.machine_zone import MachineZone
from jiyi.sync import AgentMemory
from tests.apps.command_line import CommandLine
from tests.support import QUICK

OpenMemory = Callable[..., AgentMemory]

pytestmark = [
    pytest.mark.date_sensitive,
    pytest.mark.skipif(not hasattr(time, "tzset"), reason="the system cannot change the zone of a process"),
]

# Lord Howe's summer time is half an hour; Apia was moved over the date line and has lost a day.
ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "Pacific/Apia"]
# The years that every C library knows.
LOCAL_TIMES = st.datetimes(datetime(1970, 1, 2), datetime(2037, 12, 31))  # noqa: DTZ001
# Most changes of the clock happen at night, and in the last years.
NIGHTS = st.datetimes(datetime(2005, 1, 1), datetime(2030, 1, 1)).map(lambda at: at.replace(hour=at.hour % 4))  # noqa: DTZ001


@contextmanager
def machine_in(zone: str) -> Iterator[None]:
    """Let the clock of this process be that of a machine in another place."""
    before = os.environ.get("TZ")
    os.environ["TZ"] = zone
    time.tzset()
    try:
        yield
    finally:
        if before is None:
            del os.environ["TZ"]
        else:
            os.environ["TZ"] = before
        time.tzset()


@given(zone=st.sampled_from(ZONES), naive=LOCAL_TIMES | NIGHTS, fold=st.sampled_from([0, 1]))
def test_the_zone_of_the_machine_is_the_zone_that_has_its_name(zone: str, naive: datetime, fold: int) -> None:
    named = ZoneInfo(zone)
    with machine_in(zone):
        here = MachineZone()
        moment = naive.replace(tzinfo=UTC)
        local = moment.astimezone(here)
        expected = moment.astimezone(named)
        assert (local.replace(tzinfo=None), local.fold) == (expected.replace(tzinfo=None), expected.fold)
        assert (local.utcoffset(), local.tzname()) == (expected.utcoffset(), expected.tzname())
        assert local.astimezone(UTC) == moment
        written = naive.replace(fold=fold)
        assert written.replace(tzinfo=here).utcoffset() == written.replace(tzinfo=named).utcoffset()


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York"])
def test_every_change_of_the_clock_is_followed_to_the_second(zone: str) -> None:
    named = ZoneInfo(zone)
    with machine_in(zone):
        here = MachineZone()
        for change in (datetime(2026, 3, 8, 7), datetime(2026, 3, 29, 1), datetime(2026, 10, 25, 1)):  # noqa: DTZ001
            for second in range(-2, 3):
                moment = datetime.fromtimestamp(change.replace(tzinfo=UTC).timestamp() + second, UTC)
                assert moment.astimezone(here).isoformat() == moment.astimezone(named).isoformat()


@pytest.mark.parametrize("zone", ["Pacific/Niue", "Pacific/Kiritimati"])
def test_the_ends_of_the_calendar_are_no_obstacle(zone: str, tmp_path: Path) -> None:
    moments = [datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)]
    with machine_in(zone), AgentMemory.open(tmp_path, **{**QUICK, "time_zone": None}) as memory:
        for number, moment in enumerate(moments):
            memory.store(f"k{number}", "green tea", occurred_at=moment)
        for now in (*moments, datetime(1900, 1, 1, tzinfo=UTC)):
            for question in ("tea yesterday", "去年春节的茶 tea", "tea next year"):
                assert len(memory.recall(question, now=now)) == 2


def test_a_day_keeps_its_date_in_summer_and_in_winter(open_memory: OpenMemory) -> None:
    with machine_in("Europe/Berlin"):
        memory = open_memory(time_zone=None)
        zone = memory.settings.zone
        memory.store("summer", "green tea", occurred_at=datetime(2025, 7, 1, tzinfo=zone))
        memory.store("winter", "green tea", occurred_at=datetime(2025, 1, 1, tzinfo=zone))
        events = {hit.key: hit.event_time for hit in memory.recall("tea")}
        assert events == {
            "summer": datetime(2025, 6, 30, 22, tzinfo=UTC),
            "winter": datetime(2024, 12, 31, 23, tzinfo=UTC),
        }
        days = {key: event.astimezone(zone).date() for key, event in events.items()}
        assert days == {"summer": date(2025, 7, 1), "winter": date(2025, 1, 1)}


def test_a_command_reads_a_day_by_the_offset_of_that_day(tmp_path: Path) -> None:
    jiyi = CommandLine(tmp_path / "data", {"TZ": "Europe/Berlin", "JIYI_TIME_ZONE": ""})
    for key, day in (("summer", "2025-07-01"), ("winter", "2025-01-01")):
        assert jiyi.process("store", key, "green tea", "--occurred-at", day).code == 0
    hits = jiyi.process("recall", "tea", "--json").data["hits"]
    assert {hit["key"]: hit["occurred_at"] for hit in hits} == {
        "summer": "2025-06-30T22:00:00.000000Z",
        "winter": "2024-12-31T23:00:00.000000Z",
    }
    shown = jiyi.process("recall", "tea").out
    assert "2025-07-01 00:00" in shown
    assert "2025-01-01 00:00" in shown

"""The command line that the tests of the apps type at."""

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from jiyi.model import clock
from tests.apps.command_line import CommandLine

NOON = datetime(2026, 11, 15, 4, tzinfo=UTC)  # in Shanghai, where the command line is


@pytest.fixture(autouse=True)
def clock_from_noon(monkeypatch: pytest.MonkeyPatch) -> None:
    """All commands of a test in this process happen on one day: the clock runs on from a noon."""
    begin = time.monotonic()
    monkeypatch.setattr(clock, "utc_now", lambda: NOON + timedelta(seconds=time.monotonic() - begin))


@pytest.fixture
def jiyi(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path / "data")

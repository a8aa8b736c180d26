"""Lets every test begin on a certain date, with more than a day between any two readings of the clock.

    PYTEST_PLUGINS=tests.pretended_clock PRETENDED_NOW=2028-02-28T12:00:00Z pytest -m date_sensitive

A test that expects two calls to happen on one day fails here, because midnight always passes between them. Other
processes and the times of files are not changed.
"""

import os
from datetime import UTC, datetime, timedelta

import pytest

from jiyi.model import clock

VARIABLE = "PRETENDED_NOW"
# Not 24 hours: the time of day changes as well.
STEP = timedelta(hours=25)


class PretendedClock:
    """Every reading is a day after the one before."""

    def __init__(self, start: datetime) -> None:
        self._start = start
        self._readings = 0

    def __call__(self) -> datetime:
        moment = self._start + self._readings * STEP
        self._readings += 1
        return moment

    def reset(self) -> None:
        self._readings = 0


pretended = PretendedClock(datetime.fromisoformat(os.environ[VARIABLE]).astimezone(UTC))
# On import, because plugins named in the environment are loaded before the modules that use `utc_now` as a default.
pytest.MonkeyPatch().setattr(clock, "utc_now", pretended)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    pretended.reset()

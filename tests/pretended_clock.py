"""Lets every test begin at one moment, whatever the clock of the machine says.

    PYTEST_PLUGINS=tests.pretended_clock PRETENDED_NOW=2028-02-29T23:59:59.999999Z pytest -m date_sensitive

The first time that a test reads jiyi's clock it is that moment, and from then on the clock runs. A test that begins at
the end of a day therefore sees midnight pass after its first reading. Other processes and the times of files are not
changed.
"""

import os
import time
from datetime import UTC, datetime, timedelta

import pytest

from jiyi.model import clock

VARIABLE = "PRETENDED_NOW"


class PretendedClock:
    """Starts at a moment when it is first read."""

    def __init__(self, start: datetime) -> None:
        self._start = start
        self._first_read: float | None = None

    def __call__(self) -> datetime:
        read = time.monotonic()
        if self._first_read is None:
            self._first_read = read
        return self._start + timedelta(seconds=read - self._first_read)

    def reset(self) -> None:
        self._first_read = None


pretended = PretendedClock(datetime.fromisoformat(os.environ[VARIABLE]).astimezone(UTC))
# On import, because plugins named in the environment are loaded before the modules that use `utc_now` as a default.
pytest.MonkeyPatch().setattr(clock, "utc_now", pretended)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    pretended.reset()

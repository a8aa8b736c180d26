"""Pages wait for their values: how long that takes on a busy machine is not what the tests are about."""

from __future__ import annotations

import pytest

from jiyi.apps.server.console import cached_values


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cached_values, "MAX_WAIT", 60.0)

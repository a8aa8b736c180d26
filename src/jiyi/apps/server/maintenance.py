"""The regular maintenance of a server: what `jiyi maintain` does, at fixed hours of the user's day."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from datetime import datetime, time, timedelta, tzinfo
from typing import TYPE_CHECKING, Final

from jiyi.apps.server.background_tasks import background_task
from jiyi.errors import JiyiError
from jiyi.model import clock

if TYPE_CHECKING:
    from jiyi.memory import AgentMemory

FIRST_HOUR: Final = 4
"""The hour of the user's day of the first run."""
_LOOK_SECONDS: Final = 60.0
"""The clock is read that often: a machine may have been asleep, or its clock set."""

_log = logging.getLogger("jiyi.server")


def next_run(now: datetime, hours: int, zone: tzinfo) -> datetime:
    """When maintenance runs next: at `FIRST_HOUR` of a day in this zone, and every `hours` after it on that day."""
    today = clock.in_zone(now, zone).date()
    days = (today - timedelta(days=1), today, today + timedelta(days=1))
    runs = (
        datetime.combine(day + timedelta(days=hour // 24), time(hour % 24), zone)
        for day in days
        for hour in range(FIRST_HOUR, FIRST_HOUR + 24, hours)
    )
    return min(run for run in runs if run > now)


async def maintain_regularly(
    memory: AgentMemory,
    *,
    now: Callable[[], datetime] = clock.utc_now,
    pause: Callable[[float], Awaitable[object]] = asyncio.sleep,
) -> None:
    """Maintain every scope of the memory at the hours of the setting `maintain_hours`, until it is cancelled."""
    settings = memory.settings
    if not settings.maintain_hours:
        return
    due = next_run(now(), settings.maintain_hours, settings.zone)
    while True:
        await pause(_LOOK_SECONDS)
        if now() < due:
            continue
        try:
            report = await memory.maintain()
            forgotten = sum(report["forgotten"].values())
            _log.info("maintained: %d forgotten, %d expired", forgotten, report["expired"])
        except JiyiError as error:
            # The kind of error only: its text may quote what somebody said. The next run tries again.
            _log.error("maintenance failed (%s); see: jiyi maintain", type(error).__name__)
        due = next_run(now(), settings.maintain_hours, settings.zone)


def maintenance_task(memory: AgentMemory) -> AbstractAsyncContextManager[None]:
    """Maintain the memory regularly beside what is done inside."""
    return background_task(maintain_regularly(memory))

"""What the runtime is built from."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, tzinfo
from typing import TYPE_CHECKING, Protocol, TypeVar

from jiyi.model import clock

if TYPE_CHECKING:
    from jiyi.execution import Run
    from jiyi.model.limits import Limits
    from jiyi.ports import RecordStore
    from jiyi.ports.runtime import RuntimeStore
    from jiyi.text import Analyzer

T = TypeVar("T")


class DeferBatched(Protocol):
    """Calls a function after the current call has returned, once for the items of several calls."""

    def __call__(self, function: Callable[[list[T]], object], items: Iterable[T], /) -> None:
        """Have the function called with these items."""
        ...


@dataclass(frozen=True, slots=True)
class RuntimeCalls:
    """How a runtime runs blocking work."""

    run: Run
    run_unordered: Run
    """Does not wait for what earlier calls have deferred: for recalls, which do not read what those write."""
    write: Run
    """For one write to the records."""
    written: Callable[[], None]
    """Called after each write."""
    defer_batched: DeferBatched


@dataclass(frozen=True, slots=True)
class RuntimeDeps:
    """The stores and limits that a runtime works with."""

    records: RecordStore
    store: RuntimeStore
    analyzer: Analyzer
    limits: Limits
    scope: str
    """The scope that is meant when a call names none."""
    actor: str
    zone: tzinfo = UTC
    """The user's time zone: of two memories that were found by as many tags the one of the newer day comes first."""
    strict_scope: bool = False
    """Whether a call must name its scope: a host with many chats must not mix them by forgetting it."""

    def day_shift(self, zone: tzinfo | None = None) -> int:
        """By how many minutes the user's day, in the zone of a call or else of the settings, is ahead of UTC now."""
        return clock.minutes_ahead(zone or self.zone, clock.utc_now())

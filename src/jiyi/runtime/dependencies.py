"""What the runtime is built from."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from jiyi.model.limits import Limits
    from jiyi.ports import RecordStore
    from jiyi.ports.runtime import RuntimeStore
    from jiyi.text import Analyzer


class Run(Protocol):
    """Calls something blocking off the event loop."""

    def __call__(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Awaitable[Any]:
        """Call it and wait."""
        ...


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

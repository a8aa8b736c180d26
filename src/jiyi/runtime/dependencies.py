"""What the runtime is built from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jiyi.model.limits import Limits
    from jiyi.ports import RecordStore
    from jiyi.ports.runtime import RuntimeStore
    from jiyi.text import Analyzer


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

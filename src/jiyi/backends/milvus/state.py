"""The state of a store in Milvus: one row of a collection that all stores share.

Milvus has no transactions; this row is written last. It names the current collection and its log position.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from jiyi.backends.milvus.connection import STRONG, MilvusConnection, Row
from jiyi.backends.milvus.errors import MissingCollectionError
from jiyi.backends.milvus.expressions import any_of
from jiyi.backends.milvus.schema import STATE_FIELDS, build_schema, differences, state_indexes
from jiyi.errors import IndexingError, IndexUnavailableError
from jiyi.ports import LogPosition


@dataclass(frozen=True, slots=True)
class State:
    """The current collection of a store, its log position, and the collection that is being built."""

    identity: str = ""
    generation: str = ""
    sequence: int = -1
    fingerprint: str = ""
    timestamp: int = 0
    """The last change by Milvus's clock: a read that waits for this time sees all changes. 0 in Milvus Lite."""
    text: bool = False
    """Whether the collection has BM25."""
    building: str = ""
    building_identity: str = ""

    @property
    def log_position(self) -> LogPosition | None:
        """The position in the change log; `None` if no collection is complete."""
        return LogPosition(self.sequence, self.fingerprint) if self.generation else None

    @property
    def reading(self) -> dict[str, Any]:
        """The consistency that shows everything up to the log position."""
        if not self.timestamp:
            return STRONG
        return {"consistency_level": "Customized", "guarantee_timestamp": self.timestamp}

    def to_row(self, row_id: str) -> Row:
        """The state as a row of Milvus."""
        return {"id": row_id, "value": json.dumps(asdict(self)), "nothing": [0.0, 0.0]}

    @classmethod
    def from_row(cls, row: Row) -> State | None:
        """The inverse; `None` for a row of another version."""
        try:
            return cls(**json.loads(str(row["value"])))
        except (TypeError, ValueError):
            return None


class StateCollection:
    """Reads and writes the state row of one store."""

    def __init__(self, connection: MilvusConnection, name: str, row_id: str) -> None:
        self.name = name
        self._connection = connection
        self._row_id = row_id
        self._exists = False

    def read(self, reading: dict[str, Any]) -> State:
        """The state; an empty one if there is none."""
        try:
            if not self._exists and not self._connection.has(self.name):
                return State()
            self._exists = True
            rows = self._connection.rows(self.name, any_of("id", [self._row_id]), ["id", "value"], reading)
        except MissingCollectionError:
            self._exists = False
            return State()
        return (State.from_row(rows[0]) if rows else None) or State()

    def write(self, state: State) -> None:
        """Replace the state."""
        self._connection.put_row(self.name, state.to_row(self._row_id))

    def create(self) -> list[str]:
        """Create the collection if it is missing; returns how it differs from what it should be."""
        if not self._connection.has(self.name):
            try:
                self._connection.create(self.name, build_schema(STATE_FIELDS), state_indexes())
            except IndexUnavailableError:
                raise
            except IndexingError:
                # Another store may have created it at the same time.
                if not self._connection.has(self.name):
                    raise
        found = differences(self._connection.described(self.name), None, STATE_FIELDS)
        self._exists = not found
        return found

"""`DatedEntries`: how many entries of a large scope are inside some periods, by the index of times of the records.

The vectors have no such index. Of few entries the ids are named, and of many the HNSW index finds the nearest: only
between the two is the whole scope scanned.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from jiyi.backends.postgres.database import PostgresDatabase

MAX_NAMED: Final = 2_000
"""Up to so many entries are named: to look up their vectors takes less time than a scan of a large scope."""
MIN_SHARE: Final = 10
"""From this part of a scope on the HNSW index is faster than a scan."""
_MAX_PERIODS: Final = 16
"""Of more periods nothing is counted."""


class DatedEntries:
    """Entries by their times. Archived ones, which have no vectors, are counted as well."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    def count(self, scope: str, periods: Sequence[tuple[datetime, datetime]], most: int) -> int | None:
        """How many entries of the scope are inside the periods, at most so many; `None` if that is not known.

        An entry inside two of the periods counts twice. Nothing is known of too many periods, and of vectors without
        records, which an index may be given by itself.
        """
        rows = self._query(
            "SELECT CASE WHEN EXISTS (SELECT 1 FROM memory_records WHERE scope = :scope) "
            "THEN (SELECT count(*) FROM ({}) AS dated) END",
            "1",
            scope,
            periods,
            most,
        )
        return None if rows is None or rows[0][0] is None else min(int(rows[0][0]), most)

    def ids(self, scope: str, periods: Sequence[tuple[datetime, datetime]]) -> list[str]:
        """The ids of entries inside the periods, at most `MAX_NAMED` in each."""
        rows = self._query("{}", "id", scope, periods, MAX_NAMED)
        return list(dict.fromkeys(row[0] for row in rows or ()))

    def _query(
        self, statement: str, column: str, scope: str, periods: Sequence[tuple[datetime, datetime]], most: int
    ) -> list[tuple[Any, ...]] | None:
        if len(periods) > _MAX_PERIODS:
            return None
        # One after the other, each in the order of the index: with OR the planner would read all entries first.
        parts = " UNION ALL ".join(
            f"(SELECT {column} FROM memory_records WHERE scope = :scope AND event_time >= :start_{place} "
            f"AND event_time < :end_{place} LIMIT {most:d})"
            for place in range(len(periods))
        )
        params: dict[str, Any] = {"scope": scope}
        for place, (start, end) in enumerate(periods):
            params |= {f"start_{place}": start, f"end_{place}": end}
        return self._database.query(statement.format(parts), params, (scope,), prepare=False)

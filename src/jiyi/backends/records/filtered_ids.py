"""FilteredIds: the part of the record store that answers which entries filters admit, by their ids."""

from __future__ import annotations

from collections.abc import Sequence

from jiyi.backends.records.filters import where
from jiyi.backends.records.sql import Database
from jiyi.model.filters import Filters


class FilteredIds:
    """Ids of entries under filters."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def admitted(self, ids: Sequence[str], filters: Filters) -> set[str]:
        """Which of these ids the filters admit."""
        if filters.among is not None:
            ids = [each for each in ids if each in filters.among]
        if not ids:
            return set()
        condition, params = where(filters, self._database.dialect, by_id=True)
        sql = f"SELECT id FROM memory_records WHERE id IN :ids AND {condition}"
        params["ids"] = list(ids)
        return {row[0] for row in self._database.query(sql, params, filters.scopes, prepare=False)}

    def few_matching(self, filters: Filters, *, most: int) -> list[str] | None:
        """Ids of all entries that the filters admit, if they are at most so many and that is known without a scan."""
        from jiyi.backends.records import metadata_index

        with self._database.read(filters.scopes) as connection:
            return metadata_index.few_matching(connection, filters, most=most)

    def estimate(self, filters: Filters, *, most: int) -> int | None:
        """How many entries may meet the conditions on metadata, by an index; `None` if more than `most` or unknown."""
        if not filters.where or self._database.dialect != "sqlite":
            return None
        from jiyi.backends.records import metadata_index

        with self._database.read(filters.scopes) as connection:
            return metadata_index.estimate(connection, filters, most=most)

    def may_match(self, filters: Filters) -> frozenset[str]:
        """Ids among which are all entries that the filters admit; only where there is an estimate."""
        from jiyi.backends.records import metadata_index

        with self._database.read(filters.scopes) as connection:
            return metadata_index.may_match(connection, filters)

    def matching_ids(self, filters: Filters) -> list[str]:
        """Ids of all entries that the filters admit."""
        condition, params = where(filters, self._database.dialect)
        sql = f"SELECT id FROM memory_records WHERE {condition}"
        return [row[0] for row in self._database.query(sql, params, filters.scopes, prepare=False)]

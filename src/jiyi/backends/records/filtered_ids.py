"""FilteredIds: the part of the record store that answers which entries filters admit, by their ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from jiyi.backends.records.filters import where
from jiyi.backends.records.match_cache import MatchCache
from jiyi.backends.records.schema import ACTIVE
from jiyi.backends.records.sql import Database
from jiyi.model.entry import REFLECTION_TYPE
from jiyi.model.filters import Filters

if TYPE_CHECKING:
    from jiyi.backends.records.sampled_matches import SampledMatches

_REFLECTIONS = (
    f"SELECT id FROM memory_records WHERE scope IN :scopes AND memory_type = '{REFLECTION_TYPE}' "
    f"AND domain IS NOT NULL AND {ACTIVE}"
)


class FilteredIds:
    """Ids of entries under filters."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._match_cache = MatchCache(database)
        self._sampled = _sampled_matches(database) if database.dialect == "postgresql" else None
        self._checked: tuple[Filters, dict[str, bool]] | None = None
        """The ids that one recall has had checked by the same filters: its sources propose many of them twice."""

    def admitted(self, ids: Sequence[str], filters: Filters) -> set[str]:
        """Which of these ids the filters admit.

        Filters that tell an estimate are made for one recall. What was checked by the same object before is not checked
        again: an answer is checked by `fetch` in the end.
        """
        if filters.superset_ids is not None:
            ids = [each for each in ids if each in filters.superset_ids]
        if filters.superset_ids is None and filters.estimate is None:
            return self._admitted(ids, filters)
        checked = self._checked
        if checked is None or checked[0] is not filters:
            self._checked = checked = (filters, {})
        known = checked[1]
        missing = [each for each in ids if each not in known]
        if missing:
            passed = self._admitted(missing, filters)
            known.update((each, each in passed) for each in missing)
        return {each for each in ids if known[each]}

    def _admitted(self, ids: Sequence[str], filters: Filters) -> set[str]:
        if not ids:
            return set()
        condition, params = where(filters, self._database.dialect, by_id=True)
        sql = f"SELECT id FROM memory_records WHERE id IN :ids AND {condition}"
        params["ids"] = list(ids)
        return {row[0] for row in self._database.query(sql, params, filters.scopes, prepare=False)}

    def reflections(self, scopes: Sequence[str]) -> list[str]:
        """Ids of the active reflections of these scopes; an index has no others."""
        return [row[0] for row in self._database.query(_REFLECTIONS, {"scopes": list(scopes)}, scopes)]

    def few_matching(self, filters: Filters, *, limit: int) -> list[str] | None:
        """Ids of all entries that the filters admit, if they are at most so many and that is known without a scan."""
        if self._sampled is not None:
            ids = self._sampled.matches(filters).ids
            return list(ids) if ids is not None and len(ids) <= limit else None
        from jiyi.backends.records import metadata_index

        with self._database.read(filters.scopes) as connection:
            return metadata_index.few_matching(connection, filters, limit=limit)

    def estimate(self, filters: Filters, *, limit: int) -> int | None:
        """About how many entries meet the conditions; `None` if unknown, more than `limit`, or few and listed.

        SQLite counts, and only conditions on metadata; PostgreSQL takes a sample, whatever `limit` is.
        """
        if self._sampled is not None:
            found = self._sampled.matches(filters)
            return found.estimate if found.ids is None else None
        return self._match_cache.estimate(filters, limit) if filters.where else None

    def listed_matches(self, filters: Filters, *, limit: int) -> frozenset[str] | None:
        """Ids among which are all entries that the filters admit, if they are at most so many; after `estimate`."""
        return self._match_cache.ids(filters, limit) if self._sampled is None else self._sampled.long_list(filters)

    def matching_ids(self, filters: Filters) -> list[str]:
        """Ids of all entries that the filters admit."""
        condition, params = where(filters, self._database.dialect)
        sql = f"SELECT id FROM memory_records WHERE {condition}"
        return [row[0] for row in self._database.query(sql, params, filters.scopes, prepare=False)]


def _sampled_matches(database: Database) -> SampledMatches:
    # Imported here: SQLite does without, and a short command would load it for nothing.
    from jiyi.backends.records.sampled_matches import SampledMatches

    return SampledMatches(database)

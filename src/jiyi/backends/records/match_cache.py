"""`MatchCache`: ids that may meet a condition on metadata, cached as long as nothing changes in their scopes.

An agent asks many questions under one condition ("project x"), and reading the ids takes as long as answering one.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final, TypeAlias

from jiyi.backends.records import metadata_index
from jiyi.backends.records.filters import in_scopes
from jiyi.backends.records.sql import Database
from jiyi.model.filters import Filters

_Key: TypeAlias = tuple[tuple[str, ...], str]

_MAX_CONDITIONS: Final = 16
_MAX_IDS: Final = 60_000
"""More ids than these of one condition are not cached."""
_MAX_CACHED_IDS: Final = 200_000
_HEAD: Final = "SELECT max(sequence) FROM memory_changes"
_CHANGED: Final = f"SELECT 1 FROM memory_changes WHERE sequence > :sequence AND {in_scopes(by_id=True)} LIMIT 1"


@dataclass(slots=True)
class _Matches:
    """What is known of a condition as of a place of the change log."""

    sequence: int
    count: int | None
    """How many entries may meet it; `None` if they are more than were counted."""
    uses: int = 1
    ids: frozenset[str] | None = None


class MatchCache:
    """The last conditions that were asked for, in SQLite: there a larger sequence number is a later change."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._guard = threading.Lock()
        self._matches: OrderedDict[_Key, _Matches] = OrderedDict()

    def estimate(self, filters: Filters, limit: int) -> int | None:
        """How many entries may meet the conditions; `None` if more than `limit` or unknown.

        A condition that is asked for again is worth counting further.
        """
        key, sequence = _key(filters), self._head()
        with self._guard:
            known = self._current(key, filters, sequence)
            if known is None:
                with self._database.read(filters.scopes) as connection:
                    count = metadata_index.estimate(connection, filters, limit=limit)
                self._matches[key] = _Matches(sequence, count)
                if len(self._matches) > _MAX_CONDITIONS:
                    self._matches.popitem(last=False)
                return count
            known.uses += 1
            if known.count is None and known.uses == 2 and limit < _MAX_IDS:
                with self._database.read(filters.scopes) as connection:
                    known.count = metadata_index.estimate(connection, filters, limit=_MAX_IDS)
            return known.count

    def ids(self, filters: Filters, limit: int) -> frozenset[str] | None:
        """Ids among which are all that meet the conditions; `None` if there are more than `limit`, unless asked again.

        To be called after `estimate`, which tells whether what is cached is still true.
        """
        key = _key(filters)
        with self._guard:
            known = self._matches.get(key)
            if known is not None and known.ids is not None:
                return known.ids
            count = None if known is None else known.count
            again = known is not None and known.uses > 1
            if count is None or count > (_MAX_IDS if again else limit):
                return None
            with self._database.read(filters.scopes) as connection:
                found = metadata_index.may_match(connection, filters)
            if again and known is not None:
                known.ids = found
                self._drop_excess(key)
            return found

    def _head(self) -> int:
        return int(self._database.query(_HEAD)[0][0] or 0)

    def _current(self, key: _Key, filters: Filters, sequence: int) -> _Matches | None:
        """What is cached of the condition, if its scopes have not changed since."""
        known = self._matches.get(key)
        if known is None:
            return None
        if known.sequence != sequence:
            params = {"sequence": known.sequence, "scopes": list(filters.scopes)}
            if known.sequence > sequence or self._database.query(_CHANGED, params, filters.scopes):
                del self._matches[key]
                return None
            known.sequence = sequence
        self._matches.move_to_end(key)
        return known

    def _drop_excess(self, newest: _Key) -> None:
        total = sum(len(each.ids) for each in self._matches.values() if each.ids is not None)
        for key, each in self._matches.items():
            if total > _MAX_CACHED_IDS and key != newest and each.ids is not None:
                total -= len(each.ids)
                each.ids = None


def _key(filters: Filters) -> _Key:
    return filters.scopes, repr(filters.where)

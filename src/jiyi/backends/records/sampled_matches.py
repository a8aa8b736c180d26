"""`SampledMatches`: which entries meet conditions that no other index knows, or about how many; in PostgreSQL.

Few entries are listed. Of many a sample tells the share: who looks for the best ten that meet the condition then knows
how many of the best to look at, and does it in one round trip. All of it is kept, because an agent asks many questions
under one condition ("project x"), and from the second question on also a longer list: then hardly any proposal has to
be checked, and the vectors of the list can be kept in memory. A list that no index finds is made later. A list is
brought up to date with what has changed in its scopes.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any, Final, Generic, TypeVar

from jiyi.backends.records.filters import in_scopes, where
from jiyi.backends.records.sql import Database
from jiyi.model.filters import Filters
from jiyi.model.scope import PUBLIC

V = TypeVar("V")

_MAX_LISTED: Final = 2_000
_MAX_SAMPLED: Final = 3 * _MAX_LISTED
"""If a sample says that more entries than these meet a condition, they are not listed at once."""
_MAX_LONG: Final = 25_000
"""So many entries a longer list has at the most."""
_MIN_ASKED: Final = 8
"""From the question of this number on what no index finds is listed too, by looking at the whole scope once."""
_MAX_CHANGES: Final = 256
"""After more changes of its scopes what is kept of a condition is read again."""
_SAMPLE_SIZE: Final = 800
_MIN_GROWTH: Final = 1_000
"""After fewer changes of the store a sample is not taken again; for a large scope it is a tenth of its entries."""
_HEAD: Final = "SELECT coalesce(max(sequence), 0) FROM memory_changes"
_CHANGED: Final = (
    f"SELECT entry_id FROM memory_changes WHERE sequence > :sequence AND {in_scopes(by_id=True)} "
    f"LIMIT {_MAX_CHANGES + 1}"
)
_TOTAL: Final = "SELECT count(*) FROM memory_records WHERE scope IN :scopes"
# By a hash: entries that were written together are alike, and have one time.
_SAMPLE: Final = "SELECT id FROM memory_records WHERE scope IN :scopes AND hashtextextended(id, 0) % :step = 0"


@dataclass(frozen=True, slots=True)
class Matches:
    """What is known of a condition as of a place of the change log."""

    sequence: int
    estimate: int
    """About how many entries meet it."""
    ids: frozenset[str] | None
    """All that meet it, if they are few; also public ones that the reading scope has merged into its own."""
    asked: int = 1
    """How often it was asked for."""


@dataclass(frozen=True, slots=True)
class _Sample:
    """Some entries of some scopes."""

    sequence: int
    ids: list[str]
    total: int
    """How many entries the scopes have."""

    def is_current(self, sequence: int) -> bool:
        return 0 <= sequence - self.sequence <= max(_MIN_GROWTH, self.total // 10)


class _BoundedCache(Generic[V]):
    """The values that were put last."""

    def __init__(self, max_size: int) -> None:
        self._max_size = max_size
        self._guard = threading.Lock()
        self._values: OrderedDict[Hashable, V] = OrderedDict()

    def get(self, key: Hashable) -> V | None:
        with self._guard:
            return self._values.get(key)

    def put(self, key: Hashable, value: V) -> V:
        with self._guard:
            self._values[key] = value
            self._values.move_to_end(key)
            if len(self._values) > self._max_size:
                self._values.popitem(last=False)
        return value


class SampledMatches:
    """What meets the conditions that were asked for last."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._matches: _BoundedCache[Matches] = _BoundedCache(64)
        self._long: _BoundedCache[Matches] = _BoundedCache(8)
        self._samples: _BoundedCache[_Sample] = _BoundedCache(32)

    def matches(self, filters: Filters) -> Matches:
        """What meets the filters, as of now or later."""
        sequence = int(self._database.query(_HEAD)[0][0])
        if filters.alive_at is not None or filters.known_at is not None:
            # Asked for an earlier time, which hardly anybody asks for twice.
            return self._read(filters, sequence)
        key = repr(filters)
        known = self._matches.get(key)
        found = None if known is None else self._brought_up_to_date(known, filters, sequence, _MAX_LISTED)
        return self._matches.put(key, found or self._read(filters, sequence))

    def long_list(self, filters: Filters) -> frozenset[str] | None:
        """The ids of all that meet the filters, where they are not few and it is worth it; after `matches`."""
        key = repr(filters)
        now = self._matches.get(key)
        if now is None or now.ids is not None or now.asked < (2 if _is_indexed(filters) else _MIN_ASKED):
            return None
        known = self._long.get(key)
        found = None if known is None else self._brought_up_to_date(known, filters, now.sequence, _MAX_LONG)
        if found is None:
            if now.estimate > _MAX_LONG:
                return None
            found = replace(now, ids=self._listed(filters, _MAX_LONG))
            if found.ids is None or len(found.ids) > _MAX_LONG:
                # Not to be tried again: they are more than the sample said.
                self._matches.put(key, replace(now, estimate=_MAX_LONG + 1))
                return None
        return self._long.put(key, found).ids

    def _brought_up_to_date(self, known: Matches, filters: Filters, sequence: int, limit: int) -> Matches | None:
        """The same as of this place of the log; `None` if it has to be read again."""
        if known.sequence == sequence:
            return replace(known, asked=known.asked + 1)
        params = {"sequence": known.sequence, "scopes": filters.scopes}
        rows = self._database.query(_CHANGED, params, filters.scopes)
        if known.sequence > sequence or len(rows) > _MAX_CHANGES:
            return None
        ids, changed = known.ids, {row[0] for row in rows}
        if ids is not None and changed:
            ids = (ids - changed) | self._admitted(list(changed), filters)
            if len(ids) > limit:
                return None
        return replace(known, sequence=sequence, ids=ids, asked=known.asked + 1)

    def _read(self, filters: Filters, sequence: int) -> Matches:
        sample = self._sample(filters.scopes, sequence)
        passed = len(self._admitted(sample.ids, filters))
        estimate = sample.total * passed // max(len(sample.ids), 1)
        ids = self._listed(filters, _MAX_LISTED) if estimate <= _MAX_SAMPLED else None
        if ids is not None and len(ids) > _MAX_LISTED:
            estimate, ids = max(estimate, len(ids)), None
        return Matches(sequence, estimate, ids)

    def _sample(self, scopes: tuple[str, ...], sequence: int) -> _Sample:
        known = self._samples.get(scopes)
        if known is not None and known.is_current(sequence):
            return known
        params: dict[str, Any] = {"scopes": scopes}
        total = int(self._database.query(_TOTAL, params, scopes)[0][0])
        rows = self._database.query(_SAMPLE, {**params, "step": total // _SAMPLE_SIZE + 1}, scopes)
        return self._samples.put(scopes, _Sample(sequence, [row[0] for row in rows], total))

    def _listed(self, filters: Filters, limit: int) -> frozenset[str]:
        """The ids of all that meet the filters, one more than `limit` at the most."""
        condition, params = _condition(filters)
        sql = f"SELECT id FROM memory_records WHERE {condition} LIMIT {limit + 1:d}"
        return frozenset(row[0] for row in self._database.query(sql, params, filters.scopes, prepare=False))

    def _admitted(self, ids: list[str], filters: Filters) -> frozenset[str]:
        condition, params = _condition(filters, by_id=True)
        sql = f"SELECT id FROM memory_records WHERE id IN :ids AND {condition}"
        rows = self._database.query(sql, {**params, "ids": ids}, filters.scopes, prepare=False) if ids else []
        return frozenset(row[0] for row in rows)


def _is_indexed(filters: Filters) -> bool:
    """Whether an index finds what meets the filters."""
    equal = any(each.operator in {"$eq", "$in"} for each in filters.where)
    return equal or bool(filters.key_prefix or filters.namespace)


def _condition(filters: Filters, *, by_id: bool = False) -> tuple[str, dict[str, Any]]:
    """The filters, without what the reading scope has merged: that changes without a line for the public entry."""
    return where(filters, "postgresql", by_id=by_id, reader=PUBLIC)

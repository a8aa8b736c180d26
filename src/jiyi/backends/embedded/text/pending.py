"""Texts that a term store does not hold yet, shown as if it did. Nothing is written."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from operator import attrgetter
from typing import Any, Final

from jiyi.backends.shared.term_rows import Features

_columns = attrgetter(*Features.__slots__)


class PendingTerms:
    """The rows of new and changed texts, and the ids of those that are gone."""

    def __init__(self, features: Sequence[Features], removed: Sequence[str]) -> None:
        self.features = features
        self.ids = frozenset((*(row.entry_id for row in features), *removed))
        """Everything that the store has otherwise, or not at all."""
        self._rows = {row.entry_id: values_of(row) for row in features}
        self._threads: defaultdict[tuple[str, str], list[tuple[Any, ...]]] = defaultdict(list)
        for row in self._rows.values():
            self._threads[row[0], row[1]].append(row)

    def replaced(self, rows: Sequence[tuple[Any, ...]], ids: Collection[str]) -> list[tuple[Any, ...]]:
        """The rows of the store for these ids, with the pending ones in place of their old states."""
        if not self.ids:
            return list(rows)
        return [row for row in rows if row[4] not in self.ids] + [
            self._rows[entry_id] for entry_id in dict.fromkeys(ids) if entry_id in self._rows
        ]

    def merged(self, rows: list[tuple[Any, ...]], scope: str, thread: str) -> list[tuple[Any, ...]]:
        """Rows of one thread in order, together with the pending ones."""
        if not self.ids:
            return rows
        known = [row for row in rows if row[4] not in self.ids]
        # The first five columns are the place in the store.
        return sorted((*known, *self._threads.get((scope, thread), ())), key=lambda row: row[:5])


def values_of(row: Features) -> tuple[Any, ...]:
    """The columns of a row, in their order."""
    values: tuple[Any, ...] = _columns(row)
    return values


NOTHING_PENDING: Final = PendingTerms((), ())

"""`TextCache`: the texts of small scopes that were read last, and the statements that read them only if they changed.

An agent asks many questions in one scope. Each of them asks the server whether the scope has changed since its texts
were read, and the server sends them again only then, in the same round trip.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from jiyi.backends.postgres.text.small_scopes import texts_sql
from jiyi.backends.postgres.text.tables import STATE, TEXTS
from jiyi.backends.postgres.wire import INT8, TEXT, TEXT_ARRAY, BoundStatement, Statement, text_parameter
from jiyi.backends.shared.in_memory_text import InMemoryTextIndex

MAX_CACHED_TEXTS: Final = 20_000
"""So many texts are cached of all scopes together, about a kilobyte each."""
_MAX_LINES: Final = 2_000
"""After more lines of the log, of any scopes, texts are read again: to look through the lines would take longer."""
TABLE: Final = f"to_regclass('{TEXTS}')::oid::bigint"
CHANGED: Final = f"""((SELECT entry_id FROM memory_changes WHERE sequence = :sequence) IS DISTINCT FROM :entry_id
    OR {TABLE} IS DISTINCT FROM :table
    OR (SELECT sequence FROM {STATE}) > :sequence + {_MAX_LINES}
    OR (SELECT sequence FROM memory_changes WHERE sequence > :sequence AND (scope || '') = ANY (:scopes)
        ORDER BY sequence LIMIT 1) IS NOT NULL)"""
"""Whether the texts of `:scopes` may have changed since the line `:sequence` of the log, which is about `:entry_id`, or
are in another table than `:table` now. It is compared with the log and not with a clock: so it knows every commit."""
CHANGED_TYPES: Final = {"scopes": TEXT_ARRAY, "sequence": INT8, "entry_id": TEXT, "table": INT8}


class Columns(NamedTuple):
    """Which columns of the texts were read beside those that every recall needs."""

    bigrams: bool
    filtered: bool

    def with_those_of(self, other: Columns) -> Columns:
        """Those of both."""
        return Columns(self.bigrams or other.bigrams, self.filtered or other.filtered)


class ReadPosition(NamedTuple):
    """When texts were read: the last line of the log that they follow, the entry of the line, and the table."""

    sequence: int
    entry_id: str | None
    table: int


NEVER: Final = ReadPosition(-1, "", 0)


@dataclass(frozen=True, slots=True)
class ScopeReading:
    """The texts of some scopes as they were at a line of the log."""

    text: InMemoryTextIndex
    columns: Columns
    at: ReadPosition


class TextCache:
    """The texts of the scopes that were asked for last."""

    def __init__(self, max_texts: int = MAX_CACHED_TEXTS) -> None:
        self._max_texts = max_texts
        self._guard = threading.Lock()
        self._readings: OrderedDict[tuple[str, ...], ScopeReading] = OrderedDict()
        self._texts = 0

    def get(self, scopes: tuple[str, ...]) -> ScopeReading | None:
        """What is cached of these scopes."""
        with self._guard:
            return self._readings.get(scopes)

    def put(self, scopes: tuple[str, ...], reading: ScopeReading) -> None:
        """Put a reading in the place of the last one of these scopes."""
        with self._guard:
            self._drop(scopes)
            self._readings[scopes] = reading
            self._texts += len(reading.text)
            while len(self._readings) > 1 and self._texts > self._max_texts:
                self._drop(next(iter(self._readings)))

    def _drop(self, scopes: tuple[str, ...]) -> None:
        dropped = self._readings.pop(scopes, None)
        if dropped is not None:
            self._texts -= len(dropped.text)


class ChangedTexts:
    """Statements that read the texts of some scopes if they have changed; one more than `max_texts` at the most."""

    def __init__(self, max_texts: int) -> None:
        self.max_texts = max_texts
        self._statements = {
            columns: Statement(
                f"{texts_sql(bigrams=columns.bigrams, filtered=columns.filtered)} AND {CHANGED} "
                f"LIMIT {max_texts + 1:d}",
                CHANGED_TYPES,
            )
            for columns in (Columns(bigrams, filtered) for bigrams in (False, True) for filtered in (False, True))
        }

    def statement(self, columns: Columns, changed: Mapping[str, bytes | None]) -> BoundStatement:
        """The texts with these columns, if they have changed since; the parameters are those of `CHANGED`."""
        return self._statements[columns].bound(changed)


def changed_values(scopes: bytes, at: ReadPosition) -> dict[str, bytes | None]:
    """The parameters of `CHANGED`."""
    return {
        "scopes": scopes,
        "sequence": b"%d" % at.sequence,
        "entry_id": None if at.entry_id is None else text_parameter(at.entry_id),
        "table": b"%d" % at.table,
    }

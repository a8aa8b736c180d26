"""`PostgresReader`: everything that a recall needs of small scopes, in one round trip.

The log positions of the indexes, every text of the scopes and the similarity of every vector are read by statements
that are sent together. The log positions are read first, so the rows are at least as new.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any

import psycopg

from jiyi.backends.postgres.database import PostgresDatabase
from jiyi.backends.postgres.errors import storage_error
from jiyi.backends.postgres.schema import WHOLE_STORE
from jiyi.backends.postgres.session import DriverConnections
from jiyi.backends.postgres.text.hooks import CORRUPTED
from jiyi.backends.postgres.text.index import PostgresTextIndex
from jiyi.backends.postgres.text.small_scopes import MAX_SMALL_SCOPE, LargeScopeCache
from jiyi.backends.postgres.text.tables import MISSING, STATE_QUERY
from jiyi.backends.postgres.text.text_cache import (
    CHANGED,
    CHANGED_TYPES,
    NEVER,
    TABLE,
    ChangedTexts,
    Columns,
    ReadPosition,
    ScopeReading,
    TextCache,
    changed_values,
)
from jiyi.backends.postgres.vectors.halfvec import Floats, real_array
from jiyi.backends.postgres.vectors.index import PostgresVectors
from jiyi.backends.postgres.vectors.tables import CURRENT, MAX_AT_ONCE, META
from jiyi.backends.postgres.wire import (
    TEXT,
    TEXT_ARRAY,
    BoundStatement,
    Statement,
    settings,
    text_array,
    text_parameter,
)
from jiyi.backends.records.changelog import fingerprint
from jiyi.backends.shared.in_memory_text import InMemoryTextIndex
from jiyi.errors import IndexingError
from jiyi.model.filters import Filters
from jiyi.ports import START, LogPosition, Reading, TextSource, VectorComparison

# Beside a log position: the line of the log there, and whether the scopes have a later line.
_LINE_COLUMNS = """l.entry_id, l.version, l.changed_at,
    (SELECT c.sequence FROM memory_changes c WHERE c.sequence > s.sequence AND (c.scope || '') = ANY (:scopes)
     ORDER BY c.sequence LIMIT 1) IS NOT NULL"""
_LINE_WIDTH = 4
# LATERAL with a limit: the planner expects hundreds of states, and would read a log of some thousand lines as a whole.
_JOIN_LINE = "LEFT JOIN LATERAL (SELECT * FROM memory_changes WHERE sequence = s.sequence LIMIT 1) l ON true"
_TEXT_STATE = Statement(
    f"SELECT s.*, {TABLE}, {CHANGED}, {_LINE_COLUMNS} FROM ({STATE_QUERY}) s {_JOIN_LINE}", CHANGED_TYPES
)
_CHANGED_WIDTH = 2
_VECTOR_STATE = Statement(
    f"SELECT s.sequence, s.fingerprint, {_LINE_COLUMNS} FROM {META} s {_JOIN_LINE} "
    f"WHERE s.generation = '{CURRENT}' AND s.identity = :identity",
    {"scopes": TEXT_ARRAY, "identity": TEXT},
)
_CORRECTED = Statement(
    "SELECT EXISTS (SELECT 1 FROM memory_records WHERE scope = ANY (:scopes) AND superseded_by IS NOT NULL "
    "AND conversation_id IS NOT NULL)",
    {"scopes": TEXT_ARRAY},
)
"""Whether recalled messages have to be compared with corrections at all, which costs a round trip more."""
_UNUSABLE_INDEX = (*MISSING, psycopg.errors.DataException, *CORRUPTED)
"""Errors of the server if an index, or an extension, is missing, replaced or damaged."""


class PostgresReader:
    """Reads scopes with at most `max_texts` texts together."""

    def __init__(
        self,
        database: PostgresDatabase,
        text_index: PostgresTextIndex,
        vectors: PostgresVectors | None,
        *,
        max_texts: int = MAX_SMALL_SCOPE,
    ) -> None:
        self._connections = DriverConnections(database)
        self._where = database.where
        self._text = text_index
        self._vectors = vectors
        self._settings = BoundStatement(settings({**database.limits, WHOLE_STORE: "on"}))
        self._texts = ChangedTexts(max_texts)
        self._cache = TextCache()
        self._large = LargeScopeCache()

    def worthwhile(self, scopes: Sequence[str]) -> bool:
        """Whether these scopes were not found to be large a short while ago."""
        return tuple(scopes) not in self._large

    def read(self, filters: Filters, vector: Floats | None, *, fields: AbstractSet[str]) -> Reading | None:
        """All of these scopes; `None` when they are large, or an index has to be looked after first."""
        columns = Columns("bigrams" in fields, not filters.only_scopes)
        kept = self._cache.get(filters.scopes)
        if kept is not None and kept.columns != (wanted := columns.with_those_of(kept.columns)):
            # What was read lacks a column. What is read now has those that were needed before, for the next time.
            kept, columns = None, wanted
        answers = self._fetch(self._statements(filters, vector, columns, NEVER if kept is None else kept.at))
        if answers is None:
            return None
        text_state, texts, corrected, *of_vectors = answers
        if len(texts) > self._texts.max_texts:
            self._large.add(filters.scopes)
            return None
        state = self._text.usable_state([row[: -_CHANGED_WIDTH - _LINE_WIDTH] for row in text_state])
        if state is None or not _is_of_log(state.log_position, text_state[0]) or _is_behind(text_state[0]):
            return None
        table, changed, entry_id, *_ = text_state[0][-_CHANGED_WIDTH - _LINE_WIDTH :]
        # Texts that changed between the two statements are there, unless they are gone: then they were there before.
        if kept is None or changed or texts:
            kept = ScopeReading(InMemoryTextIndex(texts), columns, NEVER)
        self._cache.put(filters.scopes, replace(kept, at=ReadPosition(state.sequence, entry_id, table)))
        compared = None
        if of_vectors and vector is not None:
            compared = self._compared(filters, vector, *of_vectors)
            if compared is None:
                return None
        mode, reflections = self._text.mode, kept.text.reflections
        return Reading(kept.text, mode, compared, corrected=bool(corrected[0][0]), reflections=reflections)

    def last_read(self, filters: Filters) -> TextSource | None:
        """The texts of these scopes as they were read last; `None` if they are not kept."""
        kept = self._cache.get(filters.scopes)
        return None if kept is None else kept.text

    def compare(self, filters: Filters, vector: Floats) -> VectorComparison | None:
        """The same scopes, compared with another vector: nothing else is read again."""
        answers = self._fetch(self._vector_statements(text_array(filters.scopes), vector))
        return None if not answers else self._compared(filters, vector, *answers)

    def _fetch(self, statements: Sequence[BoundStatement]) -> list[list[Any]] | None:
        """The answers to statements that are sent together; `None` if an index cannot be used."""
        try:
            return self._connections.fetch_pipelined([self._settings, *statements])[1:]
        except (*_UNUSABLE_INDEX, IndexingError):
            # The recall then uses each index by itself, which reports the error or rebuilds the index.
            return None
        except psycopg.Error as error:
            raise storage_error(self._where, error) from error

    def _compared(
        self, filters: Filters, vector: Floats, state: list[Any], similarities: list[Any]
    ) -> VectorComparison | None:
        if len(similarities) > MAX_AT_ONCE:
            self._large.add(filters.scopes)
            return None
        if self._vectors is None or not state or not _is_of_log(LogPosition(*state[0][:2]), state[0]):
            return None
        scanned_at = LogPosition(*state[0][:2]) if _is_behind(state[0]) else None
        return VectorComparison(self._vectors.scan_of(vector, similarities), scanned_at)

    def _statements(
        self, filters: Filters, vector: Floats | None, columns: Columns, at: ReadPosition
    ) -> list[BoundStatement]:
        scopes = text_array(filters.scopes)
        changed = changed_values(scopes, at)
        return [
            _TEXT_STATE.bound(changed),
            self._texts.statement(columns, changed),
            _CORRECTED.bound(changed),
            *(self._vector_statements(scopes, vector) if vector is not None else ()),
        ]

    def _vector_statements(self, scopes: bytes, vector: Floats) -> list[BoundStatement]:
        if self._vectors is None:
            return []
        identity = text_parameter(self._vectors.identity)
        values = {"scopes": scopes, "vector": real_array(vector), "identity": identity}
        return [_VECTOR_STATE.bound(values), self._vectors.tables().all_similarities.bound(values)]


def _is_of_log(log_position: LogPosition, row: Sequence[Any]) -> bool:
    """Whether the position is one of this very log."""
    entry_id, version, moment, _ = row[-_LINE_WIDTH:]
    line = START if entry_id is None else LogPosition(log_position.sequence, fingerprint(entry_id, version, moment))
    return bool(log_position == line)


def _is_behind(row: Sequence[Any]) -> bool:
    """Whether the scopes have a later change than the position of the row."""
    return bool(row[-1])

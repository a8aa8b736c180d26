"""PostgresReader: what a recall asks of small scopes, in one round trip.

How far the log has come and how far the indexes, every text of the scopes, and the similarity of every vector: four
statements that are sent together, behind the settings that hold for them. The first look is at the log, so what the
others show is at least as new.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import psycopg

from jiyi.backends.postgres.database import PostgresDatabase
from jiyi.backends.postgres.errors import meaning
from jiyi.backends.postgres.schema import WHOLE_STORE
from jiyi.backends.postgres.session import Sessions
from jiyi.backends.postgres.text.index import PostgresTextIndex
from jiyi.backends.postgres.text.proposers import WHOLE_SCOPE
from jiyi.backends.postgres.text.tables import STATE_QUERY, TEXTS
from jiyi.backends.postgres.vectors.halfvec import Floats, real_array
from jiyi.backends.postgres.vectors.index import PostgresVectors
from jiyi.backends.postgres.vectors.tables import CURRENT, MAX_AT_ONCE, META
from jiyi.backends.postgres.wire import TEXT, Question, Statement, array, settings, text
from jiyi.backends.postgres.wire import TEXTS as TEXT_ARRAY
from jiyi.backends.records.changelog import fingerprint
from jiyi.backends.shared.in_memory_text import COLUMNS, FOR_BIGRAMS, FOR_FILTERS, InMemoryTextIndex
from jiyi.errors import IndexingError
from jiyi.model.filters import Filters
from jiyi.ports import START, LogPosition, Reading

_SECONDS_LARGE = 60.0
_MAX_REMEMBERED = 10_000
# What belongs to a mark: the line of the log at its place, and whether these scopes have a line after it.
_PLACE = """l.entry_id, l.version, l.changed_at,
    (SELECT c.sequence FROM memory_changes c WHERE c.sequence > s.sequence AND (c.scope || '') = ANY ($1)
     ORDER BY c.sequence LIMIT 1) IS NOT NULL"""
_TEXT_STATE = Statement(
    f"SELECT s.*, {_PLACE} FROM ({STATE_QUERY}) s LEFT JOIN memory_changes l ON l.sequence = s.sequence", (TEXT_ARRAY,)
)
_VECTOR_STATE = Statement(
    f"SELECT s.sequence, s.fingerprint, {_PLACE} FROM {META} s LEFT JOIN memory_changes l ON l.sequence = s.sequence "
    f"WHERE s.generation = '{CURRENT}' AND s.identity = $2",
    (TEXT_ARRAY, TEXT),
)
# What the server says where an index, or an extension, is missing, replaced or broken.
_NOT_SO = (
    psycopg.errors.UndefinedTable,
    psycopg.errors.UndefinedColumn,
    psycopg.errors.UndefinedFunction,
    psycopg.errors.UndefinedObject,
    psycopg.errors.InvalidSchemaName,
    psycopg.errors.DataException,
    psycopg.errors.InternalError_,
    psycopg.errors.DataCorrupted,
    psycopg.errors.IndexCorrupted,
)


def _texts(most: int, *, bigrams: bool, filtered: bool) -> Statement:
    """The texts of some scopes, with the columns that are needed."""
    columns = list(COLUMNS)
    # Who stands alone has a thread that is named after it: that need not be said twice.
    columns[columns.index("thread")] = "CASE WHEN place IS NOT NULL THEN thread END"
    if not filtered:
        del columns[FOR_FILTERS]
    if not bigrams:
        columns[FOR_BIGRAMS] = ["NULL"] * len(columns[FOR_BIGRAMS])
    shown = ", ".join(columns)
    return Statement(f"SELECT {shown} FROM {TEXTS} WHERE scope = ANY ($1) LIMIT {most:d}", (TEXT_ARRAY,))


class PostgresReader:
    """Reads scopes with at most `few` texts in all."""

    def __init__(
        self,
        database: PostgresDatabase,
        text_index: PostgresTextIndex,
        vectors: PostgresVectors | None,
        *,
        few: int = WHOLE_SCOPE,
    ) -> None:
        self._sessions = Sessions(database)
        self._where = database.where
        self._text = text_index
        self._vectors = vectors
        self._few = few
        self._settings = Question(settings({**database.limits, WHOLE_STORE: "on"}))
        self._texts = {
            (bigrams, filtered): _texts(few + 1, bigrams=bigrams, filtered=filtered)
            for bigrams in (False, True)
            for filtered in (False, True)
        }
        # Which scopes were found to be large, and until when that is believed: they are not read each time.
        self._large: dict[tuple[str, ...], float] = {}

    def worthwhile(self, scopes: Sequence[str]) -> bool:
        """Whether these scopes were not found to be large a short while ago."""
        return self._large.get(tuple(scopes), 0.0) < time.monotonic()

    def read(self, filters: Filters, vector: Floats | None, *, bigrams: bool) -> Reading | None:
        """All of these scopes; `None` when they are large, or an index has to be brought up to date first."""
        try:
            answers = self._sessions.ask_together(self._questions(filters, vector, bigrams=bigrams))
        except _NOT_SO:
            # Whoever asks the indexes one by one finds out what it is, and mends it.
            return None
        except IndexingError:
            return None
        except psycopg.Error as error:
            raise meaning(self._where, error) from error
        _, text_state, texts, *others = answers
        if len(texts) > self._few or (others and len(others[1]) > MAX_AT_ONCE):
            self._remember(filters.scopes)
            return None
        if not _fresh(self._text.usable_mark([row[:-4] for row in text_state]), text_state):
            return None
        scan = None
        if others and vector is not None and self._vectors is not None:
            vector_state, similarities = others
            if not _fresh(LogPosition(*vector_state[0][:2]) if vector_state else None, vector_state):
                return None
            scan = self._vectors.scan_of(vector, similarities)
        return Reading(InMemoryTextIndex(texts), self._text.mode, scan)

    def _questions(self, filters: Filters, vector: Floats | None, *, bigrams: bool) -> list[Question]:
        scopes = array(filters.scopes)
        asked = [
            self._settings,
            Question(_TEXT_STATE, [scopes]),
            Question(self._texts[bigrams, not filters.only_scopes], [scopes]),
        ]
        if vector is not None and self._vectors is not None:
            tables, identity = self._vectors.tables(), text(self._vectors.identity)
            # The mark before the rows that it is about.
            asked.append(Question(_VECTOR_STATE, [scopes, identity]))
            asked.append(Question(tables.whole, [scopes, real_array(vector), identity]))
        return asked

    def _remember(self, scopes: tuple[str, ...]) -> None:
        if len(self._large) >= _MAX_REMEMBERED:
            self._large.clear()
        self._large[scopes] = time.monotonic() + _SECONDS_LARGE


def _fresh(log_position: LogPosition | None, rows: Sequence[Sequence[Any]]) -> bool:
    """Whether the mark is a place of this very log, and nothing of the scopes follows it."""
    if log_position is None:
        return False
    entry_id, version, moment, behind = rows[0][-4:]
    line = START if entry_id is None else LogPosition(log_position.sequence, fingerprint(entry_id, version, moment))
    return bool(log_position == line) and not behind

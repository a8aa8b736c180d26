"""The tables of `PostgresTextIndex`: their names, how they are created, and their state.

They are derived, so they are in a schema of their own that may be dropped at any moment. The next generation is built
beside the current one, in tables whose names end in `_next`, and replaces it in one transaction.

The BM25 index of pg_search before 0.24 is not written to the WAL of the server: after a crash it may lack committed
rows, and then even an insert into it can fail. So there is an unlogged table with a row for each intact BM25 index:
PostgreSQL empties it exactly when it recovers from a crash, on standby servers, and in restored backups. Without that
row the BM25 index is neither read nor written until it has been rebuilt from its table, which is logged.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import psycopg
from psycopg import sql

from jiyi.backends.postgres.session import SCHEMA, Connection, create_schema
from jiyi.backends.shared.filters import Word
from jiyi.backends.shared.term_rows import CONVERSATIONS, UNIT
from jiyi.errors import IndexDamagedError
from jiyi.model.bm25 import LENGTH_FLOOR
from jiyi.ports import CONVERSATION, LogPosition

STATE, INTACT = f"{SCHEMA}.text_state", f"{SCHEMA}.text_intact"
TEXTS, SCOPES, TERMS = f"{SCHEMA}.texts", f"{SCHEMA}.text_scopes", f"{SCHEMA}.text_terms"
CONVERSATION_LENGTHS = f"{SCHEMA}.text_conversations"
CONVERSATION_TERMS = f"{SCHEMA}.text_conversation_terms"
TABLES = (SCOPES, TEXTS, TERMS, CONVERSATION_LENGTHS, CONVERSATION_TERMS)
"""In the order in which statements lock them. `swap` locks them in the same order, so that it cannot deadlock."""
NEXT = "_next"
RAW_TERMS, RAW_CONVERSATION_TERMS = f"{SCHEMA}.text_terms_raw", f"{SCHEMA}.text_conversation_terms_raw"
"""Counts of a generation that is being filled. Adding them up at the end is faster than updating counters."""
_OBSOLETE = tuple(f"{SCHEMA}.{name}" for name in ("text_talks", "text_talk_terms", "text_alive"))
"""Tables of schema version 1."""

PG_SEARCH, TSVECTOR = "pg_search", "tsvector"
"""How texts are proposed: by the BM25 index of pg_search, or by a `tsvector` and BM25 in Python."""

MISSING = (
    psycopg.errors.UndefinedTable,
    psycopg.errors.InvalidSchemaName,
    psycopg.errors.UndefinedColumn,
    psycopg.errors.UndefinedFunction,
    psycopg.errors.UndefinedObject,
)
"""Errors of the server when the tables, or the extension, were removed."""

FEATURES = (
    "scope, thread, position, event_time, entry_id, hash, length, bigram_length, question_share, "
    "words, word_counts, bigrams, bigram_counts, counted, counted_bigrams"
)
"""The columns of `Features`, in its order."""
_EXTRA = {
    PG_SEARCH: ("word_text", "bigram_text", "label_text"),
    TSVECTOR: ("terms",),
}
ID_HASH = "id_hash"
"""The column that decides between texts of one score and time: pg_search compares numbers ten times as fast as ids."""
_WAL_SINCE = (0, 24)
_MUTABLE_SEGMENT_ROWS = 64
"""The last rows, up to so many, are searched one by one: more make writing faster and every search slower."""


def columns(mode: str) -> tuple[str, ...]:
    """The columns of a text, in the order in which they are written."""
    return (*FEATURES.split(", "), "place", "category", "memory_type", "domains", "tags", *_EXTRA[mode])


def word_column(word: Word, values: Sequence[str]) -> tuple[str, Sequence[str]]:
    """The column of the texts for a word of an entry, and the values as that column has them."""
    if word == "conversation":
        return "thread", [CONVERSATION + value for value in values]
    return word, values


@dataclass(frozen=True, slots=True)
class State:
    """The state of the tables."""

    identity: str
    mode: str
    sequence: int
    fingerprint: str
    bm25: str
    """The name of the BM25 index; empty if there is none."""
    intact: bool = True
    """Whether the BM25 index, if any, can be read and written."""
    extension: tuple[int, ...] = ()
    """The version of pg_search in this database; empty if it is not installed."""

    @property
    def log_position(self) -> LogPosition:
        """How far the tables have come."""
        return LogPosition(self.sequence, self.fingerprint)


STATE_QUERY = (
    "SELECT s.identity, s.mode, s.sequence, s.fingerprint, s.bm25, to_regclass(s.bm25) IS NOT NULL, "
    f"EXISTS (SELECT FROM {INTACT} a WHERE a.bm25 = s.bm25), "
    "(SELECT extversion FROM pg_extension WHERE extname = 'pg_search') "
    f"FROM {STATE} s WHERE num_nulls({', '.join(f'to_regclass({name!r})' for name in TABLES)}) = 0"
)
"""The input of `state_of`. The query fails if there is no table of states."""


def state_of(rows: Sequence[Sequence[Any]]) -> State | None:
    """The state of the tables; `None` if one is missing."""
    if not rows:
        return None
    identity, mode, sequence, fingerprint, bm25, exists, listed, version = rows[0]
    extension = parse_version(version)
    intact = mode != PG_SEARCH or (exists and bool(extension) and (listed or extension >= _WAL_SINCE))
    return State(identity, mode, sequence, fingerprint, bm25, intact, extension)


def parse_version(version: str | None) -> tuple[int, ...]:
    """`0.21.14` as numbers; empty for `None`."""
    return tuple(int(part) for part in (version or "").split(".") if part.isdecimal())


def present(connection: Connection) -> bool:
    """Whether the tables of `STATE_QUERY` exist."""
    row = connection.execute(f"SELECT num_nulls(to_regclass('{STATE}'), to_regclass('{INTACT}')) = 0").fetchone()
    return row is not None and bool(row[0])


def need_extension(connection: Connection) -> str:
    """Install pg_search if the server has it and the role may. Returns what prevents it, or an empty text."""
    row = connection.execute(
        "SELECT installed_version FROM pg_available_extensions WHERE name = 'pg_search'"
    ).fetchone()
    if row is None:
        return "the server does not have the extension pg_search"
    if row[0] is None:
        try:
            connection.execute("CREATE EXTENSION IF NOT EXISTS pg_search")
        except psycopg.errors.UniqueViolation:
            pass  # Another session has installed it at the same time.
        except psycopg.OperationalError:
            raise
        except psycopg.Error as error:
            return f"the extension pg_search cannot be installed ({error.diag.message_primary})"
    return ""


def prepare(connection: Connection) -> None:
    """Create the schema and the tables of states if they are missing."""
    with connection.transaction():
        create_schema(connection)
        connection.execute(
            f"CREATE TABLE IF NOT EXISTS {STATE} (single boolean PRIMARY KEY DEFAULT true CHECK (single), "
            "identity text NOT NULL, mode text NOT NULL, sequence bigint NOT NULL, fingerprint text NOT NULL, "
            "bm25 text NOT NULL)"
        )
        connection.execute(f"CREATE UNLOGGED TABLE IF NOT EXISTS {INTACT} (bm25 text PRIMARY KEY)")


def create_next(connection: Connection, mode: str) -> None:
    """Create the empty tables of the next generation, and drop those of an interrupted rebuild."""
    extra = {
        PG_SEARCH: ", word_text text NOT NULL, bigram_text text NOT NULL, label_text text NOT NULL",
        TSVECTOR: ", terms tsvector NOT NULL",
    }[mode]
    with connection.transaction():
        connection.execute(f"DROP TABLE IF EXISTS {', '.join(name + NEXT for name in TABLES)}")
        connection.execute(f"DROP TABLE IF EXISTS {RAW_TERMS}, {RAW_CONVERSATION_TERMS}")
        connection.execute(
            f"CREATE UNLOGGED TABLE {RAW_TERMS} (scope integer NOT NULL, field smallint NOT NULL, "
            "term integer NOT NULL, df integer NOT NULL)"
        )
        connection.execute(
            f"CREATE UNLOGGED TABLE {RAW_CONVERSATION_TERMS} "
            "(conversation bigint NOT NULL, term integer NOT NULL, tf integer NOT NULL)"
        )
        connection.execute(
            f'CREATE TABLE {TEXTS}{NEXT} (scope text COLLATE "C" NOT NULL, thread text COLLATE "C" NOT NULL, '
            'position bigint NOT NULL, event_time bigint NOT NULL, entry_id text COLLATE "C" PRIMARY KEY, '
            "hash text NOT NULL, length integer NOT NULL, bigram_length integer NOT NULL, "
            "question_share double precision NOT NULL, words bytea NOT NULL, word_counts bytea NOT NULL, "
            "bigrams bytea NOT NULL, bigram_counts bytea NOT NULL, counted integer NOT NULL, "
            # A hash of scope and thread, whose names can be too long for an index; NULL without neighbours.
            "counted_bigrams integer NOT NULL, place uuid, "
            'category text COLLATE "C" NOT NULL, memory_type text COLLATE "C" NOT NULL, domains text[] NOT NULL, '
            f"tags text[] NOT NULL{extra}, "
            f"{ID_HASH} bigint NOT NULL GENERATED ALWAYS AS (hashtextextended(entry_id, 0)) STORED)"
        )
        connection.execute(
            f'CREATE TABLE {SCOPES}{NEXT} (scope text COLLATE "C" PRIMARY KEY, '
            "number integer GENERATED ALWAYS AS IDENTITY, entries bigint NOT NULL, shortness bigint NOT NULL, "
            "bigram_shortness bigint NOT NULL, conversations bigint NOT NULL, conversation_shortness bigint NOT NULL)"
        )
        # Counters are updated often: free space in each page allows updates that do not change the index.
        connection.execute(
            f"CREATE TABLE {TERMS}{NEXT} (scope integer NOT NULL, field smallint NOT NULL, term integer NOT NULL, "
            "df integer NOT NULL, PRIMARY KEY (scope, field, term)) WITH (fillfactor = 80)"
        )
        connection.execute(
            f"CREATE TABLE {CONVERSATION_LENGTHS}{NEXT} (place uuid PRIMARY KEY, "
            "number bigint GENERATED ALWAYS AS IDENTITY, "
            'scope text COLLATE "C" NOT NULL, length bigint NOT NULL, entries bigint NOT NULL)'
        )
        connection.execute(
            f"CREATE TABLE {CONVERSATION_TERMS}{NEXT} (conversation bigint NOT NULL, term integer NOT NULL, "
            "tf integer NOT NULL, PRIMARY KEY (conversation, term)) WITH (fillfactor = 80)"
        )


_ADD_UP = (
    f"INSERT INTO {TERMS}{NEXT} SELECT scope, field, term, sum(df) FROM {RAW_TERMS} GROUP BY 1, 2, 3 ORDER BY 1, 2, 3",
    f"""INSERT INTO {CONVERSATION_TERMS}{NEXT}
        SELECT conversation, term, sum(tf) FROM {RAW_CONVERSATION_TERMS} GROUP BY 1, 2 ORDER BY 1, 2""",
    f"""INSERT INTO {TERMS}{NEXT} SELECT s.number, {CONVERSATIONS}, w.term, count(*)
        FROM {CONVERSATION_TERMS}{NEXT} w JOIN {CONVERSATION_LENGTHS}{NEXT} c ON c.number = w.conversation
        JOIN {SCOPES}{NEXT} s ON s.scope = c.scope
        GROUP BY s.number, w.term ORDER BY s.number, w.term""",
    f"""UPDATE {SCOPES}{NEXT} s SET conversations = c.conversations, conversation_shortness = c.shortness
        FROM (SELECT scope, count(*) AS conversations,
                     sum({UNIT} / greatest(length, {LENGTH_FLOOR}))::bigint AS shortness
              FROM {CONVERSATION_LENGTHS}{NEXT} GROUP BY scope) c WHERE s.scope = c.scope""",
    f"DROP TABLE {RAW_TERMS}, {RAW_CONVERSATION_TERMS}",
)


def finish_next(connection: Connection, mode: str) -> str:
    """Add up the counts and create the indexes of the filled tables; returns the name of the BM25 index, if any."""
    with connection.transaction():
        for statement in _ADD_UP:
            connection.execute(statement)
    connection.execute(f"CREATE INDEX ON {TEXTS}{NEXT} (place, position, event_time, entry_id) WHERE place IS NOT NULL")
    connection.execute(f"CREATE INDEX ON {TEXTS}{NEXT} (scope)")
    bm25 = ""
    if mode == PG_SEARCH:
        bm25 = create_bm25(connection, TEXTS + NEXT)
    elif mode == TSVECTOR:
        connection.execute(f"CREATE INDEX ON {TEXTS}{NEXT} USING gin (terms)")
    for table in TABLES:
        connection.execute(f"ANALYZE {table}{NEXT}")
    return bm25


def create_bm25(connection: Connection, table: str) -> str:
    """Create a BM25 index of a table of texts and mark it as intact; returns its name."""
    segmented: dict[str, Any] = {"tokenizer": {"type": "whitespace", "lowercase": False}, "record": "freq"}
    exact: dict[str, Any] = {"tokenizer": {"type": "keyword"}, "record": "basic", "fieldnorms": False, "fast": False}
    fields = dict.fromkeys(_EXTRA[PG_SEARCH], segmented)
    fields |= dict.fromkeys(("scope", "thread", "category", "memory_type", "domains", "tags"), exact)
    name = f"text_bm25_{uuid4().hex[:12]}"
    qualified = f"{SCHEMA}.{name}"
    with connection.transaction():
        # Parallel builds of large indexes may fail (paradedb#5218).
        connection.execute("SET LOCAL max_parallel_maintenance_workers = 0")
        connection.execute(
            sql.SQL(
                "CREATE INDEX {} ON {} USING bm25 (entry_id, {}, event_time, {}) "
                "WITH (key_field = 'entry_id', text_fields = {}, mutable_segment_rows = {})"
            ).format(
                sql.Identifier(name),
                sql.Identifier(*table.split(".")),
                sql.SQL(", ").join(map(sql.Identifier, fields)),
                sql.Identifier(ID_HASH),
                sql.Literal(json.dumps(fields)),
                sql.Literal(_MUTABLE_SEGMENT_ROWS),
            )
        )
        connection.execute(f"INSERT INTO {INTACT} VALUES (:name)", {"name": qualified})
    return qualified


def rebuild_bm25(connection: Connection, bm25: str) -> None:
    """Replace a BM25 index that is not intact."""
    with connection.transaction():
        # Writers must not come in between; readers wait and then find the new index.
        connection.execute(f"LOCK TABLE {TEXTS} IN ACCESS EXCLUSIVE MODE")
        if bm25:
            connection.execute(f"DROP INDEX IF EXISTS {bm25}")
        connection.execute(f"DELETE FROM {INTACT}")
        connection.execute(f"UPDATE {STATE} SET bm25 = :name", {"name": create_bm25(connection, TEXTS)})


def swap(connection: Connection, state: State) -> None:
    """Replace the current generation by the next one, with its state, in the caller's transaction."""
    connection.execute(f"DROP TABLE IF EXISTS {', '.join((*TABLES, *_OBSOLETE))}")
    for table in TABLES:
        connection.execute(f"ALTER TABLE {table}{NEXT} RENAME TO {table.partition('.')[2]}")
    connection.execute(f"DELETE FROM {STATE}")
    connection.execute(f"DELETE FROM {INTACT} WHERE bm25 <> :name", {"name": state.bm25})
    connection.execute(
        f"INSERT INTO {STATE} (identity, mode, sequence, fingerprint, bm25) "
        "VALUES (:identity, :mode, :sequence, :fingerprint, :bm25)",
        [state.identity, state.mode, state.sequence, state.fingerprint, state.bm25],
    )


def set_log_position(connection: Connection, identity: str, log_position: LogPosition) -> None:
    """Write the log position, in the caller's transaction."""
    updated = connection.execute(
        f"UPDATE {STATE} SET sequence = :sequence, fingerprint = :fingerprint WHERE identity = :identity",
        {"sequence": log_position.sequence, "fingerprint": log_position.fingerprint, "identity": identity},
    )
    if not updated.rowcount:
        raise IndexDamagedError("the text index was removed while it was written")

"""The tables of `PostgresTextIndex`: what they are called, how they are made, and what state they are in.

They are derived, so they stand in a schema of their own that may be dropped at any moment. The next generation is built
beside the current one, in tables whose names end in `_next`, and takes its place in one transaction.

The BM25 index of pg_search before 0.24 is not written to the log of the server: after a crash it may have lost what was
committed, and then even inserting into it can fail. So its soundness hangs on a row of an unlogged table, which
PostgreSQL empties exactly when it recovers from a crash, on standby servers, and in restored backups. Without that row
nobody touches the BM25 index, writers included, until it has been made anew from its table, which is logged.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import psycopg
from psycopg import sql

from jiyi.backends.postgres.session import SCHEMA, Connection, make_schema
from jiyi.backends.shared.term_rows import CONVERSATIONS, UNIT
from jiyi.errors import IndexDamagedError
from jiyi.model.bm25 import LENGTH_FLOOR

STATE, ALIVE = f"{SCHEMA}.text_state", f"{SCHEMA}.text_alive"
TEXTS, SCOPES, TERMS = f"{SCHEMA}.texts", f"{SCHEMA}.text_scopes", f"{SCHEMA}.text_terms"
TALKS, TALK_TERMS = f"{SCHEMA}.text_talks", f"{SCHEMA}.text_talk_terms"
TABLES = (SCOPES, TEXTS, TERMS, TALKS, TALK_TERMS)
"""In the order in which a statement that reads several of them takes them: who replaces them takes them in the same
order, and so nobody holds one of them and waits for another that is held by somebody who waits for the first."""
NEXT = "_next"
RAW_TERMS, RAW_TALK_TERMS = f"{SCHEMA}.text_terms_raw", f"{SCHEMA}.text_talk_terms_raw"
"""Numbers of a generation that is being filled: added up at the end, which takes a part of the time of counters."""

PG_SEARCH, TSVECTOR = "pg_search", "tsvector"
"""Who proposes: the BM25 index of pg_search, our own BM25 over what a `tsvector` finds, or another engine."""

MISSING = (
    psycopg.errors.UndefinedTable,
    psycopg.errors.InvalidSchemaName,
    psycopg.errors.UndefinedColumn,
    psycopg.errors.UndefinedFunction,
    psycopg.errors.UndefinedObject,
)
"""What the server says when the tables, or the extension, were taken away."""

FEATURES = (
    "scope, thread, position, event_time, entry_id, hash, length, bigram_length, question_share, "
    "words, word_counts, bigrams, bigram_counts, counted, counted_bigrams"
)
"""The columns of `Features`, in its order."""
_EXTRA = {
    PG_SEARCH: ("word_text", "bigram_text", "label_text"),
    TSVECTOR: ("terms",),
}
_LOGGED_SINCE = (0, 24)
# So many of the last rows are searched one by one before they become a segment: more make writing cheaper and every
# question dearer.
_LOOSE_ROWS = 64


def columns(mode: str) -> tuple[str, ...]:
    """The columns of a text, in the order in which they are written."""
    return (*FEATURES.split(", "), "place", "category", "memory_type", "domains", "tags", *_EXTRA[mode])


@dataclass(frozen=True, slots=True)
class State:
    """What the tables are."""

    identity: str
    mode: str
    sequence: int
    fingerprint: str
    bm25: str
    """The BM25 index that belongs to them; empty where there is none."""
    trusted: bool
    """Whether that index can be asked and written."""
    extension: tuple[int, ...]
    """The version of pg_search in this database; empty where it is not installed."""


STATE_QUERY = (
    "SELECT s.identity, s.mode, s.sequence, s.fingerprint, s.bm25, to_regclass(s.bm25) IS NOT NULL, "
    f"EXISTS (SELECT FROM {ALIVE} a WHERE a.bm25 = s.bm25), "
    "(SELECT extversion FROM pg_extension WHERE extname = 'pg_search') "
    f"FROM {STATE} s WHERE num_nulls({', '.join(f'to_regclass({name!r})' for name in TABLES)}) = 0"
)
"""What `state_of` reads. It fails where there is no table of states."""


def state_of(rows: Sequence[Sequence[Any]]) -> State | None:
    """The state of the tables; `None` when they are not all there."""
    if not rows:
        return None
    identity, mode, sequence, fingerprint, bm25, there, alive, version = rows[0]
    extension = parse_version(version)
    trusted = mode != PG_SEARCH or (there and bool(extension) and (alive or extension >= _LOGGED_SINCE))
    return State(identity, mode, sequence, fingerprint, bm25, trusted, extension)


def parse_version(version: str | None) -> tuple[int, ...]:
    """`0.21.14` as numbers; nothing for nothing."""
    return tuple(int(part) for part in (version or "").split(".") if part.isdecimal())


def present(connection: Connection) -> bool:
    """Whether there is a table of states to be read."""
    row = connection.execute("SELECT num_nulls(to_regclass(%s), to_regclass(%s)) = 0", [STATE, ALIVE]).fetchone()
    return row is not None and bool(row[0])


def need_extension(connection: Connection) -> str:
    """Install pg_search where the server has it and the role may; what is in the way, in words, else nothing."""
    row = connection.execute(
        "SELECT installed_version FROM pg_available_extensions WHERE name = 'pg_search'"
    ).fetchone()
    if row is None:
        return "the server does not have the extension pg_search"
    if row[0] is None:
        try:
            connection.execute("CREATE EXTENSION IF NOT EXISTS pg_search")
        except psycopg.errors.UniqueViolation:
            pass  # Somebody else did, at the same time.
        except psycopg.OperationalError:
            raise
        except psycopg.Error as error:
            return f"the extension pg_search cannot be installed ({error.diag.message_primary})"
    return ""


def prepare(connection: Connection) -> None:
    """Make the schema and the table of states if they are missing."""
    with connection.transaction():
        make_schema(connection)
        connection.execute(
            f"CREATE TABLE IF NOT EXISTS {STATE} (single boolean PRIMARY KEY DEFAULT true CHECK (single), "
            "identity text NOT NULL, mode text NOT NULL, sequence bigint NOT NULL, fingerprint text NOT NULL, "
            "bm25 text NOT NULL)"
        )
        connection.execute(f"CREATE UNLOGGED TABLE IF NOT EXISTS {ALIVE} (bm25 text PRIMARY KEY)")


def create_next(connection: Connection, mode: str) -> None:
    """Make the empty tables of the next generation; what a run that broke off has left goes."""
    extra = {
        PG_SEARCH: ", word_text text NOT NULL, bigram_text text NOT NULL, label_text text NOT NULL",
        TSVECTOR: ", terms tsvector NOT NULL",
    }[mode]
    with connection.transaction():
        connection.execute(f"DROP TABLE IF EXISTS {', '.join(name + NEXT for name in TABLES)}")
        connection.execute(f"DROP TABLE IF EXISTS {RAW_TERMS}, {RAW_TALK_TERMS}")
        connection.execute(
            f"CREATE UNLOGGED TABLE {RAW_TERMS} (scope integer NOT NULL, field smallint NOT NULL, "
            "term integer NOT NULL, df integer NOT NULL)"
        )
        connection.execute(
            f"CREATE UNLOGGED TABLE {RAW_TALK_TERMS} (talk bigint NOT NULL, term integer NOT NULL, tf integer NOT NULL)"
        )
        connection.execute(
            f'CREATE TABLE {TEXTS}{NEXT} (scope text COLLATE "C" NOT NULL, thread text COLLATE "C" NOT NULL, '
            'position bigint NOT NULL, event_time bigint NOT NULL, entry_id text COLLATE "C" PRIMARY KEY, '
            "hash text NOT NULL, length integer NOT NULL, bigram_length integer NOT NULL, "
            "question_share double precision NOT NULL, words bytea NOT NULL, word_counts bytea NOT NULL, "
            "bigrams bytea NOT NULL, bigram_counts bytea NOT NULL, counted integer NOT NULL, "
            # Which thread: names can be longer than an index takes. None for who stands alone.
            "counted_bigrams integer NOT NULL, place uuid, "
            'category text COLLATE "C" NOT NULL, memory_type text COLLATE "C" NOT NULL, domains text[] NOT NULL, '
            f"tags text[] NOT NULL{extra})"
        )
        connection.execute(
            f'CREATE TABLE {SCOPES}{NEXT} (scope text COLLATE "C" PRIMARY KEY, '
            "number integer GENERATED ALWAYS AS IDENTITY, entries bigint NOT NULL, shortness bigint NOT NULL, "
            "bigram_shortness bigint NOT NULL, conversations bigint NOT NULL, conversation_shortness bigint NOT NULL)"
        )
        # Counters are written over and over: room in each page keeps their index as it is.
        connection.execute(
            f"CREATE TABLE {TERMS}{NEXT} (scope integer NOT NULL, field smallint NOT NULL, term integer NOT NULL, "
            "df integer NOT NULL, PRIMARY KEY (scope, field, term)) WITH (fillfactor = 80)"
        )
        connection.execute(
            f"CREATE TABLE {TALKS}{NEXT} (place uuid PRIMARY KEY, number bigint GENERATED ALWAYS AS IDENTITY, "
            'scope text COLLATE "C" NOT NULL, length bigint NOT NULL, entries bigint NOT NULL)'
        )
        connection.execute(
            f"CREATE TABLE {TALK_TERMS}{NEXT} (talk bigint NOT NULL, term integer NOT NULL, tf integer NOT NULL, "
            "PRIMARY KEY (talk, term)) WITH (fillfactor = 80)"
        )


_ADD_UP = (
    f"INSERT INTO {TERMS}{NEXT} SELECT scope, field, term, sum(df) FROM {RAW_TERMS} GROUP BY 1, 2, 3 ORDER BY 1, 2, 3",
    f"INSERT INTO {TALK_TERMS}{NEXT} SELECT talk, term, sum(tf) FROM {RAW_TALK_TERMS} GROUP BY 1, 2 ORDER BY 1, 2",
    f"""INSERT INTO {TERMS}{NEXT} SELECT s.number, {CONVERSATIONS}, w.term, count(*)
        FROM {TALK_TERMS}{NEXT} w JOIN {TALKS}{NEXT} t ON t.number = w.talk JOIN {SCOPES}{NEXT} s ON s.scope = t.scope
        GROUP BY s.number, w.term ORDER BY s.number, w.term""",
    f"""UPDATE {SCOPES}{NEXT} s SET conversations = t.talks, conversation_shortness = t.shortness
        FROM (SELECT scope, count(*) AS talks, sum({UNIT} / greatest(length, {LENGTH_FLOOR}))::bigint AS shortness
              FROM {TALKS}{NEXT} GROUP BY scope) t WHERE s.scope = t.scope""",
    f"DROP TABLE {RAW_TERMS}, {RAW_TALK_TERMS}",
)


def finish_next(connection: Connection, mode: str) -> str:
    """Add up the numbers and make the indexes of the filled tables; returns the name of the BM25 index, if any."""
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
    """Make a BM25 index of a table of texts, and say that it is sound; returns its name."""
    ours: dict[str, Any] = {"tokenizer": {"type": "whitespace", "lowercase": False}, "record": "freq"}
    exact: dict[str, Any] = {"tokenizer": {"type": "keyword"}, "record": "basic", "fieldnorms": False, "fast": False}
    fields = dict.fromkeys(_EXTRA[PG_SEARCH], ours)
    fields |= dict.fromkeys(("scope", "thread", "category", "memory_type", "domains", "tags"), exact)
    name = f"text_bm25_{uuid4().hex[:12]}"
    qualified = f"{SCHEMA}.{name}"
    with connection.transaction():
        # Parallel builds of large indexes have been seen to break off (paradedb#5218).
        connection.execute("SET LOCAL max_parallel_maintenance_workers = 0")
        connection.execute(
            sql.SQL(
                "CREATE INDEX {} ON {} USING bm25 (entry_id, {}, event_time) "
                "WITH (key_field = 'entry_id', text_fields = {}, mutable_segment_rows = {})"
            ).format(
                sql.Identifier(name),
                sql.Identifier(*table.split(".")),
                sql.SQL(", ").join(map(sql.Identifier, fields)),
                sql.Literal(json.dumps(fields)),
                sql.Literal(_LOOSE_ROWS),
            )
        )
        connection.execute(f"INSERT INTO {ALIVE} VALUES (%s)", [qualified])
    return qualified


def renew_bm25(connection: Connection, bm25: str) -> None:
    """Put a new BM25 index in the place of one that is not to be trusted."""
    with connection.transaction():
        # Nobody may write the table between the two; readers wait, and then find the new one.
        connection.execute(f"LOCK TABLE {TEXTS} IN ACCESS EXCLUSIVE MODE")
        if bm25:
            connection.execute(f"DROP INDEX IF EXISTS {bm25}")
        connection.execute(f"DELETE FROM {ALIVE}")
        connection.execute(f"UPDATE {STATE} SET bm25 = %s", [create_bm25(connection, TEXTS)])


def swap(connection: Connection, state: State) -> None:
    """Put the next generation in the place of the current one, with its state, in the caller's transaction."""
    connection.execute(f"DROP TABLE IF EXISTS {', '.join(TABLES)}")
    for table in TABLES:
        connection.execute(f"ALTER TABLE {table}{NEXT} RENAME TO {table.partition('.')[2]}")
    connection.execute(f"DELETE FROM {STATE}")
    connection.execute(f"DELETE FROM {ALIVE} WHERE bm25 <> %s", [state.bm25])
    connection.execute(
        f"INSERT INTO {STATE} (identity, mode, sequence, fingerprint, bm25) VALUES (%s, %s, %s, %s, %s)",
        [state.identity, state.mode, state.sequence, state.fingerprint, state.bm25],
    )


def set_mark(connection: Connection, identity: str, sequence: int, fingerprint: str) -> None:
    """Say how far the tables have come, in the caller's transaction."""
    moved = connection.execute(
        f"UPDATE {STATE} SET sequence = %s, fingerprint = %s WHERE identity = %s", [sequence, fingerprint, identity]
    )
    if not moved.rowcount:
        raise IndexDamagedError("the text index was removed while it was written")

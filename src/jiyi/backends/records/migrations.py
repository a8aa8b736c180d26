"""Versioned migrations: an old store is brought up to date, a newer one is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version as package_version

import sqlalchemy as sa

from jiyi.backends.records import schema
from jiyi.backends.records.versions import refuse_newer, version_of
from jiyi.model import clock
from jiyi.model.identity import new_id


@dataclass(frozen=True, slots=True)
class Migration:
    """One step from the version before. Applied once, inside the transaction that records it.

    A step must not use the tables of `schema`: they show the newest state, the step knows only its own.
    """

    version: int
    name: str
    apply: Callable[[sa.Connection], None]


def _first_version(_connection: sa.Connection) -> None:
    """Nothing to do: version 1 is the state in which the first stores were made."""


# As the engine writes it down for a new store, so that nothing tells an old store from a new one afterwards.
_CHAT = """
CREATE INDEX ix_conversation_history_prompts ON conversation_history (scope, session_id, replaced_at, position)
 WHERE role IN ('system', 'developer');
CREATE TABLE chat_epochs (
    scope TEXT NOT NULL, session_id TEXT NOT NULL, epoch INTEGER NOT NULL, first_position INTEGER NOT NULL,
    started_at TEXT, PRIMARY KEY (scope, session_id, epoch));
CREATE TABLE chat_summaries (
    id TEXT NOT NULL, scope TEXT NOT NULL, session_id TEXT NOT NULL, epoch INTEGER NOT NULL,
    generation INTEGER NOT NULL, first_position INTEGER NOT NULL, last_position INTEGER NOT NULL,
    first_message_id TEXT NOT NULL, last_message_id TEXT NOT NULL, previous_id TEXT, content TEXT NOT NULL,
    tokens INTEGER NOT NULL, made_by TEXT NOT NULL, created_at TEXT NOT NULL, replaced_at TEXT, PRIMARY KEY (id),
    CONSTRAINT uq_chat_summaries_generation UNIQUE (scope, session_id, epoch, generation));
CREATE TABLE chat_flushes (
    id TEXT NOT NULL, scope TEXT NOT NULL, session_id TEXT NOT NULL, epoch INTEGER NOT NULL, number INTEGER NOT NULL,
    first_position INTEGER NOT NULL, last_position INTEGER NOT NULL, "trigger" TEXT NOT NULL, made_by TEXT NOT NULL,
    created_at TEXT NOT NULL, replaced_at TEXT, PRIMARY KEY (id),
    CONSTRAINT uq_chat_flushes_number UNIQUE (scope, session_id, epoch, number));
CREATE TABLE flush_candidates (
    id TEXT NOT NULL, scope TEXT NOT NULL, session_id TEXT NOT NULL, epoch INTEGER NOT NULL, content TEXT NOT NULL,
    kind TEXT NOT NULL, confidence DOUBLE NOT NULL, domain TEXT, importance DOUBLE, first_message_id TEXT NOT NULL,
    last_message_id TEXT NOT NULL, first_position INTEGER NOT NULL, last_position INTEGER NOT NULL,
    made_by TEXT NOT NULL, state TEXT NOT NULL, state_at TEXT, taken_by TEXT, created_at TEXT NOT NULL,
    PRIMARY KEY (id));
CREATE INDEX ix_flush_candidates_session ON flush_candidates (scope, session_id, id);
CREATE INDEX ix_flush_candidates_state ON flush_candidates (scope, state, id);
CREATE TABLE chat_compactions (
    id TEXT NOT NULL, scope TEXT NOT NULL, session_id TEXT NOT NULL, epoch INTEGER NOT NULL, "trigger" TEXT NOT NULL,
    state TEXT NOT NULL, reason TEXT NOT NULL, attempt INTEGER NOT NULL, next_attempt_at TEXT,
    created_at TEXT NOT NULL, PRIMARY KEY (id));
CREATE INDEX ix_chat_compactions_session ON chat_compactions (scope, session_id, id);
"""


def _chat_room(connection: sa.Connection) -> None:
    """Epochs, summaries, flushes and candidates of conversations."""
    for statement in _CHAT.split(";"):
        if statement.strip():
            connection.exec_driver_sql(statement)


def _note_files(connection: sa.Connection) -> None:
    connection.exec_driver_sql(
        "CREATE TABLE note_files (workspace TEXT NOT NULL, scope TEXT NOT NULL, path TEXT NOT NULL, "
        "size BIGINT NOT NULL, modified BIGINT NOT NULL, changed BIGINT NOT NULL, inode BIGINT NOT NULL, "
        "digest TEXT NOT NULL, checked BIGINT NOT NULL, shared BOOLEAN NOT NULL, chunks INTEGER NOT NULL, "
        "encoding TEXT NOT NULL, problem TEXT NOT NULL, PRIMARY KEY (workspace, scope, path))"
    )


def _longterm(connection: sa.Connection) -> None:
    """Links between entries for corrections and reflections, and durable background work."""
    for column in ("superseded_by TEXT", "summarized_by TEXT", "more_domains TEXT NOT NULL DEFAULT ''"):
        connection.exec_driver_sql(f"ALTER TABLE memory_records ADD COLUMN {column}")
    for name, columns in (("longterm", "created_at"), ("kinds", "memory_type, summarized_by, created_at")):
        connection.exec_driver_sql(
            f"CREATE INDEX ix_memory_records_{name} ON memory_records (scope, {columns}) WHERE domain IS NOT NULL"
        )
    for column in ("summarized", "superseded"):
        connection.exec_driver_sql(
            f"CREATE INDEX ix_memory_records_{column} ON memory_records (scope, {column}_by) "
            f"WHERE {column}_by IS NOT NULL"
        )
    time = "TIMESTAMP WITH TIME ZONE" if connection.dialect.name == "postgresql" else "TEXT"
    number = (
        "INTEGER GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY"
        if connection.dialect.name == "postgresql"
        else "INTEGER PRIMARY KEY AUTOINCREMENT"
    )
    connection.exec_driver_sql(
        f"CREATE TABLE jobs (sequence {number} NOT NULL, id TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, "
        "scope TEXT NOT NULL, payload TEXT NOT NULL, state TEXT NOT NULL, attempt INTEGER NOT NULL, "
        f"not_before {time} NOT NULL, lease_until {time}, lease_by TEXT, reason TEXT NOT NULL, "
        f"created_at {time} NOT NULL, finished_at {time}, dedupe_key TEXT)"
    )
    connection.exec_driver_sql("CREATE INDEX ix_jobs_state ON jobs (state, scope, sequence)")
    connection.exec_driver_sql("CREATE INDEX ix_jobs_dedupe ON jobs (dedupe_key) WHERE dedupe_key IS NOT NULL")


def _runtime_room(connection: sa.Connection) -> None:
    """Scopes beside the tags of entries, and the tables of the runtime."""
    for statement in (
        """CREATE TABLE memory_tag_rel_new (
            memory_id TEXT NOT NULL,
            tag_id INTEGER NOT NULL,
            scope TEXT NOT NULL,
            PRIMARY KEY (memory_id, tag_id),
            FOREIGN KEY(memory_id) REFERENCES memory_records (id) ON DELETE CASCADE,
            FOREIGN KEY(tag_id) REFERENCES memory_tags (id)
        )""",
        """INSERT INTO memory_tag_rel_new (memory_id, tag_id, scope)
            SELECT r.memory_id, r.tag_id, m.scope FROM memory_tag_rel r JOIN memory_records m ON m.id = r.memory_id""",
        "DROP TABLE memory_tag_rel",
        "ALTER TABLE memory_tag_rel_new RENAME TO memory_tag_rel",
        "CREATE INDEX ix_memory_tag_rel_tag ON memory_tag_rel (tag_id, scope, memory_id)",
        """CREATE TABLE runtime_memories (
            memory_id TEXT NOT NULL PRIMARY KEY,
            scope TEXT NOT NULL,
            memory_type TEXT NOT NULL,
            useful INTEGER NOT NULL,
            missed INTEGER NOT NULL,
            decayed_at TEXT,
            FOREIGN KEY(memory_id) REFERENCES memory_records (id) ON DELETE CASCADE
        )""",
        "CREATE INDEX ix_runtime_memories_type ON runtime_memories (scope, memory_type, memory_id)",
        "CREATE INDEX ix_runtime_memories_scope ON runtime_memories (scope, memory_id)",
        """CREATE TABLE runtime_requests (
            scope TEXT NOT NULL,
            request_id TEXT NOT NULL,
            fingerprint TEXT NOT NULL,
            outcome TEXT NOT NULL,
            answered_at TEXT NOT NULL,
            PRIMARY KEY (scope, request_id)
        )""",
        "CREATE INDEX ix_runtime_requests_answered ON runtime_requests (answered_at)",
    ):
        connection.exec_driver_sql(statement)


def _fewer_pages(connection: sa.Connection) -> None:
    """Indexes hold only the rows that are looked for by them: a message touches two pages less."""
    partial = connection.dialect.name == "sqlite"
    for statement in (
        "DROP INDEX IF EXISTS ix_memory_records_active_strength",
        "CREATE INDEX ix_memory_records_inactive ON memory_records (scope, updated_at)"
        + (" WHERE is_active IS 0" if partial else ""),
        "DROP INDEX IF EXISTS ix_memory_changes_key",
        'CREATE INDEX ix_memory_changes_key ON memory_changes (scope, "key")'
        + (" WHERE key IS NOT NULL" if partial else ""),
    ):
        connection.exec_driver_sql(statement)


MIGRATIONS: tuple[Migration, ...] = (
    Migration(1, "first tables", _first_version),
    Migration(2, "the chat room", _chat_room),
    Migration(3, "note files", _note_files),
    Migration(4, "long-term memory and background work", _longterm),
    Migration(5, "the runtime: scopes of tags, how memories fared, requests", _runtime_room),
    Migration(6, "fewer pages for each message", _fewer_pages),
)


def current_version(connection: sa.Connection, where: str = "the database") -> int:
    """The schema version of the store; 0 for an empty database."""
    newest = sa.select(sa.func.max(schema.schema_migrations.c.version))
    tables = set(sa.inspect(connection).get_table_names())
    if connection.dialect.name == "postgresql":
        # A database of a server is often shared with other programs; their tables are no business of ours.
        tables &= set(schema.metadata.tables)
    return version_of(tables, lambda: connection.execute(newest).scalar(), where)


def _create(connection: sa.Connection) -> None:
    if connection.dialect.name == "postgresql":
        from jiyi.backends.postgres.schema import create_tables

        create_tables(connection)
    else:
        schema.metadata.create_all(connection)


def migrate(connection: sa.Connection, where: str) -> list[str]:
    """Apply what is missing, inside the caller's transaction; returns the names of the applied steps."""
    found = current_version(connection, where)
    refuse_newer(found, where)
    if found == 0:
        # A new store is made in the newest state at once; the steps are only for stores that exist.
        _create(connection)
        connection.execute(schema.store_meta.insert().values(name="store_id", value=new_id()))
    applied = []
    for migration in MIGRATIONS:
        if migration.version > found:
            if found:
                migration.apply(connection)
            connection.execute(
                schema.schema_migrations.insert().values(
                    version=migration.version,
                    name=migration.name,
                    applied_at=clock.utc_now(),
                    applied_by=package_version("jiyi"),
                )
            )
            applied.append(migration.name)
    return applied

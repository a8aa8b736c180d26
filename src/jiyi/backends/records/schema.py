"""The tables of the record store. What is here is truth; indexes live elsewhere."""

from __future__ import annotations

from typing import Final

from jiyi.backends.records.codec import COLUMNS
from jiyi.backends.records.tables import (
    BOOLEAN,
    INTEGER,
    LARGE,
    REAL,
    TEXT,
    TIME,
    Column,
    ForeignKey,
    Index,
    Table,
)

ACTIVE: Final = "is_active IS NOT FALSE"
"""The condition on active entries. Not `IS TRUE`: nearly all entries of all scopes are active, and SQLite must not walk
through an index of them."""
INACTIVE: Final = "is_active IS FALSE"
"""As the condition of the index says it: only then does the engine use that index."""
NOT_EXPIRED: Final = "(expires_at IS NULL OR expires_at > :alive_at)"
"""The condition on entries that have not expired at the moment `alive_at`."""
ARCHIVED_BY_EXPIRY: Final = f"{INACTIVE} AND expires_at IS NOT NULL AND updated_at >= expires_at"
"""The same as `MemoryEntry.archived_by_expiry`."""
HAS_METADATA: Final = "metadata != '{}'"
"""The condition on entries with metadata, as that of their index."""
SYSTEM_ROLES_SQL: Final = "role IN ('system', 'developer')"
"""The condition on system messages, as that of their index: the roles of `model.chat.SYSTEM_ROLES`."""

memory_records = Table(
    "memory_records",
    COLUMNS,
    primary_key=("id",),
    unique=(("scope", "key"),),
    # Every index is a page more that a write has to bring to disk: what only some entries need holds only those.
    indexes=(
        Index("ix_memory_records_scope_created", ("scope", "created_at")),
        Index("ix_memory_records_scope_event", ("scope", "event_time")),
        Index("ix_memory_records_inactive", ("scope", "updated_at"), INACTIVE),
        # Only entries of the long-term room have a domain.
        Index("ix_memory_records_longterm", ("scope", "created_at"), "domain IS NOT NULL"),
        Index("ix_memory_records_kinds", ("scope", "memory_type", "summarized_by", "created_at"), "domain IS NOT NULL"),
        Index("ix_memory_records_summarized", ("scope", "summarized_by"), "summarized_by IS NOT NULL"),
        Index("ix_memory_records_superseded", ("scope", "superseded_by"), "superseded_by IS NOT NULL"),
        Index(
            "ix_memory_records_conversation", ("scope", "conversation_id", "position"), "conversation_id IS NOT NULL"
        ),
        Index("ix_memory_records_namespace", ("scope", "namespace"), "namespace != ''"),
        Index("ix_memory_records_expires", ("expires_at",), "expires_at IS NOT NULL"),
        Index("ix_memory_records_metadata", ("metadata",), HAS_METADATA, gin="CAST(metadata AS jsonb) jsonb_path_ops"),
    ),
)

memory_tags = Table(
    "memory_tags",
    (Column("id", INTEGER), Column("name", TEXT)),
    primary_key=("id",),
    unique=(("name",),),
    numbered=True,
)

memory_tag_rel = Table(
    "memory_tag_rel",
    (
        Column("memory_id", TEXT),
        Column("tag_id", INTEGER),
        # The scope of the entry, which never changes: a tag that others use a million times costs a scope nothing.
        Column("scope", TEXT),
    ),
    primary_key=("memory_id", "tag_id"),
    indexes=(Index("ix_memory_tag_rel_tag", ("tag_id", "scope", "memory_id")),),
    foreign_keys=(ForeignKey("memory_id", "memory_records", "CASCADE"), ForeignKey("tag_id", "memory_tags")),
)

memory_changes = Table(
    "memory_changes",
    (
        Column("sequence", INTEGER),
        Column("entry_id", TEXT),
        Column("scope", TEXT),
        Column("key", TEXT, nullable=True),
        Column("version", INTEGER),
        Column("operation", TEXT),
        Column("changed_at", TIME),
        Column("changed_by", TEXT),
        Column("changed", TEXT),
        # The entry as it was before this change: a created entry costs no second copy of its text.
        Column("before", TEXT, nullable=True),
    ),
    primary_key=("sequence",),
    unique=(("entry_id", "version"),),
    indexes=(Index("ix_memory_changes_key", ("scope", "key"), "key IS NOT NULL"),),
    numbered=True,
)
"""The change log. It is the outbox as well: each index remembers the last sequence it has taken in."""

conversation_history = Table(
    "conversation_history",
    (
        Column("id", INTEGER),
        Column("scope", TEXT),
        Column("session_id", TEXT),
        Column("position", INTEGER),
        Column("message_id", TEXT),
        Column("role", TEXT),
        Column("content", TEXT),
        Column("created_at", TIME),
        # Rows that a later save replaced are kept, and marked.
        Column("replaced_at", TIME, nullable=True),
    ),
    primary_key=("id",),
    unique=(("message_id",),),
    indexes=(
        Index("ix_conversation_history_session", ("scope", "session_id", "position")),
        # System messages stay in a chat's window: found without reading what lies between them. With `replaced_at` the
        # engine sees that this index fits better than the one above; otherwise it takes whichever was made last.
        Index("ix_conversation_history_prompts", ("scope", "session_id", "replaced_at", "position"), SYSTEM_ROLES_SQL),
    ),
    numbered=True,
)

chat_epochs = Table(
    "chat_epochs",
    (
        Column("scope", TEXT),
        Column("session_id", TEXT),
        Column("epoch", INTEGER),
        Column("first_position", INTEGER),
        Column("started_at", TIME, nullable=True),
    ),
    primary_key=("scope", "session_id", "epoch"),
)
"""Where each reset of a session began anew. A session that was never reset has no row and is in epoch 1."""

chat_summaries = Table(
    "chat_summaries",
    (
        Column("id", TEXT),
        Column("scope", TEXT),
        Column("session_id", TEXT),
        Column("epoch", INTEGER),
        Column("generation", INTEGER),
        Column("first_position", INTEGER),
        Column("last_position", INTEGER),
        Column("first_message_id", TEXT),
        Column("last_message_id", TEXT),
        Column("previous_id", TEXT, nullable=True),
        Column("content", TEXT),
        Column("tokens", INTEGER),
        Column("made_by", TEXT),
        Column("created_at", TIME),
        Column("replaced_at", TIME, nullable=True),
    ),
    primary_key=("id",),
    # Of two compactions at once only one can take the next generation.
    unique=(("scope", "session_id", "epoch", "generation"),),
)
"""Summaries of conversations. The window begins after the newest summary that is not replaced."""

chat_flushes = Table(
    "chat_flushes",
    (
        Column("id", TEXT),
        Column("scope", TEXT),
        Column("session_id", TEXT),
        Column("epoch", INTEGER),
        Column("number", INTEGER),
        Column("first_position", INTEGER),
        Column("last_position", INTEGER),
        Column("trigger", TEXT),
        Column("made_by", TEXT),
        Column("created_at", TIME),
        Column("replaced_at", TIME, nullable=True),
    ),
    primary_key=("id",),
    unique=(("scope", "session_id", "epoch", "number"),),
)
"""Which messages were searched for candidates: none is searched twice."""

flush_candidates = Table(
    "flush_candidates",
    (
        Column("id", TEXT),
        Column("scope", TEXT),
        Column("session_id", TEXT),
        Column("epoch", INTEGER),
        Column("content", TEXT),
        Column("kind", TEXT),
        Column("confidence", REAL),
        Column("domain", TEXT, nullable=True),
        Column("importance", REAL, nullable=True),
        Column("first_message_id", TEXT),
        Column("last_message_id", TEXT),
        Column("first_position", INTEGER),
        Column("last_position", INTEGER),
        Column("made_by", TEXT),
        Column("state", TEXT),
        Column("state_at", TIME, nullable=True),
        Column("taken_by", TEXT, nullable=True),
        Column("created_at", TIME),
    ),
    primary_key=("id",),
    indexes=(
        Index("ix_flush_candidates_state", ("scope", "state", "id")),
        Index("ix_flush_candidates_session", ("scope", "session_id", "id")),
    ),
)
"""What flushes propose to keep, until another room takes or rejects it."""

chat_compactions = Table(
    "chat_compactions",
    (
        Column("id", TEXT),
        Column("scope", TEXT),
        Column("session_id", TEXT),
        Column("epoch", INTEGER),
        Column("trigger", TEXT),
        Column("state", TEXT),
        Column("reason", TEXT),
        Column("attempt", INTEGER),
        Column("next_attempt_at", TIME, nullable=True),
        Column("created_at", TIME),
    ),
    primary_key=("id",),
    indexes=(Index("ix_chat_compactions_session", ("scope", "session_id", "id")),),
)
"""Every attempt to compact a session, with its outcome and the time of the next one."""

note_files = Table(
    "note_files",
    (
        Column("workspace", TEXT),
        Column("scope", TEXT),
        Column("path", TEXT),
        Column("size", LARGE),
        Column("modified", LARGE),
        Column("changed", LARGE),
        Column("inode", LARGE),
        Column("digest", TEXT),
        Column("checked", LARGE),
        Column("shared", BOOLEAN),
        Column("chunks", INTEGER),
        Column("encoding", TEXT),
        Column("problem", TEXT),
    ),
    primary_key=("workspace", "scope", "path"),
)
"""What the note files looked like when they were last read. Derived: the files are the truth."""

jobs = Table(
    "jobs",
    (
        Column("sequence", INTEGER),
        Column("id", TEXT),
        Column("kind", TEXT),
        Column("scope", TEXT),
        # Ids of messages and entries, no copies of texts.
        Column("payload", TEXT),
        Column("state", TEXT),
        Column("attempt", INTEGER),
        Column("not_before", TIME),
        Column("lease_until", TIME, nullable=True),
        Column("lease_by", TEXT, nullable=True),
        Column("reason", TEXT),
        Column("created_at", TIME),
        Column("finished_at", TIME, nullable=True),
        Column("dedupe_key", TEXT, nullable=True),
    ),
    primary_key=("sequence",),
    unique=(("id",),),
    indexes=(
        Index("ix_jobs_state", ("state", "scope", "sequence")),
        Index("ix_jobs_dedupe", ("dedupe_key",), "dedupe_key IS NOT NULL"),
    ),
    numbered=True,
)
"""Durable background work."""

runtime_memories = Table(
    "runtime_memories",
    (
        Column("memory_id", TEXT),
        Column("scope", TEXT),
        Column("memory_type", TEXT),
        Column("useful", INTEGER),
        Column("missed", INTEGER),
        # Up to when the decay was computed; NULL when it never was.
        Column("decayed_at", TIME, nullable=True),
    ),
    primary_key=("memory_id",),
    indexes=(
        Index("ix_runtime_memories_type", ("scope", "memory_type", "memory_id")),
        Index("ix_runtime_memories_scope", ("scope", "memory_id")),
    ),
    foreign_keys=(ForeignKey("memory_id", "memory_records", "CASCADE"),),
)
"""The entries of the runtime, with how often each was useful, and recalled without being useful."""

memory_overlays = Table(
    "memory_overlays",
    (
        Column("scope", TEXT),
        Column("memory_id", TEXT),
        Column("strength", INTEGER),
        Column("useful", INTEGER),
        Column("missed", INTEGER),
        Column("access_count", INTEGER),
        Column("last_accessed_at", TIME, nullable=True),
        # The scope's own memory that stands in front of it.
        Column("superseded_by", TEXT, nullable=True),
    ),
    primary_key=("scope", "memory_id"),
    indexes=(Index("ix_memory_overlays_memory", ("memory_id",)),),
    foreign_keys=(ForeignKey("memory_id", "memory_records", "CASCADE"),),
)
"""How a private scope uses a public memory; only that scope sees it."""

runtime_requests = Table(
    "runtime_requests",
    (
        Column("scope", TEXT),
        Column("request_id", TEXT),
        Column("fingerprint", TEXT),
        # Ids only: no text of a memory is kept in a second place.
        Column("outcome", TEXT),
        Column("answered_at", TIME),
    ),
    primary_key=("scope", "request_id"),
    indexes=(Index("ix_runtime_requests_answered", ("answered_at",)),),
)
"""Requests that were done, so that the same one a second time changes nothing: feedback, and what a server creates."""

store_meta = Table("store_meta", (Column("name", TEXT), Column("value", TEXT)), primary_key=("name",))

schema_migrations = Table(
    "schema_migrations",
    (
        Column("version", INTEGER),
        Column("name", TEXT),
        Column("applied_at", TIME),
        Column("applied_by", TEXT),
    ),
    primary_key=("version",),
)

access_keys = Table(
    "access_keys",
    (
        Column("id", TEXT),
        Column("name", TEXT),
        Column("scope", TEXT),
        # Words with commas between them.
        Column("rights", TEXT),
        Column("kind", TEXT),
        Column("secret_hash", TEXT),
        Column("created_at", TIME),
        Column("expires_at", TIME, nullable=True),
        Column("last_used_at", TIME, nullable=True),
        Column("revoked_at", TIME, nullable=True),
    ),
    primary_key=("id",),
)
"""Who may use the server. Secrets are kept as hashes."""

access_log = Table(
    "access_log",
    (
        Column("sequence", INTEGER),
        Column("at", TIME),
        Column("key_id", TEXT),
        Column("scope", TEXT),
        Column("action", TEXT),
        Column("target", TEXT),
        Column("status", INTEGER),
    ),
    primary_key=("sequence",),
    indexes=(Index("ix_access_log_key", ("key_id", "sequence")),),
    numbered=True,
)
"""What was done through the server, without texts."""

CONTENTS: Final = (
    access_keys,
    access_log,
    chat_compactions,
    chat_epochs,
    chat_flushes,
    chat_summaries,
    conversation_history,
    flush_candidates,
    jobs,
    memory_changes,
    memory_records,
    memory_tags,
    note_files,
    runtime_requests,
    memory_tag_rel,
    runtime_memories,
    memory_overlays,
)
"""The tables that hold what was stored; a table follows those that it refers to."""
TABLES: Final = (*CONTENTS, store_meta, schema_migrations)

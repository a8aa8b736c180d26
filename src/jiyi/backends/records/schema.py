"""The tables of the record store. What is here is truth; indexes live elsewhere."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.types import TypeDecorator

from jiyi.model import clock


class UtcTime(TypeDecorator[datetime]):
    """UTC with microseconds: `timestamptz` in PostgreSQL, fixed-width ISO text in SQLite (text order is time order)."""

    impl = sa.Text
    cache_ok = True

    def load_dialect_impl(self, dialect: sa.Dialect) -> Any:
        """The column type of the engine."""
        if dialect.name == "postgresql":
            return dialect.type_descriptor(sa.DateTime(timezone=True))
        return dialect.type_descriptor(sa.Text())

    def bind_processor(self, dialect: sa.Dialect) -> Any:
        """Python to database. The layers that SQLAlchemy puts around a conversion take longer than the conversion."""
        return None if dialect.name == "postgresql" else _time_text

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> datetime | None:  # noqa: ARG002
        """Database to Python."""
        return clock.of_driver(value) if value is not None else None


def _time_text(value: datetime | None) -> str | None:
    return None if value is None else clock.to_text(value)


# Whole numbers have 64 bits everywhere. In SQLite any INTEGER has, and only one of that name counts up by itself.
WHOLE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

metadata = sa.MetaData()

memory_records = sa.Table(
    "memory_records",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("scope", sa.Text, nullable=False),
    sa.Column("key", sa.Text),
    sa.Column("content", sa.Text, nullable=False),
    sa.Column("reasoning", sa.Text, nullable=False),
    sa.Column("category", sa.Text, nullable=False),
    sa.Column("memory_type", sa.Text, nullable=False),
    sa.Column("domain", sa.Text),
    sa.Column("importance_score", sa.Double, nullable=False),
    sa.Column("strength", WHOLE, nullable=False),
    sa.Column("tags", sa.Text, nullable=False),
    sa.Column("conversation_id", sa.Text),
    sa.Column("position", WHOLE),
    sa.Column("source", sa.Text, nullable=False),
    sa.Column("occurred_at", UtcTime),
    sa.Column("event_time", UtcTime, nullable=False),
    sa.Column("created_at", UtcTime, nullable=False),
    sa.Column("updated_at", UtcTime, nullable=False),
    sa.Column("last_accessed_at", UtcTime, nullable=False),
    sa.Column("access_count", WHOLE, nullable=False),
    sa.Column("is_active", sa.Boolean, nullable=False),
    sa.Column("pinned", sa.Boolean, nullable=False),
    sa.Column("superseded_by", sa.Text),
    sa.Column("summarized_by", sa.Text),
    sa.Column("more_domains", sa.Text, nullable=False, server_default=""),
    sa.Column("version", WHOLE, nullable=False),
    sa.UniqueConstraint("scope", "key", name="uq_memory_records_scope_key"),
    sa.Index("ix_memory_records_scope_created", "scope", "created_at"),
    # Every index is a page more that a write has to bring to disk: what only some entries need holds only those.
    sa.Index("ix_memory_records_inactive", "scope", "updated_at", sqlite_where=sa.column("is_active").is_(sa.false())),
    # Only entries of the long-term room have a domain: other writes do not pay for these.
    sa.Index("ix_memory_records_longterm", "scope", "created_at", sqlite_where=sa.text("domain IS NOT NULL")),
    sa.Index(
        "ix_memory_records_kinds",
        "scope",
        "memory_type",
        "summarized_by",
        "created_at",
        sqlite_where=sa.text("domain IS NOT NULL"),
    ),
    sa.Index("ix_memory_records_scope_event", "scope", "event_time"),
    sa.Index(
        "ix_memory_records_summarized",
        "scope",
        "summarized_by",
        sqlite_where=sa.text("summarized_by IS NOT NULL"),
    ),
    sa.Index(
        "ix_memory_records_superseded",
        "scope",
        "superseded_by",
        sqlite_where=sa.text("superseded_by IS NOT NULL"),
    ),
    sa.Index(
        "ix_memory_records_conversation",
        "scope",
        "conversation_id",
        "position",
        # An option of another dialect here would load that dialect at every start.
        sqlite_where=sa.text("conversation_id IS NOT NULL"),
    ),
)

memory_tags = sa.Table(
    "memory_tags",
    metadata,
    sa.Column("id", WHOLE, primary_key=True, autoincrement=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sqlite_autoincrement=True,
)

memory_tag_rel = sa.Table(
    "memory_tag_rel",
    metadata,
    sa.Column("memory_id", sa.Text, sa.ForeignKey("memory_records.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("tag_id", WHOLE, sa.ForeignKey("memory_tags.id"), primary_key=True),
    # The scope of the entry, which never changes: a tag that others use a million times costs a scope nothing.
    sa.Column("scope", sa.Text, nullable=False),
    sa.Index("ix_memory_tag_rel_tag", "tag_id", "scope", "memory_id"),
)

memory_changes = sa.Table(
    "memory_changes",
    metadata,
    sa.Column("sequence", WHOLE, primary_key=True, autoincrement=True),
    sa.Column("entry_id", sa.Text, nullable=False),
    sa.Column("scope", sa.Text, nullable=False),
    sa.Column("key", sa.Text),
    sa.Column("version", WHOLE, nullable=False),
    sa.Column("operation", sa.Text, nullable=False),
    sa.Column("changed_at", UtcTime, nullable=False),
    sa.Column("changed_by", sa.Text, nullable=False),
    sa.Column("changed", sa.Text, nullable=False),
    # The entry as it was before this change: a created entry costs no second copy of its text.
    sa.Column("before", sa.Text),
    sa.UniqueConstraint("entry_id", "version", name="uq_memory_changes_entry_version"),
    sa.Index("ix_memory_changes_key", "scope", "key", sqlite_where=sa.text("key IS NOT NULL")),
    sqlite_autoincrement=True,
)
"""The change log. It is the outbox as well: each index remembers the last sequence it has taken in."""

conversation_history = sa.Table(
    "conversation_history",
    metadata,
    sa.Column("id", WHOLE, primary_key=True, autoincrement=True),
    sa.Column("scope", sa.Text, nullable=False),
    sa.Column("session_id", sa.Text, nullable=False),
    sa.Column("position", WHOLE, nullable=False),
    sa.Column("message_id", sa.Text, nullable=False, unique=True),
    sa.Column("role", sa.Text, nullable=False),
    sa.Column("content", sa.Text, nullable=False),
    sa.Column("created_at", UtcTime, nullable=False),
    # Rows that a later save replaced are kept, out of the way.
    sa.Column("replaced_at", UtcTime),
    sa.Index("ix_conversation_history_session", "scope", "session_id", "position"),
    # Prompts stay in a chat's window: they are found without reading what lies between them. With `replaced_at` the
    # engine sees that this index fits better than the one above; otherwise it takes whichever was made last.
    sa.Index(
        "ix_conversation_history_prompts",
        "scope",
        "session_id",
        "replaced_at",
        "position",
        sqlite_where=sa.text("role IN ('system', 'developer')"),
    ),
    sqlite_autoincrement=True,
)

chat_epochs = sa.Table(
    "chat_epochs",
    metadata,
    sa.Column("scope", sa.Text, primary_key=True),
    sa.Column("session_id", sa.Text, primary_key=True),
    sa.Column("epoch", WHOLE, primary_key=True, autoincrement=False),
    sa.Column("first_position", WHOLE, nullable=False),
    sa.Column("started_at", UtcTime),
)
"""Where each reset of a session began anew. A session that was never reset has no row and is in epoch 1."""

chat_summaries = sa.Table(
    "chat_summaries",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("scope", sa.Text, nullable=False),
    sa.Column("session_id", sa.Text, nullable=False),
    sa.Column("epoch", WHOLE, nullable=False),
    sa.Column("generation", WHOLE, nullable=False),
    sa.Column("first_position", WHOLE, nullable=False),
    sa.Column("last_position", WHOLE, nullable=False),
    sa.Column("first_message_id", sa.Text, nullable=False),
    sa.Column("last_message_id", sa.Text, nullable=False),
    sa.Column("previous_id", sa.Text),
    sa.Column("content", sa.Text, nullable=False),
    sa.Column("tokens", WHOLE, nullable=False),
    sa.Column("made_by", sa.Text, nullable=False),
    sa.Column("created_at", UtcTime, nullable=False),
    sa.Column("replaced_at", UtcTime),
    # Of two compactions at once only one can take the next generation.
    sa.UniqueConstraint("scope", "session_id", "epoch", "generation", name="uq_chat_summaries_generation"),
)
"""Summaries of conversations. The newest one that is not replaced is the pointer: what follows it is the window."""

chat_flushes = sa.Table(
    "chat_flushes",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("scope", sa.Text, nullable=False),
    sa.Column("session_id", sa.Text, nullable=False),
    sa.Column("epoch", WHOLE, nullable=False),
    sa.Column("number", WHOLE, nullable=False),
    sa.Column("first_position", WHOLE, nullable=False),
    sa.Column("last_position", WHOLE, nullable=False),
    sa.Column("trigger", sa.Text, nullable=False),
    sa.Column("made_by", sa.Text, nullable=False),
    sa.Column("created_at", UtcTime, nullable=False),
    sa.Column("replaced_at", UtcTime),
    sa.UniqueConstraint("scope", "session_id", "epoch", "number", name="uq_chat_flushes_number"),
)
"""Which messages were looked through for what is worth keeping: none is twice."""

flush_candidates = sa.Table(
    "flush_candidates",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("scope", sa.Text, nullable=False),
    sa.Column("session_id", sa.Text, nullable=False),
    sa.Column("epoch", WHOLE, nullable=False),
    sa.Column("content", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("confidence", sa.Double, nullable=False),
    sa.Column("domain", sa.Text),
    sa.Column("importance", sa.Double),
    sa.Column("first_message_id", sa.Text, nullable=False),
    sa.Column("last_message_id", sa.Text, nullable=False),
    sa.Column("first_position", WHOLE, nullable=False),
    sa.Column("last_position", WHOLE, nullable=False),
    sa.Column("made_by", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("state_at", UtcTime),
    sa.Column("taken_by", sa.Text),
    sa.Column("created_at", UtcTime, nullable=False),
    sa.Index("ix_flush_candidates_state", "scope", "state", "id"),
    sa.Index("ix_flush_candidates_session", "scope", "session_id", "id"),
)
"""What flushes propose to keep, until another room takes or rejects it."""

chat_compactions = sa.Table(
    "chat_compactions",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("scope", sa.Text, nullable=False),
    sa.Column("session_id", sa.Text, nullable=False),
    sa.Column("epoch", WHOLE, nullable=False),
    sa.Column("trigger", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("attempt", WHOLE, nullable=False),
    sa.Column("next_attempt_at", UtcTime),
    sa.Column("created_at", UtcTime, nullable=False),
    sa.Index("ix_chat_compactions_session", "scope", "session_id", "id"),
)
"""Every try to compact a session, so that trouble is seen and retries keep their distance."""

note_files = sa.Table(
    "note_files",
    metadata,
    sa.Column("workspace", sa.Text, primary_key=True),
    sa.Column("scope", sa.Text, primary_key=True),
    sa.Column("path", sa.Text, primary_key=True),
    sa.Column("size", sa.BigInteger, nullable=False),
    sa.Column("modified", sa.BigInteger, nullable=False),
    sa.Column("changed", sa.BigInteger, nullable=False),
    sa.Column("inode", sa.BigInteger, nullable=False),
    sa.Column("digest", sa.Text, nullable=False),
    sa.Column("checked", sa.BigInteger, nullable=False),
    sa.Column("shared", sa.Boolean, nullable=False),
    sa.Column("chunks", WHOLE, nullable=False),
    sa.Column("encoding", sa.Text, nullable=False),
    sa.Column("problem", sa.Text, nullable=False),
)
"""What the note files looked like when they were last read. Derived: the files are the truth."""

jobs = sa.Table(
    "jobs",
    metadata,
    sa.Column("sequence", WHOLE, primary_key=True, autoincrement=True),
    sa.Column("id", sa.Text, nullable=False, unique=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("scope", sa.Text, nullable=False),
    # What it is about, by reference: ids of messages and entries, no copies of texts.
    sa.Column("payload", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("attempt", WHOLE, nullable=False),
    sa.Column("not_before", UtcTime, nullable=False),
    sa.Column("lease_until", UtcTime),
    sa.Column("lease_by", sa.Text),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("created_at", UtcTime, nullable=False),
    sa.Column("finished_at", UtcTime),
    sa.Column("dedupe_key", sa.Text),
    sa.Index("ix_jobs_state", "state", "scope", "sequence"),
    sa.Index("ix_jobs_dedupe", "dedupe_key", sqlite_where=sa.text("dedupe_key IS NOT NULL")),
    sqlite_autoincrement=True,
)
"""Durable background work."""

runtime_memories = sa.Table(
    "runtime_memories",
    metadata,
    sa.Column("memory_id", sa.Text, sa.ForeignKey("memory_records.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("scope", sa.Text, nullable=False),
    sa.Column("memory_type", sa.Text, nullable=False),
    sa.Column("useful", WHOLE, nullable=False),
    sa.Column("missed", WHOLE, nullable=False),
    # Up to when fading was reckoned; nothing when it never was.
    sa.Column("decayed_at", UtcTime),
    sa.Index("ix_runtime_memories_type", "scope", "memory_type", "memory_id"),
    sa.Index("ix_runtime_memories_scope", "scope", "memory_id"),
)
"""The entries that the runtime looks after, and how they have fared: found useful, or recalled for nothing."""

runtime_requests = sa.Table(
    "runtime_requests",
    metadata,
    sa.Column("scope", sa.Text, primary_key=True),
    sa.Column("request_id", sa.Text, primary_key=True),
    sa.Column("fingerprint", sa.Text, nullable=False),
    # Ids only: no text of a memory is kept in a second place.
    sa.Column("outcome", sa.Text, nullable=False),
    sa.Column("answered_at", UtcTime, nullable=False),
    sa.Index("ix_runtime_requests_answered", "answered_at"),
)
"""Feedback that was taken in, so that the same request a second time changes nothing."""

store_meta = sa.Table(
    "store_meta",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)

schema_migrations = sa.Table(
    "schema_migrations",
    metadata,
    sa.Column("version", WHOLE, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("applied_at", UtcTime, nullable=False),
    sa.Column("applied_by", sa.Text, nullable=False),
)

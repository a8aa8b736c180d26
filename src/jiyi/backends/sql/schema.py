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

    def process_bind_param(self, value: datetime | None, dialect: sa.Dialect) -> Any:
        """Python to database."""
        if value is None or dialect.name == "postgresql":
            return value
        return clock.to_text(value)

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> datetime | None:  # noqa: ARG002
        """Database to Python."""
        return clock.from_text(value) if isinstance(value, str) else value


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
    sa.Column("strength", sa.Integer, nullable=False),
    sa.Column("tags", sa.Text, nullable=False),
    sa.Column("conversation_id", sa.Text),
    sa.Column("position", sa.Integer),
    sa.Column("source", sa.Text, nullable=False),
    sa.Column("occurred_at", UtcTime),
    sa.Column("event_time", UtcTime, nullable=False),
    sa.Column("created_at", UtcTime, nullable=False),
    sa.Column("updated_at", UtcTime, nullable=False),
    sa.Column("last_accessed_at", UtcTime, nullable=False),
    sa.Column("access_count", sa.Integer, nullable=False),
    sa.Column("is_active", sa.Boolean, nullable=False),
    sa.Column("pinned", sa.Boolean, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.UniqueConstraint("scope", "key", name="uq_memory_records_scope_key"),
    sa.Index("ix_memory_records_scope_created", "scope", "created_at"),
    sa.Index("ix_memory_records_active_strength", "is_active", "strength"),
    sa.Index("ix_memory_records_scope_event", "scope", "event_time"),
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
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sqlite_autoincrement=True,
)

memory_tag_rel = sa.Table(
    "memory_tag_rel",
    metadata,
    sa.Column("memory_id", sa.Text, sa.ForeignKey("memory_records.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("tag_id", sa.Integer, sa.ForeignKey("memory_tags.id"), primary_key=True),
    # The scope of the entry, which never changes: a tag that others use a million times costs a scope nothing.
    sa.Column("scope", sa.Text, nullable=False),
    sa.Index("ix_memory_tag_rel_tag", "tag_id", "scope", "memory_id"),
)

memory_changes = sa.Table(
    "memory_changes",
    metadata,
    sa.Column("sequence", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("entry_id", sa.Text, nullable=False),
    sa.Column("scope", sa.Text, nullable=False),
    sa.Column("key", sa.Text),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("operation", sa.Text, nullable=False),
    sa.Column("changed_at", UtcTime, nullable=False),
    sa.Column("changed_by", sa.Text, nullable=False),
    sa.Column("changed", sa.Text, nullable=False),
    # The entry as it was before this change: a created entry costs no second copy of its text.
    sa.Column("before", sa.Text),
    sa.UniqueConstraint("entry_id", "version", name="uq_memory_changes_entry_version"),
    sa.Index("ix_memory_changes_key", "scope", "key"),
    sqlite_autoincrement=True,
)
"""The change log. It is the outbox as well: each index remembers the last sequence it has taken in."""

conversation_history = sa.Table(
    "conversation_history",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("scope", sa.Text, nullable=False),
    sa.Column("session_id", sa.Text, nullable=False),
    sa.Column("position", sa.Integer, nullable=False),
    sa.Column("message_id", sa.Text, nullable=False, unique=True),
    sa.Column("role", sa.Text, nullable=False),
    sa.Column("content", sa.Text, nullable=False),
    sa.Column("created_at", UtcTime, nullable=False),
    # Rows that a later save replaced are kept, out of the way.
    sa.Column("replaced_at", UtcTime),
    sa.Index("ix_conversation_history_session", "scope", "session_id", "position"),
    sqlite_autoincrement=True,
)

runtime_memories = sa.Table(
    "runtime_memories",
    metadata,
    sa.Column("memory_id", sa.Text, sa.ForeignKey("memory_records.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("scope", sa.Text, nullable=False),
    sa.Column("memory_type", sa.Text, nullable=False),
    sa.Column("useful", sa.Integer, nullable=False),
    sa.Column("missed", sa.Integer, nullable=False),
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
    sa.Column("version", sa.Integer, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("applied_at", UtcTime, nullable=False),
    sa.Column("applied_by", sa.Text, nullable=False),
)

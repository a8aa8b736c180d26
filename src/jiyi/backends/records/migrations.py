"""Schema versions: a new store is created as `schema` describes it, an older one is brought to the same state.

An upgrade compares the database with `schema` and adds the tables, columns and indexes that are missing. A migration
needs code of its own only for what cannot be added: values to be computed, or a table to be rebuilt. So the first
release opens every store that a development version before it has made.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version as package_version
from typing import Final, TypeAlias

from jiyi.backends.records import metadata_index
from jiyi.backends.records.meta import set_meta
from jiyi.backends.records.schema import TABLES, memory_tag_rel, schema_migrations
from jiyi.backends.records.sql import Connection
from jiyi.backends.records.tables import Index, Table
from jiyi.backends.records.versions import refuse_newer, version_of
from jiyi.model import clock
from jiyi.model.identity import new_id

Created: TypeAlias = Callable[[Connection, Table], None]


@dataclass(frozen=True, slots=True)
class Migration:
    """One step from the version before. Applied once, inside the transaction that records it.

    `prepare` runs before missing tables, columns and indexes are added. It looks at what the database has, and changes
    nothing in a store that needs nothing.
    """

    version: int
    name: str
    prepare: Callable[[Connection], None] | None = None
    finish: Callable[[Connection], None] | None = None
    """Runs after they were added."""


def _add_scopes_of_tags(connection: Connection) -> None:
    """Rebuild `memory_tag_rel` with the scope of each entry, where it has none."""
    if "scope" in _columns_of(connection, memory_tag_rel.name):
        return
    for statement in (
        (
            "CREATE TABLE memory_tag_rel_new AS SELECT r.memory_id, r.tag_id, m.scope "
            "FROM memory_tag_rel r JOIN memory_records m ON m.id = r.memory_id"
        ),
        "DROP TABLE memory_tag_rel",
        *memory_tag_rel.create(connection.dialect),
        "INSERT INTO memory_tag_rel (memory_id, tag_id, scope) SELECT memory_id, tag_id, scope FROM memory_tag_rel_new",
        "DROP TABLE memory_tag_rel_new",
    ):
        connection.execute(statement)


def _return_public_memories(connection: Connection) -> None:
    """Earlier versions let a private scope merge public memories away for everybody."""
    from jiyi.backends.records.overlay_migration import return_public_memories

    return_public_memories(connection)


# No version before 12 was released, so one step brings all of them to the schema of the first release.
MIGRATIONS: tuple[Migration, ...] = (
    Migration(12, "the schema of the first release", _add_scopes_of_tags, _return_public_memories),
)
_OUTDATED: Final = ("ix_memory_records_active_strength",)
"""Indexes that earlier versions had."""


def current_version(connection: Connection, where: str = "the database") -> int:
    """The schema version of the store; 0 for an empty database."""
    tables = _tables_in(connection)
    if connection.dialect == "postgresql":
        # The database of a server is often shared with other programs; their tables do not matter.
        tables &= {table.name for table in TABLES}
    return version_of(tables, lambda: connection.scalar("SELECT max(version) FROM schema_migrations"), where)


def migrate(connection: Connection, where: str, created: Created = lambda _connection, _table: None) -> list[str]:
    """Apply what is missing, inside the caller's transaction; returns the names of the applied steps.

    `created` is called for every new table.
    """
    found = current_version(connection, where)
    refuse_newer(found, where)
    if found == 0:
        for table in TABLES:
            _create(connection, table, created)
        set_meta(connection, "store_id", new_id())
    applied = []
    for migration in MIGRATIONS:
        if migration.version <= found:
            continue
        if found and migration.prepare is not None:
            migration.prepare(connection)
        row = {
            "version": migration.version,
            "name": migration.name,
            "applied_at": clock.utc_now(),
            "applied_by": package_version("jiyi"),
        }
        connection.execute(schema_migrations.insert, row)
        applied.append(migration.name)
    if found and applied:
        _add_missing(connection, created)
        for migration in MIGRATIONS:
            if migration.version > found and migration.finish is not None:
                migration.finish(connection)
    if applied:
        metadata_index.create(connection)
    return applied


def _add_missing(connection: Connection, created: Created) -> None:
    """Add the tables, columns and indexes that `schema` has and the database has not."""
    for name in _OUTDATED:
        connection.execute(f"DROP INDEX IF EXISTS {name}")
    tables = _tables_in(connection)
    for table in TABLES:
        if table.name not in tables:
            _create(connection, table, created)
            continue
        columns = _columns_of(connection, table.name)
        for column in table.columns:
            if column.name not in columns:
                connection.execute(f"ALTER TABLE {table.name} ADD COLUMN {column.definition(connection.dialect)}")
        indexes = _indexes_of(connection, table.name)
        for index in table.indexes_in(connection.dialect):
            if index.name in indexes and not _same(index, indexes[index.name]):
                connection.execute(f"DROP INDEX {index.name}")
            elif index.name in indexes:
                continue
            connection.execute(table.create_index(index))


def _create(connection: Connection, table: Table, created: Created) -> None:
    for statement in table.create(connection.dialect):
        connection.execute(statement)
    created(connection, table)


# --- what the database has ------------------------------------------------------------------------------------------

_DEFINITION = re.compile(r"\((?P<columns>[^()]*)\)(?:\s+WHERE\s+(?P<where>.*))?$", re.IGNORECASE | re.DOTALL)


def _tables_in(connection: Connection) -> set[str]:
    if connection.dialect == "sqlite":
        return set(
            connection.column("SELECT name FROM sqlite_master WHERE type = 'table' AND substr(name, 1, 7) != 'sqlite_'")
        )
    return set(connection.column("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"))


def _columns_of(connection: Connection, table: str) -> set[str]:
    if connection.dialect == "sqlite":
        return set(connection.column("SELECT name FROM pragma_table_info(:name)", {"name": table}))
    names = (
        "SELECT column_name FROM information_schema.columns "
        "WHERE table_schema = current_schema() AND table_name = :name"
    )
    return set(connection.column(names, {"name": table}))


def _indexes_of(connection: Connection, table: str) -> dict[str, str]:
    """The indexes of a table that were made by name, each with its definition."""
    if connection.dialect == "sqlite":
        sql = "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = :name AND sql IS NOT NULL"
    else:
        sql = "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = current_schema() AND tablename = :name"
    return dict(connection.rows(sql, {"name": table}))


def _same(index: Index, definition: str) -> bool:
    """Whether an index of the database has the same columns, and a condition exactly when it should have one.

    A condition is compared as text where the engine keeps the text. PostgreSQL writes it in its own words.
    """
    if index.gin is not None:
        return " USING gin " in definition
    found = _DEFINITION.search(definition)
    if found is None:
        return False
    columns = tuple(name.strip().strip('"') for name in found["columns"].split(","))
    where = found["where"]
    if columns != index.columns or (where is None) != (index.where is None):
        return False
    return " USING " in definition or where is None or " ".join(where.split()) == index.where

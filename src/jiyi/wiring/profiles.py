"""The engines of each profile: which database keeps the records, which indexes follow it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jiyi.errors import MissingDependencyError
from jiyi.model.address import EMBEDDED

if TYPE_CHECKING:
    from jiyi.backends.sql.records import Database
    from jiyi.config import Settings

DATABASE_FILE: Final = "memory.db"


def open_database(settings: Settings) -> Database:
    """The database of the records, opened, made if there was none, and brought up to date."""
    if settings.storage == EMBEDDED:
        from jiyi.backends.sql.sqlite import SqliteDatabase

        return SqliteDatabase(settings.path / DATABASE_FILE, busy_timeout=settings.busy_timeout)
    try:
        from jiyi.backends.sql.postgres import PostgresDatabase
    except ImportError as error:
        raise _missing("psycopg", "postgres", "storage is PostgreSQL") from error
    return PostgresDatabase(
        settings.storage,
        pool_size=settings.pool_size,
        lock_timeout=settings.busy_timeout,
        statement_timeout=settings.statement_timeout,
    )


def _missing(package: str, extra: str, because: str) -> MissingDependencyError:
    return MissingDependencyError(
        f"{because}, which needs the package {package}; install it with: pip install 'jiyi[{extra}]'"
    )

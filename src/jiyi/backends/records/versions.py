"""Which schema version a store has: an older one is upgraded, a newer one is refused.

Apart from the migrations: a store that is up to date is opened without them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final

from jiyi.errors import StoreDamagedError, StoreTooNewError

NEWEST: Final = 12
"""The version of the last migration; new stores are created in this state."""
_TABLES: Final = frozenset({"schema_migrations", "store_meta"})


def version_of(tables: Collection[str], last_applied: Callable[[], int | None], where: str) -> int:
    """The version of a store with these tables; 0 for an empty database."""
    if _TABLES.issubset(tables):
        version = last_applied()
        if version is None and "memory_records" in tables:
            raise StoreDamagedError(
                f"{where} has lost the version of its schema (schema_migrations is empty): something has emptied that "
                "table; restore the database from a backup or an export"
            )
        return version or 0
    if tables:
        raise StoreDamagedError(
            f"{where} holds tables ({', '.join(sorted(tables)[:5])}) but is not a jiyi store; "
            "point jiyi at an empty place or at one it has made"
        )
    return 0


def refuse_newer(found: int, where: str) -> None:
    """Refuse a store that this version of jiyi does not know."""
    if found > NEWEST:
        from importlib.metadata import version

        raise StoreTooNewError(
            f"{where} has schema version {found}, and jiyi {version('jiyi')} knows versions up to {NEWEST}; "
            "upgrade jiyi (nothing was changed)"
        )

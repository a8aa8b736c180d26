"""Which version a store has: an old one is brought up to date, a newer one is refused.

Apart from the migrations, which need SQLAlchemy: a store that is up to date is opened without it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from jiyi.errors import StoreDamagedError, StoreTooNewError

NEWEST = 6
"""The version of the last migration; the state in which new stores are made."""
_TABLES = frozenset({"schema_migrations", "store_meta"})


def version_of(tables: Collection[str], last_applied: Callable[[], int | None], where: str) -> int:
    """The version of a store with these tables; 0 for an empty database."""
    if _TABLES.issubset(tables):
        return last_applied() or 0
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

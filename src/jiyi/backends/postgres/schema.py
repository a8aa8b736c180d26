"""Row-level security: the policies of the tables that have a scope. They read the scopes of the transaction."""

from __future__ import annotations

from typing import Final

from jiyi.backends.records.schema import TABLES
from jiyi.backends.records.sql import Connection
from jiyi.backends.records.tables import Table
from jiyi.model.scope import PUBLIC

WHOLE_STORE: Final = "jiyi.whole_store"
SCOPES: Final = "jiyi.scopes"
# As a subquery each is evaluated once for a statement and not once for a row.
_WHOLE: Final = f"(SELECT current_setting('{WHOLE_STORE}', true) = 'on')"
_LISTED: Final = f"(SELECT nullif(current_setting('{SCOPES}', true), ''))"
_OWN: Final = f"{_WHOLE} OR scope = ANY ({_LISTED}::text[])"
_VISIBLE: Final = f"{_OWN} OR (scope = '{PUBLIC}' AND {_LISTED} IS NOT NULL)"


def tables_with_policies() -> list[str]:
    """Tables whose rows belong to a scope."""
    return [table.name for table in TABLES if "scope" in table.names]


def add_policies(connection: Connection, table: Table) -> None:
    """Let a transaction see the rows of its scopes and of `public`, and change those of its scopes.

    It holds for the owner too, and for every role without BYPASSRLS. A transaction that has named no scopes sees
    nothing. Tables without scopes stay as they are.
    """
    if "scope" not in table.names:
        return
    for statement in (
        f"ALTER TABLE {table.name} ENABLE ROW LEVEL SECURITY",
        f"ALTER TABLE {table.name} FORCE ROW LEVEL SECURITY",
        f"CREATE POLICY jiyi_see ON {table.name} FOR SELECT USING ({_VISIBLE})",
        f"CREATE POLICY jiyi_add ON {table.name} FOR INSERT WITH CHECK ({_OWN})",
        f"CREATE POLICY jiyi_change ON {table.name} FOR UPDATE USING ({_OWN}) WITH CHECK ({_OWN})",
        f"CREATE POLICY jiyi_remove ON {table.name} FOR DELETE USING ({_OWN})",
    ):
        connection.execute(statement)

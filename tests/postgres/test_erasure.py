"""An erased scope leaves nothing in any table of the database."""

from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from jiyi.sync import AgentMemory
from tests.servers.fixtures import NewDatabase
from tests.support import QUICK
from tests.test_scopes import CANARY, GERM, files_with, fill, write_notes

pytestmark = pytest.mark.server

_TABLES = (
    "SELECT schemaname, tablename FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema') "
    "ORDER BY 1, 2"
)


def tables_with(url: str, word: str) -> list[str]:
    """The tables that have a row with this word, also in values of bytes."""
    found = []
    with psycopg.connect(url, autocommit=True) as connection:
        for schema, table in connection.execute(_TABLES).fetchall():
            query = sql.SQL("SELECT count(*) FROM {} t WHERE t::text LIKE %s OR t::text LIKE %s").format(
                sql.Identifier(schema, table)
            )
            counted = connection.execute(query, [f"%{word}%", f"%{word.encode().hex()}%"]).fetchone()
            if counted is not None and counted[0]:
                found.append(f"{schema}.{table}")
    return found


@pytest.mark.parametrize("pg_search", [True, False])
def test_no_table_has_a_row_of_an_erased_scope(tmp_path: Path, new_postgres: NewDatabase, pg_search: bool) -> None:
    url = new_postgres()
    data, notes = tmp_path / "data", tmp_path / "notes"
    settings = {**QUICK, "embedder": "bundled", "storage": url, "pg_search": pg_search}
    with AgentMemory.open(data, **settings, workspace=notes, scope=CANARY) as memory:
        fill(memory, CANARY, CANARY)
        fill(memory, "bob", "bystander")
        write_notes(memory, CANARY)
        memory.drain()
        assert "public.memory_records" in tables_with(url, CANARY)
        receipt = memory.forget_scope(CANARY)
        assert receipt.complete
        assert receipt.note_files
        # Before a rebuild the statistics of the text index still name the scope, with nothing in it.
        assert {name.split("_")[0] for name in tables_with(url, CANARY)} <= {"jiyi"}
        memory.rebuild()
        assert tables_with(url, CANARY) == []
        assert all(report.sound for report in memory.verify())
        assert memory.recall("bystander", scope="bob")
        assert CANARY not in [info.scope for info in memory.scopes()]
    assert files_with(data, GERM) == []

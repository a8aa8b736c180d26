"""A PostgreSQL server for a run of tests, and an empty database for each test. `tests/conftest.py` has them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Protocol

import psycopg
import pytest

from jiyi.backends.postgres.database import PostgresDatabase
from jiyi.model.identity import new_id
from tests.servers.postgres import PostgresServer


class NewDatabase(Protocol):
    """Makes a database and gives its URL."""

    def __call__(self, *, copy_of: str | None = None) -> str:
        """With an empty store in it, or a copy of that in another database which nobody has open."""
        ...


APP = "jiyi_app"
"""A role as an application should have one: it owns nothing, makes no tables, and is held by row-level security."""
_TEMPLATE = "jiyi_template"
_numbers = count(1)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """One server for all tests of a worker; a test that kills a server starts its own."""
    with PostgresServer(in_memory=True) as server:
        with psycopg.connect(server.url(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {_TEMPLATE}")
        # The tables are made once; a copy of the files is quicker than making them again.
        PostgresDatabase(server.url(_TEMPLATE)).close()
        with psycopg.connect(server.url(_TEMPLATE), autocommit=True) as connection:
            connection.execute(f"CREATE ROLE {APP} LOGIN")
            connection.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {APP}")
        yield server


@pytest.fixture
def new_postgres(postgres_server: PostgresServer) -> Iterator[NewDatabase]:
    """Makes databases with the tables of an empty store in them, and drops them when the test ends; gives the URL."""
    made: list[str] = []

    def make(*, copy_of: str | None = None) -> str:
        name = f"jiyi_{next(_numbers)}"
        template = _TEMPLATE if copy_of is None else copy_of.rpartition("/")[2]
        with psycopg.connect(postgres_server.url(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
            made.append(name)
        if copy_of is not None:
            return postgres_server.url(name)
        with psycopg.connect(postgres_server.url(name), autocommit=True) as connection:
            # Another store than that of the template.
            connection.execute("UPDATE store_meta SET value = %s WHERE name = 'store_id'", [new_id()])
        return postgres_server.url(name)

    yield make
    with psycopg.connect(postgres_server.url(), autocommit=True) as connection:
        for name in made:
            connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


@pytest.fixture
def postgres_url(new_postgres: NewDatabase) -> str:
    """The URL of an empty store."""
    return new_postgres()


def as_app(url: str) -> str:
    """The same database for the role of an application."""
    return url.replace("//postgres@", f"//{APP}@")


class OnPostgres:
    """For suites whose stores belong to folders: the database of a folder is made when it is first asked for.

    They are opened by a role that row-level security holds: what says too few scopes finds too little.
    """

    as_owner = False
    """Whether the role may make tables of its own, as an index does."""

    @pytest.fixture(autouse=True)
    def _keep_databases(self, new_postgres: NewDatabase) -> None:
        self._new_postgres = new_postgres
        self._urls: dict[Path, str] = {}

    def open_postgres(self, folder: Path) -> PostgresDatabase:
        """The database of this folder; the same folder again is another handle on the same data."""
        if folder not in self._urls:
            self._urls[folder] = self._new_postgres()
        url = self._urls[folder]
        return PostgresDatabase(url if self.as_owner else as_app(url))

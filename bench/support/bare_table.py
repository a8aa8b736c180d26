"""The baseline of writes: a SQLite table without indexes."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any


class BareTable:
    """A SQLite file with one table of the given columns, in WAL mode with synchronous=FULL."""

    def __init__(self, path: Path, columns: Sequence[str]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute("PRAGMA synchronous=FULL")
        declared = ", ".join(f"{name} PRIMARY KEY" if name == "id" else name for name in columns)
        self._connection.execute(f"CREATE TABLE bare ({declared})")
        self._insert = f"INSERT INTO bare VALUES ({', '.join('?' * len(columns))})"

    def insert(self, row: Sequence[Any]) -> None:
        self._connection.execute(self._insert, row)

    def insert_many(self, rows: Sequence[Sequence[Any]]) -> None:
        self._connection.execute("BEGIN IMMEDIATE")
        self._connection.executemany(self._insert, rows)
        self._connection.execute("COMMIT")

    def close(self) -> None:
        self._connection.close()

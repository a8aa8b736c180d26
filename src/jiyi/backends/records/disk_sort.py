"""DiskSorter: rows in order without holding them in memory.

A temporary database of SQLite: an unlinked file, which is deleted when it is closed and when the process dies.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from types import TracebackType
from typing import Final, Self

from jiyi.backends.records.sql import sqlite_list, sqlite_many, sqlite_text

_PAGE: Final = 500
_ADD: Final = sqlite_many("INSERT OR IGNORE INTO row VALUES (:kind, :text, :id)")
_TAKE: Final = sqlite_many("INSERT OR IGNORE INTO taken VALUES (:id)")
_TAKEN: Final = sqlite_text("SELECT id FROM taken WHERE id IN :ids")


class DiskSorter:
    """Groups of (text, id), each in the order of its texts."""

    def __init__(self) -> None:
        self._file = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        # The file is temporary: it need not be durable.
        for pragma in ("journal_mode=OFF", "synchronous=OFF", "cache_size=-16000"):
            self._file.execute(f"PRAGMA {pragma}")
        self._file.execute(
            "CREATE TABLE row (kind TEXT, text TEXT, id TEXT, PRIMARY KEY (kind, text, id)) WITHOUT ROWID"
        )
        self._file.execute("CREATE TABLE taken (id TEXT PRIMARY KEY) WITHOUT ROWID")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def add(self, rows: Iterable[tuple[str, str, str]]) -> None:
        """Take rows in: (group, text to sort by, id)."""
        self._file.execute("BEGIN")
        self._file.executemany(_ADD, rows)
        self._file.execute("COMMIT")

    def groups(self, prefix: str, *, limit: int) -> Iterator[list[tuple[str, str]]]:
        """(text, id) of each group of several that begins so, in pieces of at most so many, without what was taken."""
        last = prefix
        while True:
            # The highest character follows every name that begins with the prefix.
            found = self._file.execute(
                "SELECT kind FROM row WHERE kind > :last AND kind < :end GROUP BY kind HAVING count(*) > 1 "
                "ORDER BY kind LIMIT :limit",
                {"last": last, "end": f"{prefix}\U0010ffff", "limit": _PAGE},
            ).fetchall()
            for (kind,) in found:
                yield from self._pieces(kind, limit)
                last = kind
            if not found:
                return

    def take(self, ids: Iterable[str]) -> None:
        """Leave these out of what follows."""
        self._file.executemany(_TAKE, [(each,) for each in ids])

    def taken(self, ids: Sequence[str]) -> set[str]:
        """Which of these were taken."""
        return {row[0] for row in self._file.execute(_TAKEN, {"ids": sqlite_list(ids)})}

    def _pieces(self, kind: str, limit: int) -> Iterator[list[tuple[str, str]]]:
        text = entry_id = ""
        while True:
            piece = self._file.execute(
                "SELECT text, id FROM row WHERE kind = :kind AND (text, id) > (:text, :id) "
                "AND id NOT IN (SELECT id FROM taken) ORDER BY text, id LIMIT :limit",
                {"kind": kind, "text": text, "id": entry_id, "limit": limit},
            ).fetchall()
            if piece:
                yield piece
                text, entry_id = piece[-1]
            if len(piece) < limit:
                return

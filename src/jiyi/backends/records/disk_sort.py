"""DiskSorter: rows in order without holding them in memory.

A temporary database of SQLite: an unlinked file, which is deleted when it is closed and when the process dies.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from types import TracebackType
from typing import Final, Self

_CHUNK: Final = 500


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
        self._file.executemany("INSERT OR IGNORE INTO row VALUES (?, ?, ?)", rows)
        self._file.execute("COMMIT")

    def groups(self, prefix: str, *, limit: int) -> Iterator[list[tuple[str, str]]]:
        """(text, id) of each group of several that begins so, in pieces of at most so many, without what was taken."""
        last = prefix
        while True:
            # The highest character follows every name that begins with the prefix.
            found = self._file.execute(
                "SELECT kind FROM row WHERE kind > ? AND kind < ? GROUP BY kind HAVING count(*) > 1 "
                "ORDER BY kind LIMIT ?",
                (last, f"{prefix}\U0010ffff", _CHUNK),
            ).fetchall()
            for (kind,) in found:
                yield from self._pieces(kind, limit)
                last = kind
            if not found:
                return

    def take(self, ids: Iterable[str]) -> None:
        """Leave these out of what follows."""
        self._file.executemany("INSERT OR IGNORE INTO taken VALUES (?)", [(each,) for each in ids])

    def taken(self, ids: Sequence[str]) -> set[str]:
        """Which of these were taken."""
        found: set[str] = set()
        for start in range(0, len(ids), _CHUNK):
            chunk = ids[start : start + _CHUNK]
            marks = ", ".join("?" * len(chunk))
            found.update(row[0] for row in self._file.execute(f"SELECT id FROM taken WHERE id IN ({marks})", chunk))
        return found

    def _pieces(self, kind: str, limit: int) -> Iterator[list[tuple[str, str]]]:
        text = entry_id = ""
        while True:
            piece = self._file.execute(
                "SELECT text, id FROM row WHERE kind = ? AND (text, id) > (?, ?) "
                "AND id NOT IN (SELECT id FROM taken) ORDER BY text, id LIMIT ?",
                (kind, text, entry_id, limit),
            ).fetchall()
            if piece:
                yield piece
                text, entry_id = piece[-1]
            if len(piece) < limit:
                return

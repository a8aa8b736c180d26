"""`RowWriter`: writes the rows of entries to a collection, with vectors that exist already or are embedded now."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from jiyi.backends.milvus.connection import MAX_ROWS, STRONG, MilvusConnection, Row
from jiyi.backends.milvus.expressions import any_of
from jiyi.backends.milvus.rows import BUCKETS, entry_rows, row_fingerprint, row_id
from jiyi.backends.milvus.scan import fetch_blocks
from jiyi.backends.milvus.state import State
from jiyi.backends.shared.embedding import PreparedVectors
from jiyi.backends.shared.vector_matrix import Floats
from jiyi.model.entry import MemoryEntry
from jiyi.model.identity import text_hash
from jiyi.model.searched_text import SearchedText
from jiyi.ports import RecordStore

_PAGE = 2_000
_MAX_MESSAGE_BYTES = 4 << 20
"""Bytes of rows in one request; Milvus's own messages hold 5 MB."""
_ROW_BYTES = 1_000
"""About how much the fields of a row take beside its vector and its text."""
_FIRST_ROW_FIELDS = ["id", "entry_id", "scope", "chunks", "sequence", "fingerprint", "text_hash"]


@dataclass(frozen=True, slots=True)
class WriteResult:
    """What was written."""

    timestamp: int
    blocks: Sequence[tuple[MemoryEntry, Floats]]


class RowWriter:
    """Writes rows of one store."""

    def __init__(
        self, connection: MilvusConnection, vectors: PreparedVectors, dimension: int, searched: SearchedText
    ) -> None:
        self._connection = connection
        self._vectors = vectors
        self._searched = searched
        self._dimension = dimension

    def put(
        self,
        collection: str,
        entries: Sequence[MemoryEntry],
        known: dict[str, Row],
        sequence: int,
        sources: Sequence[str],
        state: State,
    ) -> WriteResult:
        """Write the rows of entries, and delete rows that a longer text or another scope has left.

        `known` are the current first rows in the first of the `sources`, from which existing vectors are taken.
        """
        blocks = self._blocks(entries, known, sources, state)
        surplus: list[str] = []
        rows: list[Row] = []
        for entry, block in blocks:
            rows += entry_rows(entry, sequence, block)
            before = known.get(entry.id)
            if before is not None:
                # An upsert does not replace a row that is in the partition of another scope.
                first = len(block) if before["scope"] == entry.scope else 0
                surplus += [row_id(entry.id, chunk) for chunk in range(first, int(before["chunks"]))]
        timestamp = self._connection.delete(collection, surplus)
        for part in self._requests(rows):
            timestamp = max(timestamp, self._connection.put(collection, part))
        return WriteResult(timestamp, blocks)

    def delete(self, collection: str, ids: Sequence[str], known: dict[str, Row]) -> int:
        """Delete all rows of these entries; returns the timestamp."""
        rows = [row_id(one, chunk) for one in ids if one in known for chunk in range(int(known[one]["chunks"]))]
        return self._connection.delete(collection, rows)

    def delete_orphans(self, collection: str, store: RecordStore) -> int:
        """Delete the rows that an interrupted rebuild left behind and that no longer match a record."""
        timestamp = 0
        for rows in self.pages(collection, ["id", "entry_id", "scope", "fingerprint"], STRONG):
            present = store.fetch(sorted({str(row["entry_id"]) for row in rows}), None)
            orphans = [
                str(row["id"])
                for row in rows
                if (entry := present.get(str(row["entry_id"]))) is None
                or not entry.is_active
                or entry.scope != row["scope"]
                or row_fingerprint(self._searched.entry(entry)) != row["fingerprint"]
            ]
            timestamp = max(timestamp, self._connection.delete(collection, orphans))
        return timestamp

    def known(self, collection: str, ids: Sequence[str], reading: dict[str, Any]) -> dict[str, Row]:
        """The first row of each of these entries, without its vector."""
        found: dict[str, Row] = {}
        for start in range(0, len(ids), _PAGE):
            where = any_of("id", ids[start : start + _PAGE])
            rows = self._connection.rows(collection, where, _FIRST_ROW_FIELDS, reading)
            found.update((str(row["entry_id"]), row) for row in rows)
        return found

    def pages(self, collection: str, fields: Sequence[str], reading: dict[str, Any]) -> Iterator[list[Row]]:
        """All rows; those of one entry are on one page."""
        pages = 1 + 2 * self._connection.count(collection, "chunk >= 0", reading) // MAX_ROWS
        ranges = [(BUCKETS * page // pages, BUCKETS * (page + 1) // pages) for page in reversed(range(pages))]
        while ranges:
            start, end = ranges.pop()
            where = f"bucket >= {start} and bucket < {end}"
            rows = self._connection.rows(collection, where, fields, reading, limit=MAX_ROWS)
            if len(rows) == MAX_ROWS and end - start > 1:
                middle = (start + end) // 2
                ranges += [(middle, end), (start, middle)]
            elif rows:
                yield rows

    def _requests(self, rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
        """The rows in requests of a size that Milvus takes as one message."""
        part: list[Row] = []
        size = 0
        for row in rows:
            row_size = 4 * self._dimension + len(row["content"].encode("utf-8")) + _ROW_BYTES
            if part and size + row_size > _MAX_MESSAGE_BYTES:
                yield part
                part, size = [], 0
            part.append(row)
            size += row_size
        if part:
            yield part

    def _blocks(
        self, entries: Sequence[MemoryEntry], known: dict[str, Row], sources: Sequence[str], state: State
    ) -> list[tuple[MemoryEntry, Floats]]:
        """The vectors of entries: those that Milvus has of the same text, and new ones."""
        found: dict[str, Floats] = {}
        for source in sources:
            wanted = {entry.id: text_hash(entry.content) for entry in entries if entry.id not in found}
            there = known if source == sources[0] else self.known(source, list(wanted), state.reading)
            same = [i for i, digest in wanted.items() if i in there and there[i]["text_hash"] == digest]
            for start in range(0, len(same), _PAGE):
                page = same[start : start + _PAGE]
                found |= fetch_blocks(self._connection, state, page, "chunk >= 0", generation=source)
        missing = [entry for entry in entries if entry.id not in found]
        found |= dict(zip([entry.id for entry in missing], self._vectors.of(missing), strict=True))
        return [(entry, found[entry.id]) for entry in entries]


def is_current(row: Row | None, entry: MemoryEntry) -> bool:
    """Whether the row shows the current state of the entry."""
    return row is not None and row["fingerprint"] == row_fingerprint(entry) and row["scope"] == entry.scope

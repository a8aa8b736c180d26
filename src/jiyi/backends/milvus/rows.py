"""Entries as rows of Milvus, and rows put together as blocks of vectors."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable

import numpy as np

from jiyi.backends.milvus.connection import Row
from jiyi.backends.milvus.schema import CONTENT_CHARACTERS, MAX_DOMAINS, MAX_TAG_BYTES, MAX_TAGS
from jiyi.backends.shared.vector_matrix import Floats
from jiyi.model import clock
from jiyi.model.entry import MemoryEntry
from jiyi.model.identity import text_hash

BUCKETS = 1 << 16
"""Entries are distributed over so many buckets: pages and samples of a scope are ranges of them."""


def row_id(entry_id: str, chunk: int) -> str:
    """The primary key: the entry's own id for the first chunk of its text."""
    return entry_id if chunk == 0 else f"{entry_id}#{chunk}"


def bucket(entry_id: str) -> int:
    """The bucket of an entry, a hash of its id."""
    return zlib.crc32(entry_id.encode("utf-8")) % BUCKETS


def row_fingerprint(entry: MemoryEntry) -> str:
    """A hash of all fields of the rows of an entry."""
    return text_hash(
        entry.content,
        clock.to_text(entry.event_time),
        entry.category,
        entry.memory_type,
        entry.domain or "",
        json.dumps([entry.domains, entry.tags]),
        entry.conversation_id or "",
    )


def entry_rows(entry: MemoryEntry, sequence: int, block: Floats) -> list[Row]:
    """The rows of an entry, one for each vector. The text is in the first row; the rest of a long text is in others.

    So a person who looks for a text finds it once, and full text search finds every word of a long one.
    """
    shared: Row = {
        "entry_id": entry.id,
        "chunks": len(block),
        "bucket": bucket(entry.id),
        "sequence": sequence,
        "scope": entry.scope,
        "category": str(entry.category),
        "memory_type": entry.memory_type,
        "domain": entry.domain or "",
        "domains": list(entry.domains[:MAX_DOMAINS]),
        "tags": [tag for tag in entry.tags if len(tag.encode("utf-8")) <= MAX_TAG_BYTES][:MAX_TAGS],
        "conversation_id": entry.conversation_id or "",
        "event_time": clock.microseconds(entry.event_time),
        "fingerprint": row_fingerprint(entry),
        "text_hash": text_hash(entry.content),
    }
    pieces = content_pieces(entry.content)
    pieces += [""] * (len(block) - len(pieces))
    return [
        {**shared, "id": row_id(entry.id, chunk), "chunk": chunk, "content": pieces[chunk], "embedding": vector}
        for chunk, vector in enumerate(block)
    ]


def content_pieces(text: str) -> list[str]:
    """A text in pieces of the length of `content`; the first one is unchanged."""
    rest = " ".join(text[CONTENT_CHARACTERS:].split())
    size = CONTENT_CHARACTERS
    return [text[:size], *(rest[start : start + size] for start in range(0, len(rest), size))]


def blocks_of(rows: Iterable[Row]) -> list[tuple[str, Floats, Row]]:
    """Rows put together: id, vectors in order, and the row of the first chunk. Incomplete entries are left out.

    Further rows, which a crash may leave of a longer text, are ignored.
    """
    parts: dict[str, dict[int, Row]] = {}
    for row in rows:
        parts.setdefault(str(row["entry_id"]), {})[int(row["chunk"])] = row
    found: list[tuple[str, Floats, Row]] = []
    for entry_id, chunks in parts.items():
        first = chunks.get(0)
        places = range(int(first["chunks"])) if first is not None else ()
        if first is not None and all(place in chunks for place in places):
            block = np.asarray([chunks[place]["embedding"] for place in places], dtype=np.float32)
            found.append((entry_id, block, first))
    return found

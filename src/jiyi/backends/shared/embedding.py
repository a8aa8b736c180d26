"""From entries to vectors: what all vector indexes have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from jiyi.model import clock
from jiyi.model.entry import MemoryEntry
from jiyi.model.identity import text_hash
from jiyi.text import split_chunks

if TYPE_CHECKING:
    from jiyi.ports import Embedder, RecordStore, Vectors

CHUNK_COLUMNS = 300
"""Longer texts are split into chunks: one vector of many subjects is similar to none of them."""


def vector_fingerprint(entry: MemoryEntry) -> str:
    """The hash by which an index recognises a text."""
    return text_hash(entry.content, clock.to_text(entry.event_time))


def embed_entries(embedder: Embedder, entries: Sequence[MemoryEntry]) -> list[Vectors]:
    """The vectors of each entry, one for each chunk of its text."""
    chunks = [split_chunks(entry.content, CHUNK_COLUMNS) or [entry.content] for entry in entries]
    flat = [chunk for parts in chunks for chunk in parts]
    if not flat:
        return []
    vectors = embedder.embed(flat)
    blocks, start = [], 0
    for parts in chunks:
        blocks.append(vectors[start : start + len(parts)])
        start += len(parts)
    return blocks


def without_record(store: RecordStore, held: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Those (scope, entry id) that have no active record any more."""
    present = store.fetch([entry_id for _, entry_id in held], None)
    return [
        (scope, entry_id)
        for scope, entry_id in held
        if (entry := present.get(entry_id)) is None or not entry.is_active or entry.scope != scope
    ]

"""From entries to vectors: what all vector indexes have in common."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from jiyi.errors import StoreBusyError
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


class PreparedVectors:
    """Vectors of one batch, computed before the lock of an index is taken."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._computing = threading.Lock()
        self._blocks: dict[str, Vectors] = {}
        """By text: what is embedded of an entry is nothing else."""

    def prepare(self, entries: Sequence[MemoryEntry], timeout: float) -> None:
        """Compute and keep the vectors of these entries; those of other entries are dropped."""
        if not self._computing.acquire(timeout=timeout):
            raise StoreBusyError(
                f"another thread of this process has been computing vectors for {timeout:g} s; try again"
            )
        try:
            wanted = {entry.content: entry for entry in entries}
            # Another thread may clear them while vectors are computed.
            known = self._blocks
            missing = {text: entry for text, entry in wanted.items() if text not in known}
            made = dict(zip(missing, embed_entries(self._embedder, list(missing.values())), strict=True))
            self._blocks = {text: made[text] if text in made else known[text] for text in wanted}
        finally:
            self._computing.release()

    def clear(self) -> None:
        """Forget them: they are written."""
        self._blocks = {}

    def of(self, entries: Sequence[MemoryEntry]) -> list[Vectors]:
        """The vectors of each entry; those that were not prepared are computed now."""
        blocks = self._blocks
        made = iter(embed_entries(self._embedder, [entry for entry in entries if entry.content not in blocks]))
        return [blocks[entry.content] if entry.content in blocks else next(made) for entry in entries]


def without_record(store: RecordStore, held: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Those (scope, entry id) that have no active record any more."""
    present = store.fetch([entry_id for _, entry_id in held], None)
    return [
        (scope, entry_id)
        for scope, entry_id in held
        if (entry := present.get(entry_id)) is None or not entry.is_active or entry.scope != scope
    ]

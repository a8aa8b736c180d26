"""Vectors that are computed before the lock of an index is taken."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from jiyi.backends.shared.embedding import PreparedVectors
from jiyi.model.entry import MemoryEntry
from jiyi.testing.fakes import HashEmbedder


class Interrupted(HashEmbedder):
    """Another thread writes what was prepared, and clears it, while this one computes."""

    prepared: PreparedVectors | None = None

    def embed(self, texts: Sequence[str]) -> Any:
        if self.prepared is not None:
            self.prepared.clear()
        return super().embed(texts)


def _entries(*texts: str) -> list[MemoryEntry]:
    noon = datetime(2026, 5, 1, 12, tzinfo=UTC)
    times: dict[str, Any] = {"created_at": noon, "updated_at": noon, "last_accessed_at": noon}
    return [MemoryEntry(id=text, scope="main", key=None, content=text, **times) for text in texts]


def test_what_another_thread_has_written_meanwhile_does_not_disturb_the_next_batch() -> None:
    embedder = Interrupted()
    prepared = PreparedVectors(embedder)
    prepared.prepare(_entries("walrus", "seal"), 1.0)
    embedder.prepared = prepared
    both = _entries("seal", "otter")
    prepared.prepare(both, 1.0)
    embedder.prepared = None
    found = prepared.of(both)
    assert [block.tolist() for block in found] == [embedder.embed([each.content]).tolist() for each in both]

"""The answer of a recall: hits, and what the answer lacks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from jiyi.model.entry import IndexCoverage, MemoryEntry

NO_EMBEDDER: Final = "no embedder is configured"
"""The note of the vectors in a memory that was opened without an embedder."""
_BY_WORDS: Final = f"{NO_EMBEDDER}, so memories are found by words and tags, not by meaning"


class RecalledEntries(list[MemoryEntry]):
    """Hits, best first. `notes` says what the answer lacks, such as an index that failed."""

    def __init__(self, hits: Iterable[MemoryEntry] = (), *, notes: tuple[str, ...] = ()) -> None:
        super().__init__(hits)
        self.notes = notes


def notes_of(coverage: Iterable[IndexCoverage]) -> tuple[str, ...]:
    """What did not answer and why, in words, each once."""
    silent = (index for index in coverage if not index.answered and index.note)
    # That there is no embedder was chosen: nothing failed, but whoever asked for meanings has to know.
    return tuple(
        dict.fromkeys(
            _BY_WORDS if index.note == NO_EMBEDDER else f"{index.index} did not answer: {index.note}"
            for index in silent
        )
    )

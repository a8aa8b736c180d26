"""What a new text is compared with in simple mode: entries are read and their words counted, without an index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from jiyi.model.entry import MemoryEntry
from jiyi.ports import RecordStore
from jiyi.recall.request import Request
from jiyi.text import Analyzer, fold

NEWEST: Final = 2_000
"""So many entries are read, the newest; what is older is not compared."""
_PAGE: Final = 500


@dataclass(frozen=True, slots=True)
class SimpleComparison:
    """Reads the newest entries that the filters admit; slow next to an index, and it needs none."""

    store: RecordStore
    analyzer: Analyzer

    def answer(self, request: Request) -> list[MemoryEntry]:
        """The entries that share the most terms with the query, the newer first where as many."""
        wanted = self._terms(request.query)
        found: list[tuple[int, MemoryEntry]] = []
        for offset in range(0, NEWEST, _PAGE):
            page = self.store.page(request.filters, limit=_PAGE, offset=offset)
            shared = ((len(wanted & self._terms(entry.content)), entry) for entry in page)
            found += [(count, entry) for count, entry in shared if count]
            found = sorted(found, key=lambda pair: -pair[0])[: request.limit]
            if len(page) < _PAGE:
                break
        return [entry for _, entry in found]

    def _terms(self, text: str) -> frozenset[str]:
        analysed = self.analyzer.analyze(fold(text))
        return frozenset((*analysed.words, *analysed.bigrams))

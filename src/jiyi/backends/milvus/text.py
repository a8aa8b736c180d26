"""Milvus's BM25 as a second opinion on words, for a text index that has none of its own.

The texts are in Milvus beside their vectors, cut by its analyzer `jieba`. What it proposes is only looked at more
closely: whether a text is there and may be seen, and how well it fits, is settled by the records and the scorer.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from jiyi.backends.milvus.index import MilvusVectors
from jiyi.errors import IndexingError
from jiyi.model.filters import Filters

_log = logging.getLogger("jiyi.index")


class MilvusProposer:
    """Proposes texts by their words."""

    mode = "BM25 by Milvus"

    def __init__(self, vectors: MilvusVectors) -> None:
        self._vectors = vectors

    def propose(
        self, field: str, terms: Sequence[str], filters: Filters, *, limit: int, labels: bool = False
    ) -> list[str]:
        """Ids, best first; none while Milvus is away, or where it has no BM25. Labels and pairs are not kept there."""
        del labels
        if field != "words":
            return []
        try:
            found = self._vectors.propose_text(" ".join(terms), filters, limit=limit)
        except IndexingError as error:
            # That the vectors are away stands in the coverage of the answer; the words have another engine.
            _log.warning("Milvus was not asked for words: %s", error)
            return []
        return [entry_id for entry_id, _ in found]

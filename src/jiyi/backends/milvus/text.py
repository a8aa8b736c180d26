"""`MilvusProposer`: Milvus's BM25 for a text index that has no BM25 index of its own.

The texts are in Milvus beside their vectors, segmented by its analyzer `jieba`. Proposals are candidates: the records
decide whether an entry exists and is visible, and the scorer ranks it.
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
        """Ids, best first; none while Milvus is unavailable or has no BM25. Milvus has no labels and no bigrams."""
        del labels
        if field != "words":
            return []
        try:
            found = self._vectors.propose_text(" ".join(terms), filters, limit=limit)
        except IndexingError as error:
            # The coverage of the answer reports that the vectors are unavailable; another engine has the words.
            _log.warning("Milvus could not propose texts: %s", error)
            return []
        return [entry_id for entry_id, _ in found]

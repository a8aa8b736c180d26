"""The baseline of recall in a data directory: tantivy, one numpy product and the embedder, each by itself."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tantivy
from tantivy import Occur, Query

from bench.support import Times, interleaved, milliseconds
from bench.support.recall_corpus import Floats, HashedDocuments
from jiyi import AgentMemory
from jiyi.text import Analyzer

_BARE_LIMIT = 50


class EmbeddedBaseline:
    """The engines alone, on the files that recall uses."""

    def __init__(self, path: Path, embedder: HashedDocuments) -> None:
        self._path = path
        self.embedder = embedder
        self._analyzer = Analyzer()
        self._index = tantivy.Index.open(str(next(path.glob("search_index/**/meta.json")).parent))
        self._index.reload()
        self._scope = ""
        self._matrix: Floats = np.empty((0, embedder.dimension), dtype=np.float32)
        self._vector: Floats = np.empty(embedder.dimension, dtype=np.float32)
        self._words: Sequence[str] = ()

    def prepare(self, scope: str, question: str) -> None:
        """Load the vectors of the scope and analyze the question; this is not measured."""
        if scope != self._scope:
            with closing(sqlite3.connect(self._path / "memory.db")) as connection:
                sql = "SELECT content FROM memory_records WHERE scope = ?"
                texts = [row[0] for row in connection.execute(sql, (scope,))]
            blocks = [self.embedder.hashed(texts[start : start + 5_000]) for start in range(0, len(texts), 5_000)]
            self._matrix, self._scope = np.concatenate(blocks), scope
        self._words = self._analyzer.query(question).words

    def embed(self, question: str) -> None:
        # The model keeps the vectors of the last texts for a moment, and recall has just asked for this one.
        self._vector = self.embedder.model.embed([f"{question} "])[0]

    def query(self) -> list[str]:
        schema, searcher = self._index.schema, self._index.searcher()
        words = [(Occur.Should, Query.term_query(schema, "words", word, "freq")) for word in self._words]
        scopes = [(Occur.Should, Query.term_query(schema, "scope", name, "basic")) for name in (self._scope, "public")]
        visible = Query.const_score_query(Query.boolean_query(scopes), 0.0)
        query = Query.boolean_query([(Occur.Must, Query.boolean_query(words)), (Occur.Must, visible)])
        hits = searcher.search(query, _BARE_LIMIT, count=False).hits
        return [str(searcher.doc(address).get_first("id")) for _, address in hits]

    def product(self) -> Floats:
        found: Floats = self._matrix @ self._vector
        return found


@dataclass(frozen=True)
class Measured:
    """Recall and the bare parts over the same questions."""

    recall: Times
    text: Times
    product: Times
    embedding: Times

    @property
    def bare(self) -> Times:
        """The three parts together, question by question."""
        parts = zip(self.text.seconds, self.product.seconds, self.embedding.seconds, strict=True)
        return Times([sum(part) for part in parts])

    def part(self, chosen: slice) -> Measured:
        """Some of the questions."""
        return Measured(*(Times(t.seconds[chosen]) for t in (self.recall, self.text, self.product, self.embedding)))

    def bare_shown(self) -> str:
        parts = f"{self.text.p50 * 1e3:.2f} + {self.product.p50 * 1e3:.2f} + {self.embedding.p50 * 1e3:.2f}"
        return f"tantivy + product + embedding: {parts} = {milliseconds(self.bare.p50)}"


async def measured(
    memory: AgentMemory, bare: EmbeddedBaseline, asked: Sequence[tuple[str, str]], *, warm_up: int
) -> Measured:
    """Ask (scope, question) in this order; the bare parts in turn with recall."""

    async def recall(number: int) -> None:
        scope, question = asked[number]
        await memory.recall(question, scope=scope)

    actions = {
        "recall": recall,
        "prepare": lambda number: bare.prepare(*asked[number]),
        "embedding": lambda number: bare.embed(asked[number][1]),
        "text": lambda _number: bare.query(),
        "product": lambda _number: bare.product(),
    }
    times = await interleaved(len(asked) - warm_up, actions, warm_up=warm_up, alternate=False, label="asking")
    return Measured(times["recall"], times["text"], times["product"], times["embedding"])

"""The baseline of recall in PostgreSQL: one BM25 query and one vector query by psycopg, each by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import psycopg

from bench.support.recall_corpus import HashedDocuments
from jiyi.backends.postgres.vectors.halfvec import Floats
from jiyi.ports import ModelIdentity
from jiyi.text import Analyzer

LIMIT = 50


class KnownQuestions(HashedDocuments):
    """An embedder with precomputed vectors of the questions."""

    def __init__(self, questions: Sequence[str]) -> None:
        super().__init__(questions)
        vectors = self.model.embed(questions)
        self._known = dict(zip(questions, vectors, strict=True))

    @property
    def identity(self) -> ModelIdentity:
        return ModelIdentity("bench-known-questions", self.dimension, "1")

    def embed(self, texts: Sequence[str]) -> Floats:
        if len(texts) == 1 and texts[0] in self._known:
            found: Floats = self._known[texts[0]][None, :]
            return found
        return self.hashed(texts)


class PostgresBaseline:
    """The two queries, on connections of their own, prepared as psycopg does by itself."""

    def __init__(self, url: str, embedder: KnownQuestions) -> None:
        self._connection = psycopg.connect(url, autocommit=True)
        self._connection.execute("SET max_parallel_workers_per_gather = 0")
        self._embedder = embedder
        self._analyzer = Analyzer()
        self._words: Mapping[str, str] = {}
        self._vectors: dict[str, str] = {}

    def prepare(self, questions: Sequence[str]) -> None:
        """Analyze and embed the questions; this is not measured."""
        self._words = {question: " ".join(self._analyzer.query(question).words) for question in questions}
        for question in questions:
            self._vectors[question] = str(self._embedder.embed([question])[0].tolist())

    def text(self, scope: str, question: str) -> list[str]:
        # The fastest of several equivalent queries.
        return self._ids(
            "SELECT entry_id FROM jiyi_search.texts WHERE word_text ||| %s AND scope === %s::text[] "
            f"ORDER BY paradedb.score(entry_id) DESC LIMIT {LIMIT}",
            [self._words[question], [scope, "public"]],
        )

    def vector(self, scope: str, question: str) -> list[str]:
        return self._ids(
            "SELECT entry_id FROM jiyi_search.vectors WHERE scope = ANY (%s) "
            f"ORDER BY embedding <#> %s::halfvec LIMIT {LIMIT}",
            [[scope, "public"], self._vectors[question]],
        )

    def _ids(self, query: str, parameters: Sequence[Any]) -> list[str]:
        return [row[0] for row in self._connection.execute(query.encode(), parameters).fetchall()]

    def close(self) -> None:
        self._connection.close()

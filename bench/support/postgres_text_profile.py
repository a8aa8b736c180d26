"""The parts of the PostgreSQL profile that text search needs, and the bare BM25 query beside them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC

import psycopg

from jiyi.backends.postgres.database import PostgresDatabase
from jiyi.backends.postgres.text.index import PostgresTextIndex
from jiyi.backends.records.store import SqlRecordStore
from jiyi.indexing import Drainer
from jiyi.recall import RecallEngine
from jiyi.recall.settings import RecallSettings
from jiyi.recall.tags import TagMirror
from jiyi.text import Analyzer

LIMIT = 50
CALLERS = 16


@dataclass
class Opened:
    """The parts of the profile, on one server."""

    url: str
    database: PostgresDatabase
    store: SqlRecordStore
    text: PostgresTextIndex
    engine: RecallEngine


@contextmanager
def opened(url: str, *, pg_search: bool = True) -> Iterator[Opened]:
    database = PostgresDatabase(url, pool_size=CALLERS)
    helpers = ThreadPoolExecutor(2)
    try:
        store = SqlRecordStore(database)
        analyzer = Analyzer()
        text = PostgresTextIndex(database, analyzer, store.store_id, pg_search=pg_search)
        text.follow()
        if text.log_position() is None:
            text.rebuild(store)
        engine = RecallEngine(
            store=store,
            text=text,
            vectors=None,
            embedder=None,
            analyzer=analyzer,
            drainer=Drainer(store),
            settings=RecallSettings(),
            zone=UTC,
            helpers=helpers,
            tags=TagMirror(store),
        )
        yield Opened(url, database, store, text, engine)
    finally:
        helpers.shutdown()
        database.close()


class BareTextQuery:
    """One BM25 query by psycopg, nothing around it."""

    def __init__(self, url: str) -> None:
        self._connection = psycopg.connect(url, autocommit=True)
        self._connection.execute("SET max_parallel_workers_per_gather = 0")
        self._analyzer = Analyzer()

    def query(self, question: str, scope: str) -> str:
        wanted = [
            {"term": {"field": field, "value": word}}
            for field in ("word_text", "label_text")
            for word in self._analyzer.query(question).words
        ]
        scopes = {"term_set": {"terms": [{"field": "scope", "value": name} for name in (scope, "public")]}}
        inside = {"const_score": {"score": 0.0, "query": scopes}}
        return json.dumps({"boolean": {"must": [{"boolean": {"should": wanted}}, inside]}})

    def run(self, query: str) -> list[str]:
        rows = self._connection.execute(
            "SELECT entry_id FROM jiyi_search.texts WHERE entry_id @@@ %s::jsonb "
            f"ORDER BY paradedb.score(entry_id) DESC LIMIT {LIMIT}",
            [query],
        )
        return [row[0] for row in rows]

    def close(self) -> None:
        self._connection.close()

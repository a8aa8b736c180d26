"""How well the BM25 index of pg_search proposes: with jiyi's words, and with the tokenizers that it brings.

    python -m bench.postgres_words --data path/to/locomo10.json --data path/to/questions.jsonl

The files are those of `bench.recall`. Each way proposes 50 texts of the scope for a question; recall@k counts how many
of the known answers are among the first k. The scorer puts proposals in order afterwards, so recall@50 is what it can
make use of. The design names ICU first and jieba second with weights; `unicode_words` (the words of Unicode, UAX #29)
stands for ICU, which this build of pg_search does not have.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import psycopg

from bench.recall import Scope, load
from bench.support import Report, mean, parser, progress
from jiyi.text import Analyzer
from tests.servers.postgres import PostgresServer

_PROPOSED = 50
_CUTS = (10, 50)
_QUICK_QUESTIONS = 200
Query = dict[str, Any]

_FIELDS = {
    "words": {"tokenizer": {"type": "whitespace", "lowercase": False}},
    "bigrams": {"tokenizer": {"type": "whitespace", "lowercase": False}},
    "unicode": {"tokenizer": {"type": "unicode_words", "remove_emojis": False}},
    "stemmed": {"tokenizer": {"type": "unicode_words", "remove_emojis": False, "stemmer": "English"}},
    "jieba": {"tokenizer": {"type": "jieba"}},
    "compatible": {"tokenizer": {"type": "chinese_compatible"}},
}


def _terms(field: str, terms: Sequence[str]) -> list[Query]:
    return [{"term": {"field": field, "value": term}} for term in terms]


def _match(field: str, text: str, weight: float = 1.0) -> Query:
    return {"boost": {"factor": weight, "query": {"match": {"field": field, "value": text, "conjunction_mode": False}}}}


_analyzer = Analyzer()
WAYS: dict[str, Callable[[str], list[Query]]] = {
    "jiyi: words": lambda text: _terms("words", _analyzer.query(text).words),
    "jiyi: words, then pairs": lambda text: _terms("words", _analyzer.query(text).words),
    "unicode words": lambda text: [_match("unicode", text)],
    "unicode words, stemmed": lambda text: [_match("stemmed", text)],
    "jieba": lambda text: [_match("jieba", text)],
    "chinese_compatible": lambda text: [_match("compatible", text)],
    "unicode 1 + jieba 1": lambda text: [_match("unicode", text), _match("jieba", text)],
    "unicode 2 + jieba 1": lambda text: [_match("unicode", text, 2.0), _match("jieba", text)],
    "unicode 1 + jieba 2": lambda text: [_match("unicode", text), _match("jieba", text, 2.0)],
}


def _fill(connection: psycopg.Connection[Any], scopes: Sequence[Scope]) -> None:
    connection.execute("DROP TABLE IF EXISTS texts")
    columns = ", ".join(f'"{name}" text' for name in _FIELDS)
    connection.execute(f"CREATE TABLE texts (id text PRIMARY KEY, scope text, {columns})")
    with connection.cursor() as cursor, cursor.copy("COPY texts FROM STDIN") as copy:
        for scope in scopes:
            for document in scope.documents:
                analysis = _analyzer.analyze(document.text)
                ours = (" ".join(analysis.words), " ".join(analysis.bigrams))
                same = (document.text,) * (len(_FIELDS) - 2)
                copy.write_row((f"{scope.name}/{document.id}", scope.name, *ours, *same))
    fields = {**_FIELDS, "scope": {"tokenizer": {"type": "keyword"}}}
    names = ", ".join(f'"{name}"' for name in fields)
    connection.execute(
        f"CREATE INDEX ON texts USING bm25 (id, {names}) WITH (key_field='id', text_fields='{json.dumps(fields)}')"
    )


def _proposed(connection: psycopg.Connection[Any], scope: str, queries: list[Query], limit: int) -> list[str]:
    if not queries:
        return []
    inside = {"const_score": {"score": 0.0, "query": {"term": {"field": "scope", "value": scope}}}}
    query = {"boolean": {"must": [{"boolean": {"should": queries}}, inside]}}
    rows = connection.execute(
        f"SELECT id FROM texts WHERE id @@@ %s::jsonb ORDER BY paradedb.score(id) DESC LIMIT {limit}",
        [json.dumps(query)],
    )
    return [row[0].partition("/")[2] for row in rows]


def _ask(connection: psycopg.Connection[Any], way: str, scope: Scope, text: str) -> list[str]:
    if way != "jiyi: words, then pairs":
        return _proposed(connection, scope.name, WAYS[way](text), _PROPOSED)
    # As recall does it: pairs are asked for where there is Han, and what words have not found is added.
    query = _analyzer.query(text)
    pairs = _terms("bigrams", query.bigrams) if query.has_han else []
    added = _proposed(connection, scope.name, pairs, _PROPOSED * 2 // 5)
    words = _proposed(connection, scope.name, WAYS[way](text), _PROPOSED)
    kept = words[: _PROPOSED - len([one for one in added if one not in words])]
    return list(dict.fromkeys([*kept, *added]))


def main() -> int:
    arguments = parser(__doc__)
    arguments.add_argument("--data", type=Path, action="append", required=True, help="a set; may be given again")
    options = arguments.parse_args()
    report = Report("postgres_words", "Proposals of pg_search: jiyi's words against its own tokenizers")
    with (
        PostgresServer() as server,
        psycopg.connect(server.url(), autocommit=True) as connection,
    ):
        connection.execute("CREATE EXTENSION pg_search")
        for path in options.data:
            for name, scopes in load(path).items():
                _measure(connection, name, scopes, report, quick=options.quick)
    report.note("only the order of proposals differs: scope filter, number and BM25 are the same for every way")
    report.finish(options.results)
    return 0


def _measure(
    connection: psycopg.Connection[Any], name: str, scopes: Sequence[Scope], report: Report, *, quick: bool
) -> None:
    _fill(connection, scopes)
    asked = [(scope, asked) for scope in scopes for asked in scope.questions]
    if quick:
        asked = asked[:: max(1, len(asked) // _QUICK_QUESTIONS)]
    found: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    with progress(f"asking {name}", len(asked)) as advance:
        for scope, question in asked:
            for way in WAYS:
                ids = _ask(connection, way, scope, question.text)
                for cut in _CUTS:
                    found[way][cut].append(len(question.gold & set(ids[:cut])) / len(question.gold))
            advance(1)
    for way, cuts in found.items():
        first, *rest = (f"R@{cut} {mean(values):.3f}" for cut, values in cuts.items())
        report.fact(f"{name}: {way}", first, f"{len(asked):,} questions", " ".join(rest))


if __name__ == "__main__":
    sys.exit(main())

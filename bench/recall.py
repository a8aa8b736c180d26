"""How well recall finds what was asked, on question sets with known answers.

    python -m bench.recall --data path/to/locomo10.json
    python -m bench.recall --data path/to/questions.jsonl

LoCoMo's own file is read twice: turns as memories, and whole sessions as memories. A JSONL file has one scope a line:
{"conv": name, "docs": [[id, text, ISO time or null, session or null], ...],
"queries": [{"q", "gold": [ids], "cat"}, ...]}.

Everything of jiyi goes through the public API (`store_many`, `recall`); the baselines are computed here. No parameter
depends on the set. Recall@k counts questions with at least one known answer: answers in the top k / answers, averaged.
"""

from __future__ import annotations

import argparse
import math
import random
import re
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from bench.support.question_sets import Asked, Document, Scope, load
from jiyi.ports import Embedder, EmbedsQuestions, JudgesQuestions, ModelIdentity
from jiyi.providers.bundled import BundledEmbedder
from jiyi.sync import AgentMemory
from jiyi.text import Analyzer, split_chunks

__all__ = ["CUTS", "SEED", "Asked", "Document", "RememberingEmbedder", "Scope", "Tally", "as_memory", "load"]

SEED = 7
CUTS = (1, 5, 10, 20)


# --- what is compared -------------------------------------------------------------------------------------------------


class RememberingEmbedder:
    """Embeds a text once, however often it is asked for."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[tuple[str, str], Any] = {}
        self.identity: ModelIdentity = embedder.identity

    def how_personal(self, text: str) -> float:
        return self._embedder.how_personal(text) if isinstance(self._embedder, JudgesQuestions) else 0.0

    def embed(self, texts: Sequence[str]) -> Any:
        return self._remembered(texts, "", self._embedder.embed)

    def embed_questions(self, texts: Sequence[str]) -> Any:
        if not isinstance(self._embedder, EmbedsQuestions):
            return self.embed(texts)
        return self._remembered(texts, "question", self._embedder.embed_questions)

    def _remembered(self, texts: Sequence[str], kind: str, embed: Callable[[Sequence[str]], Any]) -> Any:
        missing = list(dict.fromkeys(text for text in texts if (kind, text) not in self._known))
        if missing:
            self._known.update(zip([(kind, text) for text in missing], embed(missing), strict=True))
        return np.asarray([self._known[kind, text] for text in texts])


class Baselines:
    """Plain BM25 (k1 1.2, b 0.75), the embedder alone, and equal reciprocal rank fusion of the two."""

    def __init__(self, documents: list[Document], analyzer: Analyzer, embedder: Any) -> None:
        self._ids = [document.id for document in documents]
        self._analyzer = analyzer
        self._embedder = embedder
        terms = []
        for document in documents:
            analysis = analyzer.analyze(document.text)
            terms.append(analysis.words[: analysis.length])
        self._lengths = np.asarray([len(words) for words in terms], dtype=np.float64)
        self._postings: dict[str, dict[int, int]] = defaultdict(lambda: defaultdict(int))
        for row, words in enumerate(terms):
            for word in words:
                self._postings[word][row] += 1
        chunks = [split_chunks(document.text) or [document.text] for document in documents]
        self._starts = np.cumsum([0, *(len(parts) for parts in chunks[:-1])])
        self._counts = np.asarray([len(parts) for parts in chunks])
        self._vectors = embedder.embed([chunk for parts in chunks for chunk in parts])

    def bm25(self, question: str) -> np.ndarray[Any, Any]:
        scores = np.zeros(len(self._ids))
        norm = 1.2 * (0.25 + 0.75 * self._lengths / max(1.0, self._lengths.mean()))
        for word in self._analyzer.query(question).words:
            posting = self._postings.get(word)
            if posting:
                rows = np.fromiter(posting.keys(), np.int64, len(posting))
                tf = np.fromiter(posting.values(), np.float64, len(posting))
                idf = math.log(1 + (len(self._ids) - len(rows) + 0.5) / (len(rows) + 0.5))
                scores[rows] += idf * 2.2 * tf / (tf + norm[rows])
        return scores

    def similarities(self, question: str) -> np.ndarray[Any, Any]:
        """Half the best chunk, half the mean of the chunks."""
        found = self._vectors @ self._embedder.embed([question])[0]
        means = np.add.reduceat(found, self._starts) / self._counts
        return np.asarray(0.5 * np.maximum.reduceat(found, self._starts) + 0.5 * means)

    def rankings(self, question: str) -> dict[str, list[str]]:
        lexical = self.bm25(question)
        dense = self.similarities(question)
        by_words, by_meaning = np.argsort(-lexical, kind="stable"), np.argsort(-dense, kind="stable")
        fused = np.zeros(len(self._ids))
        for order in (by_words, by_meaning):
            fused[order] += 1.0 / (60 + np.arange(1, len(order) + 1))
        found = {"plain BM25": by_words, "embedder alone": by_meaning, "equal RRF": np.argsort(-fused, kind="stable")}
        return {name: [self._ids[row] for row in order[: CUTS[-1]]] for name, order in found.items()}


@dataclass
class Tally:
    """Sums of the measures of one method on one category."""

    count: int = 0
    sums: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    def add(self, ranking: list[str], gold: frozenset[str]) -> None:
        self.count += 1
        hits = [identifier in gold for identifier in ranking[: CUTS[-1]]]
        for cut in CUTS:
            self.sums[f"R@{cut}"] += sum(hits[:cut]) / len(gold)
        for cut in (5, 10):
            self.sums[f"all@{cut}"] += sum(hits[:cut]) == len(gold)
        self.sums["MRR"] += next((1 / (place + 1) for place, hit in enumerate(hits) if hit), 0.0)
        gain = sum(hit / math.log2(place + 2) for place, hit in enumerate(hits[:10]))
        ideal = sum(1 / math.log2(place + 2) for place in range(min(10, len(gold))))
        self.sums["NDCG@10"] += gain / ideal


MEASURES = ("R@1", "R@5", "R@10", "R@20", "all@5", "all@10", "MRR", "NDCG@10")


def measure(
    scopes: list[Scope],
    folder: Path,
    progress: Progress,
    *,
    modes: tuple[str, ...],
    baselines: bool,
    sample: int | None,
    reranking: dict[str, Any],
) -> dict[str, dict[str, Tally]]:
    """method -> category -> tally, with category '' for all questions together."""
    found: dict[str, dict[str, Tally]] = defaultdict(lambda: defaultdict(Tally))
    embedder, analyzer = RememberingEmbedder(BundledEmbedder()), Analyzer()
    settings: dict[str, Any] = {
        "time_zone": "UTC",
        "background_indexing": False,
        "max_content_bytes": 1 << 24,
        **reranking,
    }
    chooser = random.Random(SEED)
    with AgentMemory.open(folder, embedder=embedder, **settings) as memory:
        loading = progress.add_task("storing", total=len(scopes))
        for scope in scopes:
            memory.store_many([as_memory(document, scope.name) for document in scope.documents])
            progress.advance(loading)
        progress.update(loading, description="indexing", total=None)
        memory.drain()
        progress.update(loading, total=1, completed=1)
        asking = progress.add_task("asking", total=sum(len(scope.questions) for scope in scopes))
        for scope in scopes:
            compared = Baselines(scope.documents, analyzer, embedder) if baselines else None
            times = [document.time for document in scope.documents if document.time is not None]
            now = max(times) + timedelta(days=1) if times else datetime.now(UTC)
            questions = scope.questions
            if sample is not None and len(questions) > sample:
                questions = chooser.sample(questions, sample)
            for question in questions:
                rankings = {} if compared is None else compared.rankings(question.text)
                for mode in modes:
                    hits = memory.recall(question.text, CUTS[-1], scope=scope.name, mode=mode, now=now)
                    name = "jiyi (hybrid, default)" if mode == "hybrid" else f"jiyi ({mode})"
                    rankings[name] = [str(hit.key) for hit in hits]
                for name, ranking in rankings.items():
                    for category in ("", question.category):
                        found[name][category].add(ranking, question.gold)
                progress.advance(asking)
    return found


def reranking(options: argparse.Namespace) -> dict[str, Any]:
    """The settings of the reranker, if one was asked for."""
    if not options.reranker:
        return {}
    named = {"reranker_model": options.reranker_model, "reranker_base_url": options.reranker_base_url}
    return {"reranker": options.reranker, **{name: value for name, value in named.items() if value}}


def as_memory(document: Document, scope: str) -> dict[str, Any]:
    return {
        "key": document.id,
        "content": document.text,
        "scope": scope,
        "category": "conversation",
        "conversation_id": document.session,
        "occurred_at": document.time,
        "position": document.position,
    }


# --- showing it -------------------------------------------------------------------------------------------------------


def table_rows(found: dict[str, dict[str, Tally]]) -> list[tuple[str, str, int, list[float]]]:
    order = sorted(found, key=lambda name: (not name.startswith("jiyi"), name != "jiyi (hybrid, default)", name))
    categories = sorted({category for tallies in found.values() for category in tallies})
    return [
        (category or "all", name, found[name][category].count, _values(found[name][category]))
        for category in categories
        for name in order
    ]


def _values(tally: Tally) -> list[float]:
    return [100 * tally.sums[measure_name] / max(1, tally.count) for measure_name in MEASURES]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, nargs="+")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    parser.add_argument("--modes", default="hybrid,keyword,semantic")
    parser.add_argument("--no-baselines", action="store_true")
    parser.add_argument("--sample", type=int, help="at most this many questions of each scope, chosen by a fixed seed")
    parser.add_argument("--reranker", help="openai-compatible, cohere-style, fastembed or sentence-transformers")
    parser.add_argument("--reranker-model", help="its model")
    parser.add_argument("--reranker-base-url", help="its server")
    parser.add_argument("--only", help="only sets whose name contains this")
    options = parser.parse_args(arguments)
    console = Console(width=150)
    for path in options.data:
        for name, scopes in load(path).items():
            if options.only and options.only not in name:
                continue
            start = time.monotonic()
            with tempfile.TemporaryDirectory() as folder, Progress(console=Console(stderr=True)) as progress:
                found = measure(
                    scopes,
                    Path(folder),
                    progress,
                    modes=tuple(options.modes.split(",")),
                    baselines=not options.no_baselines,
                    sample=options.sample,
                    reranking=reranking(options),
                )
            rows = table_rows(found)
            documents = sum(len(scope.documents) for scope in scopes)
            title = f"{name}: {rows[0][2]} questions, {documents} memories, {len(scopes)} scopes"
            table = Table("category", "method", "questions", *MEASURES, title=title)
            for category, method, count, values in rows:
                table.add_row(category, method, str(count), *(f"{value:.1f}" for value in values))
            console.print(table)
            console.print(f"{time.monotonic() - start:.0f} s")
            _keep(options, path, name, title, rows)
    return 0


def _keep(options: argparse.Namespace, path: Path, name: str, title: str, rows: Any) -> None:
    out = options.out
    out.mkdir(parents=True, exist_ok=True)
    sampled = f" --sample {options.sample}" if options.sample else ""
    sampled += f" --reranker {options.reranker} --reranker-model {options.reranker_model}" if options.reranker else ""
    lines = [
        f"# Recall on {title}",
        "",
        f"{datetime.now(UTC):%Y-%m-%d}, `python -m bench.recall --data {path.name}{sampled}`; percent; seed {SEED}",
        "",
        "| category | method | questions | " + " | ".join(MEASURES) + " |",
        "|---|---|---|" + "---|" * len(MEASURES),
    ]
    lines += [
        f"| {category} | {method} | {count} | " + " | ".join(f"{value:.1f}" for value in values) + " |"
        for category, method, count, values in rows
    ]
    target = out / f"recall-{re.sub(r'[^a-z0-9]+', '-', name.lower())}.md"
    target.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    sys.exit(main())

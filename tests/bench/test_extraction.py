"""The rules that choose what to keep are measured on a set that deserves the name."""

from collections import Counter

from bench.extraction import load, score
from jiyi.longterm.classifier import StatementClassifier
from jiyi.ports import Embedder
from jiyi.text.cues import DOMAINS


def test_the_set_is_large_bilingual_and_half_not_worth_keeping() -> None:
    rows = load()
    assert len(rows) >= 400
    assert len({row["id"] for row in rows}) == len({row["user"] for row in rows}) == len(rows)
    assert {row["split"] for row in rows} == {"dev", "held_out"}
    for language in ("zh", "en"):
        kept = Counter(row["keep"] for row in rows if row["language"] == language)
        assert abs(kept[True] - kept[False]) <= 2
    for row in rows:
        assert not row["keep"] or (row["domain"] in DOMAINS and row["fact"].lower() in row["user"].lower())


def test_what_is_kept_is_worth_it_and_most_of_what_was_thought_of_is_kept() -> None:
    rows = load()
    for language in ("zh", "en"):
        dev = score([row for row in rows if row["language"] == language and row["split"] == "dev"])
        unseen = score([row for row in rows if row["language"] == language and row["split"] == "held_out"])
        assert dev.precision >= 0.8
        assert dev.recall >= 0.9
        assert dev.domain_accuracy >= 0.7
        assert unseen.precision >= 0.75
        assert unseen.recall >= 0.45


def test_with_an_embedder_most_of_what_is_unseen_is_kept(bundled_embedder: Embedder) -> None:
    rows = [row for row in load() if row["split"] == "held_out"]
    classifier = StatementClassifier(bundled_embedder)
    for language in ("zh", "en"):
        scores = score([row for row in rows if row["language"] == language], classifier)
        assert scores.precision >= 0.8
        assert scores.recall >= 0.85

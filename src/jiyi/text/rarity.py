"""How rare a word is in general language, and how specific it is as evidence.

In a small store every word is rare, so document frequencies say nothing about "use" and "kayak". The table says: -ln p
of stems in Latin letters and of Chinese words. `bench/make_word_rarity.py` makes it. It depends on no stored text.
"""

from __future__ import annotations

import re
import sys
from array import array
from bisect import bisect_left
from collections.abc import Iterable
from functools import cache, lru_cache
from pkgutil import get_data
from typing import Final

from jiyi.text.term_ids import term_id

__all__ = ["is_known", "rarity", "specificity"]

STEPS: Final = 12
"""Steps of a unit in the table: one byte a word."""
MAX_RARITY: Final = 21.0
_COMMON: Final = 8.0
_SPREAD: Final = 5.0
_MIN_SPECIFICITY: Final = 0.05
_JUDGED: Final = r"[a-z]+|[\u4e00-\u9fff]+"
# Compiled at first use: most questions have words that are stored, and are not judged.
_compiled = cache(re.compile)
_MIN_STEM: Final = 5


@cache
def _table() -> tuple[array[int], bytes]:
    # Not by `importlib.resources`: loading it takes longer than reading the table.
    data = get_data("jiyi.text", "data/rarity.bin") or b""
    count = len(data) // 5
    hashes = array("I", data[: 4 * count])
    if sys.byteorder != "little":
        hashes.byteswap()
    return hashes, data[4 * count :]


@lru_cache(maxsize=1 << 15)
def rarity(word: str) -> float | None:
    """-ln of the word's probability in general language; `None` when the table does not have it."""
    hashes, steps = _table()
    # The table has words by the numbers that indexes know them by: what is looked for is hashed once.
    wanted = term_id(word)
    place = bisect_left(hashes, wanted)
    return steps[place] / STEPS if place < len(hashes) and hashes[place] == wanted else None


@lru_cache(maxsize=1 << 15)
def specificity(word: str) -> float:
    """From 0.05 for everyday words to 1 for specific ones, which a word that the table does not have is too."""
    known = rarity(word)
    return 1.0 if known is None else min(1.0, max(_MIN_SPECIFICITY, (known - _COMMON) / _SPREAD))


def is_known(word: str) -> bool:
    """Whether a folded and stemmed term may be a word.

    A word in Latin letters is one if the table has it, or has a beginning of it that is long enough (electric-ian); a
    Chinese one if the table has it or one of its characters. Other scripts are not judged.
    """
    if not _compiled(_JUDGED).fullmatch(word) or rarity(word) is not None:
        return True
    if not word[0].isascii():
        return any(rarity(character) is not None for character in word)
    min_length = max(_MIN_STEM, (len(word) + 1) // 2)
    return any(rarity(word[:end]) is not None for end in range(min_length, len(word)))


def share_unknown(words: Iterable[str]) -> float:
    """Which share of the terms are no words."""
    judged = [is_known(word) for word in words]
    return judged.count(False) / len(judged) if judged else 0.0

"""Building blocks of patterns: Han characters, English weekdays and months, and alternatives.

Patterns that are named alike in several modules of `text/statements` and `longterm` (`_NEGATED`, `_FIRST_PERSON`,
`_NAMED`, `_REFERS_BACK`, …) are not shared on purpose. Each is for the texts that its own rule reads, a clause or a
message, folded or not, and trained weights depend on what it finds: a change of one is measured by itself.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

__all__ = ["HAN", "MONTH", "WEEKDAY", "any_of", "grouped_by_boundary", "has_han"]

HAN: Final = r"\u3400-\u9fff"
"""The Han characters, as a range inside a character class. Without the rare ones beyond the basic plane: what a rule
reads has none. `text/tokens`, which has to find every text, has a range of its own with them."""
WEEKDAY: Final = "(?:mon|tues|wednes|thurs|fri|satur|sun)day"
MONTH: Final = "(?:january|february|march|april|may|june|july|august|september|october|november|december)"
_HAN: Final = f"[{HAN}]"
_SYNTAX: Final = r"(?s:\\.|\[\^?\]?(?:\\.|[^]\\])*\]|[()|])"
"""What decides where an alternative ends: escapes and character classes, in which signs have no meaning, and signs."""

# Compiled at first use: a range of so many characters takes 2 ms, and a command that only asks does not need it.
_compiled = cache(re.compile)


def has_han(text: str) -> bool:
    """Whether a text has a Han character in it."""
    return not text.isascii() and _compiled(_HAN).search(text) is not None


def any_of(*alternatives: str) -> re.Pattern[str]:
    """One pattern that finds any of these."""
    return re.compile("|".join(alternatives))


def grouped_by_boundary(pattern: str) -> str:
    """The same pattern, with the alternatives that begin at a word boundary in one group behind a single boundary.

    A long pattern is then searched several times as fast: inside a word none of them is tried.
    """
    begin: Final = r"\b"
    alternatives = _top_level(pattern)
    bounded = [each.removeprefix(begin) for each in alternatives if each.startswith(begin)]
    others = [each for each in alternatives if not each.startswith(begin)]
    return "|".join([*([rf"{begin}(?:{'|'.join(bounded)})"] if bounded else []), *others])


def _top_level(pattern: str) -> list[str]:
    """The alternatives of a pattern that stand in no group."""
    found, depth, start = [], 0, 0
    for match in _compiled(_SYNTAX).finditer(pattern):
        sign = match[0]
        depth += (sign == "(") - (sign == ")")
        if sign == "|" and depth == 0:
            found.append(pattern[start : match.start()])
            start = match.end()
    return [*found, pattern[start:]]

"""Building blocks of patterns: Han characters, English weekdays and months, and alternatives.

Patterns that are named alike in several modules of `text/statements` and `longterm` (`_NEGATED`, `_FIRST_PERSON`,
`_NAMED`, `_REFERS_BACK`, …) are not shared on purpose. Each is for the texts that its own rule reads, a clause or a
message, folded or not, and trained weights depend on what it finds: a change of one is measured by itself.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["HAN", "MONTH", "WEEKDAY", "any_of", "has_han"]

HAN: Final = r"\u3400-\u9fff"
"""The Han characters, as a range inside a character class. Without the rare ones beyond the basic plane: what a rule
reads has none. `text/tokens`, which has to find every text, has a range of its own with them."""
WEEKDAY: Final = "(?:mon|tues|wednes|thurs|fri|satur|sun)day"
MONTH: Final = "(?:january|february|march|april|may|june|july|august|september|october|november|december)"
_HAN: Final = re.compile(f"[{HAN}]")


def has_han(text: str) -> bool:
    """Whether a text has a Han character in it."""
    return _HAN.search(text) is not None


def any_of(*alternatives: str) -> re.Pattern[str]:
    """One pattern that finds any of these."""
    return re.compile("|".join(alternatives))

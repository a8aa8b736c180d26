"""Building blocks of the patterns of this package: Han characters, and alternatives."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["HAN", "any_of", "has_han"]

HAN: Final = r"\u3400-\u9fff"
"""The Han characters, as a range inside a character class."""
_HAN: Final = re.compile(f"[{HAN}]")


def has_han(text: str) -> bool:
    """Whether a text has a Han character in it."""
    return _HAN.search(text) is not None


def any_of(*alternatives: str) -> re.Pattern[str]:
    """One pattern that finds any of these."""
    return re.compile("|".join(alternatives))

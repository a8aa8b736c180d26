"""The constants of BM25. Text indexes propose with them and the scorer ranks with them."""

from typing import Final

K1: Final = 0.9
"""How soon a repeated term stops adding to the score."""
B: Final = 0.75
"""How much the length of a text counts against it."""
LENGTH_FLOOR: Final = 25
"""Shorter texts count as this long: otherwise the shortest text would win."""

"""The constants of BM25, used by the text indexes and by the scorer."""

from typing import Final

K1: Final = 0.9
"""Saturation: the smaller, the less a repeated term adds to the score."""
B: Final = 0.75
"""Length normalization: 0 ignores the length of a text, 1 normalizes fully."""
LENGTH_FLOOR: Final = 25
"""Shorter texts are treated as this long, so that very short texts are not preferred."""

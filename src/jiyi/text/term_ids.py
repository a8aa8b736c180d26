"""The number of a term, by which indexes and recall compare terms."""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b

__all__ = ["term_id"]


@lru_cache(maxsize=1 << 17)
def term_id(term: str) -> int:
    """A 32-bit hash of a term. A collision with a term of the question is expected in one of some 10^8 texts."""
    return int.from_bytes(blake2b(term.encode("utf-8", "surrogatepass"), digest_size=4).digest(), "little")

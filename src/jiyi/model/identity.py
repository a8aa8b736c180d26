"""UUIDv7 identifiers and content hashes."""

from __future__ import annotations

import hashlib
import os
import threading
import time

_lock = threading.Lock()
_last: int = 0
_random = b""
"""Random bytes that were not used yet: asking the system for each id would be the largest part of making one."""
_RANDOM_BYTES = 8
_POOL_BYTES = 1_024
# The RFC 9562 variant: the first of the random digits keeps two random bits.
_VARIANTS = {digit: "89ab"[int(digit, 16) & 3] for digit in "0123456789abcdef"}


def new_id() -> str:
    """A new UUIDv7 (RFC 9562): sortable by creation time, increasing within one process."""
    return new_ids(1)[0]


def new_ids(count: int) -> list[str]:
    """As many new ids, in increasing order."""
    global _last, _random  # noqa: PLW0603
    wanted = _RANDOM_BYTES * count
    # 48 bits of milliseconds and 12 bits of their fraction: ids of one process are increasing.
    stamp = time.time_ns() * 4096 // 1_000_000
    with _lock:
        first = max(stamp, _last + 1)
        _last = first + count - 1
        if len(_random) < wanted:
            _random = os.urandom(wanted + _POOL_BYTES)
        random, _random = _random[:wanted].hex(), _random[wanted:]
    return [_uuid(f"{first + place:015x}{random[16 * place : 16 * place + 16]}") for place in range(count)]


def _forget_random() -> None:
    """In a forked process: its ids must not have the random digits of its parent's."""
    global _random  # noqa: PLW0603
    _random = b""


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_random)


def _uuid(digits: str) -> str:
    """The time and the random digits as a UUID, with its version and its variant."""
    return f"{digits[:8]}-{digits[8:12]}-7{digits[12:15]}-{_VARIANTS[digits[15]]}{digits[16:19]}-{digits[19:]}"


def text_hash(*parts: str) -> str:
    """A short stable digest of texts. `("ab", "c")` and `("a", "bc")` give different digests."""
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        encoded = part.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "big"))
        digest.update(encoded)
    return digest.hexdigest()

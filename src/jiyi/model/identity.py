"""UUIDv7 identifiers and content hashes."""

from __future__ import annotations

import hashlib
import os
import threading
import time

_lock = threading.Lock()
_last: int = 0
_random = ""
"""Random digits that were not used yet: asking the system for each id would be the largest part of making one."""
_DIGITS = 16
_POOL_BYTES = 16_384
# The RFC 9562 variant is in two bits of the first random byte.
_VARIANTS = bytes(0x80 | byte & 0x3F for byte in range(256))


def new_id() -> str:
    """A new UUIDv7 (RFC 9562): sortable by creation time, increasing within one process."""
    first, random = _reserve(1)
    return _uuid(f"{first:015x}", random)


def new_ids(count: int) -> list[str]:
    """As many new ids, in increasing order."""
    first, random = _reserve(count)
    return [_uuid(f"{first + place:015x}", random[_DIGITS * place : _DIGITS * (place + 1)]) for place in range(count)]


def _reserve(count: int) -> tuple[int, str]:
    """The first of so many times that no other id has, and as many times 16 random digits."""
    global _last, _random  # noqa: PLW0603 - one sequence of ids in a process
    # 48 bits of milliseconds and 12 bits of their fraction: ids of one process are increasing.
    stamp = time.time_ns() * 4096 // 1_000_000
    wanted = _DIGITS * count
    with _lock:
        first = stamp if stamp > _last else _last + 1
        _last = first + count - 1
        if len(_random) < wanted:
            fresh = bytearray(os.urandom(wanted // 2 + _POOL_BYTES))
            fresh[::8] = fresh[::8].translate(_VARIANTS)
            _random = fresh.hex()
        random, _random = _random[:wanted], _random[wanted:]
    return first, random


def _forget_random() -> None:
    """In a forked process: its ids must not have the random digits of its parent's."""
    global _random  # noqa: PLW0603 - one sequence of ids in a process
    _random = ""


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_random)


def _uuid(time_digits: str, random: str) -> str:
    return f"{time_digits[:8]}-{time_digits[8:12]}-7{time_digits[12:]}-{random[:4]}-{random[4:]}"


def text_hash(*parts: str) -> str:
    """A short stable digest of texts. `("ab", "c")` and `("a", "bc")` give different digests."""
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        encoded = part.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "big"))
        digest.update(encoded)
    return digest.hexdigest()

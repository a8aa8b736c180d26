"""UUIDv7 identifiers and content hashes."""

from __future__ import annotations

import hashlib
import os
import threading
import time

_lock = threading.Lock()
_last: int = 0
_VARIANT = 0b10 << 62
_RANDOM = (1 << 62) - 1


def new_id() -> str:
    """A new UUIDv7 (RFC 9562): sortable by creation time, increasing within one process."""
    global _last  # noqa: PLW0603
    with _lock:
        # 48 bits of milliseconds and 12 bits of their fraction, so that ids of one process keep their order.
        nanoseconds = time.time_ns()
        milliseconds, rest = divmod(nanoseconds, 1_000_000)
        stamp = (milliseconds << 12) | (rest * 4096 // 1_000_000)
        if stamp <= _last:
            stamp = _last + 1
        _last = stamp
    first = f"{stamp >> 12:012x}"
    last = f"{int.from_bytes(os.urandom(8), 'big') & _RANDOM | _VARIANT:016x}"
    return f"{first[:8]}-{first[8:]}-7{stamp & 0xFFF:03x}-{last[:4]}-{last[4:]}"


def text_hash(*parts: str) -> str:
    """A short stable digest of texts; parts cannot run into each other."""
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        encoded = part.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "big"))
        digest.update(encoded)
    return digest.hexdigest()

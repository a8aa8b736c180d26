"""Rate limits: token buckets that say how often somebody may do something."""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final

_MAX_REMEMBERED: Final = 10_000


@dataclass(slots=True)
class _Bucket:
    tokens: float
    at: float


@dataclass(slots=True)
class RateLimiter:
    """Token buckets by name; the ones used longest ago are dropped."""

    rate: float
    burst: float
    _known: OrderedDict[str, _Bucket] = field(default_factory=OrderedDict)

    def take(self, name: str, *, cost: float = 1.0) -> float:
        """Take from the bucket; seconds until there is enough, 0 if there was."""
        now = time.monotonic()
        bucket = self._known.pop(name, None) or _Bucket(self.burst, now)
        bucket.tokens = min(self.burst, bucket.tokens + (now - bucket.at) * self.rate)
        bucket.at = now
        self._known[name] = bucket
        while len(self._known) > _MAX_REMEMBERED:
            self._known.popitem(last=False)
        if bucket.tokens < cost:
            return (cost - bucket.tokens) / self.rate
        bucket.tokens -= cost
        return 0.0

    def seconds_left(self, name: str) -> float:
        """Seconds until there is one token, without taking it; 0 if there is one."""
        bucket = self._known.get(name)
        if bucket is None:
            return 0.0
        tokens = min(self.burst, bucket.tokens + (time.monotonic() - bucket.at) * self.rate)
        return max(0.0, (1.0 - tokens) / self.rate)

"""Metrics: counters and durations of requests, in the text format of Prometheus."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from typing import Final

_BOUNDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """What was asked and how long it took, by route. No label comes from a caller."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._durations: dict[str, list[int]] = defaultdict(lambda: [0] * (len(_BOUNDS) + 1))
        self._seconds: Counter[str] = Counter()

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """Note one request."""
        self._requests[method, route, status] += 1
        self._durations[route][bisect_left(_BOUNDS, seconds)] += 1
        self._seconds[route] += seconds  # type: ignore[assignment] # a Counter adds any number

    def text(self) -> str:
        """All of it."""
        lines = ["# TYPE jiyi_http_requests_total counter"]
        for (method, route, status), number in sorted(self._requests.items()):
            lines.append(f'jiyi_http_requests_total{{method="{method}",route="{route}",status="{status}"}} {number}')
        lines.append("# TYPE jiyi_http_request_seconds histogram")
        for route, counts in sorted(self._durations.items()):
            total = 0
            for bound, number in zip((*map(str, _BOUNDS), "+Inf"), counts, strict=True):
                total += number
                lines.append(f'jiyi_http_request_seconds_bucket{{route="{route}",le="{bound}"}} {total}')
            lines.append(f'jiyi_http_request_seconds_sum{{route="{route}"}} {self._seconds[route]:.6f}')
            lines.append(f'jiyi_http_request_seconds_count{{route="{route}"}} {total}')
        return "\n".join(lines) + "\n"

"""Metrics: requests and their durations, and how the memory stands, in the text format of Prometheus."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any, Final

_BOUNDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """What was asked and how long it took, by route. No label comes from a caller."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._durations: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0] * (len(_BOUNDS) + 1))
        self._seconds: dict[tuple[str, str], float] = defaultdict(float)
        self._active = 0
        self._started = time.time()

    def begin(self) -> None:
        """A request has come."""
        self._active += 1

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """A request was answered."""
        self._active -= 1
        # Anybody can send any word as a method.
        method = method if method in {"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"} else "other"
        self._requests[method, route, status] += 1
        self._durations[method, route][bisect_left(_BOUNDS, seconds)] += 1
        self._seconds[method, route] += seconds

    def text(self, gauges: Mapping[str, Any] | None = None, streams: int = 0) -> str:
        """All of it; `gauges` are those of the memory."""
        lines = [
            "# HELP jiyi_info The version that runs.",
            "# TYPE jiyi_info gauge",
            f'jiyi_info{{version="{version("jiyi")}"}} 1',
            "# HELP jiyi_start_time_seconds When this process began to serve.",
            "# TYPE jiyi_start_time_seconds gauge",
            f"jiyi_start_time_seconds {self._started:.3f}",
            "# HELP jiyi_http_requests_active Requests that are being answered.",
            "# TYPE jiyi_http_requests_active gauge",
            f"jiyi_http_requests_active {self._active}",
            "# HELP jiyi_http_streams_open Streams of events that are open.",
            "# TYPE jiyi_http_streams_open gauge",
            f"jiyi_http_streams_open {streams}",
            "# HELP jiyi_http_requests_total Requests by method, route and status.",
            "# TYPE jiyi_http_requests_total counter",
        ]
        for (method, route, status), number in sorted(self._requests.items()):
            lines.append(f'jiyi_http_requests_total{{method="{method}",route="{route}",status="{status}"}} {number}')
        lines += [
            "# HELP jiyi_http_request_seconds How long requests took.",
            "# TYPE jiyi_http_request_seconds histogram",
        ]
        for (method, route), counts in sorted(self._durations.items()):
            labels = f'method="{method}",route="{route}"'
            total = 0
            for bound, number in zip((*map(str, _BOUNDS), "+Inf"), counts, strict=True):
                total += number
                lines.append(f'jiyi_http_request_seconds_bucket{{{labels},le="{bound}"}} {total}')
            lines.append(f"jiyi_http_request_seconds_sum{{{labels}}} {self._seconds[method, route]:.6f}")
            lines.append(f"jiyi_http_request_seconds_count{{{labels}}} {total}")
        return "\n".join([*lines, *_of_memory(gauges or {})]) + "\n"


_MEMORY: Final = (
    ("behind", "jiyi_index_behind_changes", "index", "Changes that an index has not taken in yet."),
    ("jobs", "jiyi_jobs", "state", "Background jobs by state."),
    ("bytes", "jiyi_store_bytes", "part", "Bytes of the records and of each index."),
)


def _of_memory(gauges: Mapping[str, Any]) -> list[str]:
    lines: list[str] = []
    for group, name, label, what in _MEMORY:
        values = gauges.get(group)
        if values is None:
            continue
        lines += [f"# HELP {name} {what}", f"# TYPE {name} gauge"]
        lines += [f'{name}{{{label}="{each}"}} {value}' for each, value in sorted(values.items()) if value is not None]
    return lines

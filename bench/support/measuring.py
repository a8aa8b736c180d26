"""Measuring several actions in turn."""

from __future__ import annotations

import inspect
import os
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

console = Console(width=None if sys.stdout.isatty() else 150)

Action = Callable[[int], Any]
"""An action to measure. It gets the number of the round; an awaitable result is awaited."""


@dataclass
class Times:
    """The seconds of repeated runs of one action."""

    seconds: list[float] = field(default_factory=list)

    def percentile(self, percent: float) -> float:
        """The value below which this share of the runs lies, in seconds."""
        ordered = sorted(self.seconds)
        if not ordered:
            raise ValueError("nothing was measured")
        place = (len(ordered) - 1) * percent / 100
        low = int(place)
        high = min(low + 1, len(ordered) - 1)
        return ordered[low] + (ordered[high] - ordered[low]) * (place - low)

    @property
    def p50(self) -> float:
        return self.percentile(50)

    @property
    def p95(self) -> float:
        return self.percentile(95)


async def interleaved(
    rounds: int, actions: Mapping[str, Action], *, warm_up: int = 0, alternate: bool = True, label: str = "measuring"
) -> dict[str, Times]:
    """Run each action once in each round, so that ratios compare measurements under the same load.

    Every other round runs in reverse order, so that no action always comes second. The `warm_up` rounds come first and
    are not counted.
    """
    times = {name: Times() for name in actions}
    order = list(actions)
    with progress(label, rounds + warm_up) as advance:
        for number in range(rounds + warm_up):
            for name in reversed(order) if alternate and number % 2 else order:
                begin = time.perf_counter()
                done = actions[name](number)
                if inspect.isawaitable(done):
                    await done
                spent = time.perf_counter() - begin
                if number >= warm_up:
                    times[name].seconds.append(spent)
            advance(1)
    return times


async def timed(work: Awaitable[Any]) -> float:
    """The seconds until `work` is done."""
    begin = time.perf_counter()
    await work
    return time.perf_counter() - begin


@contextmanager
def progress(label: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A progress bar on a terminal, one line elsewhere; yields a function that advances it."""
    if not console.is_terminal:
        console.print(f"… {label}" + (f" ({total:,})" if total else ""), highlight=False)
        yield lambda _steps: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(label, total=total)
        yield lambda steps: bar.advance(task, steps)


def milliseconds(seconds: float) -> str:
    return f"{1_000 * seconds:.2f} ms"


def rate(per_second: float) -> str:
    return f"{per_second:,.0f}/s"


def resident_bytes() -> int:
    """The resident memory of the process; its peak where the system does not report the current value."""
    try:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    except (OSError, ValueError, IndexError):
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
    return pages * os.sysconf("SC_PAGE_SIZE")


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)

